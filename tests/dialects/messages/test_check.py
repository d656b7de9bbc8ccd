"""The strict checker: a clean stream passes, and each single defect is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from dragoman.dialects.messages.check import check

from .driving import OVER, begin, delta, ending, start, stop, tool

Events = list[dict[str, Any]]

FAILURE = {"type": "error", "error": {"type": "api_error", "message": "broken"}}
CALL = [tool(0, "c1", "run"), delta(0, "input_json_delta", partial_json='{"a":1}'), stop(0)]


def sse(events: Events) -> bytes:
    return b"".join(
        b"event: %b\ndata: %b\n\n" % (event["type"].encode(), json.dumps(event).encode()) for event in events
    )


def rules(data: bytes) -> set[str]:
    return {violation.rule.removeprefix("messages.") for violation in check(data)}


def clean() -> Events:
    return [
        start(),
        {"type": "ping"},
        begin(0, "thinking", thinking="", signature=""),
        delta(0, "thinking_delta", thinking="Hm."),
        delta(0, "signature_delta", signature="U0lH"),
        stop(0),
        begin(1, "text", text=""),
        delta(1, "citations_delta", citation={"type": "page_location"}),
        delta(1, "text_delta", text="Hi."),
        stop(1),
        tool(2, "c1", "run"),
        delta(2, "input_json_delta", partial_json='{"a":1}'),
        stop(2),
        begin(3, "web_search_tool_result", tool_use_id="s1", content=[]),
        stop(3),
        ending("tool_use"),
        OVER,
    ]


@pytest.mark.parametrize(
    "events",
    [
        clean(),
        [FAILURE],
        [start(), FAILURE],
        [start(), tool(0, "c", "run"), delta(0, "input_json_delta", partial_json='{"a'), FAILURE],
        [
            start(),
            tool(0, "c", "run"),
            delta(0, "input_json_delta", partial_json='{"a'),
            stop(0),
            ending("max_tokens"),
            OVER,
        ],
        [start(), begin(0, "text", text=""), stop(0), ending("refusal", {"output_tokens": 0}), OVER],
        [start(), ending("stop_sequence", stop_sequence="END"), OVER],
        [
            start(),
            tool(0, "c", "run", input={"a": 1}, caller={"type": "code_execution_20260120"}),
            stop(0),
            ending("end_turn"),
            OVER,
        ],
    ],
)
def test_what_clients_accept(events: Events) -> None:
    assert check(b": keep-alive\n\n" + sse(events)) == []


def put(place: int, event: dict[str, Any]) -> Callable[[Events], None]:
    return lambda events: events.insert(place, event)


def cut(place: int, number: int = 1) -> Callable[[Events], None]:
    def change(events: Events) -> None:
        del events[place : place + number]

    return change


def edit(place: int, *path: Any) -> Callable[[Events], None]:
    """Sets what the path leads to; its last step is the new value."""

    def change(events: Events) -> None:
        held = events[place] = json.loads(json.dumps(events[place]))
        for step in path[:-2]:
            held = held[step]
        held[path[-2]] = path[-1]

    return change


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (put(3, {"type": "future"}), "event.type"),
        (put(0, stop(0)), "order"),
        (put(1, start()), "order"),
        (put(16, begin(4, "text", text="")), "order"),
        (put(17, {"type": "ping"}), "order"),
        (put(3, FAILURE), "order"),
        (put(5, begin(1, "text", text="")), "order"),
        (cut(15), "order"),
        (cut(16), "end"),
        (cut(0, 17), "end"),
        (edit(0, "message", "id", ""), "message.shape"),
        (edit(0, "message", "model", None), "message.shape"),
        (edit(0, "message", "role", "user"), "message.shape"),
        (edit(0, "message", None), "message.shape"),
        (edit(0, "message", "content", [{}]), "start.content"),
        (edit(0, "message", "stop_reason", "end_turn"), "start.stop-reason"),
        (edit(0, "message", "usage", None), "usage.shape"),
        (edit(0, "message", "usage", "input_tokens", None), "usage.shape"),
        (edit(0, "message", "usage", "cache_read_input_tokens", -1), "usage.shape"),
        (edit(15, "usage", {}), "usage.shape"),
        (edit(15, "usage", "output_tokens_details", {"thinking_tokens": "x"}), "usage.shape"),
        (edit(15, "usage", "output_tokens", 0), "usage.decreasing"),
        (edit(2, "index", 1), "block.index"),
        (edit(6, "content_block", {}), "block.shape"),
        (edit(6, "content_block", "type", "future"), "block.type"),
        (edit(6, "content_block", "text", None), "block.shape"),
        (edit(6, "content_block", "text", "Hi"), "block.not-empty"),
        (edit(6, "content_block", "citations", {}), "block.shape"),
        (edit(2, "content_block", "signature", "U0lH"), "block.not-empty"),
        (edit(2, "content_block", "signature", None), "block.shape"),
        (edit(13, "content_block", "tool_use_id", ""), "block.shape"),
        (cut(8), "text.empty"),
        (edit(8, "index", 0), "delta.index"),
        (edit(8, "delta", "type", "thinking_delta"), "delta.type"),
        (edit(8, "delta", None), "delta.type"),
        (edit(8, "delta", "text", None), "delta.shape"),
        (edit(9, "index", 0), "delta.index"),
        (edit(4, "delta", "signature", ""), "signature"),
        (put(4, delta(0, "signature_delta", signature="x")), "signature"),
        (put(5, delta(0, "thinking_delta", thinking="x")), "signature"),
        (edit(10, "content_block", "id", "a:b"), "tool.id"),
        (edit(10, "content_block", "name", "a b"), "tool.name"),
        (edit(10, "content_block", "input", None), "tool.input"),
        (edit(10, "content_block", "input", {"a": 1}), "tool.input"),
        (edit(11, "delta", "partial_json", '{"a"'), "tool.json"),
        (edit(11, "delta", "partial_json", '{"a": NaN}'), "tool.json"),
        (edit(15, "delta", None), "message-delta.shape"),
        (edit(15, "delta", "stop_reason", None), "stop-reason.word"),
        (edit(15, "delta", "stop_reason", "stop"), "stop-reason.word"),
        (edit(15, "delta", "stop_reason", "end_turn"), "stop-reason.calls"),
        (cut(10, 3), "stop-reason.calls"),
        (put(16, ending("end_turn")), "stop-reason.changed"),
        (edit(15, "delta", "stop_sequence", "END"), "stop-sequence"),
        (edit(15, "delta", "stop_reason", "stop_sequence"), "stop-sequence"),
    ],
)
def test_each_defect_of_a_stream_is_named(change: Callable[[Events], None], rule: str) -> None:
    events = clean()
    change(events)
    assert rule in rules(sse(events))


def test_two_calls_with_one_id() -> None:
    again = [{**event, "index": 1} for event in CALL]
    assert rules(sse([start(), *CALL, *again, ending("tool_use"), OVER])) == {"tool.id"}


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (sse(clean()).replace(b"event: ping\n", b""), "event.unnamed"),
        (sse(clean()).replace(b"event: ping\n", b"event: pong\n"), "event.misnamed"),
        (sse(clean()) + b"data: [DONE]\n\n", "event.done"),
        (sse(clean()).replace(b'data: {"type": "ping"}', b"data: {"), "event.json"),
        (sse(clean()).replace(b'data: {"type": "ping"}', b"data: 5"), "event.json"),
        (b"id: 7\n" + sse(clean()), "frame.field"),
        (b"event: ping\n\n" + sse(clean()), "frame.data"),
        (sse(clean())[:-1], "frame.unfinished"),
        (sse(clean()).replace(b"Hi.", b"\xff"), "frame.encoding"),
        (b"", "end"),
    ],
)
def test_framing(data: bytes, rule: str) -> None:
    assert rule in rules(data)


BODY: dict[str, Any] = {
    **start()["message"],
    "content": [{"type": "text", "text": "Hi."}, {"type": "tool_use", "id": "c", "name": "run", "input": {}}],
    "stop_reason": "tool_use",
}


def test_a_clean_body() -> None:
    assert check(json.dumps(BODY).encode()) == []
    assert check(json.dumps(FAILURE).encode()) == []


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        (b"{", "body.json"),
        ({"error": {"type": "api_error", "message": "m"}}, "error.shape"),
        ({"type": "error", "error": {"type": "odd", "message": "m"}}, "error.type"),
        ({"type": "error", "error": {}}, "error.shape"),
        ({**BODY, "id": None}, "message.shape"),
        ({**BODY, "content": None}, "message.shape"),
        ({**BODY, "content": [5]}, "block.shape"),
        ({**BODY, "content": [*BODY["content"], {"type": "text", "text": ""}]}, "text.empty"),
        ({**BODY, "content": [*BODY["content"], {"type": "redacted_thinking", "data": ""}]}, "block.shape"),
        ({**BODY, "content": [*BODY["content"], BODY["content"][1]]}, "tool.id"),
        (
            {**BODY, "content": [{"type": "mcp_tool_use", "id": "m", "name": "x", "input": {}}, *BODY["content"]]},
            "block.shape",
        ),
        ({**BODY, "stop_reason": "end_turn"}, "stop-reason.calls"),
        ({**BODY, "usage": {"output_tokens": 1}}, "usage.shape"),
    ],
)
def test_each_defect_of_a_body_is_named(body: Any, rule: str) -> None:
    assert rule in rules(body if isinstance(body, bytes) else json.dumps(body).encode())
