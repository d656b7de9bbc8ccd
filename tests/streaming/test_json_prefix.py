"""``JSONPrefix`` against ``json.loads``: design/streams.md, 4 ("keep a strict JSON-prefix state per call")."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.streaming.json_prefix import JSONPrefix
from tests.streaming.building import JSON_OBJECTS, JSON_VALUES, cut, written

# ------------------------------------------------------------------ an oracle that shares nothing with the reader

# What can finish the token in which a text stops; brackets are closed after it.
_ENDINGS = (
    "", "0", '"', ':0', '":0', '"":0', '""', "rue", "ue", "e", "alse", "lse", "se", "ull", "ll", "l",
    '\\"', '\\":0', *("0" * n + '"' for n in range(1, 5)), *("0" * n + '":0' for n in range(1, 5)),
)  # fmt: skip


def strict(text: str) -> bool:
    """Whether the text is a JSON value by RFC 8259."""

    def refuse(word: str) -> None:
        raise ValueError(word)

    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:
        return False
    return True


def closers(text: str) -> str:
    """The brackets that would close those that are open outside of strings."""
    stack, inside, escaped = [], False, False
    for char in text:
        if inside:
            inside, escaped = char != '"' or escaped, char == "\\" and not escaped
        elif char == '"':
            inside = True
        elif char in "{[":
            stack.append("}" if char == "{" else "]")
        elif char in "}]" and stack:
            stack.pop()
    return "".join(reversed(stack))


def has_continuation(text: str) -> bool:
    """Whether some ending makes a JSON value of the text."""
    return any(strict(text + ending + closers(text + ending)) for ending in _ENDINGS)


def read(text: str) -> JSONPrefix | None:
    state = JSONPrefix()
    return state if state.advance(text) else None


# ------------------------------------------------------------------ brute force


@pytest.mark.parametrize(
    ("alphabet", "length"),
    [
        ('{}":,a ', 6),  # objects
        ("[]{},1 ", 6),  # arrays, and brackets that do not match
        ("-01.eE+ ,]", 5),  # numbers, at the top and, after a comma, never valid
        ("trufalsen[", 7),  # literals
        ('"\\u0dbx\t', 6),  # escapes, and a character that a string must not hold
    ],
)
def test_every_text_of_a_small_alphabet(alphabet: str, length: int) -> None:
    """All prefixes of JSON up to a length are accepted; the first character that leaves them is refused."""
    level = [("", JSONPrefix())]
    for _ in range(length):
        following = []
        for text, state in level:
            for char in alphabet:
                longer, advanced = text + char, state.copy()
                accepted = advanced.advance(char)
                assert accepted == has_continuation(longer), longer
                if accepted:
                    over = longer.strip()[:1] not in "-0123456789" or longer[-1] in " \t"  # a digit may follow
                    assert advanced.whole == (strict(longer) and over), longer
                    assert advanced.complete == strict(longer), longer
                    following.append((longer, advanced))
        level = following
    assert level


# ------------------------------------------------------------------ properties


@given(written(JSON_VALUES))
def test_every_prefix_of_a_value_is_accepted(text: str) -> None:
    for end in range(len(text) + 1):
        state = read(text[:end])
        assert state is not None, text[:end]
        assert not state.whole or end == len(text) or not text[end:].strip()


@given(written(JSON_VALUES), st.data())
def test_the_cut_does_not_matter(text: str, data: st.DataObject) -> None:
    state = JSONPrefix()
    for piece in data.draw(cut(text)):
        assert state.advance(piece)
    assert state.whole == (json.loads(text).__class__ not in (int, float))
    assert state.whole or state.advance(" ")
    assert state.whole


@given(written(JSON_OBJECTS), st.data())
def test_mutations(text: str, data: st.DataObject) -> None:
    """One character changed, put in or taken out: accepted exactly as long as a continuation exists."""
    at = data.draw(st.integers(0, len(text)))
    sign = data.draw(st.sampled_from('{}[]":,\\0-.eutx\n\x00'))
    broken = data.draw(st.sampled_from((text[:at] + sign + text[at:], text[:at] + sign + text[at + 1 :], text[:at] + text[at + 1 :])))  # fmt: skip
    state, end = JSONPrefix(), 0
    while end < len(broken) and state.advance(broken[end]):
        end += 1
    assert has_continuation(broken[:end])
    assert end == len(broken) or not has_continuation(broken[: end + 1])


# ------------------------------------------------------------------ what the users of the state rely on


@pytest.mark.parametrize(
    ("text", "begun", "whole"),
    [
        ("", False, False),
        (" \n\t\r", False, False),
        ("{", True, False),
        ('{"a"', True, False),
        ("[1,", True, False),
        ('{"a":1}', True, True),
        (' {"a":1}\n', True, True),
        ("{}", True, True),
        ("null", True, True),
        ('"a"', True, True),
        ("12", True, False),  # a digit may follow
        ("12 ", True, True),
        ("-", True, False),
    ],
)
def test_begun_and_whole(text: str, begun: bool, whole: bool) -> None:
    state = read(text)
    assert state is not None
    assert (state.begun, state.whole) == (begun, whole)


@pytest.mark.parametrize(
    "text",
    ['{"a":1}{', '{"a":1},', "{]", "[}", "[1,]", '{"a":1,}', '{a', "01", "1.e", "--", "+", "nulL", "N", "'", '"\n', '"\\x', '"\\u12g', "\u00a0", "\ufeff", "}", ":"],
)  # fmt: skip
def test_the_last_character_is_the_fault(text: str) -> None:
    assert read(text[:-1]) is not None
    assert read(text) is None


@pytest.mark.parametrize(
    ("text", "end", "whole"),
    [('{"a":1}{', 7, True), ("{} x", 3, True), ("null{", 4, True), ('""0', 2, True), ("12x", 2, True), ('{"a":x', 5, False)],
)  # fmt: skip
def test_where_a_value_ended(text: str, end: int, whole: bool) -> None:
    state = JSONPrefix()
    assert not state.advance(text)
    assert (state.read, state.whole) == (end, whole)


def test_a_copy_is_independent() -> None:
    state = JSONPrefix()
    assert state.advance('{"a":[tr')
    copy = state.copy()
    assert not copy.advance("x")
    assert state.advance("ue]}")
    assert state.whole
    assert not copy.whole


def test_depth_is_not_bounded() -> None:
    state = read("[" * 20_000)
    assert state is not None
    assert state.advance("]" * 20_000)
    assert state.whole


def test_lone_surrogates_are_text() -> None:
    """What servers send: half an escaped pair in one delta is still the beginning of a string."""
    assert read('{"a":"\\ud83d"}') is not None
    assert read('{"a":"\ud83d"}') is not None
