"""JSON as real servers send it (cases ``logprobs-infinity``, ``sse-surrogate-*``, ``args-object-big-number``)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import jsontext
from tests.streaming.building import JSON_VALUES


@given(JSON_VALUES, st.booleans(), st.booleans())
def test_what_others_write_is_read(value: Any, plain: bool, as_bytes: bool) -> None:
    text = json.dumps(value, ensure_ascii=not plain)
    assert jsontext.parse(text.encode() if as_bytes else text) == value


@given(JSON_VALUES)
def test_what_is_written_is_read_by_others(value: Any) -> None:
    data = jsontext.render(value)
    assert json.loads(data) == value
    assert jsontext.parse(data) == value


@given(st.text())
def test_a_quoted_text(text: str) -> None:
    assert json.loads(jsontext.quoted(text)) == text
    assert jsontext.quoted(text) == jsontext.render(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NaN", None),
        ('{"a":[Infinity,-Infinity,1]}', {"a": [None, None, 1]}),
        ("[1e999,-1e999]", [None, None]),
        ("18446744073709551617", 2**64 + 1),
        ("[1.0,1]", [1.0, 1]),
        ('"a\tb\n"', "a\tb\n"),  # raw control characters
        ('"a\\ud83d\\ude00b"', "a😀b"),
        # half a pair at an edge may meet its other half in the next delta; elsewhere it is lost
        ('"a\\ud83d"', "a\ud83d"),
        ('"\\ude00a"', "\ude00a"),
        ('"\\ud83d"', "\ud83d"),
        ('"a\\ud83db"', "a\ufffdb"),
        ('["x","a\\ud83db\\ude00",{"k\\ud83d":1}]', ["x", "a\ufffdb\ude00", {"k\ufffd": 1}]),
        (b'"\xff\xc3\xa9"', "\ufffdé"),
        (" [1] \n", [1]),
    ],
)
def test_what_is_not_quite_json(text: str | bytes, value: Any) -> None:
    assert jsontext.parse(text) == value


@pytest.mark.parametrize(
    "text",
    ["", " ", "{", "{'a':1}", '{"a":1}{', '{"a":1,}', "nul", "undefined", "[" * 100_000, "[" * 100_000 + "]" * 100_000, b"\xff", "1" * 5000],
)  # fmt: skip
def test_what_is_no_json_is_a_value_error(text: str | bytes) -> None:
    """Nothing else ever comes out: a decoder never raises for odd input."""
    with pytest.raises(ValueError):  # noqa: PT011
        jsontext.parse(text)


@pytest.mark.parametrize(
    ("value", "data"),
    [
        ({"a": [1, None, True, 0.5]}, '{"a":[1,null,true,0.5]}'),
        ({"a": "é😀\u2028"}, '{"a":"é😀\u2028"}'),
        ({"a\ud83d": "\ude00b"}, '{"a\ufffd":"\ufffdb"}'),
        ([float("nan")], "[null]"),
        (2**70, str(2**70)),
    ],
)
def test_what_is_written_is_json_in_utf8(value: Any, data: str) -> None:
    assert jsontext.render(value) == data.encode()


@pytest.mark.parametrize(
    "text", ['{"a": 1}', ' {"a": [1e3, -0.0]}\n', '{"a": "\\ud83d"}', '{"a": "NaN Infinity"}', "{}"]
)
def test_objects(text: str) -> None:
    assert jsontext.is_object(text)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "1", '"{}"', '{"a": NaN}', '{"a": -Infinity}', '{"a": 1e999}', '{"a": "\n"}', '{"a"', "[" * 99_999],
)
def test_no_objects(text: str) -> None:
    """What the lenient reader mends is not what a model wrote (design/requests.md, 2)."""
    assert not jsontext.is_object(text)
