"""Requests that go on from a recorded answer."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import msgspec
import pytest

from dragoman import dialects, jsontext
from dragoman.dialects.contract import UpstreamRequest
from dragoman.memory import ReasoningMemory
from dragoman.testing import validate
from dragoman.translate import Exchange
from tests.asking import CLIENTS, ask
from tests.corpus.crossing import NOW, cross
from tests.fixtures import Fixture, fixtures
from tests.roundtrips.echo import Kept, follow, keep, said

JSON = dict[str, Any]

LAST = "That is all."
THANKS = "Thanks, and now?"
MORE = "And after that?"
VERSION = {"anthropic-version": "2023-06-01"}
"""What a messages client sends with its own body."""


class Answered(msgspec.Struct, frozen=True, eq=False):
    """What a client keeps of a fixture's answer, and what the gateway remembers of it."""

    fixture: Fixture
    kept: Kept
    memory: ReasoningMemory

    @property
    def results(self) -> list[str]:
        """One for each call."""
        return [f"result {number}" for number in range(len(self.kept.calls))]


@cache
def answered(fixture: Fixture, client: str) -> Answered:
    """The fixture's answer for this client."""
    memory = ReasoningMemory()
    return Answered(fixture, keep(client, cross(fixture, client, memory=memory).body), memory)


COMPLETE = [
    (fixture, client)
    for upstream in CLIENTS
    for fixture in fixtures(upstream)
    for client in CLIENTS
    if fixture.fits(client) and fixture.expected.end == "complete"
]


def spoken(fixture: Fixture, client: str) -> Answered:
    """The same; skips answers of which a history has nothing to hold."""
    found = answered(fixture, client)
    if found.kept.silent:
        pytest.skip("the answer says nothing")
    return found


def going_on(kept: Kept, results: list[str]) -> list[JSON]:
    """The turn and what follows at once: the results of its calls, else a new prompt."""
    return [*kept.turn, *follow(kept, results, "" if results else THANKS)]


def later(kept: Kept, results: list[str]) -> list[JSON]:
    """The same conversation one turn further on."""
    nothing = Kept(kept.client, [], [])
    return [*going_on(kept, results), *said(kept.client, LAST), *follow(nothing, [], MORE)]


def sent(
    client: str, upstream: str, history: list[JSON], *, memory: ReasoningMemory | None = None, seed: str = "next"
) -> UpstreamRequest:
    """What an upstream of this dialect gets of a client's next request."""
    asked = ask(client, "m", history=json.loads(jsontext.render(history)))
    exchange = Exchange(dialects.get(client), dialects.get(upstream), seed=seed, now=NOW + 60, memory=memory)
    return exchange.request(asked.body, "m", path_model=asked.model, path_stream=asked.stream)


@cache
def asked_again(answer: Answered, upstream: str, stage: int) -> UpstreamRequest:
    """What the upstream gets: 0: of the first question, 1: when the answer is in the history, 2: one turn later."""
    histories: tuple[list[JSON], ...] = ([], going_on(answer.kept, answer.results), later(answer.kept, answer.results))
    return sent(answer.kept.client, upstream, histories[stage], memory=answer.memory)


def refused(client: str, upstream: str, made: UpstreamRequest, proofs: tuple[str, ...] | None) -> list[str]:
    """What a strict upstream finds; ``proofs`` are those that it has given."""
    headers = {**made.headers, **(VERSION if client == upstream else {})}
    return validate(upstream, made.body, headers=headers, proofs=proofs)


def strings(value: Any) -> list[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.values() for text in strings(item)]
    return [text for item in value for text in strings(item)] if isinstance(value, list) else []
