"""What the tests of the stream core share: cuts of texts, assemblers, and events in a readable form."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, AnyStr, NamedTuple

from hypothesis import strategies as st

from dragoman import jsontext
from dragoman.canonical import events as e
from dragoman.names import ToolIdentity
from dragoman.streaming.answer import AnswerAssembler, DecodeContext
from dragoman.streaming.fragments import CallFragment, read_fragment
from dragoman.streaming.ids import Ids
from dragoman.streaming.order import LegalOrder

TOOLS = {name: ToolIdentity(name) for name in ("get_weather", "read_file", "run", "list_tasks")}

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
    # "]" to "}" and the signs of JSON more often than chance would have them
    | st.text(st.sampled_from('{}[]":,\\ \n0ntf-.eé\u2028😀') | st.characters(codec="utf-8"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
JSON_OBJECTS = st.dictionaries(st.text(max_size=5), JSON_VALUES, min_size=1, max_size=3)


def written(values: st.SearchStrategy[Any]) -> st.SearchStrategy[str]:
    """JSON texts of these values, in the styles that servers have."""
    styles: list[dict[str, Any]] = [{}, {"separators": (",", ":")}, {"indent": 1}, {"ensure_ascii": False}]
    return st.builds(lambda value, style: json.dumps(value, **style), values, st.sampled_from(styles))


@st.composite
def cut(draw: st.DrawFn, text: AnyStr) -> list[AnyStr]:
    """The text in non-empty pieces."""
    if len(text) < 2:
        return [text] if text else []
    places: set[int] = draw(st.sets(st.integers(1, len(text) - 1), max_size=8))
    edges = [0, *sorted(places), len(text)]
    return [text[a:b] for a, b in pairwise(edges)]


def awkward(text: AnyStr) -> Iterator[list[AnyStr]]:
    """The cuts that every row of a table is run with: whole, in halves, after the first, before the last, in single units."""
    yield [text]
    for place in sorted({1, len(text) // 2, len(text) - 1} - {0, len(text)}):
        yield [text[:place], text[place:]]
    yield [text[n : n + 1] for n in range(len(text))]


def as_sent(text: str) -> str:
    """A delta as it comes out of JSON, where it is a string of its own."""
    sent: str = jsontext.parse(json.dumps(text))
    return sent


class CallRecord(NamedTuple):
    """A call as it came out, its deltas joined."""

    id: str
    name: str
    arguments: str
    complete: bool | None
    """``None``: it was left open."""


def calls_of(events: Iterable[e.Event]) -> list[CallRecord]:
    """The calls of a stream."""
    calls: list[CallRecord] = []
    for event in events:
        match event:
            case e.ToolCallStart(id=id, name=name):
                calls.append(CallRecord(id, name, "", None))
            case e.ToolCallDelta(text=text):
                calls[-1] = calls[-1]._replace(arguments=calls[-1].arguments + text)
            case e.ToolCallEnd(complete=complete):
                calls[-1] = calls[-1]._replace(complete=complete)
    return calls


def texts_of(events: Iterable[e.Event], kind: type[e.TextDelta] | type[e.ReasoningDelta] = e.TextDelta) -> str:
    """All text, or all reasoning, of a stream."""
    return "".join(event.text for event in events if isinstance(event, kind))


def legal(events: Iterable[e.Event]) -> list[e.Event]:
    """The same events; raises ``LocalProtocolError`` if their order is illegal."""
    order, found = LegalOrder(), list(events)
    for event in found:
        order.advance(event)
    return found


def assembler(**context: Any) -> AnswerAssembler:
    """An assembler whose client declared ``TOOLS``."""
    known: dict[str, Any] = {"origin": "chat", "ids": Ids("seed"), "tools": TOOLS, **context}
    return AnswerAssembler(DecodeContext(**known))


def fragments(*rows: dict[str, Any]) -> list[CallFragment]:
    """Raw wire values, read."""
    return [read_fragment(**row) for row in rows]


class Notes(Counter[str]):
    """Counts what it is called with."""

    def __call__(self, slug: str) -> None:
        self[slug] += 1
