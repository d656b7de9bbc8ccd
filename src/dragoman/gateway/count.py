"""Counting tokens: asked of an upstream of the client's own dialect, else estimated here; never refused.

Servers that only speak a dialect in part have no counter: what they say to that is no answer, nor is anything but a
count in an answer that claims success.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, TypeGuard
from urllib.parse import quote

import msgspec

from dragoman import counting, jsontext
from dragoman.canonical.errors import Error, ErrorKind, invalid_request
from dragoman.canonical.request import Request
from dragoman.dialects.contract import Dialect, UpstreamRequest
from dragoman.dialects.error_shapes import is_bare_error
from dragoman.exceptions import InvalidRequest
from dragoman.failures import accounted
from dragoman.gateway.client import ClientRequest
from dragoman.gateway.routes import Match
from dragoman.gateway.turn import Service
from dragoman.scrub import scrubbed_error
from dragoman.toolloop.native import spelled
from dragoman.toolloop.offer import GatewayTool
from dragoman.toolloop.past import PastAnswers
from dragoman.toolloop.prepared import prepared
from dragoman.upstreams.interface import UpstreamError

_MOST = 1 << 20
"""Bytes of an answer that holds a number."""
_NO_COUNTER = (404, 405, 501)
"""What a server says that has no counter."""

JSON = dict[str, Any]


class Count(msgspec.Struct, frozen=True):
    """The answer to a client; ``estimated`` if it was made here."""

    body: JSON
    estimated: bool


class Added(msgspec.Struct, frozen=True, kw_only=True):
    """What the gateway would add to the request (``toolloop.prepared``)."""

    tools: Sequence[GatewayTool]
    past: PastAnswers
    scope: str
    now: float


async def counted(service: Service, match: Match, body: JSON, model: str, client: ClientRequest, added: Added) -> Count:
    """How many tokens the request has. Raises ``InvalidRequest`` with whatever went wrong."""
    request, body = _completed(service, match, body, model, added)
    if service.dialect is match.dialect:
        found = await _by_upstream(service, match, body, request, client)
        if found is not None:
            return Count(found, estimated=False)
    for path in request.bound:
        message = f"{path} can be served by its own provider only: send in full what it stands for"
        raise InvalidRequest(invalid_request(message, path))
    tokens = await asyncio.to_thread(counting.estimate, request)
    if match.dialect.render_count is None:
        message = f"tokens of models at the upstream {service.name!r} cannot be counted in this dialect"
        raise InvalidRequest(Error(kind=ErrorKind.SERVER, message=message, status=501))
    return Count(match.dialect.render_count(tokens), estimated=True)


def _completed(service: Service, match: Match, body: JSON, model: str, added: Added) -> tuple[Request, JSON]:
    """The request as the upstream would get it: canonical, and as a body of the client's dialect."""
    dialect, facts = match.dialect, service.facts.of(model)
    asked = dialect.parse_request(body, match.model, False)
    wrapper = spelled(body, dialect.members.counted) if dialect.members.counted else None
    wrapped = body.get(wrapper) if wrapper else None
    inner = wrapped if isinstance(wrapped, dict) else body
    made = prepared(
        inner,
        asked,
        service.dialect,
        facts,
        tools=added.tools,
        past=added.past,
        scope=added.scope,
        now=added.now,
    )
    request = msgspec.structs.replace(made.request, model=model)
    if made.body is inner:
        return request, body
    return request, {wrapper: made.body} if wrapper else made.body


async def _by_upstream(
    service: Service, match: Match, body: JSON, request: Request, client: ClientRequest
) -> JSON | None:
    """What the upstream's counter says; ``None`` if it has none."""
    try:
        async with asyncio.timeout(service.timeouts.first_event):
            status, answer = await _ask(service, _request(service, match, body, request, client))
    except UpstreamError as failure:
        raise InvalidRequest(failure.error) from None
    except TimeoutError:
        message = f"the upstream {service.name!r} did not count in {service.timeouts.first_event:g} s"
        raise InvalidRequest(Error(kind=ErrorKind.UPSTREAM_TIMEOUT, message=message)) from None
    if status == 200 and _is_count(answer, service.dialect):
        return answer
    if status in _NO_COUNTER or (status == 200 and not is_bare_error(answer)):
        return None
    error = accounted(service.dialect.parse_error(status if status != 200 else 0, answer), service.dialect.name)
    if 200 < status < 400:
        message = f"the upstream {service.name!r} does not count for this gateway (HTTP {status})"
        error = Error(kind=ErrorKind.BAD_UPSTREAM, message=message)
    raise InvalidRequest(scrubbed_error(error, [secret.reveal() for secret in service.secrets]))


def _is_count(answer: Any, dialect: Dialect) -> TypeGuard[JSON]:
    """Whether it holds what a counter of this dialect tells: whole numbers from 0 up."""
    if not isinstance(answer, dict) or dialect.render_count is None:
        return False
    numbers: list[Any] = [answer.get(name) for name, form in dialect.render_count(0).items() if form == 0]
    return all(type(number) in (int, float) and number >= 0 and number % 1 == 0 for number in numbers)


def _request(service: Service, match: Match, body: JSON, request: Request, client: ClientRequest) -> UpstreamRequest:
    dialect, model = match.dialect, request.model
    facts = service.facts.of(model)
    if dialect.adapt_count is None:
        path = match.route.path.removeprefix(dialect.base_path).replace("{model}", quote(model, safe=""))
        made = UpstreamRequest(path=path, body={**body, "model": model} if "model" in body else body)
    else:
        made = dialect.adapt_count(body, request, facts)
    own = dialect.forwarded(client.headers, facts)
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
