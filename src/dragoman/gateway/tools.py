"""The IO of the tool loop: the calls of a turn are run, and the upstream is asked again, until the answer is over.

The pure loop (``toolloop``) says what to run and when to stop; this watches the time, and keeps the
client's connection warm while tools work.
"""

from __future__ import annotations

import asyncio

import msgspec

from dragoman import translate
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.gateway.turn import STOPPED, Turn
from dragoman.toolloop.loop import LoopLimits, Outcome
from dragoman.toolloop.offer import GatewayTool
from dragoman.toolloop.past import PastAnswers
from dragoman.toolsets.registry import Toolbox, Wanted

_PATIENCE = 5.0
"""Seconds after the gateway's start in which requests wait for tool servers to come up."""


class GatewayTools(msgspec.Struct, frozen=True, kw_only=True):
    """The tools that a gateway runs, and their bounds. ``total``: seconds for all calls of one answer."""

    toolbox: Toolbox
    limits: LoopLimits = LoopLimits()
    total: float = 120.0
    past: PastAnswers

    def offered(self, model: str) -> list[GatewayTool]:
        """The tools for a client that uses this model name, as they are now."""
        return [
            GatewayTool(
                server=tool.server,
                name=tool.name,
                offered=tool.offered,
                description=tool.description,
                schema=tool.schema,
            )
            for tool in self.toolbox.offered(model)
        ]

    @property
    def coming_up(self) -> bool:
        """Whether requests have to wait for tool servers: those of a model that is offered their tools."""
        return self.toolbox.coming_up(_PATIENCE)

    async def ready(self, model: str) -> None:
        """Waits for tool servers that are still coming up, but not for long; at once when all have had their try."""
        await self.toolbox.ready(model, _PATIENCE)


async def go_on(tools: GatewayTools, turn: Turn) -> None:
    """Runs the calls of a turn, and of those that follow, until the answer is over. Cancelling ends the calls."""
    exchange = turn.exchange
    left = tools.total
    clock = asyncio.get_running_loop().time
    while exchange.calls:
        began = clock()
        outcomes = await _outcomes(tools.toolbox, exchange, turn, left) if left > 0 else None
        left -= clock() - began
        if outcomes is None:
            exchange.stop_tools(Error(kind=ErrorKind.OVERLOADED, message=STOPPED) if turn.stopped.is_set() else None)
            await turn.give()
            break
        request = exchange.receive_outcomes(outcomes)
        await turn.give()
        if request is None:
            break
        turn = turn.following(request)
        await turn.run(hold=False)


async def _outcomes(toolbox: Toolbox, exchange: translate.Exchange, turn: Turn, left: float) -> list[Outcome] | None:
    """What came of the calls that are due; ``None`` if the gateway is stopped meanwhile."""
    wanted = [Wanted(call.tool.server, call.tool.name, call.arguments) for call in exchange.calls]
    work = asyncio.ensure_future(toolbox.run(wanted, within=left))
    stopped = asyncio.ensure_future(turn.stopped.wait())
    try:
        while not work.done():
            await asyncio.wait((work, stopped), timeout=turn.until_due, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                if stopped.done():
                    return None
                await turn.keep_warm()
        return [Outcome(parts=outcome.parts, error=outcome.error) for outcome in work.result()]
    finally:
        stopped.cancel()
        work.cancel()
