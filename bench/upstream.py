"""``python -m bench.upstream``: a server that streams in all four dialects, at a pace.

Each text delta carries the number in its request (``#12#``) as ``@12@``, or, where there is none, the nanosecond at
which it was written. The text survives every translation, so that whoever reads the stream behind a gateway knows
whose it is, or how long each delta took.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import time
from typing import cast

import uvloop

from bench.streams import STREAMS

STAMP = b"@0@"
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
_NUMBER = re.compile(rb"#(\d+)#")
_LAST = b"0\r\n\r\n"


def dialect_of(path: bytes) -> str:
    for part, name in ((b"/messages", "messages"), (b"/responses", "responses"), (b":streamGenerate", "gemini")):
        if part in path:
            return name
    return "chat"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


class Frames:
    """The frames of a stream in each dialect, made once; every one with a stamp waits its time."""

    def __init__(self, deltas: int, fragments: int) -> None:
        arguments = ['{"command": "', *["abcd" for _ in range(fragments - 2)], '"}'] if fragments else []
        self.of = {name: make([" tok@0@"] * deltas, arguments) for name, make in STREAMS.items()}


class Connection(asyncio.Protocol):
    """Answers one request after the other."""

    def __init__(self, frames: Frames, interval: float) -> None:
        self._frames = frames
        self._interval = interval
        self._received = b""
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, blank, body = self._received.partition(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
        )
        if not blank or len(body) < length:
            return
        self._received = body[length:]
        found = _NUMBER.search(body)
        self._mark = b"@%b@" % found[1] if found else b""
        self._loop = asyncio.get_running_loop()
        self._due = self._loop.time()
        self._left = iter(self._frames.of[dialect_of(head.split(b" ", 2)[1])])
        self._transport.write(_HEAD)
        self._go_on()

    def _go_on(self) -> None:
        """Writes frames until one has to wait."""
        for frame in self._left:
            if STAMP in frame or b"abcd" in frame:
                self._due += self._interval
                self._timer = self._loop.call_at(self._due, self._write, frame)
                return
            self._transport.write(chunk(frame))
        self._transport.write(_LAST)

    def _write(self, frame: bytes) -> None:
        self._transport.write(chunk(frame.replace(STAMP, self._mark or b"@%d@" % time.monotonic_ns())))
        self._go_on()


async def serve(port: int, frames: Frames, interval: float) -> None:
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(frames, interval), "127.0.0.1", port, backlog=4096
    )
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--deltas", type=int, default=100)
    parser.add_argument("--fragments", type=int, default=0, help="pieces of a call's arguments behind the text")
    parser.add_argument("--interval-ms", type=float, default=10)
    asked = parser.parse_args()
    uvloop.run(serve(asked.port, Frames(asked.deltas, asked.fragments), asked.interval_ms / 1000))


if __name__ == "__main__":
    main()
