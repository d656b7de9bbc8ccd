"""Requests for Google: the rules of its history, and a client's own body."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.canonical import request as q
from dragoman.canonical.aliases import alias
from dragoman.canonical.opaque import Opaque, seal
from dragoman.dialects.contract import Facts, UpstreamRequest
from dragoman.dialects.gemini import DIALECT
from dragoman.dialects.gemini.render import render_request
from dragoman.exceptions import InvalidRequest

OWN = Opaque("gemini", "signature", "U0lHLTE=")
FOREIGN = Opaque("messages", "signature", "abc")
BYPASS = "skip_thought_signature_validator"


def user(*parts: q.Part) -> q.Message:
    return q.Message(q.Role.USER, parts)


def assistant(*parts: q.Part) -> q.Message:
    return q.Message(q.Role.ASSISTANT, parts)


def text(value: str) -> q.Text:
    return q.Text(text=value)


def call(id: str, name: str = "f", arguments: str = "{}", **more: Any) -> q.ToolCall:
    return q.ToolCall(id=id, name=name, arguments=arguments, **more)


def result(id: str, value: str, **more: Any) -> q.ToolResult:
    return q.ToolResult(id=id, parts=(text(value),), **more)


def rendered(*messages: q.Message, facts: Facts | None = None, **members: Any) -> UpstreamRequest:
    request = q.Request(model="m", messages=messages, origin="chat", **members)
    return render_request(request, facts or Facts())


def contents(*messages: q.Message) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rendered(*messages).body["contents"]
    return found


def test_the_frame() -> None:
    made = rendered(q.Message(q.Role.SYSTEM, (text("S"),)), user(text("Hi")), stream=True)
    assert made.path == "/v1beta/models/m:streamGenerateContent?alt=sse"
    assert made.body == {
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "systemInstruction": {"parts": [{"text": "S"}]},
    }
    assert made.losses == ()


def test_results_stand_right_after_their_calls_in_their_order() -> None:
    found = contents(
        user(text("x")),
        assistant(text("Well."), call("a", "w"), call("b", "r")),
        user(text("And?"), result("b", "text")),
        user(result("a", "18 C", error=True)),
        assistant(text("Done.")),
    )
    assert [content["role"] for content in found] == ["user", "model", "user", "model"]
    assert found[2]["parts"] == [
        {"functionResponse": {"id": "a", "name": "w", "response": {"error": "18 C"}}},
        {"functionResponse": {"id": "b", "name": "r", "response": {"output": "text"}}},
        {"text": "And?"},
    ]


def test_turns_of_one_role_are_one() -> None:
    found = contents(
        user(text("a")),
        user(text("b")),
        assistant(call("a")),
        assistant(call("b")),
        user(result("a", "1"), result("b", "2")),
    )
    assert [len(content["parts"]) for content in found] == [2, 2, 2]


def test_a_call_without_a_result_gets_an_error() -> None:
    made = rendered(user(text("x")), assistant(call("a")), user(text("y")))
    answer, more = made.body["contents"][2]["parts"]
    assert "error" in answer["functionResponse"]["response"]
    assert more == {"text": "y"}
    assert len(made.losses) == 1


def test_a_result_without_a_call_becomes_text() -> None:
    made = rendered(user(result("lost", "def hello(): ...", name="read_file")), assistant(text("ok")), user(text("y")))
    first = made.body["contents"][0]["parts"][0]["text"]
    assert "read_file" in first
    assert "def hello(): ..." in first
    assert [loss.path for loss in made.losses] == ["messages[0].content[0]"]


def test_an_id_that_comes_twice() -> None:
    found = contents(
        user(text("x")), assistant(call("a")), user(result("a", "1")), assistant(call("a")), user(result("a", "2"))
    )
    outputs = [found[n]["parts"][0]["functionResponse"]["response"]["output"] for n in (2, 4)]
    assert outputs == ["1", "2"]


def test_the_user_begins() -> None:
    found = contents(assistant(text("Hi")), user(text("x")))
    assert [content["role"] for content in found] == ["user", "model", "user"]
    assert contents(q.Message(q.Role.SYSTEM, (text("S"),)))[0]["role"] == "user"


def test_a_system_turn_in_the_middle_is_marked_text() -> None:
    made = rendered(user(text("x")), q.Message(q.Role.DEVELOPER, (text("Now French."),)), assistant(text("y")))
    assert made.body["contents"][0]["parts"][1] == {"text": "<system>\nNow French.\n</system>"}
    assert len(made.losses) == 1


@pytest.mark.parametrize(
    ("arguments", "kind", "args"),
    [
        ('{"a": 1}', "function", {"a": 1}),
        ("", "function", {}),
        ('{"a": ', "function", {"INVALID_JSON": '{"a": '}),
        ("[]", "function", {"INVALID_JSON": "[]"}),
        ("*** Begin", "custom", {"input": "*** Begin"}),
    ],
)
def test_arguments(arguments: str, kind: Any, args: Any) -> None:
    found = contents(user(text("x")), assistant(call("a", "f", arguments, kind=kind)), user(result("a", "")))
    assert found[1]["parts"][0]["functionCall"] == {"id": "a", "name": "f", "args": args}
    assert found[2]["parts"][0]["functionResponse"]["response"] == {"output": ""}


def test_own_signatures_go_back_byte_for_byte_and_foreign_ones_do_not() -> None:
    made = rendered(
        user(text("x")),
        assistant(
            q.Reasoning(text="P", opaque=(OWN,)),
            q.Reasoning(text="Q", opaque=(FOREIGN,)),
            q.Reasoning(text="R"),
            q.Text(text="", signature=OWN),
            q.Text(text="t", signature=FOREIGN),
            call("a", signature=OWN),
            call("b"),
        ),
        user(result("a", "1"), result("b", "2")),
    )
    assert made.body["contents"][1]["parts"] == [
        {"text": "P", "thought": True, "thoughtSignature": OWN.data},
        {"text": "", "thoughtSignature": OWN.data},
        {"text": "t"},
        {"functionCall": {"id": "a", "name": "f", "args": {}}, "thoughtSignature": OWN.data},
        {"functionCall": {"id": "b", "name": "f", "args": {}}},
    ]
    assert [loss.path for loss in made.losses] == [f"messages[1].content[{n}]" for n in (1, 2, 4)]


def test_only_the_first_unsigned_call_of_a_step_of_the_current_turn_gets_the_stand_in() -> None:
    found = contents(
        user(text("x")),
        assistant(call("old")),
        user(result("old", "1")),
        assistant(text("Done.")),
        user(text("y")),
        assistant(call("a", signature=FOREIGN), call("b")),
        user(result("a", "1"), result("b", "2")),
        assistant(call("c")),
        user(result("c", "3")),
    )
    signatures = {
        part["functionCall"]["id"]: part.get("thoughtSignature")
        for content in found
        for part in content["parts"]
        if "functionCall" in part
    }
    assert signatures == {"old": None, "a": BYPASS, "b": None, "c": BYPASS}


def test_blank_texts_go_and_native_parts_stay_at_home() -> None:
    native = {"executableCode": {"language": "PYTHON", "code": "1"}}
    made = rendered(
        user(text("x"), text(" ")),
        assistant(
            q.Native(origin="gemini", value=native),
            q.Native(origin="messages", value={"type": "server_tool_use"}),
            q.Refusal(text="No."),
        ),
        user(text("y")),
    )
    assert made.body["contents"][0]["parts"] == [{"text": "x"}]
    assert made.body["contents"][1]["parts"] == [native, {"text": "No."}]
    assert len(made.losses) == 1


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (q.Image(url="data:image/gif;base64,AAAA"), {"inlineData": {"mimeType": "image/gif", "data": "AAAA"}}),
        (
            q.Image(url="https://x/a.webp?b=1"),
            {"fileData": {"mimeType": "image/webp", "fileUri": "https://x/a.webp?b=1"}},
        ),
        (q.Image(url="https://x/a"), {"fileData": {"mimeType": "image/png", "fileUri": "https://x/a"}}),
        (q.Document(data="AAAA"), {"inlineData": {"mimeType": "application/pdf", "data": "AAAA"}}),
        (q.Document(text="plain"), {"text": "plain"}),
    ],
)
def test_media(part: Any, expected: Any) -> None:
    assert contents(user(part))[0]["parts"] == [expected]
    inside = q.ToolResult(id="a", parts=(text("x"), part))
    answer = contents(user(text("x")), assistant(call("a")), user(inside))[2]["parts"][0]["functionResponse"]
    if "text" in expected:
        assert answer["response"] == {"output": "x\nplain"}
    else:
        assert answer["parts"] == [expected]


def test_a_foreign_file_is_refused() -> None:
    with pytest.raises(InvalidRequest) as caught:
        rendered(user(q.Image(file_id="file-1", origin="responses")))
    assert caught.value.error.param == "messages[0].content[0]"


# ---- settings


def test_tools_and_choices() -> None:
    tools = (
        q.Tool(name="f", schema={"type": "object"}, strict=True),
        q.Tool(name="patch", kind="custom"),
        q.Tool(name="g"),
    )
    made = rendered(
        user(text("x")), tools=tools, tool_choice=q.ToolChoice("required", ("f",)), parallel_tool_calls=False
    )
    declared = made.body["tools"][0]["functionDeclarations"]
    assert [tool["name"] for tool in declared] == ["f", "patch", "g"]
    assert declared[1]["parametersJsonSchema"]["required"] == ["input"]
    assert "parametersJsonSchema" not in declared[2]
    assert made.body["toolConfig"] == {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}}
    assert {loss.path for loss in made.losses} == {"tools.f.strict", "parallel_tool_calls"}


def test_in_the_mode_auto_only_the_allowed_tools_are_declared() -> None:
    tools = (q.Tool(name="f"), q.Tool(name="g"))
    made = rendered(user(text("x")), tools=tools, tool_choice=q.ToolChoice("auto", ("g",)))
    assert made.body["tools"] == [{"functionDeclarations": [{"name": "g"}]}]
    assert made.body["toolConfig"] == {"functionCallingConfig": {"mode": "AUTO"}}


def test_a_choice_without_tools_is_not_sent_and_foreign_hosted_tools_are_lost() -> None:
    hosted = (q.HostedTool(origin="responses", type="web_search", value={}),)
    made = rendered(user(text("x")), hosted_tools=hosted, tool_choice=q.ToolChoice("none"))
    assert set(made.body) == {"contents"}
    assert [loss.path for loss in made.losses] == ["tools.web_search"]


@pytest.mark.parametrize(
    ("reasoning", "expected"),
    [
        (q.ReasoningRequest(effort="high", budget=5), {"thinkingLevel": "HIGH"}),
        (q.ReasoningRequest(effort="none"), {"thinkingLevel": "MINIMAL"}),
        (q.ReasoningRequest(effort="max", visible=True), {"thinkingLevel": "XHIGH", "includeThoughts": True}),
        (q.ReasoningRequest(budget=2048, visible=False), {"thinkingBudget": 2048, "includeThoughts": False}),
        (q.ReasoningRequest(adaptive=True, summary="auto"), {"thinkingBudget": -1, "includeThoughts": True}),
        (q.ReasoningRequest(), None),
    ],
)
def test_reasoning(reasoning: q.ReasoningRequest, expected: Any) -> None:
    config = rendered(user(text("x")), reasoning=reasoning).body.get("generationConfig", {})
    assert config.get("thinkingConfig") == expected


def test_limits_and_losses() -> None:
    made = rendered(
        user(text("x")),
        facts=Facts(max_output_tokens=100),
        max_output_tokens=500,
        stop=("a", " ", "b", "c", "d", "e", "f"),
        output=q.OutputFormat(type="json"),
        user="u",
        verbosity="low",
        metadata={"a": "b"},
        cache_key="k",
        service_tier="flex",
    )
    assert made.body["generationConfig"] == {
        "maxOutputTokens": 100,
        "stopSequences": ["a", "b", "c", "d", "e"],
        "responseMimeType": "application/json",
    }
    assert {loss.path for loss in made.losses} == {
        "stop",
        "user",
        "verbosity",
        "metadata",
        "prompt_cache_key",
        "service_tier",
    }
    assert rendered(user(text("x")), facts=Facts(max_output_tokens=100)).body["generationConfig"] == {
        "maxOutputTokens": 100
    }


# ---- a body of this very dialect


def adapted(body: dict[str, Any]) -> UpstreamRequest:
    return DIALECT.adapt_request(body, DIALECT.parse_request(body, "upstream-model", True), Facts())


def test_a_body_goes_on_as_it_is() -> None:
    body = {
        "contents": [{"parts": [{"text": "x", "new_member": 1}]}],
        "generation_config": {"future": True},
        "safetySettings": [{"category": "C"}],
    }
    made = adapted(body)
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
            {
                "role": "model",
                "parts": [
                    {"text": "P", "thought": True, "thoughtSignature": seal(FOREIGN)},
                    {"text": "", "thought": True, "thoughtSignature": seal(FOREIGN)},
                    {"functionCall": call_id, "thought_signature": seal(strange)},
                    {"functionCall": {"name": "g", "args": {}}, "thoughtSignature": BYPASS},
                ],
            },
            {"parts": [{"function_response": {"name": "f", "id": alias("a:0"), "response": {}}}]},
        ],
    }
    made = adapted(body)
    assert "model" not in made.body
    first, second, third = made.body["contents"][1]["parts"]
    assert first == {"text": "P", "thought": True}
    assert second == {"functionCall": {**call_id, "id": "a:0"}, "thought_signature": "not base64!"}
    assert third["thoughtSignature"] == BYPASS
    assert made.body["contents"][2]["parts"][0]["function_response"]["id"] == "a:0"
    assert [loss.path for loss in made.losses] == [f"contents[1].parts[{n}].thoughtSignature" for n in (0, 1)]
