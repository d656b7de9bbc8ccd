"""Tools of an MCP server, through the official SDK: over standard input and output, or streamable HTTP.

    starting → ready ⇄ hidden (does not answer) → down → starting → …        closed from anywhere

One task owns the connection from opening to end, since the SDK's cancel scopes must be entered and
left in one task; calls come from other tasks and only wait for their answer. A connection that ends
is made anew, after a pause that doubles; while it is not there its tools are not offered.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from importlib.metadata import version
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

import anyio
import msgspec
from mcp import Client, MCPError
from mcp import types as m
from mcp.client import IncomingMessage
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from pydantic import ValidationError

from dragoman.scrub import scrubbed
from dragoman.toolloop.loop import ToolOutcome
from dragoman.toolloop.offer import GatewayTool
from dragoman.toolsets.interface import ToolsetState, failed, offer
from dragoman.toolsets.last_words import LastWords
from dragoman.toolsets.mcp_content import outcome_of
from dragoman.toolsets.mcp_transport import transport
from dragoman.toolsets.schemas import ArgumentChecker
from dragoman.toolsets.settings import McpSettings

_log = logging.getLogger(__name__)

_PAGES = 100
"""Pages of a tool list that are read."""
_LONGEST = 2000  # characters of a server's error that the model is told
_GATHERING = 0.05
"""Seconds in which several reasons to look again become one."""
_SECRET = 6
"""Characters: what is shorter is too common a text to be taken out everywhere."""


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds. ``start``: for coming up (a first ``uvx`` or ``npx`` downloads); ``answer``: for a list of tools.

    ``pause``, ``longest_pause``: before the next attempt, doubling; ``steady``: so long a life makes
    the pause short again; ``look``: between two looks at a server over HTTP, whose end nobody tells;
    ``close``: for an orderly end.
    """

    start: float = 60
    answer: float = 10
    pause: float = 0.5
    longest_pause: float = 60
    steady: float = 30
    look: float = 60
    close: float = 10


class _LostError(Exception):
    """The connection is of no use any more; ``str()`` says why."""


