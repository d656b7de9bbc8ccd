"""Raw wire values as fragments: the first lines of design/streams.md, 2 ("before anything")."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dragoman.streaming.fragments import Call, CallFragment, read_fragment
from tests.streaming.building import Notes


@pytest.mark.parametrize("nothing", [None, "", [], {}, True, False])
def test_null_empty_and_absent_are_the_same(nothing: Any) -> None:
    """Also what no server should send there."""
    assert read_fragment(index=nothing, id=nothing, name=nothing) == CallFragment()


@pytest.mark.parametrize(
    ("value", "index"),
    [
        (0, 0),
        (7, 7),
        (1.0, 1),  # index-float
        ("1", 1),  # index-string
        (" 2 ", 2),
        (-1, None),  # index-negative
        ("-1", None),
        (-1.0, None),
        (1.5, None),
        ("1.0", None),
        ("one", None),
        ("9" * 400, None),
        (math.nan, None),
        (math.inf, None),
        (True, None),
        ([0], None),
    ],
)
def test_index(value: Any, index: int | None) -> None:
    assert read_fragment(index=value).index == index


@pytest.mark.parametrize(
    ("value", "id"),
    [("call_1", "call_1"), (7, "7"), (0, "0"), (1.5, "1.5"), ("get_weather:0", "get_weather:0"), (" ", None), (True, None), ({"a": 1}, None)],
)  # fmt: skip
def test_a_numeric_id_becomes_text(value: Any, id: str | None) -> None:
    assert read_fragment(id=value).id == id


@pytest.mark.parametrize(
    ("value", "name"),
    [("run", "run"), (" run\n", " run\n"), (" \n", None), (1, None), (["run"], None)],
)
def test_a_name_is_text(value: Any, name: str | None) -> None:
    """Blanks go when the pieces of a name are joined, not before."""
    assert read_fragment(name=value).name == name


@pytest.mark.parametrize(
    ("value", "arguments"),
    [("", None), (None, None), ("{", "{"), ("\n", "\n"), ({}, "{}"), ({"a": 1}, '{"a":1}'), ([], "[]")],
)
def test_arguments(value: Any, arguments: str | None) -> None:
    assert read_fragment(arguments=value).arguments == arguments


def test_a_call_is_done_when_nothing_more_can_be_its() -> None:
    call = Call(read_fragment(id="a", name="run"), Notes())
    assert not call.done
    call.arguments.feed("{}")
    assert not call.done  # the real arguments may still come
    call.finished = True
    assert call.done
    other = Call(CallFragment(), Notes())
    other.arguments.feed('{"a":1}')
    assert other.done


def test_a_custom_call_takes_any_text() -> None:
    call = Call(CallFragment(kind="custom"), Notes())
    call.arguments.feed('{"a":1}')
    assert not call.done
