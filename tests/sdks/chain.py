"""Two gateways on loopback, in a thread: the inner one serves the demo, the outer one asks the inner in every dialect.

SDK ─▶ outer ─┬─ demo ───────────────────────────▶ the demo upstream
              ├─ chat, responses, messages, gemini ─▶ inner ─▶ the demo upstream
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager

from dragoman import dialects
from dragoman.gateway.accesslog import AccessLog
from dragoman.gateway.app import Gateway
from dragoman.gateway.connect import connect, serve_alone
from dragoman.gateway.server import Server, bind
from dragoman.gateway.settings import Address, BaseUrl, DialectName, Secret, Settings, UpstreamSettings
from dragoman.upstreams.demo import DemoUpstream
from tests.canary import canary

KEY = canary("of-the-client")
INNER_KEY = canary("of-the-outer-gateway")
ROUTES = ("demo", "chat", "responses", "messages", "gemini")
"""The outer gateway's upstreams: the demo itself, and the inner gateway in each dialect."""


class _Server(Server):
    """In a thread, where no signals come."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.contextmanager
def chain() -> Iterator[str]:
    """The URL of the outer gateway, as long as both listen."""
    with in_thread(_both) as url:
        yield url


@contextlib.contextmanager
def in_thread(serving: Callable[[], AbstractAsyncContextManager[str]]) -> Iterator[str]:
    """The URL of what serves, in a loop of its own."""
    ready: Future[tuple[str, asyncio.AbstractEventLoop, asyncio.Event]] = Future()
    thread = threading.Thread(target=lambda: asyncio.run(_serve(serving, ready)), daemon=True)
    thread.start()
    url, loop, leave = ready.result()
    try:
        yield url
    finally:
        loop.call_soon_threadsafe(leave.set)
        thread.join()


async def _serve(
    serving: Callable[[], AbstractAsyncContextManager[str]],
    ready: Future[tuple[str, asyncio.AbstractEventLoop, asyncio.Event]],
) -> None:
    leave = asyncio.Event()
    async with serving() as url:
        ready.set_result((url, asyncio.get_running_loop(), leave))
        await leave.wait()


@contextlib.asynccontextmanager
async def _both() -> AsyncIterator[str]:
    inner = Settings(keys=[Secret(INNER_KEY)])
    async with (
        listening(Gateway(inner, serve_alone("demo", DemoUpstream(pace=0), inner), silence())) as there,
        listening(_outer(there)) as here,
    ):
        yield here


def _outer(inner: str) -> Gateway:
    upstreams = {
        name: UpstreamSettings(
            dialect=DialectName(name),
            base_url=BaseUrl(inner + dialects.get(name).base_path),
            api_key=Secret(INNER_KEY),
        )
        for name in ROUTES[1:]
    }
    settings = Settings(keys=[Secret(KEY)], upstreams=upstreams)
    services = {**serve_alone("demo", DemoUpstream(pace=0), settings), **connect(settings)}
    return Gateway(settings, services, silence())


def silence() -> AccessLog:
    return AccessLog(lambda _: None)


@contextlib.asynccontextmanager
async def listening(gateway: Gateway) -> AsyncIterator[str]:
    ready = asyncio.Event()
    sock = bind(Address("127.0.0.1", 0))
    server = _Server(gateway, 5, ready.set)
    running = asyncio.ensure_future(server.serve(sockets=[sock]))
    await ready.wait()
    try:
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
    finally:
        server.should_exit = True
        await running
        await gateway.aclose()
