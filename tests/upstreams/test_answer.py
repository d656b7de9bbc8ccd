"""One answer, byte for byte, on a line that only notes what it is told."""

from __future__ import annotations

import asyncio
import gzip

import pytest

from dragoman.upstreams.answer import HEAD_BYTES, HELD_BYTES, HttpAnswer
from dragoman.upstreams.interface import UpstreamError, flow

HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"


class Line:
    """``told`` is what the answer wanted of its connection."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.answer = HttpAnswer("up", self)

    def hold(self) -> None:
        self.told.append("hold")

    def go_on(self) -> None:
        self.told.append("go on")

    def over(self, *, keep: bool) -> None:
        self.told.append("kept" if keep else "over")

    def abort(self) -> None:
        self.told.append("abort")

    def bring(self, *pieces: bytes) -> HttpAnswer:
        for piece in pieces:
            self.answer.receive(memoryview(piece))
        return self.answer


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def rest(answer: HttpAnswer) -> bytes:
    out = b""
    while data := await answer.read():
        out += data
    return out


async def fails(answer: HttpAnswer, words: str) -> None:
    """The answer fails in these words, and goes on to."""
    for _ in range(2):
        with pytest.raises(UpstreamError, match=f"^the upstream 'up' {words}"):
            await answer.read()


# ---- heads


async def test_a_head() -> None:
    answer = Line().bring(b"HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nX-A: 1\r\nx-a: 2\r\ncontent-length: 2\r\n\r\nno")
    await answer.begun()
    assert answer.status == 429
    assert answer.headers == {"retry-after": "7", "x-a": "1, 2", "content-length": "2"}
    assert await rest(answer) == b"no"


async def test_interim_heads_are_passed_over() -> None:
    answer = Line().bring(
        b"HTTP/1.1 103 Hints\r\nlink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n", HEAD + chunk(b"a") + LAST
    )
    await answer.begun()
    assert (answer.status, "link" in answer.headers) == (200, False)
    assert await rest(answer) == b"a"


@pytest.mark.parametrize(("size", "fits"), [(HEAD_BYTES, True), (HEAD_BYTES + 1, False)])
async def test_the_size_of_a_head(size: int, fits: bool) -> None:
    line = Line()
    known = len("x") + len("content-length") + len("0")
    answer = line.bring(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx: " + b"y" * (size - known) + b"\r\n\r\n")
    if fits:
        await answer.begun()
        assert await answer.read() == b""
    else:
        assert line.told == ["abort"]
        with pytest.raises(UpstreamError, match="gave no answer that can be read"):
            await answer.begun()


@pytest.mark.parametrize(
    "endless",
    [
        (b"HTTP/1.1 200 OK\r\nx: ", b"y" * 1000),
        (b"HTTP/1.1 200 ", b"y" * 1000),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"", b"HTTP/1.1 103 Hints\r\nlink: x\r\n\r\n"),
        (HEAD + b"0\r\nx: ", b"y" * 1000),
        (HEAD + b"0\r\n", b"x: y\r\n"),
        (HEAD + b"1;", b"x" * 1000),
    ],
    ids=["header", "reason", "interim", "interim-headers", "trailer", "trailers", "chunk-extension"],
)
async def test_what_never_gets_to_the_point(endless: tuple[bytes, bytes]) -> None:
    line = Line()
    line.bring(endless[0])
    taken = 0
    while "abort" not in line.told:
        line.bring(endless[1])
        taken += len(endless[1])
        assert taken < 3 * HEAD_BYTES


@pytest.mark.parametrize(
    "head",
    [
        b"\x16\x03\x01 no HTTP\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n",
        b"HTTP/1.1 2xx OK\r\n\r\n",
    ],
)
async def test_no_head(head: bytes) -> None:
    line = Line()
    answer = line.bring(head)
    assert line.told == ["abort"]
    with pytest.raises(UpstreamError, match="gave no answer that can be read"):
        await answer.begun()


# ---- bodies


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (HEAD + chunk(b"ab") + chunk(b"c") + LAST, "kept"),
        (HEAD + b"2;name=value\r\nab\r\n1  \r\nc\r\n0\r\ntrailer: x\r\n\r\n", "kept"),
        (b"HTTP/1.1 200 OK\ncontent-length: 3\n\nabc", "kept"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\nconnection: close\r\n\r\nabc", "over"),
        (b"HTTP/1.0 200 OK\r\ncontent-length: 3\r\n\r\nabc", "over"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabcmore", "over"),
        (HEAD + chunk(b"abc") + LAST + b"HTTP/1.1 500 Oh\r\ncontent-length: 1\r\n\r\nx", "over"),
    ],
    ids=["chunks", "extensions", "lf", "close", "http-1.0", "more", "a-second-answer"],
)
@pytest.mark.parametrize("cut", [1, 1 << 20])
async def test_where_a_body_ends(data: bytes, told: str, cut: int) -> None:
    line = Line()
    for place in range(0, len(data), cut):
        if not line.told:  # what comes later meets a connection that rests
            line.bring(data[place : place + cut])
    assert await rest(line.answer) == b"abc"
    assert line.answer.status == 200
    assert line.told == [told if cut > 1 or told != "over" or b"close" in data or b"1.0" in data else "kept"]


@pytest.mark.parametrize("status", [204, 304])
async def test_no_body(status: int) -> None:
    line = Line()
    answer = line.bring(b"HTTP/1.1 %d .\r\ncontent-type: text/plain\r\n\r\n" % status)
    assert await answer.read() == b""
    assert line.told == ["kept"]


@pytest.mark.parametrize("broken", [False, True])
async def test_a_body_to_the_end_of_the_connection(broken: bool) -> None:
    answer = Line().bring(b"HTTP/1.1 200 OK\r\n\r\n", b"abc")
    answer.lost(broken=broken)
    assert await answer.read() == b"abc"
    if broken:
        await fails(answer, "broke off")
    else:
        assert await answer.read() == b""


@pytest.mark.parametrize(
    "end", [b"", b"5\r\nab", b"zz\r\n", b"5;\r\nabcde", b"-1\r\n", b"fffffffffffffffff\r\n", b"1\r\nabc"]
)
async def test_what_came_before_a_failure_is_given_first(end: bytes) -> None:
    answer = Line().bring(HEAD, chunk(b"one") + end)
    answer.lost(broken=False)
    assert (await answer.read()).startswith(b"one")
    await fails(answer, "broke off its answer")


async def test_pieces_that_come_together_are_one_read() -> None:
    line = Line()
    answer = line.bring(HEAD + chunk(b"a") + chunk(b"b"), chunk(b"c"))
    assert await answer.read() == b"abc"
    line.bring(chunk(b"d"))
    assert await answer.read() == b"d"


async def test_a_read_waits_for_content_and_for_nothing_less() -> None:
    line = Line()
    answer = line.bring(HEAD)
    reading = asyncio.ensure_future(answer.read())
    for piece in (b"3\r", b"\n", b"abc"):
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not reading.done()
        line.bring(piece)
    assert await reading == b"abc"


async def test_a_read_that_is_cancelled_loses_nothing() -> None:
    line = Line()
    answer = line.bring(HEAD)
    reading = asyncio.ensure_future(answer.read())
    await asyncio.sleep(0)
    line.bring(chunk(b"one"))
    reading.cancel()  # the bytes are there, and the reader has not been told
    line.bring(chunk(b"two"))
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert await answer.read() == b"onetwo"


# ---- packed bodies


@pytest.mark.parametrize("cut", [1, 1 << 20])
async def test_a_packed_body(cut: int) -> None:
    line = Line()
    data = gzip.compress(b"abc" * 50_000)
    line.bring(b"HTTP/1.1 200 OK\r\ncontent-encoding: GZIP\r\ncontent-length: %d\r\n\r\n" % len(data))
    for place in range(0, len(data), cut):
        line.bring(data[place : place + cut])
    pieces = []
    while piece := await line.answer.read():
        pieces.append(piece)
    assert b"".join(pieces) == b"abc" * 50_000
    assert max(map(len, pieces)) <= 1 << 16


@pytest.mark.parametrize(
    ("name", "body"),
    [("br", b"abc"), ("gzip", b"abc"), ("gzip", gzip.compress(b"abc")[:-4])],
    ids=["unknown", "rubbish", "cut"],
)
async def test_a_packed_body_that_cannot_be_read(name: str, body: bytes) -> None:
    """The head is known all the same: its status may be all that matters."""
    head = f"HTTP/1.1 503 Oh\r\ncontent-encoding: {name}\r\ncontent-length: {len(body)}\r\n\r\n"
    answer = Line().bring(head.encode() + body)
    await answer.begun()
    assert answer.status == 503
    with pytest.raises(UpstreamError, match="sent an encoding that was not asked for, or broken"):
        await rest(answer)


async def test_a_packed_body_that_breaks_off() -> None:
    answer = Line().bring(
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 99\r\n\r\n", gzip.compress(b"abc")
    )
    answer.lost(broken=True)
    assert await answer.read() == b"abc"
    await fails(answer, "broke off its answer")


# ---- who reads, and how fast


async def test_nobody_reads() -> None:
    """The connection is held once more is there than is kept, and goes on once it was read."""
    line = Line()
    answer = line.bring(HEAD, chunk(b"x" * (HELD_BYTES - 100)))
    assert line.told == []
    line.bring(chunk(b"y" * 200), chunk(b"z"))
    assert line.told == ["hold"]
    assert len(await answer.read()) == HELD_BYTES + 101
    assert line.told == ["hold", "go on"]


async def test_a_reader_that_was_woken_and_takes_its_time() -> None:
    line = Line()
    reading = asyncio.ensure_future(line.bring(HEAD).read())
    await asyncio.sleep(0)
    for _ in range(3):
        line.bring(chunk(b"x" * (HELD_BYTES // 2)))
    assert line.told == ["hold"]
    assert len(await reading) == HELD_BYTES // 2 * 3
    assert line.told == ["hold", "go on"]


async def test_a_held_connection_is_given_back_reading() -> None:
    line = Line()
    line.bring(HEAD, chunk(b"x" * 2 * HELD_BYTES), LAST)
    assert line.told == ["hold", "go on", "kept"]
    assert len(await rest(line.answer)) == 2 * HELD_BYTES
    assert line.told == ["hold", "go on", "kept"]


async def test_a_packed_body_holds_the_connection_too() -> None:
    line = Line()
    data = gzip.compress(bytes(200 << 20))
    line.bring(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(data))
    for place in range(0, len(data), 1 << 14):
        line.bring(data[place : place + (1 << 14)])
    assert line.told[0] == "hold"
    assert len(await line.answer.read()) <= 1 << 16


async def test_close_ends_the_connection_at_once_and_the_answer_with_it() -> None:
    line = Line()
    answer = line.bring(HEAD, chunk(b"unread"))
    answer.close()
    answer.close()
    assert line.told == ["abort"]
    assert await answer.read() == b""


async def test_close_after_the_end_leaves_the_connection_alone() -> None:
    line = Line()
    line.bring(HEAD + chunk(b"unread") + LAST).close()
    assert line.told == ["kept"]


# ---- flow


class Sink:
    def __init__(self, stop: bytes = b"") -> None:
        self.got: list[bytes] = []
        self._stop = stop

    def __call__(self, data: bytes) -> bool:
        self.got.append(data)
        return data != self._stop


async def test_a_flow_from_the_buffer_and_from_the_line() -> None:
    line, sink = Line(), Sink()
    answer = line.bring(HEAD + chunk(b"one"))
    flowing = asyncio.ensure_future(flow(answer, sink))
    await asyncio.sleep(0)
    assert sink.got == [b"one"]
    line.bring(chunk(b"two"), b"5\r\nth", b"ree\r\n" + chunk(b"four"))
    assert sink.got == [b"one", b"two", b"th", b"reefour"]  # no task ran in between
    line.bring(chunk(b"five") + LAST)
    assert await flowing
    assert sink.got[4:] == [b"five"]
    assert await answer.read() == b""


@pytest.mark.parametrize("late", [False, True])
async def test_a_sink_that_wants_no_more_for_now(late: bool) -> None:
    line, sink = Line(), Sink(stop=b"two")
    answer = line.bring(HEAD)
    if not late:
        line.bring(chunk(b"two"))
    flowing = asyncio.ensure_future(flow(answer, sink))
    await asyncio.sleep(0)
    if late:
        line.bring(chunk(b"two"))
    line.bring(chunk(b"three"))
    assert not await flowing
    assert sink.got == [b"two"]
    assert await answer.read() == b"three"


async def test_a_sink_that_wants_no_more_holds_the_connection() -> None:
    line, sink = Line(), Sink(stop=b"no")
    flowing = asyncio.ensure_future(flow(line.bring(HEAD), sink))
    await asyncio.sleep(0)
    line.bring(chunk(b"no"))
    assert not await flowing
    line.bring(chunk(b"x" * HELD_BYTES))
    assert line.told == ["hold"]


async def test_a_flow_that_breaks_off() -> None:
    line, sink = Line(), Sink()
    flowing = asyncio.ensure_future(flow(line.bring(HEAD), sink))
    await asyncio.sleep(0)
    line.bring(chunk(b"one"), chunk(b"two") + b"zz\r\n")
    with pytest.raises(UpstreamError, match="broke off"):
        await flowing
    assert sink.got == [b"one", b"two"]


async def test_what_a_sink_raises_reaches_whoever_waits() -> None:
    line = Line()

    def sink(data: bytes) -> bool:
        raise LookupError

    flowing = asyncio.ensure_future(flow(line.bring(HEAD), sink))
    await asyncio.sleep(0)
    line.bring(chunk(b"one"), chunk(b"two"))
    with pytest.raises(LookupError):
        await flowing
    assert await line.answer.read() == b"two"


async def test_a_flow_that_is_cancelled_loses_nothing() -> None:
    line, sink = Line(), Sink()
    answer = line.bring(HEAD)
    flowing = asyncio.ensure_future(flow(answer, sink))
    await asyncio.sleep(0)
    flowing.cancel()
    line.bring(chunk(b"one"))
    with pytest.raises(asyncio.CancelledError):
        await flowing
    line.bring(chunk(b"two"))
    assert b"".join(sink.got) + await answer.read() == b"onetwo"


async def test_a_packed_body_flows() -> None:
    line, sink = Line(), Sink()
    data = gzip.compress(b"abc")
    line.bring(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(data) + data)
    assert await flow(line.answer, sink)
    assert sink.got == [b"abc"]
