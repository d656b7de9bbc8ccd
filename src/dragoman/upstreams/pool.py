"""The connections to one upstream: those that rest are used again, the youngest first; no more than so many at once."""

from __future__ import annotations

import asyncio
import ssl

from dragoman.upstreams import dial
from dragoman.upstreams.answer import HEAD_BYTES
from dragoman.upstreams.connection import Connection

MOST = 10_000
"""How many connections may be open unless told otherwise."""
RESTING = 256
"""How many connections are kept for later."""
READ_BYTES = 1 << 16
"""What is read from a connection at once."""
REST = 30.0
"""Seconds that one is kept."""


class Pool:
    """``tls`` is ``None`` for plain TCP. A connection is in use until its answer is over; ``most`` may be open.

    ``head_bytes``: what the head of an answer may have.
    """

    def __init__(
        self, host: str, port: int, tls: ssl.SSLContext | None, *, most: int = MOST, head_bytes: int = HEAD_BYTES
    ) -> None:
        self.head_bytes = head_bytes
        self.buffer = memoryview(bytearray(READ_BYTES))
        self._host = host
        self._port = port
        self._tls = tls
        self._unused = asyncio.Semaphore(
            most
        )  # a new one is opened only where none rests: no more are open than in use
        self._open: set[Connection] = set()
        self._resting: list[Connection] = []
        self._timer: asyncio.TimerHandle | None = None

    async def room(self) -> None:
        """Returns when one may be in use more; who waits longest is first. ``lend`` is to follow at once."""
        await self._unused.acquire()

    async def lend(self, *, fresh: bool = False) -> Connection:
        """A connection from an earlier request, or with ``fresh`` in any case a new one. Raises ``OSError``."""
        connection = None if fresh else self._rested()
        if connection is None:
            try:
                connection = await self._connect()
            except BaseException:
                self._unused.release()
                raise
        connection.lent = True
        return connection

    def _rested(self) -> Connection | None:
        while self._resting:
            connection = self._resting.pop()
            if connection.usable:
                return connection
        return None

    async def _connect(self) -> Connection:
        sock = await dial.connected(self._host, self._port)
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: Connection(self), sock=sock, ssl=self._tls, server_hostname=self._host if self._tls else None
        )
        self._open.add(connection)
        return connection

    def close(self) -> None:
        """Ends all connections, those in use too."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for connection in tuple(self._open):
            connection.abort()

    # ---- for the connections

    def rest(self, connection: Connection) -> None:
        loop = asyncio.get_running_loop()
        self._give_back(connection)
        connection.rests_since = loop.time()
        self._resting.append(connection)
        if len(self._resting) > RESTING:
            self._resting.pop(0).abort()
        if self._timer is None:
            self._timer = loop.call_later(REST, self._end_old)

    def forget(self, connection: Connection) -> None:
        self._give_back(connection)
        self._open.discard(connection)
        if connection in self._resting:
            self._resting.remove(connection)

    def _give_back(self, connection: Connection) -> None:
        if connection.lent:
            connection.lent = False
            self._unused.release()

    def _end_old(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = None
        while self._resting and self._resting[0].rests_since + REST <= loop.time():
            self._resting.pop(0).abort()
        if self._resting:
            self._timer = loop.call_at(self._resting[0].rests_since + REST, self._end_old)
