"""Requests for a chat upstream: from other dialects, and a client's own body with the least change."""

from __future__ import annotations

import json
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
from dragoman.crossing import cross
from dragoman.dialects.chat import DIALECT
from dragoman.dialects.chat.request import render_request
from dragoman.dialects.contract import Facts, UpstreamRequest
from dragoman.exceptions import InvalidRequest

from .driving import JSON


def user(*parts: Part) -> Message:
    return Message(Role.USER, parts)


def assistant(*parts: Part) -> Message:
    return Message(Role.ASSISTANT, parts)


HI = user(Text(text="Hi"))


def made(*messages: Message, facts: Facts | None = None, origin: str = "messages", **members: Any) -> UpstreamRequest:
    request = Request(model="m", messages=messages or (HI,), origin=origin, **members)
    crossing, _ = cross(request, DIALECT, facts or Facts())
    return render_request(crossing, facts or Facts())


def messages_of(*messages: Message, facts: Facts | None = None) -> list[JSON]:
    found: list[JSON] = made(*messages, facts=facts).body["messages"]
    return found


def lost(request: UpstreamRequest) -> set[str]:
    return {loss.path for loss in request.losses}


def test_the_least_request() -> None:
    request = made()
    assert request.path == "/chat/completions"
    assert request.body == {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    assert request.losses == ()


def test_a_stream_asks_for_usage_where_the_upstream_can() -> None:
    assert made(stream=True).body["stream_options"] == {"include_usage": True}
    assert "stream_options" not in made(stream=True, facts=Facts(stream_usage=False)).body


def test_sampling_and_limits() -> None:
    members: dict[str, Any] = {"temperature": 0.5, "top_p": 0.9, "seed": 1, "stop": ("a",), "max_output_tokens": 100}
    body = made(**members, choices=2, user="u", top_k=5).body
    assert {name: body[name] for name in ("temperature", "top_p", "seed", "stop", "max_tokens", "n", "user")} == {
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 1,
        "stop": ["a"],
        "max_tokens": 100,
        "n": 2,
        "user": "u",
    }
    assert "top_k" not in body


def test_reasoning_models_refuse_sampling() -> None:
    request = made(facts=Facts(reasoning_model=True), temperature=0.5, max_output_tokens=100)
    assert request.body["max_completion_tokens"] == 100
    assert not {"temperature", "max_tokens"} & set(request.body)
    assert lost(request) == {"temperature"}


def test_the_upstreams_limit_is_the_cap() -> None:
    assert made(max_output_tokens=100, facts=Facts(max_output_tokens=50)).body["max_tokens"] == 50
    assert made(facts=Facts(max_output_tokens=50)).body["max_tokens"] == 50


def test_reasoning() -> None:
    assert made(reasoning=ReasoningRequest(effort="high")).body["reasoning_effort"] == "high"
    budget = ReasoningRequest(budget=4_000)
    assert made(reasoning=budget, facts=Facts(reasoning_model=True)).body["reasoning_effort"] == "medium"
    assert lost(made(reasoning=budget)) == {"reasoning.budget"}


def test_output() -> None:
    schema = {"type": "object"}
    output = OutputFormat(type="schema", schema=schema, strict=True, description="d")
    assert made(output=output).body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": schema, "strict": True, "description": "d"},
    }
    assert made(output=OutputFormat(type="json")).body["response_format"] == {"type": "json_object"}


def test_what_has_no_form_is_a_loss() -> None:
    request = made(
        top_k=5,
        service_tier="standard_only",
        metadata={"a": "b"},
        unknown=("future",),
        hosted_tools=(HostedTool(origin="responses", type="web_search", value={}),),
    )
    assert lost(request) == {"top_k", "service_tier", "metadata", "future", "tools.web_search"}
    assert set(request.body) == {"model", "messages"}


def test_what_only_its_own_upstream_can_resolve_is_refused() -> None:
    with pytest.raises(InvalidRequest) as caught:
        made(bound=("previous_response_id",))
    assert caught.value.error.param == "previous_response_id"


# ------------------------------------------------------------------ tools


