"""``dragoman translate``: one dialect in, another one out."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from dragoman import dialects, jsontext
from dragoman.canonical.request import Loss, Request
from dragoman.commands import pipes
from dragoman.dialects.contract import Facts
from dragoman.exceptions import InvalidRequest
from dragoman.translate import Exchange

_SEED = "dragoman translate"  # the same input gives the same output


def translate_answer(upstream: str, client: str, file: str, request: str | None) -> int:
    """An upstream's stream or body to a client's; returns the exit status. Raises ``UsageError``."""
    out = sys.stdout.buffer
    for exchange, _ in carried(upstream, client, file, request):
        pipes.write(out, exchange.data_to_send())
    if not exchange.streaming:
        pipes.write(out, b"\n")
    for what, count in exchange.dropped.items():
        print(f"lost: {what} ({count})", file=sys.stderr)
    if exchange.error is not None:
        print(f"failed: {exchange.error.kind}: {exchange.error.message}", file=sys.stderr)
    return pipes.VIOLATIONS if exchange.failed else pipes.CLEAN


def carried(upstream: str, client: str, file: str, request: str | None) -> Iterator[tuple[Exchange, bytes]]:
    """Reads an upstream's answer: the exchange after each piece, and the piece; the last one is the end.

    The body tells whether it is a stream. Raises ``UsageError``.
    """
    exchange = Exchange(dialects.get(client), dialects.get(upstream), seed=_SEED, now=0)
    asked = _request(client, request)
    head, begun = b"", False
    for data in pipes.chunks(file):
        if not begun:
            head += data
            if (streaming := pipes.is_stream(head)) is None:
                continue
            exchange.begin(asked, streaming=streaming)
            begun, data = True, head
        exchange.receive_data(data)
        yield exchange, data
    if not begun:
        exchange.begin(asked, streaming=False)
        exchange.receive_data(head)
    exchange.receive_eof()
    yield exchange, b"" if begun else head


def _request(client: str, file: str | None) -> Request | None:
    if file is None:
        return None
    try:
        return dialects.get(client).parse_request(pipes.json_file(file), *_path_facts(client, None, True))
    except InvalidRequest as fault:
        raise pipes.UsageError(f"{file}: {_said(fault)}") from None


def translate_request(
    client: str, upstream: str, file: str, model: str | None = None, stream: bool | None = None
) -> int:
    """A client's request to an upstream's; losses go to standard error. Raises ``UsageError``.

    ``model`` and ``stream`` are what the client's path says, if its dialect has them there; else ``model`` replaces
    the body's.
    """
    if stream is not None and not _in_path(client):
        raise pipes.UsageError(f"--stream goes with a dialect that says it in its path; the body of {client} says it")
    body = pipes.json_object(b"".join(pipes.chunks(file)), file)
    exchange = Exchange(dialects.get(client), dialects.get(upstream), seed=_SEED, now=0, facts=Facts())
    path_model, path_stream = _path_facts(client, model, bool(stream))
    wanted = model or str(body.get("model") or "model")
    try:
        made = exchange.request(body, wanted, path_model=path_model, path_stream=path_stream)
    except InvalidRequest as fault:
        print(f"refused: {_said(fault)}", file=sys.stderr)
        return pipes.VIOLATIONS
    pipes.write(sys.stdout.buffer, jsontext.render(made.body) + b"\n")
    if _in_path(upstream):
        print(f"path: {made.path}", file=sys.stderr)
    _report(made.losses)
    return pipes.CLEAN


def _in_path(dialect: str) -> bool:
    """Whether requests of this dialect have the model and the stream flag in their path, which a file does not have."""
    return any("{model}" in route.path for route in dialects.get(dialect).routes)


def _path_facts(client: str, model: str | None, stream: bool) -> tuple[str | None, bool | None]:
    """What the path would say; the model's name is a stand-in where nobody gave it."""
    return (model or "model", stream) if _in_path(client) else (None, None)


def _report(losses: tuple[Loss, ...]) -> None:
    for loss in losses:
        print(f"lost: {loss.path}: {loss.reason}", file=sys.stderr)


def _said(fault: InvalidRequest) -> str:
    param, message = fault.error.param, fault.error.message
    return message if not param or message.startswith((f"{param}:", f"{param} ")) else f"{param}: {message}"
