"""Requests for an upstream of this dialect: built from other dialects', adapted from this one's."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.canonical.opaque import Opaque
from dragoman.canonical.request import (
    Audio,
    Document,
    HostedTool,
    Image,
    Message,
    Native,
    OutputFormat,
    Part,
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
from dragoman.dialects.contract import Facts, UpstreamRequest
from dragoman.dialects.responses.request import render_request
from dragoman.exceptions import InvalidRequest

from .driving import JSON

FACTS = Facts()
HI = Message(Role.USER, (Text(text="Hi"),))


def asking(*messages: Message, **members: Any) -> Request:
    return Request(model="m", origin="chat", messages=messages or (HI,), **members)


def rendered(*messages: Message, facts: Facts = FACTS, **members: Any) -> UpstreamRequest:
    return render_request(asking(*messages, **members), facts)


def items(*messages: Message) -> list[JSON]:
    return list(rendered(*messages).body["input"])


def assistant(*parts: Part) -> Message:
    return Message(Role.ASSISTANT, parts)


def test_a_plain_request() -> None:
    made = rendered()
    assert (made.path, made.losses) == ("/responses", ())
    assert made.body == {
        "model": "m",
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}],
        "store": False,
    }


def test_system_text_leads_as_instructions_and_stays_in_its_place_later() -> None:
    first, rules = Message(Role.SYSTEM, (Text(text="A"),)), Message(Role.SYSTEM, (Text(text="B"),))
    late, developer = Message(Role.SYSTEM, (Text(text="C"),)), Message(Role.DEVELOPER, (Text(text="D"),))
    body = rendered(first, rules, developer, HI, late).body
    assert body["instructions"] == "A\n\nB"
    assert [item["role"] for item in body["input"]] == ["developer", "user", "developer"]


def test_the_turns_of_a_tool_loop() -> None:
    result = ToolResult(id="c1", parts=(Text(text="18 C"),))
    found = items(
        HI,
        assistant(Text(text="Checking."), ToolCall(id="c1", name="run", arguments='{"a": 1}')),
        Message(Role.USER, (result, Text(text="Thanks"))),
        assistant(Refusal(text="No.")),
    )
    assert found[1:] == [
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Checking.", "annotations": []}],
        },
        {"type": "function_call", "call_id": "c1", "name": "run", "arguments": '{"a": 1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "18 C"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Thanks"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
    ]


@pytest.mark.parametrize(
    ("arguments", "sent"), [("", "{}"), ("{a", '{"INVALID_JSON":"{a"}'), ("[]", '{"INVALID_JSON":"[]"}')]
)
def test_arguments_of_the_history_are_objects(arguments: str, sent: str) -> None:
    assert items(assistant(ToolCall(id="c", name="run", arguments=arguments)))[0]["arguments"] == sent


def test_freeform_calls_keep_their_text() -> None:
    call = ToolCall(id="c", name="patch", arguments="*** {", kind="custom", namespace="n")
    result = ToolResult(id="c", parts=(Text(text="ok"),), kind="custom")
    assert items(assistant(call), Message(Role.USER, (result,))) == [
        {"type": "custom_tool_call", "call_id": "c", "name": "patch", "namespace": "n", "input": "*** {"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "ok"},
    ]


@pytest.mark.parametrize(
    ("parts", "error", "output"),
    [
        ((), False, ""),
        ((Text(text="a"),), True, "Error: a"),
        ((Text(text="Error 7"),), True, "Error 7"),
        ((), True, "Error"),
        (
            (Text(text="a"), Text(text="b")),
            False,
            [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}],
        ),
        (
            (Image(media_type="image/png", data="aGk="),),
            False,
            [{"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,aGk="}],
        ),
    ],
)
def test_results(parts: Any, error: bool, output: Any) -> None:
    result = ToolResult(id="c", parts=parts, error=error)
    assert items(Message(Role.USER, (result,)))[0]["output"] == output


@pytest.mark.parametrize(
    ("part", "sent"),
    [
        (Image(url="https://a", detail="low"), {"type": "input_image", "detail": "low", "image_url": "https://a"}),
        (Image(file_id="f", origin="chat"), {"type": "input_image", "detail": "auto", "file_id": "f"}),
        (
            Document(media_type="application/pdf", name="a.pdf", data="aGk="),
            {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="},
        ),
        (
            Document(media_type="text/csv", data="aGk="),
            {"type": "input_file", "filename": "document", "file_data": "data:text/csv;base64,aGk="},
        ),
        (Document(url="https://a"), {"type": "input_file", "file_url": "https://a"}),
        (Document(file_id="f", origin="responses"), {"type": "input_file", "file_id": "f"}),
        (Document(name="a.txt", text="hello"), {"type": "input_text", "text": "a.txt:\nhello"}),
        (
            Audio(media_type="audio/wav", data="aGk="),
            {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}},
        ),
        (Native(origin="responses", value={"type": "input_future"}), {"type": "input_future"}),
    ],
)
def test_contents(part: Part, sent: JSON) -> None:
    assert items(Message(Role.USER, (part,)))[0]["content"] == [sent]


def test_contents_without_a_form_are_losses() -> None:
    foreign = Native(origin="gemini", value={"x": 1})
    made = rendered(Message(Role.USER, (foreign, Audio(media_type="audio/ogg", data="x"))), assistant(foreign))
    assert made.body["input"] == []
    assert [loss.path for loss in made.losses] == [
        "messages[0].parts[0]",
        "messages[0].parts[1]",
        "messages[1].parts[0]",
    ]


def test_a_file_of_another_provider_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="another provider"):
        rendered(Message(Role.USER, (Image(file_id="f", origin="messages"),)))


def test_native_items_go_back_as_they_are() -> None:
    call, output = {"type": "mcp_call", "id": "mcp_1"}, {"type": "computer_call_output", "call_id": "c"}
    native = [Native(origin="responses", value=value) for value in (call, output)]
    assert items(assistant(native[0]), Message(Role.USER, (native[1],))) == [call, output]


# ---- reasoning


def test_only_own_proofs_go_back() -> None:
    own = Opaque("responses", "encrypted", "RU5D", "rs_1")
    made = rendered(
        assistant(
            Reasoning(text="Plan.", summary=True, opaque=(own, Opaque("responses", "encrypted", "RU5E"))),
            Reasoning(text="Secret.", opaque=(Opaque("messages", "signature", "c2ln"),)),
            Reasoning(text="Unsigned."),
        )
    )
    assert made.body["input"] == [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "Plan."}],
            "encrypted_content": "RU5D",
        },
        {"type": "reasoning", "summary": [], "encrypted_content": "RU5E"},
    ]
    assert made.body["include"] == ["reasoning.encrypted_content"]
    assert len(made.losses) == 2


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        (ReasoningRequest(effort="low"), {"effort": "low"}),
        (ReasoningRequest(effort="low", summary="detailed", visible=True), {"effort": "low", "summary": "detailed"}),
        (ReasoningRequest(effort="low", visible=True), {"effort": "low", "summary": "auto"}),
        (ReasoningRequest(budget=8000), {"effort": "medium", "summary": "auto"}),
        (ReasoningRequest(budget=1024, visible=False), {"effort": "low"}),
        (ReasoningRequest(budget=32000, visible=True), {"effort": "high", "summary": "auto"}),
        (ReasoningRequest(budget=0), {"effort": "none"}),
        (ReasoningRequest(adaptive=True), {"summary": "auto"}),
    ],
)
def test_reasoning_parameters(asked: ReasoningRequest, sent: JSON) -> None:
    body = rendered(reasoning=asked).body
    assert (body["reasoning"], body["include"]) == (sent, ["reasoning.encrypted_content"])


def test_the_ciphertext_is_asked_for_only_where_a_model_may_reason() -> None:
    assert "include" not in rendered().body
    assert rendered(facts=Facts(reasoning_model=True)).body["include"] == ["reasoning.encrypted_content"]


# ---- tools and parameters


def test_tools_and_choices() -> None:
    schema = {"type": "object", "properties": {"a": {}}}
    tools = (
        Tool(name="run", description="Runs.", schema=schema),
        Tool(name="strict", strict=True),
        Tool(name="patch", kind="custom", format={"type": "text"}),
        Tool(name="run", namespace="n"),
        Tool(name="stop", namespace="n"),
    )
    hosted = (
        HostedTool(origin="responses", type="web_search", value={"type": "web_search"}),
        HostedTool(origin="messages", type="web_search_20250305", value={}),
    )
    made = rendered(
        tools=tools, hosted_tools=hosted, tool_choice=ToolChoice("auto", ("run", "patch")), parallel_tool_calls=False
    )
    empty = {"type": "object", "properties": {}}
    assert made.body["tools"] == [
        {"type": "function", "name": "run", "description": "Runs.", "parameters": schema, "strict": False},
        {"type": "function", "name": "strict", "parameters": empty, "strict": True},
        {"type": "custom", "name": "patch", "format": {"type": "text"}},
        {
            "type": "namespace",
            "name": "n",
            "description": "",
            "tools": [
                {"type": "function", "name": name, "parameters": empty, "strict": False} for name in ("run", "stop")
            ],
        },
        {"type": "web_search"},
    ]
    assert made.body["tool_choice"] == {
        "type": "allowed_tools",
        "mode": "auto",
        "tools": [{"type": "function", "name": "run"}, {"type": "custom", "name": "patch"}],
    }
    assert made.body["parallel_tool_calls"] is False
    assert [loss.path for loss in made.losses] == ["tools"]


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        (ToolChoice("none"), "none"),
        (ToolChoice("required"), "required"),
        (ToolChoice("required", ("run",)), {"type": "function", "name": "run"}),
    ],
)
def test_choices(choice: ToolChoice, sent: Any) -> None:
    assert rendered(tools=(Tool(name="run"),), tool_choice=choice).body["tool_choice"] == sent


def test_parameters_and_losses() -> None:
    made = rendered(
        stream=True,
        max_output_tokens=300,
        temperature=0.5,
        top_p=0.9,
        top_logprobs=2,
        top_k=5,
        seed=1,
        stop=("END",),
        presence_penalty=0.1,
        frequency_penalty=0.2,
        user="u",
        cache_key="k",
        metadata={"a": "b"},
        service_tier="flex",
        verbosity="low",
        output=OutputFormat(type="schema", name="x", schema={"type": "object"}, strict=True),
        unknown=("logit_bias",),
    )
    body = {name: value for name, value in made.body.items() if name not in ("model", "input")}
    assert body == {
        "store": False,
        "stream": True,
        "max_output_tokens": 300,
        "temperature": 0.5,
        "top_p": 0.9,
        "top_logprobs": 2,
        "text": {
            "format": {"type": "json_schema", "name": "x", "schema": {"type": "object"}, "strict": True},
            "verbosity": "low",
        },
        "include": ["message.output_text.logprobs"],
        "metadata": {"a": "b"},
        "safety_identifier": "u",
        "prompt_cache_key": "k",
        "service_tier": "flex",
    }
    lost = {loss.path for loss in made.losses}
    assert lost == {"top_k", "seed", "stop", "presence_penalty", "frequency_penalty", "logit_bias"}


def test_what_this_upstream_would_refuse_is_left_out_or_moved_to_its_bounds() -> None:
    made = rendered(
        max_output_tokens=1,
        temperature=1.0,
        user="u" * 65,
        service_tier="standard_only",
        facts=Facts(reasoning_model=True),
    )
    assert made.body["max_output_tokens"] == 16
    assert not {"temperature", "safety_identifier", "service_tier"} & set(made.body)
    assert {loss.path for loss in made.losses} == {
        "max_output_tokens",
        "temperature",
        "safety_identifier",
        "service_tier",
    }
    assert rendered(max_output_tokens=900, facts=Facts(max_output_tokens=100)).body["max_output_tokens"] == 100


def test_what_would_change_the_meaning_is_refused() -> None:
    with pytest.raises(InvalidRequest) as raised:
        rendered(choices=2)
    assert raised.value.error.param == "n"
    with pytest.raises(InvalidRequest) as raised:
        rendered(bound=("previous_response_id",))
    assert raised.value.error.param == "previous_response_id"
