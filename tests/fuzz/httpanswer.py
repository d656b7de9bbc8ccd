"""Any bytes as an upstream's end of an HTTP connection."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Iterator
from functools import cache

from dragoman.upstreams.answer import HttpAnswer
from dragoman.upstreams.interface import UpstreamError
from tests.fixtures import pieces

OPTIONS = 2
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
MOST = 1 << 24
"""Bytes that are read of a body: a packed one may have any size."""


class Line:
    """The connection: it notes what it is told."""

    def __init__(self) -> None:
        self.overs: list[bool] = []
        self.aborted = False
        self.held = False

    def hold(self) -> None:
        assert not self.held
        self.held = True

    def go_on(self) -> None:
        assert self.held
        self.held = False

    def over(self, *, keep: bool) -> None:
        self.overs.append(keep)

    def abort(self) -> None:
        self.aborted = True


def http_answer(data: bytes) -> None:
    """Whatever bytes come: one answer or one error, the same in every cut; a connection is kept only after a whole answer."""
    options, stream = (data + bytes(OPTIONS))[:OPTIONS], data[OPTIONS:]
    broken = bool(options[0] & 1)
    told = _loop().run_until_complete(_received([stream], broken))
    size = 1 + options[1] % 50
    assert _loop().run_until_complete(_received(pieces(stream, size), broken)) == told


async def _received(parts: list[bytes], broken: bool) -> tuple[object, ...]:
    """Status, headers, body and failure."""
    line = Line()
    answer = HttpAnswer("up", line)
    for part in parts:
        if line.aborted or line.overs:
            break
        answer.receive(memoryview(part))
    if not line.overs:
        answer.lost(broken=broken or line.aborted)
    assert len(line.overs) <= 1
    body, failure = b"", ""
    try:
        await answer.begun()
        while len(body) < MOST and (piece := await answer.read()):
            body += piece
    except UpstreamError as fault:
        failure = fault.error.message
        assert failure.startswith("the upstream 'up' ")
    if line.overs:
        assert answer.status >= 200
    assert failure or answer.status >= 200
    answer.close()
    return answer.status, dict(answer.headers), body, failure


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


def seeds() -> Iterator[bytes]:
    """Bodies with a length, in chunks, packed, and up to the end."""
    text = b'data: {"a":1}\n\n' * 3
    chunks = b"%x\r\n%b\r\n%x;x=y\r\n%b\r\n0\r\n\r\n" % (len(text), text, 1, b"\n")
    yield bytes(2) + HEAD + b"Content-Length: %d\r\n\r\n" % len(text) + text
    yield bytes(2) + HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks
    yield bytes(2) + HEAD + b"Transfer-Encoding: chunked\r\nTrailer: x\r\n\r\n" + chunks[:-2] + b"x: y\r\n\r\n"
    yield bytes(2) + HEAD + b"Connection: close\r\n\r\n" + text
    yield b"\1\0" + HEAD + b"\r\n" + text
    yield bytes(2) + b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD + b"Content-Length: 0\r\n\r\n"
    yield bytes(2) + b"HTTP/1.0 429 No\r\nRetry-After: 7\r\n\r\n{}"
    yield bytes(2) + b"HTTP/1.1 204 No Content\r\n\r\n"
    for coding, packed in (("gzip", gzip.compress(text, mtime=0)), ("deflate", zlib.compress(text))):
        head = HEAD + b"Content-Encoding: %b\r\nContent-Length: %d\r\n\r\n" % (coding.encode(), len(packed))
        yield bytes(2) + head + packed
