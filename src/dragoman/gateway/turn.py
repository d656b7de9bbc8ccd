"""One upstream asked, and its answer carried to the client as it comes.

The pure exchange (``translate``) knows what bytes mean; this knows when: it reads the next piece
only after the client's connection took the last one, watches the time, and lets go of the upstream
the moment nobody needs it.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from math import inf

import msgspec

from dragoman import translate
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.canonical.request import Loss
from dragoman.dialects.contract import Dialect, UpstreamRequest
from dragoman.gateway.alarm import Alarm
from dragoman.gateway.client import Reply
from dragoman.gateway.facts import ModelFacts
from dragoman.gateway.settings import Secret, Timeouts
from dragoman.upstreams.interface import Upstream, UpstreamAnswer, UpstreamError, flow

_PASSED_HEADERS = re.compile(r"(?:x|anthropic)-ratelimit-[a-z0-9-]+\Z")
_REQUEST_ID = re.compile(r"[A-Za-z0-9_.:-]{1,128}\Z")
_UNPRINTABLE = re.compile(r"[^ -~]")
_REST = 1.0
"""Seconds that an upstream has to end its body after the answer in it is over, to keep the connection."""


STOPPED = "the gateway is being stopped"

_ERROR_WAIT = 10.0
"""Seconds for the body of an error, whose status is known already."""

_LOSS_HEADER = 1000
"""Characters of ``x-dragoman-loss``."""


class Service(msgspec.Struct, frozen=True, kw_only=True):
    """An upstream as it is configured here.

    ``strict``: a request of which something would be lost is refused. ``secrets`` are never shown to a client.
    """

    name: str
    dialect: Dialect
    upstream: Upstream
    facts: ModelFacts = ModelFacts()
    timeouts: Timeouts = Timeouts()
    strict: bool = False
    secrets: tuple[Secret, ...] = ()


class OpenTurns:
    """The turns under way, so that the gateway can end them when it has to stop."""

    def __init__(self) -> None:
        self.turns: set[Turn] = set()
        self.over = asyncio.Event()

    @property
    def ended(self) -> bool:
        """Whether turns end at once."""
        return self.over.is_set()

    def end(self) -> None:
        """Ends each with an error; those that come later end at once."""
        self.over.set()
        for turn in self.turns:
            turn.wake()


class Turn:
    """One request to one upstream. ``began`` is the loop's time at which the client's request came.

    ``before_end`` is awaited before the end of a sound answer goes to the client. ``forwarded`` are headers of
    the client's that go on to the upstream.
    """

    def __init__(
        self,
        service: Service,
        exchange: translate.Exchange,
        request: UpstreamRequest,
        reply: Reply,
        open_turns: OpenTurns,
        began: float,
        before_end: Callable[[], Awaitable[None]] | None = None,
        forwarded: Mapping[str, str] | None = None,
    ) -> None:
        self.service = service
        self.exchange = exchange
        self._forwarded = forwarded or {}
        self._request = msgspec.structs.replace(request, headers={**request.headers, **self._forwarded})
        self._reply = reply
        self._open_turns = open_turns
        self._before_end = before_end
        self._answer: UpstreamAnswer | None = None
        self._headers: Mapping[str, str] = {}
        self._alarm = Alarm(self._due)
        self._clock = asyncio.get_running_loop().time
        times = service.timeouts
        self._idle, self._beat = times.idle, times.heartbeat
        now = self._clock()
        self._total = now + times.total if times.total else inf
        self._patience = now + times.first_event
        self._head = began + times.head if exchange.streaming else inf
        self._heartbeat = now + times.heartbeat if reply.begun and exchange.streaming else inf
        self._heard = False
        """Whether the last step brought something from the upstream, and not just a time that has come."""
        self._speaking = False
        """Whether the first event has come."""

    async def run(self, *, hold: bool) -> bool:
        """Asks, and carries the answer to its end, or to the point at which the gateway has to run tools.

        With ``hold``, a failure before anything was said that another upstream might not have is withheld
        (``Exchange.hold``), and ``False`` returned: ``give_up`` sends it after all.
        """
        self.exchange.hold = hold
        opening = asyncio.ensure_future(self.service.upstream.send(self._request))
        self._open_turns.turns.add(self)
        try:
            while not self.exchange.over:
                if self._answer is not None and self._reply.begun:
                    await self._carry(self._answer)
                    break
                await self._advance(opening)
                await self.give()
            if not self.exchange.failed:
                await self._rest()
            return self.exchange.withheld is None
        finally:
            self._alarm.off()
            self._open_turns.turns.discard(self)
            await self._let_go(opening)

    async def give_up(self) -> None:
        """Sends the failure that was withheld."""
        self.exchange.give_up()
        await self.give()

    def following(self, request: UpstreamRequest) -> Turn:
        """The turn of the next request of the same exchange, to the same upstream."""
        turn = Turn(
            self.service,
            self.exchange,
            request,
            self._reply,
            self._open_turns,
            self._clock(),
            self._before_end,
            self._forwarded,
        )
        turn._total = self._total
        return turn

    @property
    def stopped(self) -> asyncio.Event:
        """Set when the gateway ends its open answers."""
        return self._open_turns.over

    @property
    def until_due(self) -> float | None:
        """Seconds until the client has to hear something while tools run, ``None`` if it never has to."""
        due = min(self._head, self._heartbeat)
        return None if due == inf else max(0.0, due - self._clock())

    async def keep_warm(self) -> None:
        """Lets the client hear something, if that is due."""
        now = self._clock()
        if now >= self._head:
            self._head = inf
            self.exchange.open_head()
            await self.give()
        elif now >= self._heartbeat:
            await self._write(self._reply.dialect.heartbeat)

    # ---- from the upstream

    async def _advance(self, opening: asyncio.Future[UpstreamAnswer]) -> None:
        """The next thing that happens: the upstream's head, bytes, end or failure, or a time that has come."""
        if self._too_late:
            await self._on_time()
            return
        self._heard = True
        self._alarm.set()
        self._alarm.waiting = True
        try:
            if self._answer is None:
                self._answer = await asyncio.shield(opening)
                self._headers = self._answer.headers
                self.exchange.receive_head(self._answer.status, self._headers)
                if self._answer.status >= 300:
                    self._patience = min(self._patience, self._clock() + _ERROR_WAIT)
            elif data := await self._answer.read():
                self.exchange.receive_data(data)
            else:
                self.exchange.receive_eof()
        except (UpstreamError, asyncio.CancelledError) as failure:
            await self._miss(failure)
        finally:
            self._alarm.waiting = False

    async def _carry(self, answer: UpstreamAnswer) -> None:
        """All that is left once the head is out: ``_deliver`` does it, and this what is not done for every delta."""
        alarm = self._alarm
        while not self.exchange.over:
            if self._too_late:
                await self._on_time()
                continue
            alarm.set()
            alarm.waiting = True
            try:
                if await flow(answer, self._deliver):
                    self.exchange.receive_eof()
            except (UpstreamError, asyncio.CancelledError) as failure:
                await self._miss(failure)
            alarm.waiting = False
            if not self._reply.settled:
                await self._reply.settle()
                self._patience = max(self._patience, self._clock() + self._idle)  # that was not the upstream's silence
        await self.give()

    def _deliver(self, data: bytes) -> bool:
        """Some bytes of the upstream's to the client. Returns whether the next may follow at once."""
        exchange = self.exchange
        exchange.receive_data(data)
        if exchange.over:
            return False
        now, goes_on = self._clock(), True
        if out := exchange.data_to_send():
            goes_on = self._reply.put(out)
            self._speaking = True
            self._heartbeat = now + self._beat
        if self._speaking:
            self._patience = now + self._idle
        return goes_on and now < self._total

    @property
    def _too_late(self) -> bool:
        """Even if the next bytes are there already."""
        return self._open_turns.ended or self._clock() >= self._total

    async def _miss(self, failure: UpstreamError | asyncio.CancelledError) -> None:
        """What was waited for did not come."""
        self._alarm.waiting = False
        if isinstance(failure, UpstreamError):
            self.exchange.receive_failure(failure.error)
        elif self._alarm.rang():
            await self._on_time()
        else:
            raise failure

    async def _on_time(self) -> None:
        """Does what is due."""
        self._heard = False
        now, times = self._clock(), self.service.timeouts
        if self._open_turns.ended:
            self._fail(ErrorKind.OVERLOADED, STOPPED)
        elif now >= self._total:
            self._fail(
                ErrorKind.UPSTREAM_TIMEOUT, f"the upstream {self.service.name!r} took more than {times.total:g} s"
            )
        elif now >= self._patience:
            silence = times.idle if self._speaking else times.first_event
            self._fail(ErrorKind.UPSTREAM_TIMEOUT, f"the upstream {self.service.name!r} was silent for {silence:g} s")
        elif now >= self._head:
            self._head = inf
            self.exchange.open_head()
        elif now >= self._heartbeat:
            await self._write(self._reply.dialect.heartbeat)

    def _fail(self, kind: ErrorKind, message: str) -> None:
        self.exchange.receive_failure(Error(kind=kind, message=message))

    def _due(self) -> float:
        return 0.0 if self._open_turns.ended else min(self._total, self._patience, self._head, self._heartbeat)

    def wake(self) -> None:
        """Ends the wait for the upstream, to look at ``OpenTurns.ended``; if it does not wait, it will look by itself."""
        self._alarm.ring()

    # ---- to the client

    async def give(self) -> None:
        """Sends what the exchange has for the client."""
        exchange, reply = self.exchange, self._reply
        head = exchange.head
        if head is None or exchange.withheld is not None:
            return
        if exchange.finished and not exchange.failed and self._before_end is not None:
            await self._before_end()
        data = exchange.data_to_send()
        self._speaking = self._speaking or (self._heard and (bool(data) or not reply.begun))
        if not reply.begun:
            self._head = inf
            length = {"content-length": str(len(data))} if exchange.finished else {}
            await reply.begin(head.status, {**self._passed(), **head.headers, **length})
            self._heartbeat = self._clock() + self._beat if exchange.streaming else inf
        if exchange.finished:
            await reply.end(data)
        elif data:
            await self._write(data)
        if self._speaking and self._heard:
            self._patience = self._clock() + self._idle

    async def _write(self, data: bytes) -> None:
        await self._reply.write(data)
        self._heartbeat = self._clock() + self._beat

    def _passed(self) -> dict[str, str]:
        """Headers beside the answer's own: the upstream's rate limits and request id, and what could not cross."""
        found = {name: value for name, value in self._headers.items() if _PASSED_HEADERS.match(name)}
        upstream_id = self._headers.get("x-request-id") or self._headers.get("request-id") or ""
        if _REQUEST_ID.match(upstream_id):
            found["x-upstream-request-id"] = upstream_id
        if (runs := self.exchange.tool_runs) and not self.exchange.streaming:  # of a stream it is not known yet
            found["x-dragoman-tools"] = str(runs)
        if losses := self.exchange.losses:
            found["x-dragoman-loss"] = loss_header(losses)
        if self.exchange.streaming and not self.exchange.failed:
            found["x-accel-buffering"] = "no"
        return found

    # ---- the end

    async def _rest(self) -> None:
        """Reads the end of a body whose answer is over: a connection read to its end is used again."""
        with contextlib.suppress(UpstreamError, TimeoutError):
            async with asyncio.timeout(_REST):
                while self._answer is not None and await self._answer.read():
                    pass

    async def _let_go(self, opening: asyncio.Future[UpstreamAnswer]) -> None:
        if self._answer is not None:
            self._answer.close()
            return
        opening.cancel()
        await asyncio.wait((opening,))  # to await it would take a cancellation of this task for its own
        if not opening.cancelled() and opening.exception() is None:
            opening.result().close()


def loss_header(losses: Sequence[Loss]) -> str:
    """The paths of what could not cross, as many as a header holds whole, and how many more there are."""
    paths = list(dict.fromkeys(_UNPRINTABLE.sub("?", loss.path) for loss in losses))
    told: list[str] = []
    size = 0
    for path in paths:
        size += len(path) + 2
        if size > _LOSS_HEADER:
            told.append(f"{len(paths) - len(told)} more")
            break
        told.append(path)
    return "; ".join(told)
