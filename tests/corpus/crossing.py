"""One recorded answer carried across to a client, in this process."""

from __future__ import annotations

from functools import cache

import msgspec

from dragoman import dialects
from dragoman.memory import ReasoningMemory
from dragoman.translate import Exchange
from tests.asking import ask
from tests.fixtures import Fixture, pieces

SEED = "the corpus"
NOW = 1_700_000_000


class Answer(msgspec.Struct, frozen=True):
    """What the client got; ``exchange`` tells what was noted on the way."""

    status: int
    body: bytes
    exchange: Exchange

    @property
    def streamed(self) -> bool:
        head = self.exchange.head
        return head is not None and head.headers["content-type"] == "text/event-stream"


def cross(
    fixture: Fixture,
    client: str,
    *,
    cut: int = 0,
    stream: bool | None = None,
    memory: ReasoningMemory | None = None,
) -> Answer:
    """The client's answer where the upstream's body comes in reads of ``cut`` bytes (0: in one read)."""
    stream = fixture.expected.stream if stream is None else stream
    up = dialects.get(fixture.dialect)
    exchange = Exchange(dialects.get(client), up, seed=SEED, now=NOW, request_id="req_1", memory=memory)
    asked = ask(client, fixture.slug, stream=stream, choices=fixture.expected.choices)
    exchange.request(asked.body, fixture.slug, path_model=asked.model, path_stream=asked.stream)
    exchange.receive_head(fixture.expected.status, {"content-type": fixture.expected.content_type})
    out = []
    for piece in pieces(fixture.body, cut):
        exchange.receive_data(piece)
        out.append(exchange.data_to_send())
    exchange.receive_eof()
    out.append(exchange.data_to_send())
    assert exchange.head is not None
    assert exchange.finished
    return Answer(exchange.head.status, b"".join(out), exchange)


@cache
def whole_read(fixture: Fixture, client: str) -> Answer:
    """The answer to what the fixture's client asked, its upstream's body in one read."""
    return cross(fixture, client)
