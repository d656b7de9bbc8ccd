"""Listens: a socket, uvicorn on uvloop, and an end without cutting anybody off.

At SIGTERM or SIGINT no connection is accepted any more, open answers have ``timeouts.drain`` seconds
to end, then each ends with an error in its own form. A second SIGINT ends everything at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from types import FrameType

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from dragoman import jsontext
from dragoman.gateway.accesslog import to_stderr
from dragoman.gateway.app import HEADER_BYTES, Gateway
from dragoman.gateway.settings import Address

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_LAST_WORDS = 5
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


def run(gateway: Gateway, sock: socket.socket, drain: float, ready: Callable[[], None]) -> None:
    """Serves until a signal ends it; ``ready`` is called once it listens."""
    _log_in_lines()
    with asyncio.Runner(loop_factory=_new_loop()) as runner:
        runner.run(_serve(gateway, sock, drain, ready))


async def _serve(gateway: Gateway, sock: socket.socket, drain: float, ready: Callable[[], None]) -> None:
    server = Server(gateway, drain, ready)
    try:
        await gateway.start()
        await server.serve(sockets=[sock])
    finally:
        await gateway.aclose()


def _new_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # not on Windows
    except ImportError:
        return None
    return uvloop.new_event_loop


class Server(uvicorn.Server):
    """uvicorn, with signals that end in exit status 0, and a drain that ends streams in their own form."""

    def __init__(self, gateway: Gateway, drain: float, ready: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                gateway,
                http=_Protocol,
                ws="none",
                lifespan="off",
                interface="asgi3",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=75,
                timeout_graceful_shutdown=int(drain) + 1 + _LAST_WORDS,
            )
        )
        self._gateway = gateway
        self._drain = drain
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        timer = asyncio.get_running_loop().call_later(self._drain, self._gateway.open_turns.end)
        try:
            await super().shutdown(sockets)
        finally:
            timer.cancel()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """uvicorn's own raises the signal once more at the end, so that the process dies of it."""
        before = {one: signal.signal(one, self.handle_exit) for one in _SIGNALS}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        if self.force_exit:
            self._gateway.open_turns.end()


class _Protocol(HttpToolsProtocol):
    """Does not let a client pile up header bytes without end; what is less is judged by the gateway."""

    _reading_head = False
    _head_bytes = 0

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._reading_head, self._head_bytes = True, 0

    def on_headers_complete(self) -> None:
        self._reading_head = False
        super().on_headers_complete()
        self.scope["dragoman.write"] = functools.partial(_write, self.cycle)  # type: ignore[typeddict-unknown-key]

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._reading_head:
            self._head_bytes += len(data)
            if self._head_bytes > 2 * HEADER_BYTES and not self.transport.is_closing():
                self._turn_away()

    def _turn_away(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.send_400_response("The request headers are too large.")
        else:
            self.transport.close()  # an answer is going out here: nothing may be written into it


def _write(cycle: RequestResponseCycle, data: bytes) -> bool:
    """What ``cycle.send`` does with a piece of a body, without its coroutine (``client.WriteNow``)."""
    if not cycle.disconnected:
        cycle.transport.write(b"%x\r\n%b\r\n" % (len(data), data))
    return not cycle.flow.write_paused


def _log_in_lines() -> None:
    """What libraries have to say goes out as lines like the others, without tracebacks."""
    handler = logging.Handler(logging.WARNING)
    handler.emit = _write_line  # type: ignore[method-assign]
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)


def _write_line(record: logging.LogRecord) -> None:
    fields = {"logger": record.name, "message": record.getMessage().partition("\n")[0][:200]}
    if record.exc_info and record.exc_info[0]:
        fields["exception"] = record.exc_info[0].__name__
    to_stderr(jsontext.render(fields).decode())
