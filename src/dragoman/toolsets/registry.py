"""All tools of a gateway: which are offered to whom, and their calls run within their bounds.

A call is looked up, approved, read, checked against the schema, then run, in this order; whatever
stops it is an error that the model is told.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman import jsontext
from dragoman.patterns import matches
from dragoman.toolloop.loop import ToolOutcome
from dragoman.toolloop.offer import GatewayTool
from dragoman.toolsets.interface import Toolset, failed
from dragoman.toolsets.results import ResultLimits, fitted
from dragoman.toolsets.settings import Approval, FunctionPath, McpSettings

if TYPE_CHECKING:
    from dragoman.toolsets.schemas import ArgumentChecker

_log = logging.getLogger(__name__)

_PATIENCE = 5.0
"""Seconds after the start in which requests wait for tool servers to come up."""


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A toolset and what the configuration says of it. ``timeout``: seconds for each of its calls.

    ``source``: what the toolset was made of.
    """

    toolset: Toolset
    source: McpSettings | FunctionPath | None = None
    models: tuple[str, ...] = ("*",)
    approval: Approval = Approval()
    timeout: float = 30.0

    def serves(self, model: str) -> bool:
        """Whether a client that uses this model name gets its tools."""
        return any(matches(pattern, model) for pattern in self.models)


class Wanted(msgspec.Struct, frozen=True):
    """A call that a model made: the server, its own name of the tool, the text of the arguments."""

    server: str
    tool: str
    arguments: str

    def __str__(self) -> str:
        return f"{self.tool} of {self.server}"


class Toolbox:
    """The toolsets of a gateway. Used by many requests at the same time."""

    def __init__(self, members: Sequence[Member] = (), limits: ResultLimits | None = None) -> None:
        self.members = tuple(members)
        self._limits = limits or ResultLimits()
        self._checkers: dict[str, tuple[GatewayTool, ArgumentChecker]] = {}
        self._began: float | None = None

    # ---- life

    async def start(self) -> None:
        """All toolsets begin to come up, side by side; none is waited for. Once is enough."""
        if self._began is not None:
            return
        self._began = asyncio.get_running_loop().time()
        for member in self.members:
            await member.toolset.start()

    async def settled(self) -> None:
        """Returns once the first attempt of each to come up is over, well or not."""
        await asyncio.gather(*(member.toolset.settled() for member in self.members))

    async def ready(self, model: str) -> None:
        """Waits for those that serve this model as ``settled`` does, but not for long."""
        await self.start()
        assert self._began is not None
        if not (waiting := [member.toolset.settled() for member in self.members if member.serves(model)]):
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(self._began + _PATIENCE):
                await asyncio.gather(*waiting)

    @property
    def coming_up(self) -> bool:
        """Whether requests wait for some that still make their first attempt (``ready``)."""
        if self._began is None or asyncio.get_running_loop().time() >= self._began + _PATIENCE:
            return False
        return any(member.toolset.state.condition == "starting" for member in self.members)

    async def aclose(self) -> None:
        """Closes all, side by side."""
        await asyncio.gather(*(member.toolset.aclose() for member in self.members))

    # ---- what is offered

    def offered(self, model: str) -> tuple[GatewayTool, ...]:
        """The tools for a client that uses this model name, as they are now. Denied ones are among them."""
        return tuple(tool for member in self.members if member.serves(model) for tool in member.toolset.tools)

    # ---- calls

    async def run(self, calls: Sequence[Wanted], *, within: float = math.inf) -> tuple[ToolOutcome, ...]:
        """The outcomes of calls that run side by side, in the order of the calls.

        ``within``: seconds for all of them, under the time that each tool has. Cancelling cancels all.
        """
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self.call(one, within=within)) for one in calls]
        return tuple(task.result() for task in tasks)

    async def call(self, wanted: Wanted, *, within: float = math.inf) -> ToolOutcome:
        """The outcome of one call, within the limits of size and time."""
        return fitted(await self._outcome(wanted, within), self._limits)

    async def _outcome(self, wanted: Wanted, within: float) -> ToolOutcome:
        found = self._find(wanted.server, wanted.tool)
        if found is None:
            return failed(f"The tool {wanted} is not there at the moment.")
        member, tool = found
        if not member.approval.allows(tool.name):
            return failed(f"The tool {wanted} was not run: the operator of this gateway denies it.")
        try:
            arguments = _read(wanted.arguments)
            if mistakes := self._checker(tool).mistakes(arguments):
                raise ValueError("the arguments do not fit its schema: " + "; ".join(mistakes))
        except ValueError as error:
            return failed(f"The tool {wanted} was not run: {error}")
        seconds = min(member.timeout, within)
        if seconds <= 0:
            return failed(f"The tool {wanted} was not run: no time is left.")
        try:
            async with asyncio.timeout(seconds):
                return await member.toolset.call(tool.name, arguments)
        except TimeoutError:
            return failed(f"The tool {wanted} gave no result within {seconds:.3g} seconds.")
        except Exception as error:  # a mistake of ours: the request goes on all the same
            _log.exception("the call of %s failed: %s", wanted, type(error).__name__)
            return failed(f"The tool {wanted} failed.")

    def _find(self, server: str, name: str) -> tuple[Member, GatewayTool] | None:
        for member in self.members:
            if member.toolset.name == server:
                found = next((tool for tool in member.toolset.tools if tool.name == name), None)
                return (member, found) if found is not None else None
        return None

    def _checker(self, tool: GatewayTool) -> ArgumentChecker:
        """Kept for as long as the tool stays the same: making one takes longer than using it."""
        known = self._checkers.get(tool.offered)
        if known is not None and (known[0] is tool or known[0].schema == tool.schema):
            return known[1]
        from dragoman.toolsets.schemas import ArgumentChecker  # needs the extra, which a gateway without tools lacks

        checker = ArgumentChecker(tool.schema)
        self._checkers[tool.offered] = (tool, checker)
        return checker


def _read(text: str) -> dict[str, Any]:
    """The arguments in this text; nothing at all is no argument. Raises ``ValueError``."""
    if not text.strip():
        return {}
    try:
        value = jsontext.parse(text)
    except ValueError:
        raise ValueError("its arguments are no JSON") from None
    if not isinstance(value, dict):
        raise ValueError("its arguments are no JSON object")
    return value
