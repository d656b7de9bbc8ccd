"""A fifth dialect that nobody speaks, as small as a dialect can be; no file of the project knows of it.

A request: ``{"model": model, "s": streams, "q": [turn, …], "t": {tool: schema}}``, to ``/toy``. A turn:
``{"w": who, "x": text}``, ``{"w": "a", "c": id, "n": tool, "a": arguments}``, ``{"w": "r", "c": id, "x": text}``.

An answer is a list of pieces, one in each event of a stream, or all of them in ``{"all": [piece, …]}``:

    {"t": "x" | "r", "v": text or reasoning}
    {"t": "c", "i": id, "n": tool}, {"t": "a", "v": arguments}, {"t": "/"}     one call
    {"t": "u", "i": tokens, "o": tokens}
    {"t": ".", "f": finish}  or  {"t": "!", "k": kind, "v": message}           the last one
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from dragoman import dialects
from dragoman.dialects.contract import Dialect, Route
from tests.toy import answer, request

DIALECT = Dialect(
    name="toy",
    title="A toy",
    routes=(Route(path="/toy"),),
    heartbeat=b": \n\n",
    parse_request=request.parse_request,
    render_request=request.render_request,
    adapt_request=request.adapt_request,
    decoder=answer.ToyDecoder,
    encoder=answer.ToyEncoder,
    render_response=answer.render_response,
    parse_error=answer.parse_error,
    render_error=answer.render_error,
    status_of=lambda error: error.status,
    render_models=lambda models, now: {"models": models},
    render_model=lambda model, now: {"model": model},
    authorize=lambda key: {"x-toy-key": key},
    client_headers=lambda request_id: {"x-toy-request": request_id},
    check=answer.check,
)


@contextlib.contextmanager
def registered() -> Iterator[Dialect]:
    """The toy is a dialect like the others as long as this lasts."""
    dialects.register(DIALECT)
    try:
        yield DIALECT
    finally:
        del dialects._registered[DIALECT.name]
