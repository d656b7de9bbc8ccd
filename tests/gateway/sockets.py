"""Real sockets on loopback: a raw upstream, a raw client, and a gateway that listens between them."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Self

from dragoman.gateway.app import Gateway
from dragoman.gateway.server import Server, bind
from dragoman.gateway.settings import Address

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"


def chunked(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


class Connection:
    """The upstream's end of a connection. ``number`` counts the requests on it, from 0."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.number = 0

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def until_closed(self) -> None:
        """Returns once the gateway has ended the connection."""
        with contextlib.suppress(ConnectionError):
            while await self.reader.read(65536):
                pass

    def reset(self) -> None:
        self.writer.transport.abort()


Play = Callable[[Connection], Awaitable[bool | None]]
"""Plays one answer; ``True`` keeps the connection for the next request."""


class RawUpstream:
    """A server that reads requests and plays; ``heads`` and ``bodies`` are what came."""

    def __init__(self, play: Play) -> None:
        self.heads: list[bytes] = []
        self.bodies: list[bytes] = []
        self.connections = 0
        self._play = play
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._start, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def port(self) -> int:
        assert self._server
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def _start(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._tasks.add(asyncio.ensure_future(self._handle(Connection(reader, writer))))

    async def _handle(self, connection: Connection) -> None:
        try:
            keep: bool | None = True
            while keep:
                head = await connection.reader.readuntil(b"\r\n\r\n")
                self.heads.append(head)
                lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
                self.bodies.append(await connection.reader.readexactly(int(lines.get(b"content-length", b"0"))))
                keep = await self._play(connection)
                connection.number += 1
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the gateway hung up
        finally:
            connection.writer.close()


class _Server(Server):
    """Looks more often whether it is to end: tests have many."""

    async def main_loop(self) -> None:
        while not await self.on_tick(0):
            await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def listening(gateway: Gateway, drain: float = 5) -> AsyncIterator[tuple[int, Server]]:
    """The gateway on a port of its own."""
    ready = asyncio.Event()
    sock = bind(Address("127.0.0.1", 0))
    port = sock.getsockname()[1]
    server = _Server(gateway, drain, ready.set)
    running = asyncio.ensure_future(server.serve(sockets=[sock]))
    await asyncio.wait((running, asyncio.ensure_future(ready.wait())), return_when=asyncio.FIRST_COMPLETED)
    try:
        yield port, server
    finally:
        server.should_exit = True
        await running
        await gateway.aclose()


class RawClient:
    """One connection to the gateway."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def connect(cls, port: int, limit: int = 1 << 20) -> RawClient:
        return cls(*await asyncio.open_connection("127.0.0.1", port, limit=limit))

    async def ask(self, path: str, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
        await self.send(head.encode() + data)

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def head(self) -> tuple[int, bytes]:
        """The status and the head of the next answer."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        return int(head.split(b" ", 2)[1]), head

    async def piece(self) -> bytes:
        """The next chunk of a body; empty at its end."""
        size = int(await self.reader.readuntil(b"\r\n"), 16)
        return (await self.reader.readexactly(size + 2))[:-2]

    async def body(self) -> bytes:
        """The rest of a chunked body."""
        data = b""
        while piece := await self.piece():
            data += piece
        return data

    async def answer(self) -> tuple[int, bytes]:
        """A whole answer."""
        status, head = await self.head()
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                return status, await self.reader.readexactly(int(line[15:]))
        return status, await self.body()

    def close(self) -> None:
        self.writer.close()
