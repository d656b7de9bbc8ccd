"""Call arguments in pieces."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.canonical import events as e
from dragoman.canonical.events import FinishReason
from dragoman.dialects.gemini.partial import ArgumentWriter, parse_path

from .driving import Upstream, answer, call, calls, chunk, end, of


def function_call(**members: Any) -> dict[str, Any]:
    return chunk({"functionCall": members})


def piece(path: str, value: Any = None, **members: Any) -> dict[str, Any]:
    kind = {str: "stringValue", bool: "boolValue", int: "numberValue", float: "numberValue"}.get(
        type(value), "nullValue"
    )
    return {"jsonPath": path, kind: value, **members}


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("$.city", ("city",)),
        ("$.a.b[0].c", ("a", "b", 0, "c")),
        ("$['a b'].c", ("a b", "c")),
        ('$["x.y"][2]', ("x.y", 2)),
        (r"$['it\'s']", ("it's",)),
        ("city", ("city",)),
        ("$", None),
        ("$.", None),
        ("", None),
        ("$.a[*]", None),
        ("$..a", None),
    ],
)
def test_paths(path: str, steps: Any) -> None:
    assert parse_path(path) == steps


def test_text_is_written_as_it_comes() -> None:
    writer = ArgumentWriter()
    out = [
        writer.write([piece("$.city", "Bos", willContinue=True)]),
        writer.write([piece("$.city", 'to"n', willContinue=True)]),
        writer.write([piece("$.city", "")]),
        writer.write([piece("$.days", 3), piece("$.exact", True), piece("$.note", None)]),
        writer.write([piece("$.list[0].a", 1.5), piece("$.list[0].b", "x"), piece("$.list[1].a", 2)]),
        writer.close(),
    ]
    assert out[:3] == ['{"city":"Bos', 'to\\"n', ""]
    assert json.loads("".join(out)) == {
        "city": "Boston".replace("ton", 'to"n'),
        "days": 3,
        "exact": True,
        "note": None,
        "list": [{"a": 1.5, "b": "x"}, {"a": 2}],
    }


def test_no_piece_is_an_empty_object() -> None:
    assert ArgumentWriter().close() == "{}"


@pytest.mark.parametrize(
    "pieces",
    [
        [piece("$.a.x", 1), piece("$.b", 2), piece("$.a.y", 3)],  # back into what is closed
        [piece("$.a", 1), piece("$.a", 2)],
        [piece("$.a[1]", 1)],
        [piece("$.a[0]", 1), piece("$.a.b", 1)],
        [piece("$.a", "x"), piece("$.a", 1)],
        [piece("$[0]", 1)],
        [piece("$.a[*]", 1)],
    ],
)
def test_what_does_not_fit_never_looks_whole(pieces: list[Any]) -> None:
    writer = ArgumentWriter()
    out = writer.write(pieces) + writer.write([piece("$.z", 1)]) + writer.close()
    assert writer.broken
    with pytest.raises(ValueError, match=r"."):
        json.loads(out)


def test_halves_of_a_character_are_joined_over_pieces() -> None:
    writer = ArgumentWriter()
    out = writer.write([piece("$.a", "\ud83d", willContinue=True)]) + writer.write([piece("$.a", "\ude00")])
    assert json.loads(out + writer.close()) == {"a": "\U0001f600"}
    lone = ArgumentWriter()
    assert json.loads(lone.write([piece("$.a", "\ud83d")]) + lone.close()) == {"a": "\ufffd"}


LEAVES = st.none() | st.booleans() | st.integers() | st.text()
TREES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, min_size=1) | st.dictionaries(st.text(min_size=1), inner, min_size=1)
)


def pieces_of(value: Any, path: str = "$") -> list[dict[str, Any]]:
    if isinstance(value, dict):
        quoted = {key: key.replace("\\", "\\\\").replace("'", "\\'") for key in value}
        return [found for key, item in value.items() for found in pieces_of(item, f"{path}['{quoted[key]}']")]
    if isinstance(value, list):
        return [found for n, item in enumerate(value) for found in pieces_of(item, f"{path}[{n}]")]
    if isinstance(value, str):
        half = len(value) // 2
        return [piece(path, value[:half], willContinue=True), piece(path, value[half:])]
    return [piece(path, value)]


@given(st.dictionaries(st.text(min_size=1), TREES))
def test_any_object_comes_out_of_its_pieces(value: dict[str, Any]) -> None:
    writer = ArgumentWriter()
    out = "".join(writer.write([item]) for item in pieces_of(value)) + writer.close()
    assert json.loads(out) == value


# ---- whole streams

RECORDED = [
    chunk({"functionCall": {"name": "get_weather", "willContinue": True}, "thoughtSignature": "U0lH"}),
    function_call(partialArgs=[piece("$.city", "Bos", willContinue=True)], willContinue=True),
    function_call(partialArgs=[piece("$.city", "ton", willContinue=True)], willContinue=True),
    function_call(partialArgs=[piece("$.city", "")], willContinue=True),
    function_call(),
]


def test_pieces_stream_and_the_empty_part_closes() -> None:
    upstream = Upstream()
    events = upstream.says(*RECORDED[:3])
    assert "".join(delta.text for delta in of(events, e.ToolCallDelta)) == '{"city":"Boston'
    events += upstream.says(*RECORDED[3:], chunk(call("roll"), finishReason="STOP"))
    events += upstream.ends()
    assert calls(events) == [("get_weather", '{"city":"Boston"}'), ("roll", "{}")]
    start = of(events, e.ToolCallStart)[0]
    assert start.signature is not None
    assert start.signature.data == "U0lH"
    assert end(events).finish is FinishReason.TOOL_CALLS


@pytest.mark.parametrize(
    "chunks",
    [
        [function_call(name="f", partialArgs=[piece("$.a", 1)])],
        [function_call(name="f", partialArgs=[piece("$.a", 1)]), function_call()],
        [function_call(name="f", willContinue=True), function_call(partialArgs=[piece("$.a", 1)])],
        [function_call(name="f", willContinue=True), function_call(args={"a": 1})],
        [
            function_call(name="f", willContinue=True),
            function_call(name="f", partialArgs=[piece("$.a", 1)], willContinue=True),
        ],
        [
            function_call(name="f", partialArgs=[piece("$.a", 1)], willContinue=True),
            chunk({"text": "x"}),
            function_call(),
        ],
    ],
)
def test_ways_to_close_a_call(chunks: list[Any]) -> None:
    events = answer(*chunks, chunk(finishReason="STOP"))
    assert calls(events) == [("f", '{"a":1}')]
    assert end(events).finish is FinishReason.TOOL_CALLS


def test_a_named_part_begins_another_call() -> None:
    events = answer(
        function_call(name="f", partialArgs=[piece("$.a", 1)]),
        function_call(name="f", partialArgs=[piece("$.a", 2)]),
        chunk(call("f", {"a": 3})),
        function_call(name="g", willContinue=True),
        function_call(name="h", willContinue=True),
        function_call(),
        chunk(finishReason="STOP"),
    )
    assert calls(events) == [("f", '{"a":1}'), ("f", '{"a":2}'), ("f", '{"a":3}'), ("g", "{}"), ("h", "{}")]


def test_a_string_that_waits_for_its_rest_stays_half() -> None:
    events = answer(*RECORDED[:2], chunk(finishReason="STOP"))
    assert calls(events) == [("get_weather", '{"city":"Bos')]
    assert of(events, e.ToolCallEnd) == [e.ToolCallEnd(complete=False)]
    assert end(events).finish is FinishReason.LENGTH


def test_a_call_cut_by_the_limit_is_not_closed() -> None:
    events = answer(
        function_call(name="f", partialArgs=[piece("$.a", 1)], willContinue=True), chunk(finishReason="MAX_TOKENS")
    )
    assert calls(events) == [("f", '{"a":1')]
    assert of(events, e.ToolCallEnd) == [e.ToolCallEnd(complete=False)]


def test_pieces_that_do_not_fit_are_reported_and_leave_half_a_call() -> None:
    upstream = Upstream()
    pieces = [piece("$.a.x", 1), piece("$.b", 2), piece("$.a.y", 3)]
    events = upstream.says(function_call(name="f", partialArgs=pieces), chunk(finishReason="STOP"))
    events += upstream.ends()
    assert of(events, e.ToolCallEnd) == [e.ToolCallEnd(complete=False)]
    assert end(events).finish is FinishReason.LENGTH
    assert len(upstream.assembler.losses) == 1


def test_candidates_stream_their_own_calls() -> None:
    def both(**members: Any) -> dict[str, Any]:
        part = {"functionCall": members}
        return {"candidates": [{"content": {"parts": [part]}, "index": n} for n in (0, 1)]}

    events = answer(
        both(name="f", willContinue=True),
        both(partialArgs=[piece("$.a", 1)], willContinue=True),
        both(),
        {"candidates": [{"finishReason": "STOP", "index": n} for n in (0, 1)]},
        choices=2,
    )
    inner = [event.event for event in of(events, e.InChoice)]
    assert calls(inner) == calls(event for event in events if not isinstance(event, e.InChoice)) == [("f", '{"a":1}')]
