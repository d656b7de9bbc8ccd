"""A stream of an upstream to a client's, as the judges of composed streams ask for it."""

from __future__ import annotations

from collections.abc import Iterable

from dragoman import dialects
from dragoman.translate import Exchange
from tests.asking import ask
from tests.corpus.crossing import NOW


def translate(upstream: str, client: str, chunks: Iterable[bytes]) -> bytes:
    """What the client gets of these reads."""
    exchange = Exchange(dialects.get(client), dialects.get(upstream), seed="composed", now=NOW)
    asked = ask(client, "composed")
    exchange.request(asked.body, "composed", path_model=asked.model, path_stream=asked.stream)
    exchange.receive_head(200, {"content-type": "text/event-stream"})
    out = []
    for chunk in chunks:
        exchange.receive_data(chunk)
        out.append(exchange.data_to_send())
    exchange.receive_eof()
    return b"".join([*out, exchange.data_to_send()])
