"""Tools and settings from other dialects, as Google's members, and what each fact does to them."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.canonical import request as q
from dragoman.dialects.contract import Facts, UpstreamRequest
from dragoman.exceptions import InvalidRequest

from .driving import asked

HELLO = (q.Message(q.Role.USER, (q.Text(text="Hello"),)),)
CITY = {"type": "object", "properties": {"city": {"type": ["string", "null"], "format": "city"}}}
SUBSET = {"type": "OBJECT", "properties": {"city": {"type": "STRING", "nullable": True}}}
BUDGET = Facts(gemini_thinking="budget")


def rendered(facts: Facts | None = None, **members: Any) -> UpstreamRequest:
    return asked(q.Request(model="m", messages=HELLO, origin="chat", **members), facts)


def config(made: UpstreamRequest) -> dict[str, Any]:
    found: dict[str, Any] = made.body.get("generationConfig", {})
    return found


def paths(made: UpstreamRequest) -> list[str]:
    return [loss.path for loss in made.losses]


# ---- tools


def test_tools() -> None:
    tools = (
        q.Tool(name="f", description="d", schema=CITY, strict=True),
        q.Tool(name="patch", kind="custom"),
        q.Tool(name="g", cache={"type": "ephemeral"}),
        q.Tool(name="f", schema={"type": "object"}),
    )
    made = rendered(tools=tools, parallel_tool_calls=False)
    first, second, third = made.body["tools"][0]["functionDeclarations"]
    assert first == {"name": "f", "description": "d", "parametersJsonSchema": CITY}
    assert second["parametersJsonSchema"]["required"] == ["input"]
    assert third == {"name": "g"}
    assert paths(made) == ["tools[0].strict", "tools[2].cache", "tools[3]", "parallel_tool_calls"]


def test_names_that_are_illegal_here_have_aliases_everywhere() -> None:
    tools = (q.Tool(name="1st"), q.Tool(name="f", namespace="mcp"))
    made = rendered(tools=tools, tool_choice=q.ToolChoice("required", ("1st",)))
    first, second = (tool["name"] for tool in made.body["tools"][0]["functionDeclarations"])
    assert (first, second) == ("t_1st", "mcp__f")
    assert made.body["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"] == [first]


def test_the_subset_of_schemas() -> None:
    output = q.OutputFormat(type="schema", schema=CITY)
    made = rendered(Facts(gemini_schema="openapi-subset"), tools=(q.Tool(name="f", schema=CITY),), output=output)
    assert made.body["tools"] == [{"functionDeclarations": [{"name": "f", "parameters": SUBSET}]}]
    assert config(made) == {"responseMimeType": "application/json", "responseSchema": SUBSET}
    assert paths(made) == ["tools[0].schema.properties.city.format", "output.schema.properties.city.format"]


@pytest.mark.parametrize(
    ("choice", "declared", "calling", "lost"),
    [
        (None, "fg", None, []),
        (q.ToolChoice("auto"), "fg", {"mode": "AUTO"}, []),
        (q.ToolChoice("none"), "fg", {"mode": "NONE"}, []),
        (q.ToolChoice("required"), "fg", {"mode": "ANY"}, []),
        (q.ToolChoice("required", ("f",)), "fg", {"mode": "ANY", "allowedFunctionNames": ["f"]}, []),
        (q.ToolChoice("auto", ("g",)), "g", {"mode": "AUTO"}, []),
        (q.ToolChoice("required", ("f", "no")), "fg", {"mode": "ANY", "allowedFunctionNames": ["f"]}, ["tool_choice"]),
        (q.ToolChoice("required", ("no",)), "fg", None, ["tool_choice"]),
    ],
)
def test_choices(choice: Any, declared: str, calling: Any, lost: list[str]) -> None:
    made = rendered(tools=(q.Tool(name="f"), q.Tool(name="g")), tool_choice=choice)
    assert "".join(tool["name"] for tool in made.body["tools"][0]["functionDeclarations"]) == declared
    assert made.body.get("toolConfig", {}).get("functionCallingConfig") == calling
    assert paths(made) == lost


@pytest.mark.parametrize(("mode", "lost"), [("required", ["tool_choice"]), ("auto", []), ("none", [])])
def test_a_choice_without_tools(mode: Any, lost: list[str]) -> None:
    made = rendered(tool_choice=q.ToolChoice(mode))
    assert set(made.body) == {"contents"}
    assert paths(made) == lost


def test_tools_that_other_servers_run() -> None:
    hosted = (q.HostedTool(origin="responses", type="web_search", value={}),)
    assert paths(rendered(hosted_tools=hosted)) == ["hosted_tools[0]"]
    with pytest.raises(InvalidRequest, match="web_search") as caught:
        rendered(Facts(on_server_tool="refuse"), hosted_tools=hosted)
    assert caught.value.error.param == "tools"


# ---- reasoning


@pytest.mark.parametrize(
    ("reasoning", "expected", "lost"),
    [
        (q.ReasoningRequest(effort="high", budget=5), {"thinkingLevel": "HIGH"}, []),
        (q.ReasoningRequest(effort="minimal"), {"thinkingLevel": "MINIMAL"}, []),
        (q.ReasoningRequest(effort="none"), {"thinkingLevel": "MINIMAL"}, ["reasoning.effort"]),
        (q.ReasoningRequest(effort="max", visible=True), {"thinkingLevel": "XHIGH", "includeThoughts": True}, []),
        (q.ReasoningRequest(budget=2048, visible=False), {"thinkingLevel": "LOW", "includeThoughts": False}, []),
        (q.ReasoningRequest(budget=100_000), {"thinkingLevel": "HIGH"}, []),
        (q.ReasoningRequest(adaptive=True, summary="auto"), {"includeThoughts": True}, []),
        (q.ReasoningRequest(adaptive=True, effort="medium"), {"thinkingLevel": "MEDIUM"}, []),
        (q.ReasoningRequest(adaptive=True), None, []),
    ],
)
def test_levels(reasoning: q.ReasoningRequest, expected: Any, lost: list[str]) -> None:
    made = rendered(reasoning=reasoning)
    assert config(made).get("thinkingConfig") == expected
    assert paths(made) == lost


@pytest.mark.parametrize(
    ("reasoning", "cap", "limit", "expected", "lost"),
    [
        (q.ReasoningRequest(effort="none", visible=True), None, None, {"thinkingBudget": 0}, []),
        (q.ReasoningRequest(effort="high"), None, None, {"thinkingBudget": 24_576}, []),
        (q.ReasoningRequest(effort="max"), None, None, {"thinkingBudget": 24_576}, []),
        (q.ReasoningRequest(effort="max"), 32_768, None, {"thinkingBudget": 32_768}, []),
        (q.ReasoningRequest(effort="high"), 8_000, None, {"thinkingBudget": 8_000}, []),
        (q.ReasoningRequest(budget=60_000), None, None, {"thinkingBudget": 60_000}, []),
        (q.ReasoningRequest(budget=60_000), 24_576, None, {"thinkingBudget": 24_576}, []),
        (q.ReasoningRequest(adaptive=True, summary="auto"), None, None, {"thinkingBudget": -1, "includeThoughts": True}, []),
        (q.ReasoningRequest(visible=True), None, None, {"includeThoughts": True}, []),
        (q.ReasoningRequest(effort="high"), None, 5_000, {"thinkingBudget": 2_500}, []),
        (q.ReasoningRequest(effort="high"), None, 2_000, None, ["reasoning"]),
        (q.ReasoningRequest(budget=4_000), None, 5_000, {"thinkingBudget": 4_000}, []),
    ],
)  # fmt: skip
def test_budgets(reasoning: q.ReasoningRequest, cap: int | None, limit: int | None, expected: Any, lost: Any) -> None:
    facts = Facts(gemini_thinking="budget", max_thinking_budget=cap)
    made = rendered(facts, reasoning=reasoning, max_output_tokens=limit)
    assert config(made).get("thinkingConfig") == expected
    assert paths(made) == lost


# ---- the rest


@pytest.mark.parametrize(
    ("facts", "members", "expected", "lost"),
    [
        (Facts(max_output_tokens=100), {"max_output_tokens": 500}, {"maxOutputTokens": 100}, ["max_output_tokens"]),
        (Facts(max_output_tokens=100), {"max_output_tokens": 50}, {"maxOutputTokens": 50}, []),
        (Facts(max_output_tokens=100), {}, {"maxOutputTokens": 100}, []),
        (Facts(), {"temperature": 2.0, "top_p": 0.5}, {"temperature": 2.0, "topP": 0.5}, []),
        (Facts(exclusive_sampling=True), {"temperature": 1.0, "top_p": 0.5}, {"temperature": 1.0}, ["top_p"]),
        (Facts(exclusive_sampling=True), {"top_p": 0.5}, {"topP": 0.5}, []),
        (Facts(), {"top_k": 20, "presence_penalty": 0.5}, {"topK": 20, "presencePenalty": 0.5}, []),
        (Facts(), {"seed": -5}, {"seed": -5}, []),
        (Facts(), {"seed": 1 << 31}, {}, ["seed"]),
        (Facts(), {"stop": ("a", " ")}, {"stopSequences": ["a"]}, ["stop"]),
        (Facts(), {"stop": tuple("abcdef")}, {"stopSequences": list("abcde")}, ["stop"]),
        (Facts(), {"choices": 2}, {"candidateCount": 2}, []),
        (Facts(), {"logprobs": True, "top_logprobs": 3}, {"responseLogprobs": True, "logprobs": 3}, []),
        (Facts(), {"logprobs": False, "top_logprobs": 3}, {}, []),
        (Facts(), {"output": q.OutputFormat(type="json")}, {"responseMimeType": "application/json"}, []),
        (
            Facts(),
            {"output": q.OutputFormat(type="schema", name="n", description="D", schema={"type": "object"})},
            {
                "responseMimeType": "application/json",
                "responseJsonSchema": {"description": "D", "type": "object"},
            },
            [],
        ),
        (
            Facts(),
            {"verbosity": "low", "user": "u", "metadata": {"a": "b"}, "cache_key": "k"},
            {},
            ["verbosity", "user", "metadata", "cache_key"],
        ),
    ],
)
def test_settings(facts: Facts, members: dict[str, Any], expected: Any, lost: list[str]) -> None:
    made = rendered(facts, **members)
    assert config(made) == expected
    assert paths(made) == lost


@pytest.mark.parametrize(
    ("tier", "expected", "lost"),
    [
        ("flex", "flex", []),
        ("default", "standard", []),
        ("standard_only", "standard", []),
        ("auto", None, []),
        ("scale", None, ["service_tier"]),
    ],
)
def test_tiers(tier: str, expected: str | None, lost: list[str]) -> None:
    made = rendered(service_tier=tier)
    assert made.body.get("serviceTier") == expected
    assert paths(made) == lost


def test_a_schema_that_cannot_be_demanded_is_an_instruction() -> None:
    system = q.Message(q.Role.SYSTEM, (q.Text(text="S"),))
    output = q.OutputFormat(type="schema", schema={"type": "object"})
    request = q.Request(model="m", messages=(system, *HELLO), origin="chat", output=output)
    made = asked(request, Facts(structured_output=False))
    first, second = made.body["systemInstruction"]["parts"]
    assert first == {"text": "S"}
    assert '{"type":"object"}' in second["text"]
    assert config(made) == {}
    assert paths(made) == ["output"]


def test_what_the_crossing_lost_is_kept() -> None:
    assert paths(rendered(unknown=("odd",), user="u")) == ["odd", "user"]
