"""The IO of the tool loop: the calls of a turn are run, and the upstream is asked again, until the answer is over.

The pure loop (``toolloop``) says what to run and when to stop; this watches the time, and keeps the
client's connection warm while tools work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from dragoman.canonical.errors import Error, ErrorKind
from dragoman.gateway.turn import STOPPED, Turn
from dragoman.toolloop.loop import LoopLimits, ToolOutcome
from dragoman.toolloop.past import PastAnswers
from dragoman.toolsets.registry import Toolbox, Wanted


class GatewayTools(msgspec.Struct, frozen=True, kw_only=True):
    """The tools that a gateway runs, and their bounds. ``total``: seconds for all calls of one answer."""

    toolbox: Toolbox
    limits: LoopLimits
    total: float
    past: PastAnswers


async def go_on(tools: GatewayTools, turn: Turn) -> None:
    """Runs the calls of a turn, and of those that follow, until the answer is over. Cancelling ends the calls."""
    exchange = turn.exchange
    left = tools.total
    clock = asyncio.get_running_loop().time
    while exchange.calls:
        began = clock()
        outcomes = await _outcomes(tools.toolbox, turn, left) if left > 0 else None
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


async def _outcomes(toolbox: Toolbox, turn: Turn, left: float) -> Sequence[ToolOutcome] | None:
    """What came of the calls that are due; ``None`` if the gateway is stopped meanwhile."""
    wanted = [Wanted(call.tool.server, call.tool.name, call.arguments) for call in turn.exchange.calls]
    work = asyncio.ensure_future(toolbox.run(wanted, within=left))
    stopped = asyncio.ensure_future(turn.stopped.wait())
    try:
        while not work.done():
            await asyncio.wait((work, stopped), timeout=turn.until_due, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                if stopped.done():
                    return None
                await turn.keep_warm()
        return work.result()
    finally:
        stopped.cancel()
        work.cancel()
