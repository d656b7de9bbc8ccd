"""One exchange from top to bottom: read → route → ask, target after target → send.

Whatever goes wrong before the answer has begun is raised as ``InvalidRequest`` and becomes an error
answer in ``app``; afterwards it is part of the stream, which ``turn`` and the pure exchange see to.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from math import inf
from typing import Any

import msgspec

from dragoman import jsontext, translate
from dragoman.canonical.errors import Error, ErrorKind, invalid_request
from dragoman.dialects.contract import Operation, UpstreamRequest
from dragoman.exceptions import InvalidRequest
from dragoman.gateway import count
from dragoman.gateway.accesslog import CLIENT_CLOSED, Record
from dragoman.gateway.admission import Admission
from dragoman.gateway.client import ClientRequest, Refusal, Reply
from dragoman.gateway.health import Health
from dragoman.gateway.kept import Conversation, Plan
from dragoman.gateway.routes import Match
from dragoman.gateway.routing import Router, Target
from dragoman.gateway.state import AnswerStore, StateError
from dragoman.gateway.tools import GatewayTools, go_on
from dragoman.gateway.turn import OpenTurns, Service, Turn, loss_header
from dragoman.memory import ReasoningMemory
from dragoman.streaming.body import StreamLimits
from dragoman.toolloop.offer import GatewayTool


class Services(msgspec.Struct, frozen=True, kw_only=True):
    """What every exchange needs of the gateway.

    ``body_bytes`` bounds a client's body, ``body_seconds`` the time that it may take, ``streams`` the requests that
    a client may have under way.
    """

    services: Mapping[str, Service]
    router: Router
    body_bytes: int
    body_seconds: float
    streams: int
    limits: StreamLimits
    admission: Admission
    open_turns: OpenTurns
    memory: ReasoningMemory
    store: AnswerStore
    tools: GatewayTools
    health: Health


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One client request. ``scope`` names the client's key: what is kept for one is not for another."""

    match: Match
    client: ClientRequest
    reply: Reply
    record: Record
    scope: str
    body: dict[str, Any]


async def run(gateway: Services, match: Match, client: ClientRequest, reply: Reply, record: Record, scope: str) -> None:
    """Answers one request that has a route. Raises ``InvalidRequest`` and ``ClientGone``."""
    with gateway.admission.admitted(scope, gateway.streams):
        await _run(gateway, match, client, reply, record, scope)


async def _run(
    gateway: Services, match: Match, client: ClientRequest, reply: Reply, record: Record, scope: str
) -> None:
    body = read_body(await client.body(gateway.body_bytes, gateway.body_seconds))
    record.model = name = model_of(match, body)
    targets = gateway.router.targets(name)
    if not targets:
        raise InvalidRequest(no_model(name))
    asked = Asked(match=match, client=client, reply=reply, record=record, scope=scope, body=body)
    work = _count if match.route.operation is Operation.COUNT_TOKENS else _generate
    await _while_client_stays(client, reply, record, work(gateway, asked, targets))


async def _generate(gateway: Services, asked: Asked, targets: Sequence[Target]) -> None:
    """Asks one target after the other, until one answers or fails after it began to.

    One that cools down is passed over if there are others, one that cannot be asked this in any case; if none
    can, the client gets the first refusal.
    """
    began = asyncio.get_running_loop().time()
    await gateway.tools.toolbox.ready(asked.record.model or "")
    search = _Search(gateway, asked, await _conversation(gateway, asked), began, several=len(targets) > 1)
    cooling: list[Target] = []
    for target in targets:
        if search.several and not gateway.health.admits(target):
            cooling.append(target)
            asked.record.cooling.append(str(target))
        elif await search.answered_by(target):
            return
    if not search.failed:
        for target in cooling:
            if await search.answered_by(target):
                return
    await search.give_up()


class _Search:
    """The search for a target that answers: what those said that were asked."""

    def __init__(
        self, gateway: Services, asked: Asked, conversation: Conversation | None, began: float, *, several: bool
    ) -> None:
        self.several = several
        self.failed: list[Turn] = []
        self._refused: InvalidRequest | None = None
        self._gateway = gateway
        self._asked = asked
        self._conversation = conversation
        self._began = began

    async def answered_by(self, target: Target) -> bool:
        """Asks this target. Returns whether the client has its answer, or an error that no other would change."""
        gateway, record = self._gateway, self._asked.record
        record.upstream = str(target)
        try:
            turn = self._turn(target)
        except InvalidRequest as refusal:
            self._refused = self._refused or refusal
            return False
        self._asked.reply.tried = record.tried = record.tried + 1
        attempt = gateway.health.begin(target, lambda: turn.exchange.said)
        try:
            answered = await turn.run(hold=self.several)
            if answered:
                await go_on(gateway.tools, turn)
        finally:
            record.take(turn.exchange)
            if turn.exchange.finished and not turn.stopped.is_set():
                gateway.health.learn(attempt, turn.exchange.error)
            else:
                gateway.health.release(attempt)
        if not answered:
            record.fail(str(target), turn.exchange.error)
            self.failed.append(turn)
        return answered

    def _turn(self, target: Target) -> Turn:
        before = self.failed[-1].exchange if self.failed else None
        return _turn(self._gateway, self._asked, self._conversation, target, self._began, before)

    async def give_up(self) -> None:
        """Tells the client of a failure: of the last target, or if all were too busy, of that which is over first."""
        if not self.failed:
            assert self._refused is not None
            raise self._refused
        turn = self.failed[-1]
        errors = [error for failed in self.failed if (error := failed.exchange.error)]
        if not self._asked.reply.begun and all(error.status == 429 for error in errors):
            turn = min(self.failed, key=_wait)
        await turn.give_up()
        self._asked.record.take(turn.exchange)