class McpToolset:
    """``Toolset`` of one server."""

    def __init__(self, name: str, server: McpSettings, patience: Patience | None = None) -> None:
        self.name = name
        self.about = _about(server)
        self.state = ToolsetState("starting")
        self.tools: tuple[GatewayTool, ...] = ()
        self._server = server
        self._patience = patience or Patience()
        hidden = [one.reveal() for one in (*server.env.values(), *server.headers.values())]
        if server.url is not None:
            hidden += [value for _, value in parse_qsl(urlsplit(server.url.reveal()).query)]
        self._secrets = [text for text in hidden if len(text) >= _SECRET]
        self._client: Client | None = None
        self._calls = 0
        self._owner: asyncio.Task[None] | None = None
        self._scope: anyio.CancelScope | None = None
        self._looking: anyio.CancelScope | None = None
        self._settled = asyncio.Event()
        self._wake = asyncio.Event()
        self._ended = False
        self._closing = False

    # ---- what others use

    async def start(self) -> None:
        """See ``Toolset``."""
        if self._owner is None and not self._closing:
            self._owner = asyncio.create_task(self._own(), name=f"mcp {self.name}")

    async def settled(self) -> None:
        """See ``Toolset``."""
        await self._settled.wait()

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolOutcome:
        """See ``Toolset``. Cancelling sends the protocol's cancel."""
        client = self._client
        if client is None:
            return failed(f"The server {self.name} of this tool is not there at the moment.")
        self._calls += 1
        try:
            return outcome_of(await client.call_tool(name, arguments))
        except asyncio.CancelledError:
            self._look()  # it may hang
            raise
        except Exception as failure:
            if not isinstance(failure, MCPError | RuntimeError | ValidationError):
                _log.warning("a call of %s of the server %s failed: %s", name, self.name, type(failure).__name__)
            return failed(f"The server {self.name} of this tool failed: {self._in_words(failure)}")
        finally:
            self._calls -= 1

    async def aclose(self) -> None:
        """See ``Toolset``."""
        self._closing = True
        self._look()
        if self._looking is not None:
            self._looking.cancel()
        if self._client is None and self._scope is not None:
            self._scope.cancel()
        if (owner := self._owner) is not None:
            # Its task is never cancelled: that would break through the shield round the end of the process.
            await asyncio.wait([owner], timeout=self._patience.close)
            if self._scope is not None:
                self._scope.cancel()
            await asyncio.wait([owner])
        self.state = ToolsetState("closed")
        self._settled.set()

    # ---- the owner's task

    async def _own(self) -> None:
        loop = asyncio.get_running_loop()
        pause, told = self._patience.pause, ""
        while not self._closing:
            began = loop.time()
            self._ended = False
            try:
                why = await self._connection()
            except OSError as failure:  # no file descriptors left, say
                why = self._in_words(failure)
            if self._closing:
                return
            if loop.time() - began > self._patience.steady:
                pause = self._patience.pause
            self.state = ToolsetState("down", f"{why}; next attempt after {pause:g} s")
            if why != told:
                _log.warning("the tool server %s is down: %s", self.name, why)
                told = why
            self._settled.set()
            await self._rest(pause)
            pause = min(2 * pause, self._patience.longest_pause)

    async def _rest(self, seconds: float) -> None:
        ends = asyncio.get_running_loop().time() + seconds
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(ends):
                while not self._closing:
                    self._wake.clear()
                    await self._wake.wait()

    async def _connection(self) -> str:
        """One connection from opening to end; returns why it ended."""
        words = LastWords() if self._server.command is not None else None
        why = ""
        with anyio.CancelScope(deadline=anyio.current_time() + self._patience.start) as scope:
            self._scope = scope
            try:
                async with Client(
                    transport(self._server, self._notice, words),
                    cache=None,
                    message_handler=self._heard,
                    client_info=m.Implementation(name="dragoman", version=version("dragoman")),
                ) as client:
                    await self._use(client, scope)
            except Exception as failure:
                why = self._in_words(failure)
            finally:
                self._scope = None
                if words is not None:
                    words.close()
        if scope.cancelled_caught:
            why = f"it did not come up within {self._patience.start:g} s"
        last = scrubbed(words.line, self._secrets) if words is not None else ""
        return f"{why} ({last})" if last else why

    async def _use(self, client: Client, scope: anyio.CancelScope) -> None:
        """Offers its tools until it ends or is closed."""
        try:
            await self._refresh(client)
            scope.deadline = math.inf
            self._client = client
            _log.info("the tool server %s is ready", self.name)
            self._settled.set()
            async with anyio.create_task_group() as group:
                group.start_soon(self._listen, client)
                await self._watch(client)
                group.cancel_scope.cancel()
        finally:
            self._client, self.tools = None, ()

    async def _watch(self, client: Client) -> None:
        """Looks again at the server whenever there is a reason to. Raises when it is lost."""
        look = self._patience.look if self._server.url is not None else math.inf
        while not self._closing:
            with anyio.move_on_after(look):
                await self._wake.wait()
            await anyio.sleep(_GATHERING)
            self._wake.clear()
            if self._ended:
                raise _LostError("it ended")
            if not self._closing:
                await self._check(client)

    async def _check(self, client: Client) -> None:
        """Lists the tools; while there is no answer none are offered, and running calls get their time."""
        while True:
            with anyio.move_on_after(self._patience.answer) as self._looking:
                await self._refresh(client)
                return
            self.tools = ()
            self.state = ToolsetState("down", "it does not answer")
            if self._closing or not self._calls:
                raise _LostError("it does not answer")

    async def _refresh(self, client: Client) -> None:
        listed: list[m.Tool] = []
        cursor: str | None = None
        for _ in range(_PAGES):
            page = await client.list_tools(cursor=cursor)
            listed += page.tools
            cursor = page.next_cursor
            if cursor is None:
                break
        tools: dict[str, GatewayTool] = {}
        left_out: list[str] = []
        for one in listed:
            spec = offer(self.name, one.name, one.description or one.title, one.input_schema)
            if spec.offered in tools or not _is_sound(spec):
                left_out.append(one.name)
            else:
                tools[spec.offered] = spec
        self.tools = tuple(tools.values())
        detail = f"not offered, as it has no sound schema or comes twice: {', '.join(left_out)}" if left_out else ""
        self.state = ToolsetState("ready", detail)

    async def _listen(self, client: Client) -> None:
        """Asks a server of the protocol from 2026 on to tell of changes; older ones do so unasked."""
        pause = self._patience.pause
        while True:
            try:
                async with client.listen(tools_list_changed=True) as subscription:
                    if not subscription.honored.tools_list_changed:
                        return
                    self._look()  # nobody told of what happened before
                    async for _ in subscription:
                        self._look()
            except (ListenNotSupportedError, MCPError):
                return
            except SubscriptionLost:
                self._look()
            await anyio.sleep(pause)
            pause = min(2 * pause, self._patience.longest_pause)

    # ---- what the connection tells

    async def _heard(self, message: IncomingMessage) -> None:
        if isinstance(message, m.ToolListChangedNotification):
            self._look()

    def _notice(self, what: Literal["ended", "failed"]) -> None:
        if what == "ended":
            self._ended = True
            if self._client is not None:
                self._client, self.tools = None, ()
                self.state = ToolsetState("down", "it ended")
        self._look()

    def _look(self) -> None:
        self._wake.set()

    def _in_words(self, failure: BaseException) -> str:
        while isinstance(failure, BaseExceptionGroup):
            failure = failure.exceptions[0]
        match failure:
            case MCPError() if failure.code == m.CONNECTION_CLOSED and failure.message == "Connection closed":
                return "it ended"
            case MCPError() | RuntimeError() | _LostError():
                return scrubbed(str(failure), self._secrets)[:_LONGEST]
            case TimeoutError():
                return "it does not answer in time"
            case OSError():
                return f"it cannot be started: {failure.strerror or type(failure).__name__}"
            case ValidationError():
                first = failure.errors(include_input=False, include_url=False)[0]
                place = ".".join(map(str, first["loc"]))
                return f"an answer that is not as the protocol wants it: {place}: {first['msg']}"[:_LONGEST]
            case _:
                return type(failure).__name__


def _is_sound(spec: GatewayTool) -> bool:
    try:
        ArgumentChecker(spec.schema)
    except ValueError:
        return False
    return spec.schema.get("type") == "object"


def _about(server: McpSettings) -> str:
    """Not the arguments of a command, nor the query of a URL: they may hold secrets."""
    if server.url is not None:
        parts = urlsplit(server.url.reveal())
        return f"mcp {parts.scheme}://{parts.netloc}{parts.path}"
    return f"mcp {server.command[0] if server.command else ''}"
