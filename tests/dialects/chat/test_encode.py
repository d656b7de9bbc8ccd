"""Events in, chunks out: what strict clients of this dialect demand."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import ANY

import pytest
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk

from dragoman.canonical import events as e
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.canonical.events import FinishReason
from dragoman.canonical.opaque import Opaque
from dragoman.canonical.request import Message, Request, Role, Text, Tool
from dragoman.dialects.chat import DIALECT
from dragoman.dialects.chat.check import check
from dragoman.dialects.chat.encode import ChatEncoder
from dragoman.exceptions import LocalProtocolError

from .driving import chunks_in, context, deltas_in, encoded

START = e.ResponseStart(id="chatcmpl-1", model="m-1", created=17, origin="chat")
STOP = e.ResponseEnd(finish=FinishReason.STOP)
CALLED = e.ResponseEnd(finish=FinishReason.TOOL_CALLS)


def declaring(*tools: Tool) -> Request:
    return Request(model="m", messages=(Message(Role.USER, (Text(text="Hi"),)),), origin="chat", tools=tools)


def test_text_byte_for_byte() -> None:
    head = (
        b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":17,"model":"m-1","choices":[{"index":0,'
    )
    usage = e.UsageUpdate(e.Usage(input=10, output=5, cached=4))
    data = encoded(START, e.TextStart(), e.TextDelta('a "b"\n\u2028🙂'), e.TextEnd(), usage, STOP)
    assert data.split(b"\n\n") == [
        head + b'"delta":{"role":"assistant","content":"","refusal":null},"finish_reason":null}]}',
        head + '"delta":{"content":"a \\"b\\"\\n\u2028🙂"},"finish_reason":null}]}'.encode(),
        head + b'"delta":{},"finish_reason":"stop"}]}',
        head.removesuffix(b'{"index":0,')
        + b'],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,'
        + b'"prompt_tokens_details":{"cached_tokens":4}}}',
        b"data: [DONE]",
        b"",
    ]
    assert check(data) == []


def test_the_content_of_the_head_is_null_before_anything_but_text() -> None:
    call = e.ToolCallStart(id="c", name="run")
    data = encoded(START, call, e.ToolCallDelta("{}"), e.ToolCallEnd(), CALLED)
    assert chunks_in(data)[0]["choices"][0]["delta"] == {"role": "assistant", "content": None, "refusal": None}
    assert chunks_in(encoded(START, STOP))[0]["choices"][0]["delta"]["content"] == ""


def test_calls_open_once_and_are_numbered_densely() -> None:
    data = encoded(
        START,
        e.ToolCallStart(id="a", name="run"),
        e.ToolCallDelta('{"x":'),
        e.ToolCallDelta("1}"),
        e.ToolCallEnd(),
        e.ToolCallStart(id="b", name="get_weather"),
        e.ToolCallDelta("{}"),
        e.ToolCallEnd(),
        CALLED,
    )
    assert [delta["tool_calls"] for delta in deltas_in(data)] == [
        [{"index": 0, "id": "a", "type": "function", "function": {"name": "run", "arguments": ""}}],
        [{"index": 0, "function": {"arguments": '{"x":'}}],
        [{"index": 0, "function": {"arguments": "1}"}}],
        [{"index": 1, "id": "b", "type": "function", "function": {"name": "get_weather", "arguments": ""}}],
        [{"index": 1, "function": {"arguments": "{}"}}],
    ]
    assert check(data) == []


def test_freeform_calls_are_native_only_where_the_client_declared_the_tool() -> None:
    events = (
        START,
        e.ToolCallStart(id="a", name="patch", kind="custom"),
        e.ToolCallDelta('*** "q"'),
        e.ToolCallDelta("\nend"),
        e.ToolCallEnd(),
        CALLED,
    )
    native = encoded(*events, request=declaring(Tool(name="patch", kind="custom")))
    assert deltas_in(native)[0]["tool_calls"] == [
        {"index": 0, "id": "a", "type": "custom", "custom": {"name": "patch", "input": ""}}
    ]
    assert deltas_in(native)[2]["tool_calls"] == [{"index": 0, "custom": {"input": "\nend"}}]
    wrapped = encoded(*events, request=declaring(Tool(name="patch")))
    pieces = [delta["tool_calls"][0]["function"]["arguments"] for delta in deltas_in(wrapped)]
    assert json.loads("".join(pieces)) == {"input": '*** "q"\nend'}
    assert check(native) == check(wrapped) == []


def test_the_first_call_of_a_client_from_before_tools() -> None:
    events = (
        START,
        e.ToolCallStart(id="a", name="run"),
        e.ToolCallDelta('{"x":'),
        e.ToolCallDelta("1}"),
        e.ToolCallEnd(signature=Opaque("gemini", "signature", "c2ln")),
        e.ToolCallStart(id="b", name="run"),
        e.ToolCallDelta("{}"),
        e.ToolCallEnd(),
    )
    data = encoded(*events, CALLED, request=declaring(Tool(name="run", legacy=True)))
    assert [{name: held for name, held in delta.items() if "call" in name} for delta in deltas_in(data)] == [
        {"function_call": {"name": "run", "arguments": ""}},
        {"function_call": {"arguments": '{"x":'}},
        {"function_call": {"arguments": "1}"}},
        {"tool_calls": [{"index": 0, "id": "b", "type": "function", "function": {"name": "run", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]},
    ]
    assert chunks_in(data)[-2]["choices"][0]["finish_reason"] == "function_call"
    cut = e.ResponseEnd(finish=FinishReason.LENGTH)
    half = encoded(*events[:3], e.ToolCallEnd(complete=False), cut, request=declaring(Tool(name="run", legacy=True)))
    assert chunks_in(half)[-2]["choices"][0]["finish_reason"] == "length"
    assert check(data) == check(half) == []


def test_half_a_wrapped_call_is_never_closed() -> None:
    data = encoded(
        START,
        e.ToolCallStart(id="a", name="patch", kind="custom"),
        e.ToolCallDelta("***"),
        e.ToolCallEnd(complete=False),
        e.ResponseEnd(finish=FinishReason.LENGTH),
    )
    assert "".join(delta["tool_calls"][0]["function"]["arguments"] for delta in deltas_in(data)) == '{"input":"***'


def test_signatures_of_calls() -> None:
    proof = Opaque("gemini", "signature", "c2ln")
    extra = {"google": {"thought_signature": "c2ln"}}
    early = encoded(START, e.ToolCallStart(id="a", name="run", signature=proof), e.ToolCallEnd(), CALLED)
    assert deltas_in(early)[0]["tool_calls"][0]["extra_content"] == extra
    late = encoded(START, e.ToolCallStart(id="a", name="run"), e.ToolCallEnd(signature=proof), CALLED)
    assert deltas_in(late)[1]["tool_calls"] == [{"index": 0, "function": {"arguments": ""}, "extra_content": extra}]


def test_another_vendors_signature_is_never_forged_into_googles() -> None:
    proof = Opaque("messages", "signature", "c2ln")
    data = encoded(START, e.ToolCallStart(id="a", name="run", signature=proof), e.ToolCallEnd(), CALLED)
    assert b"c2ln" not in data


def test_reasoning_with_its_proofs() -> None:
    data = encoded(
        START,
        e.ReasoningStart(),
        e.ReasoningDelta("Hm"),
        e.ReasoningDelta("m."),
        e.ReasoningEnd((Opaque("messages", "signature", "c2ln"),)),
        e.ReasoningStart(summary=True),
        e.ReasoningDelta("So."),
        e.ReasoningEnd((Opaque("responses", "encrypted", "ZW5j", "rs_1"),)),
        e.ReasoningStart(),
        e.ReasoningEnd((Opaque("chat", "encrypted", "eHh4"),)),
        e.TextStart(),
        e.TextEnd(),
        STOP,
    )
    claude, openai = {"format": "anthropic-claude-v1"}, {"format": "openai-responses-v1"}
    assert deltas_in(data) == [
        {"reasoning_content": "Hm"},
        {"reasoning_content": "m."},
        {"reasoning_details": [{"type": "reasoning.text", "text": "Hmm.", "signature": "c2ln", **claude, "index": 0}]},
        {"reasoning_content": "So."},
        {
            "reasoning_details": [
                {"type": "reasoning.summary", "summary": "So.", **openai, "index": 1},
                {"type": "reasoning.encrypted", "data": "ZW5j", "id": "rs_1", **openai, "index": 2},
            ]
        },
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "eHh4", "format": "unknown", "index": 3}]},
    ]
    assert check(data) == []


def test_citations_count_from_the_start_of_the_whole_content() -> None:
    data = encoded(
        START,
        e.TextStart(),
        e.TextDelta("Hello"),
        e.TextEnd(),
        e.ReasoningStart(),
        e.ReasoningEnd(),
        e.TextStart(refusal=True),
        e.TextDelta("No."),  # stands in a member of its own
        e.TextEnd(),
        e.TextStart(),
        e.TextDelta("World."),
        e.CitationAdded(e.Citation(url="https://e.org", title="E", start=0, end=6)),
        e.CitationAdded(e.Citation(title="a source without a URL")),
        e.CitationAdded(e.Citation(url="https://e.org/b")),
        e.TextEnd(),
        STOP,
    )
    first, second = (delta["annotations"][0] for delta in deltas_in(data) if "annotations" in delta)
    assert first == {
        "type": "url_citation",
        "url_citation": {"url": "https://e.org", "title": "E", "start_index": 5, "end_index": 11},
        "index": 0,
    }
    assert second["url_citation"]["title"] == "https://e.org/b"
    assert second["index"] == 1
    assert check(data) == []


def test_an_upstreams_own_annotation_is_given_as_it_was() -> None:
    native = {"type": "url_citation", "url_citation": {"url": "https://e.org"}, "extra": 1}
    citation = e.Citation(url="https://e.org", origin="chat", native=native)
    data = encoded(START, e.TextStart(), e.CitationAdded(citation), e.TextEnd(), STOP)
    assert deltas_in(data) == [{"annotations": [{**native, "index": 0}]}]


def test_refusal_images_and_signed_text() -> None:
    data = encoded(
        START,
        e.TextStart(refusal=True),
        e.TextDelta("No."),
        e.TextEnd(),
        e.Media(media_type="image/png", data="AAAA"),
        e.Media(media_type="audio/pcm", data="AAAA"),
        e.ServerTool("messages", ({"type": "server_tool_use"},)),
        e.TextStart(),
        e.TextDelta("x"),
        e.TextEnd(Opaque("gemini", "signature", "1")),
        e.TextStart(),
        e.TextDelta("y"),
        e.TextEnd(Opaque("gemini", "signature", "2")),
        STOP,
    )
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}, "index": 0}
    assert deltas_in(data) == [
        {"refusal": "No."},
        {"images": [image]},
        {"audio": {"id": ANY, "data": "AAAA", "transcript": "", "expires_at": 1700}},
        {"content": "x"},
        {"extra_content": {"google": {"thought_signature": "1"}}},
        {"content": "y"},
    ]


def test_sound_comes_with_its_transcript_to_clients_of_the_same_dialect_only() -> None:
    native = {"id": "a_1", "transcript": "Hi.", "expires_at": 9}
    body = (e.TextStart(), e.TextDelta("Hi.", {"transcript": True}), e.TextEnd())
    sound = e.Media(media_type="audio/wav", data="UklGRg==", origin="chat", native=native)
    data = encoded(START, *body, sound, STOP)
    assert deltas_in(data) == [{"audio": {**native, "data": "UklGRg=="}}]
    pieces = [e.Media(media_type="audio/L16", data=piece, origin="gemini") for piece in ("AAAA", "BBBB")]
    ids = [delta["audio"]["id"] for delta in deltas_in(encoded(START, *pieces, STOP))]
    assert len(ids) == 2
    assert len({*ids}) == 1


def test_own_members_go_to_clients_of_the_same_dialect_only() -> None:
    logprobs = {"content": [{"token": "x", "logprob": -1.0}]}
    body = (e.TextStart(), e.TextDelta("x", {"logprobs": logprobs}), e.TextEnd(), STOP)
    native = {"system_fingerprint": "fp_1", "secret": "x"}
    own = chunks_in(encoded(e.ResponseStart(id="i", origin="chat", native=native), *body))
    assert own[0]["system_fingerprint"] == "fp_1"
    assert "secret" not in own[0]
    assert own[1]["choices"][0]["logprobs"] == logprobs
    foreign = chunks_in(encoded(e.ResponseStart(id="i", origin="messages", native=native), *body))
    assert "system_fingerprint" not in foreign[0]
    assert "logprobs" not in foreign[1]["choices"][0]


def test_an_id_of_another_dialect_is_replaced_and_gaps_are_filled() -> None:
    first, *others = chunks_in(encoded(e.ResponseStart(id="msg_1", origin="messages"), STOP))
    assert first["id"].startswith("chatcmpl-")
    assert (first["model"], first["created"]) == ("asked-model", 1700)
    assert {item["id"] for item in others if isinstance(item, dict)} == {first["id"]}


@pytest.mark.parametrize(
    ("reason", "word"),
    [
        (FinishReason.STOP, "stop"),
        (FinishReason.LENGTH, "length"),
        (FinishReason.CONTENT_FILTER, "content_filter"),
        (FinishReason.PAUSED, "length"),
    ],
)
def test_words_for_the_end(reason: FinishReason, word: str) -> None:
    end = e.ResponseEnd(finish=reason, raw="function_call", origin="chat")
    assert chunks_in(encoded(START, end))[-2]["choices"][0]["finish_reason"] == word


@pytest.mark.parametrize("usage", [e.Usage(), e.Usage(input=3), e.Usage(output=3)])
def test_unknown_usage_is_left_out(usage: e.Usage) -> None:
    assert b"usage" not in encoded(START, e.UsageUpdate(usage), STOP)


def test_usage_comes_only_if_it_was_asked_for() -> None:
    update = e.UsageUpdate(e.Usage(input=3, output=1), {"cost": 0.5, "prompt_tokens": 99}, "chat")
    assert b"usage" not in encoded(START, update, STOP, stream_usage=False)
    counts = chunks_in(encoded(START, update, STOP))[-2]
    assert counts["choices"] == []
    assert counts["usage"] == {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4, "cost": 0.5}


def test_errors_end_the_stream() -> None:
    error = Error(kind=ErrorKind.RATE_LIMIT, message="slow down", type="rate_limit_error", origin="messages")
    data = encoded(START, e.TextStart(), e.TextDelta("x"), e.ResponseError(error))
    *_, frame, done = chunks_in(data)
    assert frame == {
        "error": {
            "message": "slow down",
            "type": "rate_limit_exceeded",
            "param": None,
            "code": "rate_limit_exceeded",
        }
    }
    assert done == "[DONE]"
    assert check(data) == []


def test_an_error_before_anything() -> None:
    data = encoded(e.ResponseError(Error(kind=ErrorKind.SERVER, message="broken")))
    assert [type(item) for item in chunks_in(data)] == [dict, str]
    assert check(data) == []


def test_several_choices() -> None:
    data = encoded(
        START,
        e.InChoice(2, e.TextStart()),
        e.TextStart(),
        e.TextDelta("A"),
        e.InChoice(2, e.TextDelta("C")),
        e.InChoice(2, e.TextEnd()),
        e.InChoice(1, e.ToolCallStart(id="c", name="run")),
        e.InChoice(1, e.ToolCallDelta("{}")),
        e.InChoice(1, e.ToolCallEnd()),
        e.TextEnd(),
        e.InChoice(1, CALLED),
        e.InChoice(2, STOP),
        e.UsageUpdate(e.Usage(input=1, output=1)),
        STOP,
    )
    assert check(data) == []
    texts = [(item["choices"][0]["index"], item["choices"][0]["delta"].get("content")) for item in chunks_in(data)[3:5]]
    assert texts == [(0, "A"), (2, "C")]
    assert chunks_in(data)[-1] == "[DONE]"


def test_an_illegal_order_is_refused() -> None:
    with pytest.raises(LocalProtocolError):
        ChatEncoder(context()).encode([e.TextDelta("x")])


def test_the_heartbeat_is_a_comment() -> None:
    data = encoded(START, e.TextStart(), e.TextDelta("x"), e.TextEnd(), STOP)
    assert DIALECT.heartbeat.startswith(b":")
    assert check(DIALECT.heartbeat + data) == []


def test_the_official_sdk_reads_it() -> None:
    data = encoded(
        START,
        e.ReasoningStart(),
        e.ReasoningDelta("Hm."),
        e.ReasoningEnd((Opaque("messages", "signature", "1"), Opaque("messages", "redacted", "2"))),
        e.TextStart(),
        e.TextDelta("Hel"),
        e.TextDelta("lo"),
        e.CitationAdded(e.Citation(url="https://e.org/a")),
        e.CitationAdded(e.Citation(url="https://e.org/b")),
        e.TextEnd(),
        e.ToolCallStart(id="a", name="run", signature=Opaque("gemini", "signature", "3")),
        e.ToolCallDelta('{"x":1}'),
        e.ToolCallEnd(),
        e.ToolCallStart(id="b", name="run"),
        e.ToolCallDelta("{}"),
        e.ToolCallEnd(signature=Opaque("gemini", "signature", "4")),
        e.UsageUpdate(e.Usage(input=3, output=1)),
        CALLED,
    )
    state: ChatCompletionStreamState[Any] = ChatCompletionStreamState()
    for item in chunks_in(data):
        if isinstance(item, dict):
            list(state.handle_chunk(ChatCompletionChunk.model_validate(item)))
    completion = state.get_final_completion()
    message = completion.choices[0].message.model_dump()
    assert message["content"] == "Hello"
    assert message["reasoning_content"] == "Hm."
    assert [detail.get("signature") or detail["data"] for detail in message["reasoning_details"]] == ["1", "2"]
    assert [item["url_citation"]["url"][-1] for item in message["annotations"]] == ["a", "b"]
    assert [(call["id"], call["function"]["arguments"]) for call in message["tool_calls"]] == [
        ("a", '{"x":1}'),
        ("b", "{}"),
    ]
    signatures = [call["extra_content"]["google"]["thought_signature"] for call in message["tool_calls"]]
    assert signatures == ["3", "4"]
    assert completion.usage is not None
    assert completion.usage.total_tokens == 4
