"""Requests: Google's body to the canonical one, and back."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.canonical import request as q
from dragoman.canonical.aliases import alias
from dragoman.canonical.opaque import Opaque, seal
from dragoman.dialects.gemini import DIALECT
from dragoman.exceptions import InvalidRequest

from .driving import asked

HELLO = [{"role": "user", "parts": [{"text": "Hello"}]}]


def parsed(body: Any = None, **members: Any) -> q.Request:
    return DIALECT.parse_request({"contents": HELLO, **members} if body is None else body, "m", False)


def history(*contents: Any) -> tuple[q.Message, ...]:
    return parsed(contents=list(contents)).messages


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def call(name: str, id: str | None = None, **args: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": args, **({"id": id} if id else {})}}


def result(name: str, output: Any, id: str | None = None) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"output": output}, **({"id": id} if id else {})}}


def calls(messages: tuple[q.Message, ...]) -> list[q.ToolCall]:
    return [part for message in messages for part in message.parts if isinstance(part, q.ToolCall)]


def results(messages: tuple[q.Message, ...]) -> list[q.ToolResult]:
    return [part for message in messages for part in message.parts if isinstance(part, q.ToolResult)]


# ---- the frame


def test_model_and_stream_come_from_the_path() -> None:
    request = DIALECT.parse_request({"contents": HELLO, "model": "other", "stream": False}, "m", True)
    assert (request.model, request.stream, request.origin) == ("m", True, "gemini")
    assert request.messages == (q.Message(q.Role.USER, (q.Text(text="Hello"),)),)


def test_a_body_of_count_tokens() -> None:
    inner = {"model": "models/m", "contents": HELLO, "systemInstruction": {"parts": [{"text": "S"}]}}
    request = DIALECT.parse_request({"generateContentRequest": inner}, "m", None)
    assert [message.role for message in request.messages] == [q.Role.SYSTEM, q.Role.USER]
    assert not request.stream


def test_keys_in_any_spelling() -> None:
    request = parsed(
        system_instruction="Be brief.",
        tools=[{"functionDeclarations": [{"name": "f", "parameters_json_schema": {"properties": {"a_b": {}}}}]}],
        generation_config={
            "max_output_tokens": 5,
            "thinkingConfig": {"include_thoughts": True, "thinking_level": "LOW"},
        },
        tool_config={"function_calling_config": {"mode": "ANY", "allowed_function_names": ["f"]}},
    )
    assert request.messages[0] == q.Message(q.Role.SYSTEM, (q.Text(text="Be brief."),))
    assert request.tools == (q.Tool(name="f", schema={"properties": {"a_b": {}}}),)
    assert request.max_output_tokens == 5
    assert request.reasoning == q.ReasoningRequest(effort="low", visible=True)
    assert request.tool_choice == q.ToolChoice("required", ("f",))


def test_the_users_own_keys_are_never_respelled() -> None:
    part = {"function_call": {"name": "f", "args": {"some_key": {"inner_key": 1}}}}
    answered = {"function_response": {"name": "f", "response": {"some_key": 1}}}
    messages = history(user({"text": "x"}), model(part), user(answered))
    assert calls(messages)[0].arguments == '{"some_key":{"inner_key":1}}'
    assert results(messages)[0].parts == (q.Text(text='{"some_key":1}'),)


def test_what_has_no_form_is_named() -> None:
    request = parsed(
        safetySettings=[{"category": "C"}],
        tools=[{"functionDeclarations": [{"name": "f", "response": {}}]}],
        toolConfig={"retrievalConfig": {"a": 1}, "functionCallingConfig": {"streamFunctionCallArguments": True}},
        generationConfig={"speechConfig": {}, "responseModalities": ["TEXT", "IMAGE"], "thinkingConfig": {"new": 1}},
    )
    assert set(request.unknown) == {
        "safetySettings",
        "tools[0].functionDeclarations[0].response",
        "toolConfig.retrievalConfig",
        "toolConfig.functionCallingConfig.streamFunctionCallArguments",
        "generationConfig.speechConfig",
        "generationConfig.responseModalities",
        "generationConfig.thinkingConfig.new",
    }
    losses = asked(request).losses
    assert {loss.path for loss in losses} >= set(request.unknown)


@pytest.mark.parametrize(
    ("content", "unknown"),
    [
        ({**user({"text": "x"}), "odd": 1}, ["contents[0].odd"]),
        (user({"text": "x", "partMetadata": {"a": 1}, "thought": False}), ["contents[0].parts[0].partMetadata"]),
        (
            user({"inlineData": {"mimeType": "image/png", "data": "AAAA"}, "mediaResolution": {"level": "HIGH"}}),
            ["contents[0].parts[0].mediaResolution"],
        ),
        (
            model({"functionCall": {"name": "f", "willContinue": True, "partialArgs": []}}),
            ["contents[0].parts[0].functionCall.willContinue"],
        ),
        (
            user({"functionResponse": {"name": "f", "response": {}, "scheduling": "SILENT"}}),
            ["contents[0].parts[0].functionResponse.scheduling"],
        ),
        (user({"futurePart": {"a": 1}, "beside": 1}), []),
    ],
)
def test_members_of_a_history_without_a_form_are_named(content: Any, unknown: list[str]) -> None:
    assert list(parsed(contents=[content]).unknown) == unknown


def test_what_is_off_is_not_missed() -> None:
    request = parsed(
        safetySettings=[],
        toolConfig={"functionCallingConfig": {"streamFunctionCallArguments": False}, "retrievalConfig": None},
    )
    assert request.unknown == ()


def test_a_body_that_is_nested_too_deeply_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(3000):
        schema = {"items": schema}
    with pytest.raises(InvalidRequest, match="deeply"):
        parsed(tools=[{"functionDeclarations": [{"name": "f", "parameters": schema}]}])


def test_what_google_keeps_of_the_conversation_binds_the_request_to_it() -> None:
    request = parsed(cached_content="cachedContents/1", continuationToken="dG9r", safetySettings=None)
    assert (request.bound, request.unknown) == (("cachedContent", "continuationToken"), ())


@pytest.mark.parametrize(
    ("members", "param"),
    [
        ({"contents": None}, "contents"),
        ({"contents": []}, "contents"),
        ({"contents": "x"}, "contents"),
        ({"contents": ["x"]}, "contents[0]"),
        ({"contents": [{"role": "assistant", "parts": []}]}, "contents[0].role"),
        ({"contents": [{"parts": "x"}]}, "contents[0].parts"),
        ({"contents": [{"parts": ["x"]}]}, "contents[0].parts[0]"),
        ({"contents": [{"parts": [{"text": 5}]}]}, "contents[0].parts[0].text"),
        ({"contents": [model({"functionCall": {"args": {}}})]}, "contents[0].parts[0].functionCall.name"),
        (
            {"contents": [model({"functionCall": {"name": "f", "args": "{}"}})]},
            "contents[0].parts[0].functionCall.args",
        ),
        ({"contents": [user({"functionResponse": {"response": {}}})]}, "contents[0].parts[0].functionResponse.name"),
        ({"contents": [user({"functionResponse": "x"})]}, "contents[0].parts[0].functionResponse"),
        ({"systemInstruction": 5}, "systemInstruction"),
        ({"systemInstruction": {"parts": [{"inlineData": {}}]}}, "systemInstruction.parts[0]"),
        ({"tools": "x"}, "tools"),
        ({"tools": [5]}, "tools[0]"),
        ({"tools": [{"functionDeclarations": 5}]}, "tools[0].functionDeclarations"),
        ({"tools": [{"functionDeclarations": [{}]}]}, "tools[0].functionDeclarations[0].name"),
        (
            {"tools": [{"functionDeclarations": [{"name": "f", "parameters": 5}]}]},
            "tools[0].functionDeclarations[0].parameters",
        ),
        ({"toolConfig": []}, "toolConfig"),
        ({"toolConfig": {"functionCallingConfig": {"mode": "MAYBE"}}}, "toolConfig.functionCallingConfig.mode"),
        ({"generationConfig": []}, "generationConfig"),
        ({"generationConfig": {"temperature": "hot"}}, "generationConfig.temperature"),
        ({"generationConfig": {"topP": True}}, "generationConfig.topP"),
        ({"generationConfig": {"maxOutputTokens": 1.5}}, "generationConfig.maxOutputTokens"),
        ({"generationConfig": {"candidateCount": 0}}, "generationConfig.candidateCount"),
        ({"generationConfig": {"stopSequences": "x"}}, "generationConfig.stopSequences"),
        ({"generationConfig": {"responseLogprobs": 1}}, "generationConfig.responseLogprobs"),
        (
            {"generationConfig": {"thinkingConfig": {"thinkingLevel": "HUGE"}}},
            "generationConfig.thinkingConfig.thinkingLevel",
        ),
        ({"generationConfig": {"responseSchema": 5}}, "generationConfig.responseSchema"),
        ({"labels": 5}, "labels"),
    ],
)
def test_a_bad_body_is_refused_by_name(members: Any, param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parsed(**members)
    assert caught.value.error.param == param
    assert param in caught.value.error.message


def test_no_object_and_no_model() -> None:
    with pytest.raises(InvalidRequest):
        DIALECT.parse_request([], "m", None)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest) as caught:
        DIALECT.parse_request({"contents": HELLO}, None, None)
    assert caught.value.error.param == "model"


# ---- histories


def test_roles() -> None:
    messages = history(
        {"parts": [{"text": "a"}]}, model({"text": "b"}), {"role": "function", "parts": [result("f", "x")]}
    )
    assert [message.role for message in messages] == [q.Role.USER, q.Role.ASSISTANT, q.Role.USER]


def test_calls_without_ids_are_paired_by_name_and_order() -> None:
    messages = history(
        user({"text": "Both?"}),
        model(call("w", city="Paris"), call("r", path="a"), call("w", city="Oslo")),
        user(result("w", "18 C"), result("w", "9 C"), result("r", "text")),
        model(call("w", city="Rome")),
        user(result("w", "25 C")),
    )
    made = calls(messages)
    assert len({item.id for item in made}) == 4
    answered = {item.id: item.parts[0] for item in results(messages)}
    assert [answered[item.id] for item in made] == [q.Text(text=text) for text in ("18 C", "text", "9 C", "25 C")]


def test_made_ids_depend_on_what_came_before_alone() -> None:
    contents = [user({"text": "x"}), model(call("f")), user(result("f", "a"))]
    first = history(*contents)
    more = history(*contents, model(call("g", "call_1"), call("f")), user(result("f", "c"), result("g", "b", "call_1")))
    assert more[: len(first)] == first
    made = calls(more)
    assert len({item.id for item in made}) == 3
    answered = {item.id: item.parts[0] for item in results(more)}
    assert [answered[item.id] for item in made] == [q.Text(text=text) for text in "abc"]


def test_given_ids_pair_whatever_the_order_and_aliases_are_undone() -> None:
    short = alias("weather:0")
    messages = history(
        user({"text": "x"}),
        model(call("w", short), call("w", "b")),
        user(result("w", "2", "b"), result("w", "1", short)),
    )
    assert [item.id for item in calls(messages)] == ["weather:0", "b"]
    assert [item.id for item in results(messages)] == ["b", "weather:0"]


def test_an_id_used_twice_is_two_calls() -> None:
    messages = history(
        user({"text": "x"}),
        model(call("f", "a")),
        user(result("f", "1", "a")),
        model(call("f", "a")),
        user(result("f", "2", "a")),
    )
    first, second = calls(messages)
    assert first.id != second.id
    assert [item.id for item in results(messages)] == [first.id, second.id]


def test_an_orphan_keeps_its_name() -> None:
    messages = history(user(result("f", "x", "lost"), result("g", "y")))
    assert [(item.id, item.name) for item in results(messages)] == [("lost", "f"), ("", "g")]


@pytest.mark.parametrize(
    ("response", "text", "error"),
    [
        ({"output": "x"}, "x", False),
        ({"result": "x"}, "x", False),
        ({"name": "f", "content": "x"}, "x", False),
        ({"output": {"a": 1}}, '{"a":1}', False),
        ({"error": "bad"}, "bad", True),
        ({"error": {"code": 1}}, '{"code":1}', True),
        ({"output": "x", "error": "y"}, '{"output":"x","error":"y"}', False),
        ({"city": "Paris"}, '{"city":"Paris"}', False),
        ("plain", "plain", False),
        (None, "", False),
    ],
)
def test_results(response: Any, text: str, error: bool) -> None:
    part = {"functionResponse": {"name": "f", "response": response}}
    found = results(history(user(part)))[0]
    assert found.parts == ((q.Text(text=text),) if text else ())
    assert found.error is error


def test_images_in_results() -> None:
    part = result("f", "x")
    part["functionResponse"]["parts"] = [{"inlineData": {"mimeType": "image/png", "data": "AA-_"}}, {"odd": 1}]
    assert results(history(user(part)))[0].parts == (
        q.Text(text="x"),
        q.Image(media_type="image/png", data="AA+/"),
        q.Text(text='{"odd":1}'),
    )


def test_pieces_of_an_answer_become_one_part_again() -> None:
    foreign = Opaque("messages", "signature", "abc")
    messages = history(
        user({"text": "a"}, {"text": "b"}),
        model({"text": "Pl", "thought": True}),
        model({"text": "an.", "thought": True}, {"text": "", "thought": True, "thoughtSignature": seal(foreign)}),
        model({"text": "Hel"}),
        model({"text": "lo."}, {"text": "", "thoughtSignature": "U0lH"}, {"text": "More."}, {"text": ""}),
    )
    assert messages[0].parts == (q.Text(text="a"), q.Text(text="b"))
    assert len(messages) == 2
    assert messages[1].parts == (
        q.Reasoning(text="Plan.", opaque=(foreign,)),
        q.Text(text="Hello.", signature=Opaque("gemini", "signature", "U0lH")),
        q.Text(text="More."),
    )


def test_a_sealed_proof_survives_the_python_sdk() -> None:
    foreign = Opaque("messages", "signature", "\xff\xfe?>" * 5)
    reencoded = seal(foreign).replace("+", "-").replace("/", "_")
    messages = history(user({"text": "x"}), model({"text": "T", "thought": True, "thoughtSignature": reencoded}))
    assert messages[1].parts == (q.Reasoning(text="T", opaque=(foreign,)),)


def test_the_bypass_is_no_signature() -> None:
    part = {**call("f"), "thoughtSignature": "skip_thought_signature_validator"}
    assert calls(history(user({"text": "x"}), model(part)))[0].signature is None


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"inlineData": {"mimeType": "image/png", "data": "AA-_A"}}, q.Image(media_type="image/png", data="AA+/A===")),
        ({"inlineData": {"mimeType": "audio/wav", "data": "AAAA"}}, q.Audio(media_type="audio/wav", data="AAAA")),
        (
            {"inlineData": {"mimeType": "application/pdf", "data": "AAAA", "displayName": "a.pdf"}},
            q.Document(media_type="application/pdf", data="AAAA", name="a.pdf"),
        ),
        (
            {"fileData": {"mimeType": "image/png", "fileUri": "https://x/i.png"}},
            q.Image(media_type="image/png", url="https://x/i.png"),
        ),
        (
            {"fileData": {"mimeType": "application/pdf", "fileUri": "gs://b/f"}},
            q.Document(media_type="application/pdf", file_id="gs://b/f", origin="gemini"),
        ),
    ],
)
def test_media_both_ways(part: Any, expected: q.Part) -> None:
    messages = history(user(part))
    assert messages[0].parts == (expected,)
    back = asked(parsed(contents=[user(part)])).body["contents"][0]["parts"][0]
    kind = next(iter(part))
    assert {key: back[kind][key] for key in ("mimeType", "fileUri") if key in part[kind]} == {
        key: part[kind][key] for key in ("mimeType", "fileUri") if key in part[kind]
    }


@pytest.mark.parametrize(
    "part",
    [
        {"inlineData": {"mimeType": "video/mp4", "data": "AAAA"}},
        {"fileData": {"fileUri": "https://www.youtube.com/watch?v=1"}},
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"futurePart": {"a": 1}},
    ],
)
def test_what_only_google_knows_stays_native(part: Any) -> None:
    assert history(user(part))[0].parts == (q.Native(origin="gemini", value=part),)
