"""What a body is, told by its bytes: design/streams.md, 10."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.streaming.body import BodyReader, Document, JSONObjectReader, Record, StreamLimits, describe
from dragoman.streaming.sse import ServerSentEvent
from tests.streaming.building import JSON_OBJECTS, Notes, awkward, cut


class Reading:
    """All that a reader makes of a body: events as texts, documents as texts in a tuple."""

    def __init__(self, pieces: list[bytes], limits: StreamLimits | None = None) -> None:
        self.notes = Notes()
        reader = BodyReader(limits or StreamLimits(), self.notes)
        found = [record for piece in pieces for record in reader.feed(piece)]
        found += reader.finish()
        self.records = [readable(record) for record in found]
        self.cut = reader.cut
        self.fault = str(reader.fault or "")
        self.rubbish = reader.rubbish if not found else ""
        assert reader.records == len(found)


def readable(record: Record) -> str | tuple[str]:
    if isinstance(record, Document):
        return (record.data.decode(),)
    return record.data.decode() if not record.event else f"{record.event}: {record.data.decode()}"


BOM = "\ufeff"

ROWS: dict[str, tuple[str, list[str | tuple[str]]]] = {
    "nothing": ("", []),
    "blanks": (" \n\r\n", []),
    "an event stream": ("data: {}\n\n", ["{}"]),
    "an event stream after blank lines": ("\n\ndata: {}\n\n", ["{}"]),
    "an event stream after a mark": (BOM + "event: a\ndata: {}\n\n", ["a: {}"]),
    "comments first": (": hi\n\ndata: {}\n\n", ["{}"]),
    "a document": ('{"a":[1,{}]}', [('{"a":[1,{}]}',)]),  # sse-json-body-for-stream
    "a document with blanks": ('\n {"a":\n1}\n\n', [('{"a":\n1}',)]),
    "a document after a mark": (BOM + '{"a":1}', [('{"a":1}',)]),
    "brackets in strings": ('{"a":"}]\\"{","b\\\\":"["}', [('{"a":"}]\\"{","b\\\\":"["}',)]),
    "a document, then an event": ('{"a":1}\ndata: [DONE]\n\n', [('{"a":1}',)]),  # response-json-then-done
    "a document, then an error": ('{"a":1}data: {"error":{}}\n\n', [('{"a":1}',)]),  # response-json-then-error-frame
    "lines of objects": ('{"a":1}\n{"b":2}\n{"c":3}\n', ['{"a":1}', '{"b":2}', '{"c":3}']),
    "objects without a gap": ('{"a":1}{"b":2}', ['{"a":1}', '{"b":2}']),
    "an array": ('[{"a":1}\n,\r\n{"b":[2]}]', ['{"a":1}', '{"b":[2]}']),
    "an array of one": ('[{"error":1}]', ['{"error":1}']),  # error-array-body
    "an empty array": ("[]", []),
    "an array of something else": ('[1,{"a":1}]', []),
    "an array that stops being one": ('[{"a":1},2,{"b":2}]', ['{"a":1}']),
    "a page": ("<html>{}</html>", []),
    "prose": ("Bad gateway", []),
    "a JSON string": ('"no"', []),
}


@pytest.mark.parametrize("row", ROWS)
def test_records(row: str) -> None:
    text, records = ROWS[row]
    for pieces in awkward(text.encode()):
        reading = Reading(pieces)
        assert (reading.records, reading.cut) == (records, False), pieces


@pytest.mark.parametrize(
    ("text", "records"),
    [
        ('{"a":1', []),
        ('{"a":"}', []),
        ('{"a":"\\', []),
        ('[{"a":1},{"b"', ['{"a":1}']),
        ('{"a":1}\n{"b":', [('{"a":1}',)]),
        ('data: 1\n\ndata: {"a"', ["1"]),
    ],
)
def test_a_record_that_is_not_whole_is_told(text: str, records: list[str | tuple[str]]) -> None:
    for pieces in awkward(text.encode()):
        reading = Reading(pieces)
        assert (reading.records, reading.cut) == (records, True)


@pytest.mark.parametrize(
    ("text", "looks"),
    [
        ("", ""),
        ("  \n", ""),
        (": OPENROUTER PROCESSING\n\n: more\n", ""),  # error-comments-only
        ("Internal  error\n at line 1", "Internal error at line 1"),
        (": hi\nerr\n: ho\n", "err"),
        ("<html><title> Bad\ngateway </title><body>secret</body>", "Bad\ngateway"),  # error-html-body
        ("<HTML><TITLE lang=en>502</TITLE>", "502"),
        ("<html><body>no title</body>", "an HTML or XML page"),
        ("x" * 10_000, "x" * 200),
    ],
)
def test_rubbish_is_described(text: str, looks: str) -> None:
    for pieces in awkward(text.encode()):
        reading = Reading(pieces)
        assert (reading.records, reading.rubbish) == ([], looks)
    if looks:
        assert describe("\n".join(line for line in text.split("\n") if not line.startswith(":")).encode()) == looks


def test_a_page_of_any_length_is_kept_in_part() -> None:
    body = b"<html>" + b" " * 100_000 + b"<title>too late</title>"
    assert Reading([body[:50], body[50:]]).rubbish == "an HTML or XML page"


@pytest.mark.parametrize(
    ("text", "slugs"),
    [
        (BOM + "data: {}\n\n", {"body-byte-order-mark": 1}),
        (BOM + "\n \n{}", {"body-byte-order-mark": 1}),
        ("[{}]", {"body-json-array": 1}),
        ("{}\n{}\n{}", {"body-json-lines": 1}),
        ("data: {}", {"sse-no-final-blank-line": 1}),
        ("{}", {}),
        ("data: {}\n\n", {}),
    ],
)
def test_oddities_are_noted(text: str, slugs: dict[str, int]) -> None:
    for pieces in awkward(text.encode()):
        assert Reading(pieces).notes == slugs


# ------------------------------------------------------------------ properties

INDENTS = st.sampled_from((None, 1))


@given(JSON_OBJECTS, INDENTS, st.data())
def test_a_document_in_any_cut(value: dict[str, Any], indent: int | None, data: st.DataObject) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=data.draw(st.booleans()))
    reading = Reading(data.draw(cut(f"\n{text}\n".encode())))
    assert (reading.records, reading.cut) == ([(text,)], False)


@given(
    st.lists(JSON_OBJECTS, min_size=2, max_size=4), INDENTS, st.sampled_from(("array", "lines", "nothing")), st.data()
)
def test_objects_in_any_cut(values: list[Any], indent: int | None, form: str, data: st.DataObject) -> None:
    texts = [json.dumps(value, indent=indent, ensure_ascii=data.draw(st.booleans())) for value in values]
    body = {"array": f"[{' , '.join(texts)}]", "lines": "\n".join(texts), "nothing": "".join(texts)}[form]
    reading = Reading(data.draw(cut(body.encode())))
    assert (reading.records, reading.cut) == (texts, False)


@given(st.text(st.sampled_from('data: \r\n{}[]",\\1<\ufeff'), max_size=40), st.data())
def test_any_bytes_in_any_cut(text: str, data: st.DataObject) -> None:
    """What the client gets depends on the bytes only."""
    body = text.encode()
    one, other = Reading([body]), Reading(data.draw(cut(body)))
    assert (one.records, one.cut) == (other.records, other.cut)
    assert (one.rubbish, one.notes) == (other.rubbish, other.notes)


# ------------------------------------------------------------------ limits


@pytest.mark.parametrize(
    ("text", "event", "answer"),
    [
        ("data: 123\n\n", 9, 11),
        ('{"a":123}', 1, 9),  # a document is an answer, not an event
        ('[{"a":1}]', 1, 9),
        ("<html>", 1, 6),
    ],
)
def test_limits_hold_in_any_cut(text: str, event: int, answer: int) -> None:
    for pieces in awkward(text.encode()):
        assert not Reading(pieces, StreamLimits(event=event, answer=answer)).fault
        fault = Reading(pieces, StreamLimits(event=event, answer=answer - 1)).fault
        assert fault.endswith(f"answer has more than {answer - 1} bytes")


def test_an_event_has_its_own_limit() -> None:
    fault = Reading([b"data: 123\n\n"], StreamLimits(event=8, answer=100)).fault
    assert fault.endswith("event of more than 8 bytes")


@pytest.mark.parametrize(
    ("text", "event", "answer", "records"),
    [
        ("data: 1\n\ndata: 2\n\ndata: 345\n\ndata: 6\n\n", 8, 99, ["1", "2"]),
        ("data: 1\n\ndata: 2\n\ndata: 3\n\n", 8, 20, ["1", "2"]),
        ("data: 1\n\ndata: 2\n\n", 8, 17, ["1"]),  # a blank line too far
        ('[{"a":1},{"b":2},{"c":3}]', 8, 20, ['{"a":1}', '{"b":2}']),
        ('{"a":1}{"b":2}{"c":3}', 8, 20, ['{"a":1}', '{"b":2}']),
        ('{"a":1}data: {"b":2}', 8, 10, [('{"a":1}',)]),
    ],
)
def test_what_came_before_a_limit_counts_in_any_cut(
    text: str, event: int, answer: int, records: list[str | tuple[str]]
) -> None:
    for pieces in awkward(text.encode()):
        reading = Reading(pieces, StreamLimits(event=event, answer=answer))
        assert (reading.records, bool(reading.fault)) == (records, True), pieces


@given(st.text(st.sampled_from('data: \r\n{}[]",1'), max_size=40), st.integers(0, 12), st.integers(0, 40), st.data())
def test_limits_know_no_cut(text: str, event: int, answer: int, data: st.DataObject) -> None:
    body, limits = text.encode(), StreamLimits(event=event, answer=answer)
    one, other = Reading([body], limits), Reading(data.draw(cut(body)), limits)
    assert (one.records, one.fault) == (other.records, other.fault)


# ------------------------------------------------------------------ objects alone


def test_what_stops_the_reading_of_objects() -> None:
    reader = JSONObjectReader()
    assert list(reader.feed(b' {"a":1} ,]\n[{')) == [b'{"a":1}']
    assert reader.inside
    assert list(reader.feed(b'"b":2}x{"c":3}')) == [b'{"b":2}']
    assert reader.stopped
    assert not reader.inside
    assert list(reader.feed(b'{"d":4}')) == []


def test_an_array_element_is_an_event_without_a_name() -> None:
    reader = BodyReader(StreamLimits())
    assert reader.feed(b'[{"a":1}') == [ServerSentEvent("", b'{"a":1}')]
