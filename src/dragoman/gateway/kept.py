"""Requests that go on from an answer before, and answers that are kept: what the store is asked, and when.

Pure rules are the dialect's (``Dialect.state``); the database is ``state``. An answer is kept here unless
its upstream is of the client's dialect and keeps it itself; then only who made it is kept, since
an id means something there only (design/requests.md, 7). An answer for which the gateway may run tools is
kept here too: to its upstream it is several answers, of which the client knows none.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from dragoman import translate
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.dialects.contract import Dialect, Facts, Operation, State
from dragoman.exceptions import InvalidRequest
from dragoman.gateway.client import ClientRequest, Reply
from dragoman.gateway.routes import Match
from dragoman.gateway.state import AnswerStore, KeptAnswer
from dragoman.gateway.turn import Service

JSON = dict[str, Any]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done for one target: the body it gets, what the answer repeats, what is done at its end."""

    body: JSON
    echo: JSON = {}
    at_end: Callable[[translate.Exchange], Awaitable[None]] | None = None


class Conversation:
    """One request of a dialect with state, whatever it goes on from put into it as far as that is held here.

    ``open`` makes one. ``seed`` is unique for the request.
    """

    def __init__(self, store: AnswerStore, state: State, scope: str, seed: str, body: JSON) -> None:
        self._store = store
        self._state = state
        self._scope = scope
        self._seed = seed
        self._body = body
        self._previous = state.previous(body)
        self._wanted = state.wanted(body)
        self._before: KeptAnswer | None = None

    @classmethod
    async def open(cls, store: AnswerStore, state: State, scope: str, seed: str, body: JSON) -> Conversation:
        """Looks up what the body names. Raises ``InvalidRequest``."""
        one = cls(store, state, scope, seed, body)
        if one._previous is not None:
            one._before = await store.find(scope, one._previous, time.time())
        named = state.references(body)
        known = await store.find_items(scope, named) if named else {}
        before = one._before.items if one._held and one._before else None
        one._body = state.expand(body, before, known)
        return one

    @property
    def body(self) -> JSON:
        """The body with all that is held here put in."""
        return self._body

    @property
    def _held(self) -> bool:
        return self._before is not None and self._before.body is not None

    def plan(self, service: Service, facts: Facts, target: str, client: Dialect, *, tools: bool = False) -> Plan:
        """What this target gets. Raises ``InvalidRequest`` if it cannot go on from the answer before.

        ``tools``: the gateway has some to offer.
        """
        keeps_itself = service.dialect is client and not facts.stateless_upstream
        if self._previous is not None and not self._held:
            bound = self._before.target if self._before else target
            if not keeps_itself or bound != target:
                raise InvalidRequest(self._state.missing(self._previous))
        if keeps_itself and not (tools and not client.parse_request(self._body, None, None).bound):
            return Plan(body=self._body, at_end=self._bind(target) if self._wanted else None)
        # an upstream that keeps answers finds their items by their ids
        body = self._body if keeps_itself else self._state.unkept(self._body)
        if not self._wanted:
            return Plan(body=body)
        echo = self._state.echo(self._state.new_id(self._seed), self._previous)
        return Plan(body=body, echo=echo, at_end=self._keep(target))

    def _keep(self, target: str) -> Callable[[translate.Exchange], Awaitable[None]]:
        async def keep(exchange: translate.Exchange) -> None:
            answer = exchange.answer
            if answer is None:
                return
            led = self._state.items(self._body)
            body, said = self._state.take(answer)
            kept = KeptAnswer(
                id=answer["id"], target=target, since=time.time(), body=body, items=(*led, *said), given=len(led)
            )
            await self._store.keep(self._scope, kept)

        return keep

    def _bind(self, target: str) -> Callable[[translate.Exchange], Awaitable[None]]:
        async def bind(exchange: translate.Exchange) -> None:
            if exchange.answer is not None and isinstance(id := exchange.answer.get("id"), str):
                await self._store.keep(self._scope, KeptAnswer(id=id, target=target, since=time.time()))

        return bind


async def serve(store: AnswerStore, match: Match, scope: str, client: ClientRequest, reply: Reply) -> None:
    """Shows or deletes an answer that is kept here. Raises ``InvalidRequest``."""
    state, id = match.dialect.state, match.id
    if state is None or id is None:
        raise InvalidRequest(_unknown(id or ""))
    if match.route.operation is Operation.DELETE_ANSWER:
        if not await store.delete(scope, id):
            raise InvalidRequest(_unknown(id))
        await reply.whole(200, state.deleted(id))
        return
    kept = await store.find(scope, id, time.time())
    if kept is None or kept.body is None:
        raise InvalidRequest(_unknown(id))
    if match.route.operation is Operation.LIST_ITEMS:
        parameters = {name: values[-1] for name, values in client.query.items()}
        await reply.whole(200, state.page(kept.items[: kept.given], parameters))
    elif client.parameter("stream") in ("true", "1"):
        message = "an answer that is kept here cannot be streamed again"
        raise InvalidRequest(Error(kind=ErrorKind.INVALID_REQUEST, message=message, param="stream"))
    else:
        await reply.whole(200, state.put(kept.body, kept.items[kept.given :]))


def _unknown(id: str) -> Error:
    return Error(kind=ErrorKind.NOT_FOUND, message=f"there is no response {id[:100]!r} here", param="response_id")
