"""One answer as it comes in: httptools reads the head and takes the frames off the body.

A delta costs one call of the event loop and one of the parser; then its bytes go straight to the sink of
``flow``, or wake a reader. What comes while neither is there is kept, and given in one piece to the next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import NoReturn, Protocol

import httptools

from dragoman.canonical.errors import Error, ErrorKind
from dragoman.upstreams.interface import UpstreamError
from dragoman.upstreams.unpacking import Unpacker

HEAD_BYTES = 1 << 16
"""What a head may have unless told otherwise, with those of interim answers before it; and trailers."""
HELD_BYTES = 1 << 16
"""What is kept for a reader that does not come, before the connection is read no more: at most one read
(``pool.READ_BYTES``) beyond it."""

_NO_ANSWER = "gave no answer that can be read"
_BROKEN = "broke off its answer"
_ENCODING = "sent an encoding that was not asked for, or broken"


class Line(Protocol):
    """What an answer needs of the connection that it comes on."""

    def hold(self) -> None:
        """Nothing is read from it until ``go_on``."""

    def go_on(self) -> None: ...

    def over(self, *, keep: bool) -> None:
        """The answer has ended; with ``keep`` another request may follow on the connection."""

    def abort(self) -> None:
        """Ends the connection at once."""


class HttpAnswer:
    """``UpstreamAnswer``; also what the parser calls. ``upstream`` is the name that errors give.

    ``head_bytes``: what its head may have.
    """

    __slots__ = (
        *("headers", "on_body", "silent", "status"),
        *("_barren", "_ended", "_failure", "_head_most", "_head_size", "_held", "_holding", "_keep", "_line", "_lines"),
        *("_parser", "_pieces", "_sink", "_stopped", "_to_the_end", "_unpacker", "_upstream", "_waiter"),
    )

    def __init__(self, upstream: str, line: Line, head_bytes: int = HEAD_BYTES) -> None:
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self.silent = True
        """Whether not a byte of it has come."""
        self._upstream = upstream
        self._line = line
        self._pieces: list[bytes] = []
        self._waiter: asyncio.Future[None] | None = None
        self._sink: Callable[[bytes], bool] | None = None
        self._stopped = False
        """The sink wanted no more."""
        self._ended = False
        self._failure = ""
        """How it failed, in the words that follow the upstream's name."""
        self._keep = False
        self._to_the_end = False
        """Whether the end of the connection is the end of the body."""
        self._unpacker: Unpacker | None = None
        self._lines: dict[str, str] = {}
        self._head_size = 0
        self._head_most = head_bytes
        self._barren = 0
        """Bytes since the last piece of the body."""
        self._held = 0
        self._holding = False
        self.on_body = self._pieces.append  # the parser's call for each piece, without a detour
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )

    # ---- for the exchange

    async def begun(self) -> None:
        """Returns once the head is known. Raises ``UpstreamError``."""
        while not self.status:
            if self._failure:
                self._fail(self._failure)
            await self._news()

    async def read(self) -> bytes:
        if self._unpacker is not None:
            return await self._unpacked(self._unpacker)
        while not self._pieces:
            if self._ended:
                return b""
            if self._failure:
                self._fail(self._failure)
            await self._news()
        return self._take()

    async def flow(self, sink: Callable[[bytes], bool]) -> bool:
        while True:
            if self._pieces or self._ended or self._failure or self._unpacker is not None:
                if not (data := await self.read()):
                    return True
                if not sink(data):
                    return False
                continue
            self._sink, self._stopped = sink, False
            try:
                await self._news()
            finally:
                self._sink = None
            if self._stopped:
                return False

    def close(self) -> None:
        over = self._ended or self._failure
        self._ended, self._failure, self._unpacker = True, "", None
        self._pieces.clear()
        if not over:
            self._line.abort()

    async def _news(self) -> None:
        """Returns after something came, which need not be a piece of the body."""
        self._waiter = waiter = asyncio.get_running_loop().create_future()
        try:
            await waiter
        finally:
            self._waiter = None

    def _take(self) -> bytes:
        pieces = self._pieces
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        pieces.clear()
        self._barren = self._held = 0
        if self._holding:
            self._holding = False
            self._line.go_on()
        return data

    async def _unpacked(self, unpacker: Unpacker) -> bytes:
        try:
            while not (data := unpacker.take()):
                while not self._pieces:
                    if self._ended:
                        if not unpacker.whole:
                            self._fail(_ENCODING)
                        return b""
                    if self._failure:
                        self._fail(self._failure)
                    await self._news()
                unpacker.feed(self._take())
        except ValueError:
            self._fail(_ENCODING)
        return data

    def _fail(self, what: str) -> NoReturn:
        raise failed(self._upstream, what)

    # ---- from the connection

    def receive(self, data: memoryview) -> None:
        """More bytes of the connection."""
        parser = self._parser
        if parser is None:
            return
        self.silent = False
        try:
            parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            # Bytes behind an answer that is whole are nobody's; they make the connection unusable.
            self._keep = False
            if not self._ended:
                self._break()
        if self._ended:
            self._leave_line()
        elif not self._failure:
            if not self._pieces:
                self._count_barren(len(data))
            elif (sink := self._sink) is not None:
                try:
                    goes_on = sink(self._take())
                except Exception as bug:
                    self._spill(bug)
                else:
                    if not goes_on:
                        self._stop_pouring()
                return
        if self._waiter is None or self._waiter.done():  # a reader that was woken may take its time too
            self._hold(len(data))
        else:
            self._waiter.set_result(None)

    def _leave_line(self) -> None:
        self._parser = None
        if self._holding:
            self._holding = False
            self._line.go_on()
        self._line.over(keep=self._keep)

    def _count_barren(self, size: int) -> None:
        self._barren += size
        if self._barren > 2 * max(self._head_most, HEAD_BYTES):  # lines have more than names and values
            self._break()

    def _stop_pouring(self) -> None:
        """The sink wants no more."""
        self._sink, self._stopped = None, True
        self._wake()

    def _spill(self, bug: Exception) -> None:
        """The sink has failed: that is for the task that waits in ``flow``."""
        self._sink = None
        if self._waiter is None or self._waiter.done():
            raise bug
        self._waiter.set_exception(bug)

    def lost(self, *, broken: bool) -> None:
        """The connection has ended; ``broken``: not by the other side's will."""
        if self._to_the_end and not broken and not self._failure:
            self._ended = True
        elif not self._ended and not self._failure:
            self._failure = self._in_words()
        self._parser = None
        self._wake()

    def _break(self) -> None:
        self._failure = self._in_words()
        self._parser = None
        self._line.abort()

    def _in_words(self) -> str:
        return _BROKEN if self.status else _NO_ANSWER

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _hold(self, size: int) -> None:
        self._held += size
        if self._held > HELD_BYTES and not self._holding and self._parser is not None:
            self._holding = True
            self._line.hold()

    # ---- from the parser

    def on_message_begin(self) -> None:
        if self._ended:
            raise ValueError("an answer that nobody asked for")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_size += len(name) + len(value)
        if self._head_size > self._head_most:
            raise ValueError("the head is too large")
        if self.status:
            return  # a trailer
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        self._lines[key] = f"{self._lines[key]}, {text}" if key in self._lines else text

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        status = self._parser.get_status_code()
        if status < 200:
            self._lines = {}  # an interim answer: the true one follows
            return
        lines = self._lines
        coding = lines.get("transfer-encoding", "identity").strip().lower()
        if coding not in ("chunked", "identity"):
            raise ValueError("a transfer coding that was not asked for")
        self.headers, self.status = lines, status
        self._keep = self._parser.should_keep_alive()
        self._to_the_end = coding == "identity" and "content-length" not in lines
        packed = lines.get("content-encoding", "").strip().lower()
        if packed not in ("", "identity"):
            self._unpacker = Unpacker(packed)

    def on_message_complete(self) -> None:
        self._ended = bool(self.status)


def failed(upstream: str, what: str, kind: ErrorKind = ErrorKind.BAD_UPSTREAM) -> UpstreamError:
    """An error that names the upstream and not its address."""
    return UpstreamError(Error(kind=kind, message=f"the upstream {upstream!r} {what}"))
