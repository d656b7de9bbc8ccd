"""The ways to an MCP server, as transports for the official SDK, with its ends and failures noticed.

The SDK (modelcontextprotocol/python-sdk) does not tell when a server is gone, and ends a whole HTTP
connection, with all calls on it, for one request that failed. So the streams are watched here, and
a request that fails over HTTP gets an error answer of its own.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Literal, Self

import anyio
import httpx2
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp.types import CONNECTION_CLOSED

from dragoman import jsontext
from dragoman.toolsets.last_words import LastWords
from dragoman.toolsets.settings import McpSettings

Notice = Callable[[Literal["ended", "failed"]], None]
"""Told that the connection is over, or that something on it failed and it should be looked at."""

_MOST_BYTES = 64 << 20
"""Of one answer, or one event, over HTTP."""
_TIMEOUT = httpx2.Timeout(10, read=300)
_FAREWELL = httpx2.Timeout(2)
"""For the request that ends a session: nobody waits long for its answer."""


def transport(server: McpSettings, notice: Notice, words: LastWords | None) -> AbstractAsyncContextManager[Any]:
    """Opens a way to the server: a context that gives the streams that the SDK wants.

    ``words``: for the standard error of a server that is started.
    """
    if server.url is None:
        assert server.command is not None
        assert words is not None
        return _over_stdio(server.command, {name: one.reveal() for name, one in server.env.items()}, notice, words)
    headers = {name: one.reveal() for name, one in server.headers.items()}
    return _over_http(server.url.reveal(), headers, notice)


@contextlib.asynccontextmanager
async def _over_stdio(
    command: list[str], env: dict[str, str], notice: Notice, words: LastWords
) -> AsyncIterator[tuple[Any, Any]]:
    """Starts the server in a process group of its own; the end of the context ends the group.

    The child gets the few harmless variables that the SDK passes on, and the configured ones:
    none of the gateway's keys.
    """
    parameters = StdioServerParameters(command=command[0], args=command[1:], env=env)
    async with stdio_client(parameters, errlog=words.sink) as (read, write):
        words.handed_over()
        yield _Watched(read, notice), write


@contextlib.asynccontextmanager
async def _over_http(url: str, headers: dict[str, str], notice: Notice) -> AsyncIterator[tuple[Any, Any]]:
    """No redirects to elsewhere, no proxy from the environment, certificates verified."""
    inner = httpx2.AsyncHTTPTransport(limits=httpx2.Limits(max_connections=None), trust_env=False)
    steady = _Steady(inner, notice)
    async with (
        httpx2.AsyncClient(headers=headers, timeout=_TIMEOUT, transport=steady, trust_env=False) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=_MOST_BYTES) as (read, write),
    ):
        yield _Watched(read, notice), write


class _Watched:
    """A stream of messages from the server that tells when it ends."""

    def __init__(self, inner: Any, notice: Notice) -> None:
        self._inner = inner
        self._notice = notice

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        try:
            message: SessionMessage | Exception = await self._inner.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._notice("ended")
            raise
        return message

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class _Steady(httpx2.AsyncBaseTransport):
    """Gives a request that fails an answer that says so, as JSON-RPC has it."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, notice: Notice) -> None:
        self._inner = inner
        self._notice = notice

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "DELETE":
            request.extensions["timeout"] = _FAREWELL.as_dict()
        try:
            answer = await self._inner.handle_async_request(request)
        except httpx2.TransportError as failure:
            self._notice("failed")
            return _failed_answer(_in_words(failure))
        kind = answer.headers.get("content-type", "").lower()
        if answer.status_code >= 400 and request.method == "POST":
            self._notice("failed")
            if not kind.startswith("application/json"):
                await answer.aclose()
                return _failed_answer(f"it answers with HTTP {answer.status_code}")
        assert isinstance(answer.stream, httpx2.AsyncByteStream)
        limit = math.inf if kind.startswith("text/event-stream") else _MOST_BYTES
        answer.stream = _Body(answer.stream, self._notice, limit)
        return answer

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Body(httpx2.AsyncByteStream):
    """A body, bounded unless it is a stream of events; a failure is one that the SDK takes as an answer's."""

    def __init__(self, inner: httpx2.AsyncByteStream, notice: Notice, limit: float) -> None:
        self._inner = inner
        self._notice = notice
        self._left = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._inner:
                self._left -= len(chunk)
                if self._left < 0:
                    raise httpx2.StreamError("the server's answer is too large")
                yield chunk
        except httpx2.TransportError as failure:
            self._notice("failed")
            raise httpx2.StreamError("the server broke off its answer") from failure

    async def aclose(self) -> None:
        await self._inner.aclose()


def _failed_answer(message: str) -> httpx2.Response:
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": CONNECTION_CLOSED, "message": message}}
    return httpx2.Response(503, headers={"content-type": "application/json"}, content=jsontext.render(body))


def _in_words(failure: httpx2.TransportError) -> str:
    if isinstance(failure, httpx2.TimeoutException):
        return "it does not answer in time"
    if isinstance(failure, httpx2.ConnectError):
        return "it cannot be reached"
    return "it broke off"
