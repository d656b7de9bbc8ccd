"""A client's own body for an upstream of this very dialect: what changes, and that nothing else does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.canonical.aliases import alias
from dragoman.canonical.opaque import Opaque, seal
from dragoman.dialects.contract import Facts, UpstreamRequest
from dragoman.dialects.gemini import DIALECT

JSON = dict[str, Any]

BYPASS = "skip_thought_signature_validator"
FOREIGN = Opaque("messages", "signature", "abc")
BUDGET = Facts(gemini_thinking="budget")


def adapted(body: JSON, facts: Facts = BUDGET) -> UpstreamRequest:
    before = json.dumps(body)
    made = DIALECT.adapt_request(body, DIALECT.parse_request(body, "upstream-model", True), facts)
    assert json.dumps(body) == before
    return made


def asking(**members: Any) -> JSON:
    return {"contents": [user({"text": "x"})], **members}


def user(*parts: JSON) -> JSON:
    return {"role": "user", "parts": list(parts)}


def model(*parts: JSON) -> JSON:
    return {"role": "model", "parts": list(parts)}


def paths(made: UpstreamRequest) -> list[str]:
    return [loss.path for loss in made.losses]


@pytest.mark.parametrize("facts", [Facts(), BUDGET, Facts(gemini_schema="openapi-subset", max_output_tokens=100)])
def test_a_body_goes_on_as_it_is(facts: Facts) -> None:
    body = {
        "contents": [{"parts": [{"text": "x", "new_member": 1}]}, model({"text": "y"})],
        "generation_config": {"future": True, "max_output_tokens": 50},
        "safetySettings": [{"category": "C"}],
        "cachedContent": "cachedContents/1",
        "tools": [{"googleSearch": {}}, {"functionDeclarations": [{"name": "f", "parameters": {"type": "OBJECT"}}]}],
        "toolConfig": {"functionCallingConfig": {"streamFunctionCallArguments": True}},
    }
    made = adapted(body, facts)
    assert made.body == body
    assert made.path == "/v1beta/models/upstream-model:streamGenerateContent?alt=sse"
    assert made.losses == ()


def test_proofs_and_aliases_come_back_as_what_they_stand_for() -> None:
    strange = Opaque("gemini", "signature", "not base64!")
    call_id = {"name": "f", "id": alias("a:0"), "args": {}}
    body = {
        "model": "models/other",
        "contents": [
            {"parts": [{"text": "x"}]},
            model(
                {"text": "P", "thought": True, "thoughtSignature": seal(FOREIGN)},
                {"text": "", "thought": True, "thoughtSignature": seal(FOREIGN)},
                {"functionCall": call_id, "thought_signature": seal(strange)},
                {"functionCall": {"name": "g", "args": {}}, "thoughtSignature": BYPASS},
            ),
            {"parts": [{"function_response": {"name": "f", "id": alias("a:0"), "response": {}}}]},
        ],
    }
    made = adapted(body, Facts())
    assert "model" not in made.body
    first, second, third = made.body["contents"][1]["parts"]
    assert first == {"text": "P", "thought": True}
    assert second == {"functionCall": {**call_id, "id": "a:0"}, "thought_signature": "not base64!"}
    assert third["thoughtSignature"] == BYPASS
    assert made.body["contents"][2]["parts"][0]["function_response"]["id"] == "a:0"
    assert paths(made) == [f"contents[1].parts[{n}].thoughtSignature" for n in (0, 1)]


# ---- signatures


def call(id: str, **beside: Any) -> JSON:
    return {"functionCall": {"id": id, "name": "f", "args": {}}, **beside}


def result(id: str) -> JSON:
    return {"function_response": {"id": id, "name": "f", "response": {"output": ""}}}


STEPS = [
    user({"text": "x"}),
    model(call("old")),
    user(result("old")),
    model({"text": "Done."}),
    user({"text": "y"}),
    model({"text": "Hm."}),
    model(call("a"), call("b")),
    model(call("c")),
    {"role": "function", "parts": [result("a"), result("b"), result("c")]},
    model(call("d", thought_signature="U0lH"), call("e")),
    user(result("d"), result("e")),
    model({"function_call": {"id": "g", "name": "f"}, "thoughtSignature": seal(FOREIGN)}),
    user(result("g")),
]


@pytest.mark.parametrize(
    ("facts", "signed"),
    [
        (Facts(), {"old": BYPASS, "a": BYPASS, "d": "U0lH", "g": BYPASS}),
        (BUDGET, {"d": "U0lH"}),
        (Facts(signing_upstream=False), {"d": "U0lH"}),
    ],
)
def test_the_first_call_of_each_step_is_signed(facts: Facts, signed: JSON) -> None:
    made = adapted({"contents": STEPS}, facts)
    parts = [part for content in made.body["contents"] for part in content["parts"]]
    found = {
        (part.get("functionCall") or part["function_call"])["id"]: part.get("thoughtSignature")
        or part.get("thought_signature")
        for part in parts
        if "functionCall" in part or "function_call" in part
    }
    assert len(found) == 7
    assert {id: signature for id, signature in found.items() if signature} == signed


# ---- facts


def test_no_prefill() -> None:
    body = {"contents": [user({"text": "x"}), model({"text": "y"})]}
    made = adapted(body, Facts(assistant_prefill=False))
    assert [content["role"] for content in made.body["contents"]] == ["user", "model", "user"]
    assert paths(made) == ["contents"]


@pytest.mark.parametrize(
    ("facts", "config", "expected", "lost"),
    [
        (Facts(max_output_tokens=100), {"max_output_tokens": 500}, {"max_output_tokens": 100}, []),
        (Facts(max_output_tokens=100), {"maxOutputTokens": 50}, {"maxOutputTokens": 50}, []),
        (Facts(max_output_tokens=100), {"maxOutputTokens": "500"}, {"maxOutputTokens": 100}, []),
        (Facts(max_output_tokens=100, max_thinking_budget=5), {"seed": 1}, {"seed": 1}, []),
        (Facts(exclusive_sampling=True), {"temperature": 1, "top_p": 1}, {"temperature": 1}, ["top_p"]),
        (Facts(exclusive_sampling=True), {"topP": 1}, {"topP": 1}, []),
        (
            BUDGET,
            {"thinkingConfig": {"thinking_level": "high", "includeThoughts": True}},
            {"thinkingConfig": {"thinkingBudget": 24_576, "includeThoughts": True}},
            [],
        ),
        (
            Facts(gemini_thinking="budget", max_thinking_budget=1000),
            {"thinking_config": {"thinkingLevel": "HIGH"}},
            {"thinking_config": {"thinkingBudget": 1000}},
            [],
        ),
        (
            Facts(max_thinking_budget=1000),
            {"thinkingConfig": {"thinkingBudget": 5000}},
            {"thinkingConfig": {"thinkingBudget": 1000}},
            [],
        ),
        (
            Facts(max_thinking_budget=1000),
            {"thinkingConfig": {"thinkingBudget": -1}},
            {"thinkingConfig": {"thinkingBudget": -1}},
            [],
        ),
        (
            Facts(gemini_schema="openapi-subset"),
            {"response_json_schema": {"type": "object", "properties": {"a": {"const": 1}}}},
            {"responseSchema": {"type": "OBJECT", "properties": {"a": {"type": "INTEGER"}}}},
            ["response_json_schema.properties.a.const"],
        ),
        (
            Facts(gemini_schema="openapi-subset"),
            {"responseSchema": {"type": "OBJECT"}},
            {"responseSchema": {"type": "OBJECT"}},
            [],
        ),
    ],
)
def test_settings(facts: Facts, config: JSON, expected: JSON, lost: list[str]) -> None:
    made = adapted(asking(generation_config=config), facts)
    assert made.body["generation_config"] == expected
    assert paths(made) == [f"generation_config.{name}" for name in lost]


@pytest.mark.parametrize("instruction", [None, "Be brief.", {"parts": [{"text": "Be brief."}], "role": "user"}])
def test_a_schema_that_cannot_be_demanded_is_an_instruction(instruction: Any) -> None:
    body = asking(
        generationConfig={"responseMimeType": "application/json", "responseSchema": {"type": "OBJECT"}, "seed": 1}
    )
    if instruction is not None:
        body["system_instruction"] = instruction
    made = adapted(body, Facts(structured_output=False))
    assert made.body["generationConfig"] == {"seed": 1}
    (*before, said) = made.body["systemInstruction" if instruction is None else "system_instruction"]["parts"]
    assert [part["text"] for part in before] == ([] if instruction is None else ["Be brief."])
    assert '{"type":"OBJECT"}' in said["text"]
    assert paths(made) == ["generationConfig.responseSchema"]


def test_the_subset_of_schemas() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"type": "string", "not": {}}},
    }
    declared = [{"name": "f", "parameters_json_schema": schema}, {"name": "g", "parametersJsonSchema": {}}]
    made = adapted(asking(tools=[{"function_declarations": declared}]), Facts(gemini_schema="openapi-subset"))
    assert made.body["tools"][0]["function_declarations"] == [
        {"name": "f", "parameters": {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}}},
        {"name": "g"},
    ]
    assert paths(made) == ["tools[0].function_declarations[0].parameters_json_schema.properties.a.not"]


# ---- counting


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"contents": [user({"text": "x"})]}, {"contents": [user({"text": "x"})]}),
        (
            {"generateContentRequest": {**asking(systemInstruction="S"), "model": "models/a", "generationConfig": {}}},
            {
                "generateContentRequest": {
                    **asking(systemInstruction="S"),
                    "model": "models/there",
                    "generationConfig": {},
                }
            },
        ),
        (
            {"generate_content_request": asking()},
            {"generate_content_request": {**asking(), "model": "models/there"}},
        ),
    ],
)
def test_a_count_is_asked_for_in_the_form_in_which_it_came(body: JSON, expected: JSON) -> None:
    assert DIALECT.adapt_count is not None
    request = DIALECT.parse_request(body, "there", False)
    made = DIALECT.adapt_count(body, request, Facts(max_output_tokens=100))
    assert made.path == "/v1beta/models/there:countTokens"
    assert made.body == expected


def test_a_count_leaves_out_foreign_proofs_too() -> None:
    assert DIALECT.adapt_count is not None
    part = {"text": "P", "thought": True, "thoughtSignature": seal(FOREIGN)}
    body = {"generateContentRequest": {"contents": [user({"text": "x"}), model(part)]}}
    made = DIALECT.adapt_count(body, DIALECT.parse_request(body, "m", False), Facts())
    assert made.body["generateContentRequest"]["contents"][1] == model({"text": "P", "thought": True})
    assert paths(made) == ["generateContentRequest.contents[1].parts[0].thoughtSignature"]
