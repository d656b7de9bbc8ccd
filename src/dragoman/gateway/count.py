"""Counting tokens: passed on to an upstream of the client's own dialect.

A count for an upstream of another dialect is not made up here yet: the client is told so.
"""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import quote

import msgspec

from dragoman import jsontext
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.dialects.contract import UpstreamRequest
from dragoman.exceptions import InvalidRequest
from dragoman.gateway.client import ClientRequest, Reply
from dragoman.gateway.routes import Match
from dragoman.gateway.turn import Service
from dragoman.upstreams.interface import UpstreamError

_MOST = 1 << 20
"""Bytes of an answer that holds a number."""


async def count_tokens(
    service: Service, match: Match, body: dict[str, Any], model: str, client: ClientRequest, reply: Reply
) -> None:
    """Answers a count request. Raises ``InvalidRequest`` with whatever went wrong."""
    if service.dialect is not match.dialect:
        message = f"tokens of models at the upstream {service.name!r} cannot be counted in this dialect"
        raise InvalidRequest(Error(kind=ErrorKind.SERVER, message=message, status=501))
    try:
        async with asyncio.timeout(service.timeouts.first_event):
            status, answer = await _ask(service, _request(service, match, body, model, client))
    except UpstreamError as failure:
        raise InvalidRequest(failure.error) from None
    except TimeoutError:
        message = f"the upstream {service.name!r} did not count in {service.timeouts.first_event:g} s"
        raise InvalidRequest(Error(kind=ErrorKind.UPSTREAM_TIMEOUT, message=message)) from None
    if status == 200 and isinstance(answer, dict):
        await reply.whole(200, answer)
        return
    error = service.dialect.parse_error(status, answer)
    if status < 400 or status in (401, 403):
        message = f"the upstream {service.name!r} does not count for this gateway (HTTP {status})"
        error = Error(kind=ErrorKind.BAD_UPSTREAM, message=message)
    raise InvalidRequest(error)


def _request(
    service: Service, match: Match, body: dict[str, Any], model: str, client: ClientRequest
) -> UpstreamRequest:
    dialect = match.dialect
    if dialect.adapt_count is None:
        path = match.route.path.removeprefix(dialect.base_path).replace("{model}", quote(model, safe=""))
        made = UpstreamRequest(path=path, body={**body, "model": model} if "model" in body else body)
    else:
        asked = msgspec.structs.replace(dialect.parse_request(body, match.model, False), model=model)
        made = dialect.adapt_count(body, asked, service.facts)
    own = dialect.forwarded(client.headers, service.facts)
    return msgspec.structs.replace(made, headers={**made.headers, **own})


async def _ask(service: Service, request: UpstreamRequest) -> tuple[int, Any]:
    answer = await service.upstream.send(request)
    try:
        pieces, size = [], 0
        while size <= _MOST and (data := await answer.read()):
            pieces.append(data)
            size += len(data)
    finally:
        answer.close()
    try:
        return answer.status, jsontext.parse(b"".join(pieces)) if size <= _MOST else None
    except ValueError:
        return answer.status, None
