"""Listens: a socket, uvicorn on uvloop, and an end without cutting anybody off.

At SIGTERM or SIGINT no connection is accepted any more, open answers have ``timeouts.drain`` seconds
to end, then each ends with an error in its own form. A second SIGINT ends everything at once. SIGHUP has the
configuration read again (``hangup``).
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from types import FrameType

import uvicorn

from dragoman import jsontext
from dragoman.gateway.accesslog import to_stderr
from dragoman.gateway.app import Gateway
from dragoman.gateway.hangup import HANGUP, Terminal
from dragoman.gateway.protocol import Protocol
from dragoman.gateway.settings import Address

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
LAST_WORDS = 5
"""Seconds for clients to take the error that ends their stream."""


def bind(address: Address) -> socket.socket:
    """A listening socket. Raises ``OSError`` if the address is in use or not of this machine."""
    family, _, _, _, place = socket.getaddrinfo(
        address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(place)
        sock.listen(2048)
    except BaseException:
        sock.close()
        raise
    return sock


def run(
    gateway: Gateway,
    sock: socket.socket,
    ready: Callable[[], None],
    reload: Callable[[], Awaitable[None]],
) -> None:
    """Serves until a signal ends it; ``ready`` is called once it listens, ``reload`` at SIGHUP."""
    log_in_lines()
    with asyncio.Runner(loop_factory=new_loop()) as runner:
        runner.run(_serve(gateway, sock, ready, reload))


async def _serve(
    gateway: Gateway, sock: socket.socket, ready: Callable[[], None], reload: Callable[[], Awaitable[None]]
) -> None:
    tasks: set[asyncio.Task[None]] = set()

    async def anew() -> None:
        await reload()
        server.drain = gateway.timeouts.drain

    def hangup() -> None:
        tasks.add(task := asyncio.ensure_future(anew()))
        task.add_done_callback(tasks.discard)

    server = Server(gateway, gateway.timeouts.drain, ready, hangup)
    try:
        await gateway.start()
        await server.serve(sockets=[sock])
    finally:
        await gateway.aclose()


def new_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """What makes the event loop that a gateway runs on; ``None``: Python's own."""
    try:
        import uvloop  # not on Windows
    except ImportError:
        return None
    return uvloop.new_event_loop


class Server(uvicorn.Server):
    """uvicorn, with signals that end in exit status 0, and a drain that ends streams in their own form.

    ``drain``: seconds for open answers; ``hangup`` is called at SIGHUP, in the event loop.
    """

    def __init__(
        self, gateway: Gateway, drain: float, ready: Callable[[], None], hangup: Callable[[], None] | None = None
    ) -> None:
        super().__init__(
            uvicorn.Config(
                gateway,
                http=Protocol,
                ws="none",
                lifespan="off",
                interface="asgi3",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=75,
            )
        )
        self.drain = drain
        self._gateway = gateway
        self._ready = ready
        self._hangup = hangup
        self._terminal = Terminal()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        gc.freeze()  # or each full collection looks through all of the code, and nothing else happens meanwhile
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._gateway.draining = True
        self.config.timeout_graceful_shutdown = int(self.drain) + 1 + LAST_WORDS
        timer = asyncio.get_running_loop().call_later(self.drain, self._gateway.open_turns.end)
        try:
            await super().shutdown(sockets)
        finally:
            timer.cancel()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """uvicorn's own raises the signal once more at the end, so that the process dies of it."""
        before = {one: signal.signal(one, self.handle_exit) for one in _SIGNALS}
        if HANGUP is not None and self._hangup is not None:
            before[HANGUP] = signal.signal(HANGUP, self._handle_hangup)
            self._loop = asyncio.get_running_loop()
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def _handle_hangup(self, sig: int, frame: FrameType | None) -> None:
        if self._terminal.gone:
            self.handle_exit(signal.SIGTERM, frame)
        elif self._hangup is not None:
            self._loop.call_soon_threadsafe(self._hangup)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        if self.force_exit:
            self._gateway.open_turns.end()


def log_in_lines() -> None:
    """What libraries have to say goes out as lines like the others, without tracebacks."""
    handler = logging.Handler(logging.WARNING)
    handler.emit = _write_line  # type: ignore[method-assign]
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)


def _write_line(record: logging.LogRecord) -> None:
    fields = {"logger": record.name, "message": record.getMessage().partition("\n")[0][:200]}
    if record.exc_info and record.exc_info[0]:
        fields["exception"] = record.exc_info[0].__name__
    to_stderr(jsontext.render(fields).decode())
