"""``dragoman translate``: one dialect in, another one out."""

from __future__ import annotations

import sys
from typing import Any

from dragoman import dialects, jsontext
from dragoman.canonical.request import Loss
from dragoman.commands import pipes
from dragoman.dialects.contract import Facts
from dragoman.exceptions import InvalidRequest
from dragoman.translate import Exchange

_SEED = "dragoman translate"  # the same input gives the same output


def translate_answer(upstream: str, client: str, file: str, request: str | None) -> int:
    """An upstream's stream or body to a client's; returns the exit status. Raises ``UsageError``."""
    exchange = begun(upstream, client, request)
    out = sys.stdout.buffer
    head, known = b"", False
    for data in pipes.chunks(file):
        if not known:
            head += data
            streaming = pipes.is_stream(head)
            if streaming is None:
                continue
            exchange.streaming, known, data = streaming, True, head
        exchange.receive_data(data)
        pipes.write(out, exchange.data_to_send())
    if head and not known:
        exchange.receive_data(head)
    exchange.receive_eof()
    pipes.write(out, exchange.data_to_send())
    if not exchange.streaming:
        pipes.write(out, b"\n")
    for what, count in exchange.dropped.items():
        print(f"lost: {what} ({count})", file=sys.stderr)
    if exchange.failed:
        print("the upstream's answer failed or was cut", file=sys.stderr)
    return pipes.VIOLATIONS if exchange.failed else pipes.CLEAN


def begun(upstream: str, client: str, request: str | None) -> Exchange:
    """An exchange whose request has been read (from a file, if there is one), ready for the answer."""
    exchange = Exchange(dialects.get(client), dialects.get(upstream), seed=_SEED, now=0)
    if request is None:
        exchange.begin(None)
    else:
        try:
            exchange.begin(dialects.get(client).parse_request(pipes.json_file(request), *_path_facts(client)))
        except InvalidRequest as fault:
            raise pipes.UsageError(f"{request}: {_said(fault)}") from None
    exchange.receive_head(200, {})
    return exchange


def translate_request(client: str, upstream: str, file: str) -> int:
    """A client's request to an upstream's; losses go to standard error. Raises ``UsageError``."""
    raw = b"".join(pipes.chunks(file))
    try:
        body: Any = jsontext.parse(raw)
    except ValueError as fault:
        raise pipes.UsageError(f"{file}: no JSON: {fault}") from None
    if not isinstance(body, dict):
        raise pipes.UsageError(f"{file}: a JSON object was expected")
    exchange = Exchange(dialects.get(client), dialects.get(upstream), seed=_SEED, now=0, facts=Facts())
    model, stream = _path_facts(client)
    try:
        made = exchange.request(body, str(body.get("model") or "model"), path_model=model, path_stream=stream)
    except InvalidRequest as fault:
        print(f"refused: {_said(fault)}", file=sys.stderr)
        return pipes.VIOLATIONS
    pipes.write(sys.stdout.buffer, jsontext.render(made.body) + b"\n")
    _report(made.losses)
    return pipes.CLEAN


def _path_facts(client: str) -> tuple[str | None, bool | None]:
    """Stand-ins for the model and the stream flag where a client says them in its path, which a file does not have."""
    in_path = any("{model}" in route.path for route in dialects.get(client).routes)
    return ("model", True) if in_path else (None, None)


def _report(losses: tuple[Loss, ...]) -> None:
    for loss in losses:
        print(f"lost: {loss.path}: {loss.reason}", file=sys.stderr)


def _said(fault: InvalidRequest) -> str:
    where = f"{fault.error.param}: " if fault.error.param else ""
    return where + fault.error.message