def test_tools_and_choice() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    grammar = {"type": "grammar", "syntax": "lark", "definition": "start: x"}
    tools = (
        Tool(name="get_weather", description="d", schema=schema, strict=False),
        Tool(name="list_tasks"),
        Tool(name="patch", description="Edit", kind="custom", format=grammar),
    )
    body = made(tools=tools, tool_choice=ToolChoice("required", ("patch",)), parallel_tool_calls=False).body
    functions = [tool["function"] for tool in body["tools"]]
    assert functions[0] == {"name": "get_weather", "parameters": schema, "description": "d", "strict": False}
    assert functions[1] == {"name": "list_tasks", "parameters": {"type": "object", "properties": {}}}
    assert functions[2]["parameters"]["required"] == ["input"]
    assert "start: x" in functions[2]["description"]
    assert body["tool_choice"] == {"type": "function", "function": {"name": "patch"}}
    assert body["parallel_tool_calls"] is False


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (ToolChoice("none"), "none"),
        (ToolChoice("required"), "required"),
        (
            ToolChoice("auto", ("a",)),
            {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "a"}}]},
            },
        ),
    ],
)
def test_tool_choice(choice: ToolChoice, expected: Any) -> None:
    assert made(tools=(Tool(name="a"),), tool_choice=choice).body["tool_choice"] == expected


def test_a_choice_without_tools_is_left_out() -> None:
    assert "tool_choice" not in made(tool_choice=ToolChoice("auto"), parallel_tool_calls=True).body


# ------------------------------------------------------------------ turns


def test_system_turns() -> None:
    first = Message(Role.SYSTEM, (Text(text="A"), Text(text="B")))
    later = Message(Role.DEVELOPER, (Text(text="C"),))
    assert messages_of(first, HI, later, HI) == [
        {"role": "system", "content": "A\n\nB"},
        {"role": "user", "content": "Hi"},
        {"role": "system", "content": "C"},
        {"role": "user", "content": "Hi"},
    ]
    assert messages_of(first, HI, later, HI, facts=Facts(reasoning_model=True))[2]["role"] == "developer"


def test_parts_of_a_user() -> None:
    (message,) = messages_of(
        user(
            Text(text="Look"),
            Text(text=""),
            Image(url="https://e.org/a.png", detail="low"),
            Image(media_type="image/png", data="AAAA"),
            Audio(media_type="audio/mpeg", data="BBBB"),
            Document(media_type="application/pdf", name="a.pdf", data="CCCC"),
            Document(name="n.txt", text="notes"),
        )
    )
    assert message["content"] == [
        {"type": "text", "text": "Look"},
        {"type": "image_url", "image_url": {"url": "https://e.org/a.png", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "input_audio", "input_audio": {"data": "BBBB", "format": "mp3"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,CCCC"}},
        {"type": "text", "text": "n.txt:\nnotes"},
    ]


def test_foreign_parts_are_losses_and_foreign_files_a_refusal() -> None:
    request = made(user(Text(text="x"), Native(origin="messages", value={}), Document(url="https://e.org/a.pdf")))
    assert lost(request) == {"messages[0].parts[1]", "messages[0].parts[2]"}
    for part in (Image(file_id="f", origin="messages"), Document(file_id="f", origin="messages")):
        with pytest.raises(InvalidRequest):
            made(user(part))


CALLS = assistant(
    Text(text="Look."),
    ToolCall(id="a", name="run", arguments='{"x": 1}'),
    ToolCall(id="b", name="run", arguments='{"x'),
)


def result(id: str, *parts: Any, **members: Any) -> ToolResult:
    return ToolResult(id=id, parts=parts, **members)


def test_results_come_right_after_their_calls_in_their_order() -> None:
    messages = messages_of(
        HI,
        CALLS,
        user(Text(text="Also this.")),
        user(result("b", Text(text="two")), result("a", Text(text="one"), Text(text="more"))),
    )
    assert messages[1] == {
        "role": "assistant",
        "content": "Look.",
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "run", "arguments": '{"x": 1}'}},
            {"id": "b", "type": "function", "function": {"name": "run", "arguments": '{"INVALID_JSON":"{\\"x"}'}},
        ],
    }
    assert messages[2:] == [
        {"role": "tool", "tool_call_id": "a", "content": "one\nmore"},
        {"role": "tool", "tool_call_id": "b", "content": "two"},
        {"role": "user", "content": "Also this."},
    ]


def test_what_is_no_text_in_a_result_goes_into_the_next_user_message() -> None:
    image = Image(media_type="image/png", data="AAAA")
    messages = messages_of(
        HI, CALLS, user(result("a", image), result("b", Text(text="no"), error=True), Text(text="And?")), assistant()
    )
    tool, failed, said = messages[2:]
    assert tool["content"]
    assert failed["content"] == "Error: no"
    kinds = [part["type"] for part in said["content"]]
    assert kinds[-2:] == ["image_url", "text"]
    assert said["content"][-1]["text"] == "And?"


def test_a_call_without_a_result_and_a_result_without_its_call() -> None:
    messages = messages_of(HI, CALLS, user(result("a", Text(text="one")), result("z", Text(text="stray"))), CALLS)
    assert [message.get("tool_call_id") for message in messages[2:4]] == ["a", "b"]
    assert messages[3]["content"].startswith("Error:")
    assert messages[4]["role"] == "user"
    assert messages[4]["content"][1] == {"type": "text", "text": "stray"}


