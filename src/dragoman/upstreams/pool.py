"""The connections to one upstream: those that rest are used again, the youngest first."""

from __future__ import annotations

import asyncio
import ssl

from dragoman.upstreams import dial
from dragoman.upstreams.connection import Connection

RESTING = 256
"""How many connections are kept for later."""
READ_BYTES = 1 << 16
"""What is read from a connection at once."""
REST = 30.0
"""Seconds that one is kept."""


class Pool:
    """``tls`` is ``None`` for plain TCP. A connection is in use until its answer is over."""

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        self._host = host
        self._port = port
        self._tls = tls
        self.buffer = memoryview(bytearray(READ_BYTES))
        self._open: set[Connection] = set()
        self._resting: list[Connection] = []
        self._timer: asyncio.TimerHandle | None = None

    def take(self) -> Connection | None:
        """A connection from an earlier request."""
        while self._resting:
            connection = self._resting.pop()
            if connection.usable:
                return connection
        return None

    async def connect(self) -> Connection:
        """A new connection. Raises ``OSError``."""
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
        connection.rests_since = loop.time()
        self._resting.append(connection)
        if len(self._resting) > RESTING:
            self._resting.pop(0).abort()
        if self._timer is None:
            self._timer = loop.call_later(REST, self._end_old)

    def forget(self, connection: Connection) -> None:
        self._open.discard(connection)
        if connection in self._resting:
            self._resting.remove(connection)

    def _end_old(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = None
        while self._resting and self._resting[0].rests_since + REST <= loop.time():
            self._resting.pop(0).abort()
        if self._resting:
            self._timer = loop.call_at(self._resting[0].rests_since + REST, self._end_old)
