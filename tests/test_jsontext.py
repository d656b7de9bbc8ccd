"""JSON as servers send it: how deep it may be nested, and what stands before it."""

from __future__ import annotations

import pytest

from dragoman import jsontext
from dragoman.jsontext import DEPTH


def nested(depth: int, inner: str = "1") -> str:
    pairs = [("[", "]") if number % 2 else ('{"x":', "}") for number in range(depth)]
    return "".join(opening for opening, _ in pairs) + inner + "".join(closing for _, closing in reversed(pairs))


@pytest.mark.parametrize("inner", ["1", '"text"', "NaN", '"\\ud800 in the middle"'])
def test_at_the_limit_and_one_above(inner: str) -> None:
    jsontext.parse(nested(DEPTH, inner))
    for depth in (DEPTH + 1, 900, 100_000):
        for text in (nested(depth, inner), nested(depth, inner).encode()):
            with pytest.raises(ValueError, match="nested too deeply"):
                jsontext.parse(text)


def test_an_object_that_is_nested_too_deeply_is_none() -> None:
    assert jsontext.is_object(nested(DEPTH))
    assert not jsontext.is_object(nested(DEPTH + 1))
    assert not jsontext.is_object(nested(100_000))


def test_what_is_wide_or_full_of_brackets_is_not_deep() -> None:
    jsontext.parse("[" + ",".join(["[[]]"] * 10_000) + "]")
    jsontext.parse('{"text": "' + "[{" * 10_000 + '"}')
    assert not jsontext.is_nested_deeper([[], {}, [[]]], 3)
    assert jsontext.is_nested_deeper([[], {}, [[]]], 2)
    assert not jsontext.is_nested_deeper("text", 0)


def test_a_byte_order_mark_is_passed_over() -> None:
    assert jsontext.parse(b'\xef\xbb\xbf{"error": "busy"}') == {"error": "busy"}
