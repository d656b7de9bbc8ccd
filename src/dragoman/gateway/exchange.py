"""One exchange from top to bottom: read → route → ask, target after target → send.

Whatever goes wrong before the answer has begun is raised as ``InvalidRequest`` and becomes an error
answer in ``app``; afterwards it is part of the stream, which ``turn`` and the pure exchange see to.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

import msgspec

from dragoman import jsontext, translate
from dragoman.canonical.errors import Error, ErrorKind, invalid_request
from dragoman.dialects.contract import Operation, UpstreamRequest
from dragoman.exceptions import InvalidRequest
from dragoman.gateway.accesslog import CLIENT_CLOSED, Record
from dragoman.gateway.client import ClientRequest, Reply
from dragoman.gateway.count import count_tokens
from dragoman.gateway.routes import Match
from dragoman.gateway.routing import Router, Target
from dragoman.gateway.turn import OpenTurns, Service, Turn
from dragoman.streaming.body import StreamLimits


class Services(msgspec.Struct, frozen=True, kw_only=True):
    """What every exchange needs of the gateway. ``body_bytes`` bounds a client's body."""

    services: Mapping[str, Service]
    router: Router
    body_bytes: int
    limits: StreamLimits
    open_turns: OpenTurns


async def run(gateway: Services, match: Match, client: ClientRequest, reply: Reply, record: Record) -> None:
    """Answers one request that has a route. Raises ``InvalidRequest`` and ``ClientGone``."""
    body = read_body(await client.body(gateway.body_bytes))
    record.model = name = model_of(match, body)
    targets = gateway.router.targets(name)
    if not targets:
        message = f"there is no model {name!r} here; GET /v1/models lists those that have a name"
        raise InvalidRequest(Error(kind=ErrorKind.NOT_FOUND, message=message, param="model"))
    if match.route.operation is Operation.COUNT_TOKENS:
        target = targets[0]
        record.upstream = str(target)
        work = count_tokens(gateway.services[target.upstream], match, body, target.model, client, reply)
    else:
        work = _generate(gateway, match, client, reply, record, body, targets)
    await _while_client_stays(client, reply, record, work)


async def _generate(
    gateway: Services,
    match: Match,
    client: ClientRequest,
    reply: Reply,
    record: Record,
    body: dict[str, Any],
    targets: Sequence[Target],
) -> None:
    """Asks one target after the other, until one answers or fails after it began to."""
    began = asyncio.get_running_loop().time()
    failed: list[Turn] = []
    for target in targets:
        service = gateway.services[target.upstream]
        exchange = translate.Exchange(
            match.dialect,
            service.dialect,
            seed=reply.request_id,
            request_id=reply.request_id,
            now=int(time.time()),
            facts=service.facts,
            limits=gateway.limits,
        )
        request = _request(exchange, match, client, service, body, target.model)
        record.upstream, record.tried = str(target), record.tried + 1
        turn = Turn(service, exchange, request, reply, gateway.open_turns, began)
        try:
            if await turn.run(hold=len(targets) > 1):
                return
        finally:
            record.take(exchange)
        failed.append(turn)
    turn = _soonest(failed)
    record.take(turn.exchange)
    await turn.give()


def _request(
    exchange: translate.Exchange,
    match: Match,
    client: ClientRequest,
    service: Service,
    body: dict[str, Any],
    model: str,
) -> UpstreamRequest:
    stream = match.route.stream
    array = match.dialect.array_stream and stream is True and client.parameter("alt") != "sse"
    made = exchange.request(body, model, path_model=match.model, path_stream=stream, array=array)
    if match.dialect is not service.dialect:
        return made
    own = match.dialect.forwarded(client.headers, service.facts)
    return msgspec.structs.replace(made, headers={**made.headers, **own})


def _soonest(failed: Sequence[Turn]) -> Turn:
    """The failure that the client is told: the last, or if all were too busy, the one that is over first."""
    if all(turn.status == 429 for turn in failed):
        return min(failed, key=lambda turn: turn.retry_after)
    return failed[-1]


async def _while_client_stays(
    client: ClientRequest, reply: Reply, record: Record, work: Coroutine[Any, Any, None]
) -> None:
    """Does the work, and drops it the moment the client has left without its whole answer."""
    task, leaving = asyncio.ensure_future(work), asyncio.ensure_future(client.gone())
    try:
        await asyncio.wait((task, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not task.done() and not reply.ended:
            task.cancel()
            await asyncio.wait((task,))
            record.leave(reply.status or CLIENT_CLOSED)
        if not task.cancelled():
            await task
    finally:
        leaving.cancel()
        task.cancel()


# ---- what the client said


def read_body(data: bytes) -> dict[str, Any]:
    """The JSON object in a client's body. Strict, unlike what upstreams may send; raises ``InvalidRequest``."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        value = _second_look(data)
    if not isinstance(value, dict):
        raise InvalidRequest(invalid_request("the request body is not a JSON object"))
    return value


def _second_look(data: bytes) -> Any:
    """Lone surrogate escapes, which msgspec refuses and JavaScript clients send, are let through."""
    try:
        json.loads(data.decode("utf-8"), parse_constant=_refuse)
        return jsontext.parse(data)
    except (ValueError, RecursionError):
        raise InvalidRequest(invalid_request("the request body is not valid JSON")) from None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def model_of(match: Match, body: dict[str, Any]) -> str:
    """The model that the client names, in the path or in the body; raises ``InvalidRequest``."""
    name = match.model if match.model is not None else body.get("model")
    if not isinstance(name, str) or not name:
        raise InvalidRequest(invalid_request("model: expected the name of a model", param="model"))
    return name
