"""A client's body, read."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.canonical.aliases import alias
from dragoman.canonical.opaque import Opaque
from dragoman.canonical.request import (
    Audio,
    Document,
    HostedTool,
    Image,
    Message,
    Native,
    OutputFormat,
    Reasoning,
    ReasoningRequest,
    Refusal,
    Request,
    Role,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
)
from dragoman.dialects.chat.request import parse_request

from .driving import JSON

USER = {"role": "user", "content": "Hi"}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}


def parsed(**members: Any) -> Request:
    return parse_request({"model": "m", "messages": [USER], **members})


def read(*messages: JSON) -> tuple[Message, ...]:
    return parse_request({"model": "m", "messages": list(messages)}).messages


def test_the_least_body() -> None:
    assert parsed() == Request(model="m", messages=(Message(Role.USER, (Text(text="Hi"),)),), origin="chat")


def test_model_and_stream_of_the_path_win() -> None:
    request = parse_request({"model": "m", "messages": [USER]}, "other", True)
    assert (request.model, request.stream) == ("other", True)


def test_scalars() -> None:
    request = parsed(
        stream=True,
        stream_options={"include_usage": True},
        temperature=0.5,
        top_p=1,
        seed=7.0,
        presence_penalty=0,
        frequency_penalty=0.1,
        logprobs=True,
        top_logprobs=2,
        n=2,
        stop=["a", "", "b"],
        max_tokens=5,
        max_completion_tokens=9,
        parallel_tool_calls=False,
        verbosity="low",
        service_tier="flex",
        user="u",
        metadata={"a": "b"},
        prompt_cache_key="k",
    )
    assert (request.stream, request.stream_usage) == (True, True)
    assert (request.temperature, request.top_p, request.seed) == (0.5, 1, 7)
    assert (request.presence_penalty, request.frequency_penalty) == (0, 0.1)
    assert (request.logprobs, request.top_logprobs, request.choices) == (True, 2, 2)
    assert (request.stop, request.max_output_tokens) == (("a", "b"), 9)
    assert (request.parallel_tool_calls, request.verbosity, request.service_tier) == (False, "low", "flex")
    assert (request.user, request.metadata, request.cache_key) == ("u", {"a": "b"}, "k")
    assert request.unknown == ()


def test_stop_may_be_one_word() -> None:
    assert parsed(stop="END").stop == ("END",)


def test_unknown_members_are_named() -> None:
    request = parsed(
        logit_bias={"1": 2},
        store=False,
        modalities=["text"],
        future=1,
        messages=[{**USER, "name": "ann", "mood": "good"}],
        metadata={"n": 1},
    )
    assert set(request.unknown) == {"logit_bias", "future", "messages[0].name", "messages[0].mood", "metadata.n"}


def test_unknown_members_of_tools_and_of_what_the_model_said_are_named() -> None:
    tool = {"type": "function", "mood": "good", "function": {"name": "run", "zebra": 1, "strict": None}}
    said = {"role": "assistant", "content": "x", "annotations": [{"type": "url_citation"}], "audio": {"id": "a"}}
    request = parsed(tools=[tool], messages=[USER, said, {**said, "annotations": [], "audio": None}, USER])
    places = ["messages[1].annotations", "messages[1].audio", "tools[0].mood", "tools[0].zebra"]
    assert sorted(request.unknown) == places


# ------------------------------------------------------------------ messages


def test_voices() -> None:
    messages = read(
        {"role": "system", "content": "S"}, {"role": "developer", "content": [{"type": "text", "text": "D"}]}, USER
    )
    assert [message.role for message in messages] == [Role.SYSTEM, Role.DEVELOPER, Role.USER]
    assert messages[1].parts == (Text(text="D"),)


def test_content_parts() -> None:
    marker = {"type": "ephemeral"}
    (message,) = read(
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look", "cache_control": marker},
                {"type": "text", "text": "x", "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "12h"}},
                {"type": "image_url", "image_url": {"url": "https://e.org/a.png", "detail": "low"}},
                {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,AAAA"}},
                {"type": "input_audio", "input_audio": {"data": "BBBB", "format": "mp3"}},
                {"type": "file", "file": {"file_data": "data:application/pdf;base64,CCCC", "filename": "a.pdf"}},
                {"type": "file", "file": {"file_id": "file-1"}},
                {"type": "video_url", "video_url": {"url": "https://e.org/v"}},
            ],
        }
    )
    assert message.parts == (
        Text(text="Look", cache=marker),
        Text(text="x", cache={"type": "ephemeral", "ttl": "1h"}),
        Image(url="https://e.org/a.png", detail="low"),
        Image(media_type="image/jpeg", data="AAAA"),
        Audio(media_type="audio/mpeg", data="BBBB"),
        Document(media_type="application/pdf", name="a.pdf", data="CCCC"),
        Document(file_id="file-1", origin="chat"),
        Native(origin="chat", value={"type": "video_url", "video_url": {"url": "https://e.org/v"}}),
    )


def test_calls_and_results() -> None:
    assistant, results, user = read(
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "run", "arguments": '{"x": 1}'}},
                {"id": alias("run:1"), "type": "function", "function": {"name": "run", "arguments": ""}},
                {"id": "c", "type": "custom", "custom": {"name": "patch", "input": "***"}},
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "one"},
        {"role": "tool", "tool_call_id": alias("run:1"), "content": [{"type": "text", "text": "two"}]},
        USER,
    )
    assert assistant.parts == (
        ToolCall(id="a", name="run", arguments='{"x": 1}'),
        ToolCall(id="run:1", name="run", arguments="{}"),
        ToolCall(id="c", name="patch", arguments="***", kind="custom"),
    )
    assert results == Message(
        Role.USER,
        (ToolResult(id="a", parts=(Text(text="one"),)), ToolResult(id="run:1", parts=(Text(text="two"),))),
    )
    assert user.parts == (Text(text="Hi"),)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", "{}"),
        (None, "{}"),
        ("null", "{}"),
        ({"a": 1}, '{"a":1}'),
        ('{"a":', '{"INVALID_JSON":"{\\"a\\":"}'),
        ("[1]", '{"INVALID_JSON":"[1]"}'),
        (' {"a": 1}\n', ' {"a": 1}\n'),
    ],
)
def test_arguments_of_the_history(arguments: Any, expected: str) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "run", "arguments": arguments}}
    (message,) = read({"role": "assistant", "content": "", "tool_calls": [call]})
    assert message.parts == (ToolCall(id="a", name="run", arguments=expected),)


def test_the_old_form_of_calls() -> None:
    request = parse_request(
        {
            "model": "m",
            "messages": [
                USER,
                {"role": "assistant", "content": None, "function_call": {"name": "run", "arguments": "{}"}},
                {"role": "function", "name": "run", "content": "done"},
            ],
            "functions": [{"name": "run", "parameters": SCHEMA}],
            "function_call": {"name": "run"},
        }
    )
    (call,) = request.messages[1].parts
    assert isinstance(call, ToolCall)
    assert call.id
    assert request.messages[2].parts == (ToolResult(id=call.id, name="run", parts=(Text(text="done"),)),)
    assert request.tools == (Tool(name="run", schema=SCHEMA, legacy=True),)
    assert request.tool_choice == ToolChoice("required", ("run",))
    assert request.parallel_tool_calls is False


def test_reasoning_comes_back_with_its_proofs() -> None:
    kind = {"type": "reasoning.text", "format": "anthropic-claude-v1"}
    (message,) = read(
        {
            "role": "assistant",
            "reasoning_content": "A.B.C.",
            "reasoning_details": [
                {**kind, "text": "A", "index": 0},
                {**kind, "text": ".", "signature": "1", "index": 0},
                {"type": "reasoning.summary", "summary": "C.", "format": "openai-responses-v1", "index": 1},
                {"type": "reasoning.encrypted", "data": "2", "id": "rs", "format": "openai-responses-v1", "index": 2},
            ],
            "content": "Hi",
            "refusal": "No.",
            "extra_content": {"google": {"thought_signature": "3"}},
        }
    )
    assert message.parts == (
        Reasoning(text="A.", opaque=(Opaque("messages", "signature", "1"),)),
        Reasoning(text="B."),
        Reasoning(text="C.", summary=True, opaque=(Opaque("responses", "encrypted", "2", "rs"),)),
        Text(text="Hi", signature=Opaque("gemini", "signature", "3")),
        Refusal(text="No."),
    )


def test_reasoning_without_proofs() -> None:
    (message,) = read({"role": "assistant", "reasoning": "Hm.", "content": "Hi"})
    assert message.parts == (Reasoning(text="Hm."), Text(text="Hi"))


def test_a_signature_of_a_call_comes_back() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "run", "arguments": "{}"}}
    call["extra_content"] = {"google": {"thought_signature": "c2ln"}}
    (message,) = read({"role": "assistant", "tool_calls": [call]})
    (part,) = message.parts
    assert isinstance(part, ToolCall)
    assert part.signature == Opaque("gemini", "signature", "c2ln")


# ------------------------------------------------------------------ tools, output, reasoning


def test_tools() -> None:
    function = {"name": "get_weather", "description": "d", "parameters": SCHEMA, "strict": True}
    grammar = {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: x"}}
    request = parsed(
        tools=[
            {"type": "function", "function": function, "cache_control": {"type": "ephemeral"}},
            {"type": "custom", "custom": {"name": "patch", "format": grammar}},
            {"type": "web_search", "size": 1},
        ],
        web_search_options={"search_context_size": "low"},
    )
    assert request.tools == (
        Tool(name="get_weather", description="d", schema=SCHEMA, strict=True, cache={"type": "ephemeral"}),
        Tool(
            name="patch",
            kind="custom",
            format={"type": "grammar", "syntax": "lark", "definition": "start: x"},
        ),
    )
    assert request.hosted_tools == (
        HostedTool(origin="chat", type="web_search", value={"type": "web_search", "size": 1}),
        HostedTool(origin="chat", type="web_search", value={"search_context_size": "low"}),
    )


ALLOWED = {"mode": "auto", "tools": [{"type": "function", "function": {"name": "run"}}]}


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("none", ToolChoice("none")),
        ("auto", ToolChoice("auto")),
        ("required", ToolChoice("required")),
        ({"type": "function", "function": {"name": "run"}}, ToolChoice("required", ("run",))),
        ({"type": "custom", "custom": {"name": "patch"}}, ToolChoice("required", ("patch",))),
        ({"type": "allowed_tools", "allowed_tools": ALLOWED}, ToolChoice("auto", ("run",))),
    ],
)
def test_tool_choice(choice: Any, expected: ToolChoice) -> None:
    assert parsed(tool_choice=choice).tool_choice == expected


def test_a_new_form_of_tool_choice_is_named_not_refused() -> None:
    request = parsed(tool_choice={"type": "web_search"})
    assert request.tool_choice is None
    assert request.unknown == ("tool_choice",)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"type": "text"}, None),
        ({"type": "json_object"}, OutputFormat(type="json")),
        (
            {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA, "strict": True, "description": "d"}},
            OutputFormat(type="schema", name="n", schema=SCHEMA, strict=True, description="d"),
        ),
    ],
)
def test_output(value: Any, expected: OutputFormat | None) -> None:
    assert parsed(response_format=value).output == expected


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"reasoning_effort": "xhigh"}, ReasoningRequest(effort="xhigh")),
        (
            {"reasoning": {"effort": "low", "max_tokens": 9, "exclude": True}},
            ReasoningRequest(effort="low", budget=9, visible=False),
        ),
        ({"reasoning": {"enabled": True}}, ReasoningRequest(adaptive=True)),
        ({"reasoning": {"enabled": False}}, ReasoningRequest(effort="none")),
        ({"reasoning": {}}, None),
    ],
)
def test_reasoning(members: JSON, expected: ReasoningRequest | None) -> None:
    assert parsed(**members).reasoning == expected


def test_a_new_effort_is_named_not_refused() -> None:
    request = parsed(reasoning_effort="colossal")
    assert request.reasoning is None
    assert request.unknown == ("reasoning_effort",)


MARK = {"type": "ephemeral"}
CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    "message",
    [
        {"role": "system", "content": "x"},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "x"}]},
        {"role": "assistant", "content": "x"},
        {"role": "assistant", "tool_calls": [CALL]},
    ],
)
def test_a_cache_marker_of_a_message_is_one_of_its_last_part(message: JSON) -> None:
    request = parsed(messages=[{**message, "cache_control": MARK}, {"role": "user", "content": "y"}])
    assert getattr(request.messages[0].parts[-1], "cache", None) == MARK
    assert request.unknown == ()


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ({"role": "system", "content": "x", "name": "n"}, "messages[0].name"),
        ({"role": "user", "content": "x", "tool_call_id": "n"}, "messages[0].tool_call_id"),
        ({"role": "assistant", "content": "x", "name": "n"}, "messages[0].name"),
        ({"role": "assistant", "content": "x", "audio": {"id": "n"}}, "messages[0].audio"),
        ({"role": "assistant", "content": None, "cache_control": MARK}, "messages[0].cache"),
        (
            {"role": "assistant", "tool_calls": [CALL], "extra_content": {"google": {"thought_signature": "c2ln"}}},
            "messages[0].extra_content",
        ),
        (
            {"role": "tool", "tool_call_id": "a", "content": [{"type": "refusal", "refusal": "no"}]},
            "messages[0].parts[0].parts[0]",
        ),
    ],
)
def test_what_a_message_of_its_role_does_not_hold_is_named(message: JSON, place: str) -> None:
    request = parsed(messages=[message, {"role": "user", "content": "y"}])
    assert request.unknown == (place,)
