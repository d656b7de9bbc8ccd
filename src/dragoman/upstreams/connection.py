"""A connection to an upstream: it carries one request at a time, and rests in a pool between two."""

from __future__ import annotations

import asyncio
from typing import Protocol, cast

from dragoman.upstreams.answer import HttpAnswer


class Owner(Protocol):
    """Who keeps a connection. ``buffer`` is what the event loop reads into, one connection after the other."""

    @property
    def buffer(self) -> memoryview: ...

    @property
    def head_bytes(self) -> int:
        """What the head of an answer may have."""

    def rest(self, connection: Connection) -> None:
        """It can take another request."""

    def forget(self, connection: Connection) -> None:
        """It has ended."""


class Connection(asyncio.BufferedProtocol):
    """Made by the event loop once it is connected."""

    def __init__(self, owner: Owner) -> None:
        self.rests_since = 0.0
        self.lent = False
        """Whether a request uses it; its owner's note."""
        self._owner = owner
        self._buffer = owner.buffer
        self._answer: HttpAnswer | None = None
        self._requests = 0
        self._unheard = False

    @property
    def usable(self) -> bool:
        return not self._transport.is_closing()

    @property
    def unheard(self) -> bool:
        """It was kept from an earlier request and ended before a byte of this answer came: ask elsewhere, once."""
        return self._unheard and self._requests > 1

    async def ask(self, upstream: str, request: bytes) -> HttpAnswer:
        """The answer with its head. Raises ``UpstreamError``; cancelling ends the connection."""
        self._answer = answer = HttpAnswer(upstream, self, self._owner.head_bytes)
        self._requests += 1
        try:
            self._transport.write(request)
            await answer.begun()
        except BaseException:
            self.abort()
            raise
        return answer

    # ---- for its answer

    def hold(self) -> None:
        if self.usable:
            self._transport.pause_reading()

    def go_on(self) -> None:
        if self.usable:
            self._transport.resume_reading()

    def over(self, *, keep: bool) -> None:
        self._answer = None
        if keep and self.usable and not self._transport.get_write_buffer_size():
            self._owner.rest(self)
        else:
            self.abort()

    def abort(self) -> None:
        self._transport.abort()

    # ---- from the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._answer is not None:
            self._answer.receive(self._buffer[:nbytes])
        else:
            self.abort()  # nothing was asked

    def connection_lost(self, exc: Exception | None) -> None:
        self._owner.forget(self)
        if self._answer is not None:
            self._unheard = self._answer.silent
            self._answer.lost(broken=exc is not None)
            self._answer = None
