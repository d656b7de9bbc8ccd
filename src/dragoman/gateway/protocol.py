"""One connection of a client: uvicorn's HTTP, with bounds and time-outs that it lacks: for heads, and for idle readers."""

from __future__ import annotations

import asyncio
import functools
import re
from typing import Any, cast
from typing import Protocol as Interface

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

_REFUSALS = {408: "Request Timeout", 431: "Request Header Fields Too Large"}


class Bounded(Interface):
    """What the application that is served has to say of bounds."""

    @property
    def header_bytes(self) -> int:
        """What names and values of a request's headers may have in all."""

    @property
    def head_seconds(self) -> float:
        """What a client has to send a request's head."""

    @property
    def send_seconds(self) -> float:
        """How long a client that takes nothing of its answer is waited for."""


class Protocol(HttpToolsProtocol):
    """Does not let a client pile up header bytes without end, nor take its time with them, nor with its answer.

    A head that has an end is judged by the gateway, which knows the shape of the client's errors.
    """

    _reading_head = False
    _head_bytes = 0
    _head_timer: asyncio.TimerHandle | None = None
    _send_timer: asyncio.TimerHandle | None = None

    @property
    def _bounds(self) -> Bounded:
        return cast("Bounded", self.app)

    # ---- from the event loop

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_watching()
        self._send_timer = self._cancel(self._send_timer)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.cycle is None or not self.cycle.more_body:
            data = _without_upgrade(data)
        super().data_received(data)
        if self._reading_head:
            self._head_bytes += len(data)
            if self._head_bytes > 2 * self._bounds.header_bytes and not self.transport.is_closing():
                self._turn_away(431)
        if self._head_timer is None and (self._reading_head or not self._answering):
            self._watch_head()

    # ---- from the parser

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._reading_head, self._head_bytes = True, 0

    def on_headers_complete(self) -> None:
        self._reading_head = False
        self._stop_watching()
        super().on_headers_complete()
        self.scope["dragoman.write"] = functools.partial(_write, self.cycle)  # type: ignore[typeddict-unknown-key]

    def _unsupported_upgrade_warning(self) -> None:
        """The gateway itself refuses a WebSocket."""

    # ---- a head that does not come to its end

    @property
    def _answering(self) -> bool:
        """Whether a request is being answered here."""
        return self.cycle is not None and not self.cycle.response_complete

    def _watch_head(self) -> None:
        """From the first byte on, or from the beginning of the connection; between requests uvicorn keeps watch."""
        self._head_timer = self.loop.call_later(self._bounds.head_seconds, self._head_is_late)

    def _stop_watching(self) -> None:
        self._head_timer = self._cancel(self._head_timer)

    @staticmethod
    def _cancel(timer: asyncio.TimerHandle | None) -> None:
        if timer is not None:
            timer.cancel()

    def _head_is_late(self) -> None:
        self._head_timer = None
        if self.transport.is_closing():
            return
        if self._answering:
            self._watch_head()  # a request behind one that is being answered
        elif self._reading_head:
            self._turn_away(408)
        else:
            self.transport.close()

    def _turn_away(self, status: int) -> None:
        if not self._answering:  # else an answer is going out here: nothing may be written into it
            reason = _REFUSALS[status]
            head = f"HTTP/1.1 {status} {reason}\r\ncontent-type: text/plain\r\ncontent-length: {len(reason)}\r\n"
            self.transport.write(f"{head}connection: close\r\n\r\n{reason}".encode())
        self.transport.close()

    # ---- an answer that is not taken

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_sending()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._send_timer = self._cancel(self._send_timer)

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        if self._send_timer is None and self.transport.get_write_buffer_size():
            self._watch_sending()

    def _watch_sending(self) -> None:
        left = self.transport.get_write_buffer_size()
        self._send_timer = self.loop.call_later(self._bounds.send_seconds, self._sending_is_late, left)

    def _sending_is_late(self, left: int) -> None:
        if self.transport.get_write_buffer_size() < left:
            self._watch_sending()
        else:
            self.transport.abort()  # a close would wait for the client


_UPGRADE = re.compile(rb"(?i)(?<=\r\n)upgrade(?=:[ \t]*h2c)")


def _without_upgrade(data: bytes) -> bytes:
    """The beginning of a request without the offer to go on in HTTP/2, which is there to be passed over (RFC 9110,
    7.8): the parser takes the body behind it for another protocol. Java's HTTP client makes it by default."""
    head = data[: data.find(b"\r\n\r\n") + 2] if b"\r\n\r\n" in data else data
    if not _UPGRADE.search(head):
        return data
    return _UPGRADE.sub(b"x-upgrade", head) + data[len(head) :]


def _write(cycle: RequestResponseCycle, data: bytes) -> bool:
    """What ``cycle.send`` does with a piece of a body, without its coroutine (``client.WriteNow``)."""
    if not cycle.disconnected:
        cycle.transport.write(b"%x\r\n%b\r\n" % (len(data), data))
    return not cycle.flow.write_paused