def test_calls_without_ids_are_paired_by_name_and_place() -> None:
    history = (
        HI,
        assistant(*(ToolCall(id="", name=name, arguments="{}") for name in ("run", "look", "run"))),
        user(*(result("", Text(text=text), name=name) for name, text in (("run", "1"), ("run", "3"), ("look", "2")))),
    )
    messages = messages_of(*history)
    ids = [call["id"] for call in messages[1]["tool_calls"]]
    assert len(set(ids)) == 3
    assert [(message["tool_call_id"], message["content"]) for message in messages[2:]] == list(
        zip(ids, "123", strict=True)
    )
    assert messages == messages_of(*history)


def test_neighbouring_turns_of_the_assistant_are_one() -> None:
    messages = messages_of(
        HI,
        assistant(Text(text="A")),
        assistant(Text(text="B"), ToolCall(id="a", name="run", arguments="{}")),
        assistant(ToolCall(id="b", name="run", arguments="{}")),
        user(result("a", Text(text="1")), result("b", Text(text="2"))),
    )
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool"]
    assert [call["id"] for call in messages[1]["tool_calls"]] == ["a", "b"]


def test_freeform_calls_are_wrapped_and_signatures_given_back() -> None:
    messages = messages_of(
        HI,
        assistant(
            ToolCall(id="a", name="patch", arguments='*** "q"', kind="custom"),
            ToolCall(id="b", name="run", arguments="{}", signature=Opaque("gemini", "signature", "c2ln", via="chat")),
            ToolCall(id="c", name="run", arguments="{}", signature=Opaque("gemini", "signature", "elsewhere")),
        ),
        user(
            result("a", Text(text="ok"), kind="custom"), result("b", Text(text="ok")), result("c", Text(text="ok"))
        ),
    )
    wrapped, signed, unsigned = messages[1]["tool_calls"]
    assert json.loads(wrapped["function"]["arguments"]) == {"input": '*** "q"'}
    assert signed["extra_content"] == {"google": {"thought_signature": "c2ln"}}
    assert "extra_content" not in unsigned


def test_proofs_go_to_their_origin_alone() -> None:
    messages = messages_of(
        HI,
        assistant(
            Reasoning(text="A", opaque=(Opaque("messages", "signature", "1"),)),
            Reasoning(text="B", opaque=(Opaque("chat", "encrypted", "2"),)),
            Reasoning(text="C"),
            Text(text="Hello"),
            Refusal(text="No."),
        ),
        HI,
    )
    assert messages[1] == {
        "role": "assistant",
        "content": "Hello",
        "refusal": "No.",
        "reasoning_details": [
            {"type": "reasoning.text", "text": "B", "format": "unknown", "index": 0},
            {"type": "reasoning.encrypted", "data": "2", "format": "unknown", "index": 1},
        ],
    }


def test_a_turn_of_which_nothing_is_left_goes() -> None:
    assert messages_of(HI, assistant(Text(text="")), HI) == [{"role": "user", "content": "Hi"}] * 2


def test_reasoning_goes_back_as_text_to_an_upstream_that_wants_it() -> None:
    history = (HI, assistant(Reasoning(text="Hm."), Text(text="Hello")), HI)
    assert "reasoning_content" not in messages_of(*history)[1]
    assert messages_of(*history, facts=Facts(wants_reasoning=True))[1]["reasoning_content"] == "Hm."


# ------------------------------------------------------------------ facts about the upstream


def test_temperature_and_top_p_exclude_each_other_where_the_upstream_says_so() -> None:
    facts = Facts(exclusive_sampling=True)
    request = made(temperature=0.5, top_p=0.9, facts=facts)
    assert "top_p" not in request.body
    assert lost(request) == {"top_p"}
    assert made(top_p=0.9, facts=facts).body["top_p"] == 0.9


def test_a_schema_is_an_instruction_where_it_cannot_be_demanded() -> None:
    facts = Facts(structured_output=False)
    request = made(output=OutputFormat(type="schema", schema={"type": "object"}), facts=facts)
    assert "response_format" not in request.body
    assert [message["role"] for message in request.body["messages"]] == ["system", "user"]
    assert '{"type":"object"}' in request.body["messages"][0]["content"]
    assert lost(request) == {"response_format"}


def test_hosted_tools_are_refused_where_the_operator_wants_that() -> None:
    hosted = HostedTool(origin="messages", type="web_search", value={})
    with pytest.raises(InvalidRequest) as caught:
        made(hosted_tools=(hosted,), facts=Facts(on_server_tool="refuse"))
    assert caught.value.error.param == "tools"