def _wait(turn: Turn) -> float:
    """Seconds until its upstream may be asked again; infinite if it did not say."""
    error = turn.exchange.error
    return inf if error is None or error.retry_after is None else error.retry_after


async def _count(gateway: Services, asked: Asked, targets: Sequence[Target]) -> None:
    """Tells how many tokens the request has for the first target."""
    conversation = await _conversation(gateway, asked)
    target = targets[0]
    service = gateway.services[target.upstream]
    asked.record.upstream = str(target)
    await gateway.tools.toolbox.ready(asked.record.model or "")
    tools = gateway.tools.toolbox.offered(asked.record.model or "")
    plan = _plan(asked, conversation, service, target, tools)
    added = count.Added(tools=tools, past=gateway.tools.past, scope=asked.scope, now=time.time())
    tokens = await count.counted(service, asked.match, plan.body, target.model, asked.client, added)
    headers = {"x-dragoman-count": "estimate"} if tokens.estimated else {}
    await asked.reply.whole(200, tokens.body, headers)


async def _conversation(gateway: Services, asked: Asked) -> Conversation | None:
    state = asked.match.dialect.state
    if state is None:
        return None
    return await Conversation.open(gateway.store, state, asked.scope, asked.reply.request_id, asked.body)


def _plan(
    asked: Asked, conversation: Conversation | None, service: Service, target: Target, tools: Sequence[GatewayTool]
) -> Plan:
    if conversation is None:
        return Plan(body=asked.body)
    facts = service.facts.of(target.model)
    return conversation.plan(service, facts, str(target), asked.match.dialect, tools=bool(tools))


def _turn(
    gateway: Services,
    asked: Asked,
    conversation: Conversation | None,
    target: Target,
    began: float,
    before: translate.Exchange | None,
) -> Turn:
    """The turn at this target, ``before`` which another failed. Raises ``InvalidRequest`` if it cannot be asked this."""
    service = gateway.services[target.upstream]
    tools = gateway.tools.toolbox.offered(asked.record.model or "")
    plan = _plan(asked, conversation, service, target, tools)
    exchange = _exchange(gateway, asked, service, target.model, tools)
    if before is not None:
        exchange.take_over(before)
    try:
        request = _request(exchange, asked, plan, target.model)
    except InvalidRequest as refusal:
        if not exchange.losses:
            raise
        asked.record.losses = exchange.losses
        raise Refusal(refusal.error, {"x-dragoman-loss": loss_header(exchange.losses)}) from None
    own = asked.match.dialect.forwarded(asked.client.headers, exchange.facts) if exchange.native else {}
    return Turn(
        service, exchange, request, asked.reply, gateway.open_turns, began, _at_end(plan, exchange, asked.record), own
    )


def _exchange(
    gateway: Services, asked: Asked, service: Service, model: str, tools: Sequence[GatewayTool]
) -> translate.Exchange:
    return translate.Exchange(
        asked.match.dialect,
        service.dialect,
        seed=asked.reply.request_id,
        request_id=asked.reply.request_id,
        now=int(time.time()),
        facts=service.facts.of(model),
        limits=gateway.limits,
        memory=gateway.memory,
        scope=asked.scope,
        strict=service.strict or asked.client.headers.get("x-dragoman-strict") in ("1", "true"),
        secrets=[secret.reveal() for secret in service.secrets],
        tools=tools,
        loop=gateway.tools.limits,
        past=gateway.tools.past,
    )


def _request(exchange: translate.Exchange, asked: Asked, plan: Plan, model: str) -> UpstreamRequest:
    match, client = asked.match, asked.client
    stream = match.route.stream
    array = match.dialect.array_stream and stream is True and client.parameter("alt") != "sse"
    return exchange.request(plan.body, model, path_model=match.model, path_stream=stream, array=array, echo=plan.echo)


def _at_end(plan: Plan, exchange: translate.Exchange, record: Record) -> Callable[[], Awaitable[None]] | None:
    """Keeps the answer before its end goes out: the client may go on from it at once."""
    keep = plan.at_end
    if keep is None:
        return None

    async def end() -> None:
        try:
            await keep(exchange)
        except StateError:
            record.unkept = True  # the answer is sound all the same

    return end


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


def no_model(name: str) -> Error:
    """What a client is told that asks for a model that no name, pattern or upstream here leads to."""
    message = f"there is no model {name[:200]!r} here; GET /v1/models lists those that have a name"
    return Error(kind=ErrorKind.NOT_FOUND, message=message, param="model")


def read_body(data: bytes) -> dict[str, Any]:
    """The JSON object in a client's body. Strict, unlike what upstreams may send; raises ``InvalidRequest``."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        value = _second_look(data)
    if not isinstance(value, dict):
        raise InvalidRequest(invalid_request("the request body is not a JSON object"))
    if jsontext.is_nested_deeper(value):
        raise InvalidRequest(invalid_request(f"the request body is nested deeper than {jsontext.DEPTH} levels"))
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
