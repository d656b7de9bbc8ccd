"""The turns of a request for a chat upstream."""

from __future__ import annotations

import json

import pytest

from dragoman.canonical.opaque import Opaque
from dragoman.canonical.request import (
    Audio,
    Document,
    Image,
    Message,
    Native,
    Reasoning,
    Refusal,
    Role,
    Text,
    ToolCall,
)
from dragoman.dialects.contract import Facts
from dragoman.exceptions import InvalidRequest

from .asking import HI, assistant, lost, made, messages_of, result, user


def test_the_least_request() -> None:
    request = made()
    assert request.path == "/chat/completions"
    assert request.body == {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    assert request.losses == ()


def test_a_stream_asks_for_usage_where_the_upstream_can() -> None:
    assert made(stream=True).body["stream_options"] == {"include_usage": True}
    assert "stream_options" not in made(stream=True, facts=Facts(stream_usage=False)).body


def test_what_only_its_own_upstream_can_resolve_is_refused() -> None:
    with pytest.raises(InvalidRequest) as caught:
        made(bound=("previous_response_id",))
    assert caught.value.error.param == "previous_response_id"


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
        user(result("a", Text(text="ok"), kind="custom"), result("b", Text(text="ok")), result("c", Text(text="ok"))),
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
