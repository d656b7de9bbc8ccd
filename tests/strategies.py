"""Legal canonical streams, and bytes of upstreams that have gone wrong, for hypothesis."""

from __future__ import annotations

import json
import random
from functools import cache
from itertools import chain, pairwise
from typing import Any

from hypothesis import strategies as st

from dragoman.canonical import events as e
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.canonical.events import FinishReason, Usage
from dragoman.canonical.opaque import Opaque
from tests.asking import TOOLS
from tests.fixtures import Fixture, fixtures

JSON = dict[str, Any]

LOOK_ALIKES = (
    "data: [DONE]\n\n",
    "\n\nevent: error\ndata: {}\n\n",
    '{"a":',
    "}{",
    "</think>",
    "null",
    "\u2028",
    "\\u0041",
)
"""Texts that a careless writer or reader takes for something else."""

texts = st.lists(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(LOOK_ALIKES), max_size=3
).map("".join)
some_text = texts.filter(lambda text: text.strip() != "")

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


# ---- canonical streams


@st.composite
def split(draw: st.DrawFn, text: str) -> list[str]:
    """The text in pieces, none of them empty."""
    places = draw(st.sets(st.integers(1, max(1, len(text) - 1)), max_size=4))
    cuts = [0, *sorted(place for place in places if place < len(text)), len(text)]
    return [text[one:other] for one, other in pairwise(cuts) if one < other]


@st.composite
def text_blocks(draw: st.DrawFn, refusal: bool) -> list[e.Event]:
    pieces = draw(split(draw(some_text)))
    block: list[e.Event] = [e.TextStart(refusal), *map(e.TextDelta, pieces)]
    if not refusal and draw(st.booleans()):
        length = sum(map(len, pieces))
        url = f"https://example.org/{draw(st.integers(0, 9))}"
        block.append(e.CitationAdded(e.Citation(url=url, title=draw(some_text), start=0, end=length)))
    return [*block, e.TextEnd(draw(st.none() | proofs("gemini", "signature")))]


@st.composite
def proofs(draw: st.DrawFn, *of: str) -> Opaque:
    """A proof of some vendor's, or of this one and kind."""
    kinds = (("messages", "signature"), ("messages", "redacted"), ("responses", "encrypted"), ("gemini", "signature"))
    origin, kind = of or draw(st.sampled_from(kinds))
    return Opaque(origin, kind, draw(st.sampled_from(("c2lnLTE=", "AAEC", "U0lHLVQ="))))  # type: ignore[arg-type]


@st.composite
def reasoning_blocks(draw: st.DrawFn) -> list[e.Event]:
    pieces = draw(split(draw(some_text)))
    proof = draw(st.lists(proofs(), max_size=1))
    return [e.ReasoningStart(draw(st.booleans())), *map(e.ReasoningDelta, pieces), e.ReasoningEnd(tuple(proof))]


@st.composite
def call_blocks(draw: st.DrawFn, number: int) -> list[e.Event]:
    arguments = json.dumps(draw(st.dictionaries(texts, json_values, max_size=3)), ensure_ascii=draw(st.booleans()))
    start = e.ToolCallStart(id=f"call_{number}", name=draw(st.sampled_from([*TOOLS, "mcp__files__read-all"])))
    deltas = [e.ToolCallDelta(piece) for piece in draw(split(arguments))]
    return [start, *deltas, e.ToolCallEnd(True, draw(st.none() | proofs("gemini", "signature")))]


usages = st.builds(
    lambda read, made, cached, reasoning: Usage(
        input=read + cached, output=made + reasoning, cached=cached or None, reasoning=reasoning or None
    ),
    *[st.integers(0, 10_000)] * 4,
)


def _block(kind: str, number: int, refusal: bool) -> st.SearchStrategy[list[e.Event]]:
    match kind:
        case "text":
            return text_blocks(refusal)
        case "reasoning":
            return reasoning_blocks()
        case "call":
            return call_blocks(number)
        case _:
            return st.just([e.ServerTool("elsewhere", ({"type": "search"},))])


def _arguments(block: list[e.Event]) -> str:
    return "".join(event.text for event in block if isinstance(event, e.ToolCallDelta))


