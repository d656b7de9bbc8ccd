"""``python -m bench.echo``: a paced server that puts the number in a request (``#12#``) into each delta of its answer."""

from __future__ import annotations

import argparse
import asyncio
import re
from typing import cast

import uvloop

from bench.streams import STREAMS
from bench.upstream import chunk, dialect_of

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"
MARK = b"@0@"
_NUMBER = re.compile(rb"#(\d+)#")
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


class Connection(asyncio.Protocol):
    """Answers one request after the other, a delta each ``interval`` seconds."""

    def __init__(self, frames: dict[str, list[bytes]], interval: float) -> None:
        self._frames = frames
        self._interval = interval
        self._received = b""
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, blank, body = self._received.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if blank and len(body) >= int(length[1] if length else 0):
            self._received = b""
            found = _NUMBER.search(body)
            mark = b"@%b@" % found[1] if found else b""
            self._task = asyncio.create_task(self._answer(dialect_of(head.split(b" ", 2)[1]), mark))

    async def _answer(self, dialect: str, mark: bytes) -> None:
        self._transport.write(HEAD)
        for frame in self._frames[dialect]:
            if MARK in frame:
                await asyncio.sleep(self._interval)
            self._transport.write(chunk(frame.replace(MARK, mark)))
        self._transport.write(LAST)


async def serve(port: int, deltas: int, interval: float) -> None:
    frames = {name: list(make([" tok" + MARK.decode()] * deltas, [])) for name, make in STREAMS.items()}
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(frames, interval), "127.0.0.1", port, backlog=4096
    )
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--deltas", type=int, default=100)
    parser.add_argument("--interval-ms", type=float, default=10)
    asked = parser.parse_args()
    uvloop.run(serve(asked.port, asked.deltas, asked.interval_ms / 1000))


if __name__ == "__main__":
    main()
