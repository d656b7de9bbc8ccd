"""What the supervisor and a worker tell each other, over a pair of sockets that only they have.

Values of this program go over it as they are (pickled): both ends run the same code, and nobody else can write.
The end of it tells either side that the other is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import socket
import struct
from pathlib import Path

import msgspec

from dragoman.gateway.discovery import Found

_HEAD = struct.Struct("!I")


class Begin(msgspec.Struct, frozen=True, kw_only=True):
    """To a worker, first of all. ``folder``: of what all workers share; ``since``: when the gateway began (Unix time)."""

    number: int
    found: Found
    folder: Path
    since: int


class Configure(msgspec.Struct, frozen=True):
    """To a worker: serve by this from now on. It answers with ``Configured``."""

    found: Found


class Up(msgspec.Struct, frozen=True):
    """From a worker: it takes requests."""


class Configured(msgspec.Struct, frozen=True):
    """From a worker: how taking a configuration went. With mistakes it changed nothing."""

    mistakes: tuple[str, ...] = ()


Message = Begin | Configure | Up | Configured


class Channel:
    """One end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, sock: socket.socket) -> Channel:
        """The end with this socket, which it closes."""
        return cls(*await asyncio.open_unix_connection(sock=sock))

    async def send(self, message: Message) -> None:
        """Sends; in silence if the other side is gone, which ``receive`` tells."""
        data = pickle.dumps(message)
        with contextlib.suppress(ConnectionError):
            self._writer.write(_HEAD.pack(len(data)) + data)
            await self._writer.drain()

    async def receive(self) -> Message | None:
        """The next message; ``None`` once the other side is gone."""
        try:
            (size,) = _HEAD.unpack(await self._reader.readexactly(_HEAD.size))
            message: Message = pickle.loads(await self._reader.readexactly(size))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        return message

    def close(self) -> None:
        """Closes this end."""
        self._writer.close()
