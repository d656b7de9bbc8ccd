"""Server-sent events as servers write them: design/streams.md, 10, and the ``sse-*`` cases."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.exceptions import RemoteProtocolError
from dragoman.streaming.sse import ServerSentEvent, ServerSentEventReader, frame, named_frame
from tests.streaming.building import JSON_OBJECTS, Notes, awkward, cut, written


class Reading:
    """All that a reader makes of a body."""

    def __init__(self, pieces: list[bytes], limit: int = 1 << 20) -> None:
        self.notes = Notes()
        reader = ServerSentEventReader(limit, self.notes)
        events = [event for piece in pieces for event in reader.feed(piece)]
        events += reader.finish()
        self.events = [(event.event, event.data.decode()) for event in events]
        self.cut = reader.cut


ROWS: dict[str, tuple[str | bytes, list[tuple[str, str]]]] = {
    "empty": ("", []),
    "two events": ("data: 1\n\ndata: 2\n\n", [("", "1"), ("", "2")]),
    "named": ("event: ping\ndata: {}\n\ndata: {}\n\n", [("ping", "{}"), ("", "{}")]),
    "crlf": ("event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", [("a", "1"), ("", "2")]),
    "cr": ("data: 1\r\rdata: 2\r\r", [("", "1"), ("", "2")]),
    "mixed ends": ("data: 1\r\n\ndata: 2\r\r\ndata: 3\n\n", [("", "1"), ("", "2"), ("", "3")]),
    "no space": ("data:1\n\n", [("", "1")]),
    "padding": ("data:   [DONE]  \n\n", [("", "[DONE]")]),  # sse-done-padded
    "several lines": ('data: {\ndata: "a": 1\ndata:}\n\n', [("", '{\n"a": 1\n}')]),
    "comments": (": OPENROUTER PROCESSING\n\n:\ndata: 1\n: more\n\n", [("", "1")]),
    "a comment as data": ("data: : ping\n\ndata: 1\n\n", [("", "1")]),
    "a comment after an id": ("id: 1\n: ping\n\ndata: 1\n\n", [("", "1")]),
    "double prefix": ('data: data: {"a":1}\n\ndata:data:[DONE]\n\n', [("", '{"a":1}'), ("", "[DONE]")]),
    "double prefix, once": ("data: data: data: 1\n\n", [("", "data: 1")]),
    "empty data": ("data:\n\ndata: \n\ndata\n\nevent: x\ndata:\n\ndata: 1\n\n", [("", "1")]),
    "event without data": ("event: lost\n\ndata: 1\n\n", [("", "1")]),
    "id and retry": ("id: 7\nretry: 3000\ndata: 1\nx-more: 2\n\n", [("", "1")]),
    "error as a field": ('error: {"message":"no"}\n\n', [("error", '{"message":"no"}')]),  # error-as-field-name
    "an error in bare JSON": (
        'data: 1\n\n{"error":{"message":"no"}}\n\n',
        [("", "1"), ("error", '{"error":{"message":"no"}}')],
    ),
    "and over several lines": (
        '{\n  "error": {\n    "data": 1\n  }\n}\n\n',
        [("error", '{\n  "error": {\n    "data": 1\n  }\n}')],
    ),
    "and behind an event": ('data: 1\n{"message":"no"}\n: c\n\n', [("", "1"), ("error", '{"message":"no"}')]),
    "bare JSON without an error": ('{"a":1}\n\n{"error":\n\n{"error":null}\n\ndata: 1\n\n', [("", "1")]),
    "words in place of comments": (
        "data: ping\n\ndata: Keep-Alive\n\ndata: [PING]\n\ndata: pinged\n\n",
        [("", "pinged")],
    ),
    "an empty error field": ("error:\ndata: 1\n\n", [("", "1")]),
    "last event name counts": ("event: a\nevent: b\ndata: 1\n\n", [("b", "1")]),
    "many blank lines": ("\n\n\ndata: 1\n\n\n\n", [("", "1")]),
    "other line separators": ('data: "a\u2028b\u0085c\x0bd\x0ce"\n\n', [("", '"a\u2028b\u0085c\x0bd\x0ce"')]),
    "utf-8": ('data: "é😀"\n\n', [("", '"é😀"')]),
    "broken utf-8 in a name": (b"event: \xff\ndata: 1\n\n", [("\ufffd", "1")]),
    "case of names": ("Data: 1\n\n", []),
}


@pytest.mark.parametrize("row", ROWS)
def test_events(row: str) -> None:
    text, events = ROWS[row]
    body = text if isinstance(text, bytes) else text.encode()
    for pieces in awkward(body):
        reading = Reading(pieces)
        assert (reading.events, reading.cut) == (events, False), pieces


@pytest.mark.parametrize(
    ("text", "events", "cut"),
    [
        ('data: {"a":1}', [("", '{"a":1}')], False),  # sse-no-final-blank-line
        ('data: {"a":1}\n', [("", '{"a":1}')], False),
        ("data: [DONE]", [("", "[DONE]")], False),
        ('event: x\ndata: {\ndata: "a":1}', [("x", '{\n"a":1}')], False),
        ('data: {"a":1}\r', [("", '{"a":1}')], False),
        ('data: {"a":', [], True),  # sse-cut-mid-json
        ('data: 1\n\ndata: {"a":"\\', [("", "1")], True),
        ("data: null", [("", "null")], False),
        ('data: 1\n{"error":"no"}', [("", "1"), ("error", '{"error":"no"}')], False),
        ('data: {"a"\n{"error":"no"}', [("error", '{"error":"no"}')], True),
        ('{"error":"no', [], False),
        ("data: ping", [], False),
        ("dat", [], False),
        (": comm", [], False),
        ("event: x", [], False),
        ("data:", [], False),
    ],
)
def test_a_last_event_without_blank_line_counts_if_it_is_whole(
    text: str, events: list[tuple[str, str]], cut: bool
) -> None:
    for pieces in awkward(text.encode()):
        reading = Reading(pieces)
        assert (reading.events, reading.cut) == (events, cut)


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("error: no\n\n", "error-as-field-name"),
        ("data: data: 1\n\n", "sse-double-data-prefix"),
        ("data: : ping\n\n", "sse-comment-as-data"),
        ("data: ping\n\n", "sse-comment-as-data"),
        ('{"errors":["no"]}\n\n', "error-as-bare-json"),
        ("data: 1", "sse-no-final-blank-line"),
    ],
)
def test_oddities_are_noted(text: str, slug: str) -> None:
    for pieces in awkward(text.encode()):
        assert Reading(pieces).notes == {slug: 1}
    assert not Reading([b"event: a\ndata: 1\nid: 1\n\n: fine\n\n"]).notes


ENDS = st.sampled_from(("\n", "\r\n", "\r"))


@given(st.lists(st.tuples(st.sampled_from(("", "ping", "error")), written(JSON_OBJECTS)), max_size=4), ENDS, st.data())
def test_any_cut_of_a_body_gives_the_same_events(events: list[tuple[str, str]], end: str, data: st.DataObject) -> None:
    body = ""
    for name, text in events:
        lines = [f"event: {name}"] * bool(name) + ["data: " + line for line in text.split("\n")]
        body += end.join([*lines, data.draw(st.sampled_from((": c", "id: 1", "retry: 1"))), "", ""])
    reading = Reading(data.draw(cut(body.encode())))
    assert [(name, json.loads(text)) for name, text in reading.events] == [(n, json.loads(t)) for n, t in events]


@given(st.text(st.sampled_from("data:event \r\n{}[D1é"), max_size=60), st.data())
def test_any_bytes_in_any_cut(text: str, data: st.DataObject) -> None:
    """What the client gets depends on the bytes only."""
    body = text.encode()
    one, other = Reading([body]), Reading(data.draw(cut(body)))
    assert (one.events, one.cut, one.notes) == (other.events, other.cut, other.notes)


# ------------------------------------------------------------------ limits


@pytest.mark.parametrize("text", ["data: 1234\n\n", "data: 12\ndata: 3\n\n", "data: 12345678", ": 12345678\n"])
def test_an_event_beyond_the_limit_is_refused_in_any_cut(text: str) -> None:
    size = len(text.replace("\n", ""))
    for pieces in awkward(text.encode()):
        assert Reading(pieces, limit=size)
        with pytest.raises(RemoteProtocolError, match=f"more than {size - 1} bytes"):
            Reading(pieces, limit=size - 1)


def test_events_before_one_beyond_the_limit_are_given_in_any_cut() -> None:
    for pieces in awkward(b"data: 1\n\ndata: 2\n\ndata: 345\n\ndata: 6\n\n"):
        reader = ServerSentEventReader(8, Notes())
        found: list[bytes] = []
        events = (event for piece in pieces for event in reader.feed(piece))
        with pytest.raises(RemoteProtocolError, match="more than 8 bytes"):
            found.extend(event.data for event in events)
        assert found == [b"1", b"2"], pieces


def test_the_limit_is_one_for_each_event() -> None:
    body = b"data: 123\n\n" * 100 + b": ping\n\n" * 100
    for pieces in ([body], [body[n : n + 1] for n in range(len(body))]):
        assert len(Reading(pieces, limit=9).events) == 100


# ------------------------------------------------------------------ to clients


def test_frames_are_read_back() -> None:
    assert frame(b'{"a":1}') == b'data: {"a":1}\n\n'
    assert named_frame("ping", b"{}") == b"event: ping\ndata: {}\n\n"
    reader = ServerSentEventReader(100, Notes())
    events = [ServerSentEvent("", b"1"), ServerSentEvent("x", b"2")]
    assert list(reader.feed(frame(b"1") + named_frame("x", b"2"))) == events