@st.composite
def legal_streams(draw: st.DrawFn, *, failing: bool = True) -> list[e.Event]:
    """An answer as encoders get it: named, ordered, one block at a time, with one end."""
    kinds = draw(st.lists(st.sampled_from(("text", "reasoning", "call", "server")), max_size=5))
    refusal = draw(st.booleans())
    blocks: list[list[e.Event]] = [draw(_block(kind, number, refusal)) for number, kind in enumerate(kinds)]
    start = e.ResponseStart(id=draw(st.sampled_from(("", "id-1"))), model="m-1", origin="elsewhere")
    events: list[e.Event] = [start, *chain.from_iterable(blocks)]
    if failing and draw(st.booleans()):
        cut = draw(st.integers(1, len(events)))
        message = draw(st.sampled_from(("it failed", "no — “this” cannot be 🧭")))
        error = Error(kind=draw(st.sampled_from(list(ErrorKind))), message=message)
        return [*events[:cut], e.ResponseError(error)]
    if draw(st.booleans()):
        events.append(e.UsageUpdate(draw(usages)))
    natural = FinishReason.TOOL_CALLS if "call" in kinds else FinishReason.STOP
    # at a cut, a bare {} says nothing of whether the call was whole
    cuttable = not any(_arguments(block) == "{}" for block in blocks)
    return [*events, e.ResponseEnd(finish=FinishReason.LENGTH if cuttable and draw(st.booleans()) else natural)]


# ---- upstreams gone wrong


@st.composite
def damaged_bytes(draw: st.DrawFn, dialect: str) -> bytes:
    """A recorded body with bytes lost, doubled, replaced or put in."""
    body = draw(st.sampled_from(fixtures(dialect))).body
    for _ in range(draw(st.integers(1, 3))):
        one, other = sorted((draw(st.integers(0, len(body))), draw(st.integers(0, len(body)))))
        middle = draw(
            st.sampled_from((b"", body[one:other] * 2, b"\n\n", b"\xff", b'"', b"data: ")) | st.binary(max_size=6)
        )
        body = body[:one] + middle + body[other if draw(st.booleans()) else one :]
    return body


@st.composite
def odd_bodies(draw: st.DrawFn, dialect: str, slug: str | None = None) -> bytes:
    """A recorded stream (this one, or any) of which members have any value at all, or events are gone or moved."""
    fixture = draw(st.sampled_from([one for one in _streams(dialect) if slug in (None, one.slug)]))
    events = _events(fixture.body)
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(events) - 1))
        match draw(st.sampled_from(("member", "member", "member", "drop", "double", "swap"))):
            case "member":
                name, value = events[place]
                events[place] = (
                    name,
                    _with_odd_member(value, draw(st.randoms(use_true_random=False)), draw(json_values)),
                )
            case "drop" if len(events) > 1:
                del events[place]
            case "double":
                events.insert(place, events[place])
            case _:
                other = draw(st.integers(0, len(events) - 1))
                events[place], events[other] = events[other], events[place]
    return b"".join(name + b"data: " + json.dumps(value).encode() + b"\n\n" for name, value in events)


@cache
def _streams(dialect: str) -> list[Fixture]:
    return [fixture for fixture in fixtures(dialect) if fixture.expected.status == 200 and _events(fixture.body)]


def _events(body: bytes) -> list[tuple[bytes, Any]]:
    """The event lines and the JSON of a stream's events, as far as they are plain."""
    found = []
    for block in body.replace(b"\r\n", b"\n").split(b"\n\n"):
        head, _, data = block.rpartition(b"data: ")
        try:
            found.append((head if head.startswith(b"event: ") else b"", json.loads(data)))
        except ValueError:
            continue
    return found


def _with_odd_member(value: Any, rng: random.Random, odd: Any) -> Any:
    """The value with one member somewhere in it replaced, or taken out."""
    places = list(_places(value))
    if not places:
        return odd
    copy = json.loads(json.dumps(value))
    holder, key = rng.choice(list(_places(copy)))
    if isinstance(holder, dict) and rng.random() < 0.3:
        del holder[key]
    else:
        holder[key] = odd
    return copy


def _places(value: Any) -> Any:
    """Each container in the value with each of its keys."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield value, key
        yield from _places(inner)
