"""Clients that dawdle and upstreams that pour, on real sockets: what is held, and for how long."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
from collections.abc import Awaitable, Callable

import pytest

from dragoman.gateway.client import Message
from dragoman.gateway.settings import Limits, Timeouts
from dragoman.upstreams.answer import HELD_BYTES
from dragoman.upstreams.connection import Connection as Upstream
from dragoman.upstreams.pool import READ_BYTES
from tests.gateway.asgi import Call
from tests.gateway.sockets import HEAD, LAST, Connection, Play, RawClient, chunked
from tests.gateway.test_sockets import CHAT, hello, setup
from tests.gateway.wires import DONE, ROLE, chat, say, text_of

MIB, KIB = 1 << 20, 1 << 10
FOREVER = 3600.0


def pour(until: Callable[[], bool] = lambda: False) -> Play:
    """Text without end, or until told."""

    async def play(connection: Connection) -> None:
        await connection.send(HEAD + chunked(ROLE))
        while not until():
            await connection.send(chunked(say("x" * 16384)))
        await connection.send(chunked(DONE) + LAST)

    return play


class Meter:
    """What the gateway reads of its upstream; ``held`` is set while it does not."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.read = 0
        self.held = asyncio.Event()
        receive, hold, go_on = Upstream.buffer_updated, Upstream.hold, Upstream.go_on

        def count(connection: Upstream, size: int) -> None:
            self.read += size
            receive(connection, size)

        def note(connection: Upstream) -> None:
            hold(connection)
            self.held.set()

        def note_more(connection: Upstream) -> None:
            go_on(connection)
            self.held.clear()

        monkeypatch.setattr(Upstream, "buffer_updated", count)
        monkeypatch.setattr(Upstream, "hold", note)
        monkeypatch.setattr(Upstream, "go_on", note_more)


async def slow_client(port: int) -> RawClient:
    """A client whose own socket takes next to nothing."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
    return RawClient(*await asyncio.open_connection(sock=sock, limit=1 << 12))


class Stuck(Call):
    """A client of an ASGI server that takes one piece of the answer, and the next when it may."""

    def __init__(self) -> None:
        super().__init__("POST", CHAT, chat())
        self.stuck = asyncio.Event()
        self.go_on = asyncio.Event()

    async def _send(self, message: Message) -> None:
        if self.pieces:
            self.stuck.set()
            await self.go_on.wait()
        await super()._send(message)


async def test_a_client_that_does_not_read_stops_the_reading_of_its_upstream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted, not timed: once the gateway holds, not a byte more is read, whatever else it does."""
    enough = False
    meter = Meter(monkeypatch)
    async with setup(pour(lambda: enough)) as lab:
        call = Stuck()
        task = asyncio.ensure_future(call.answered(lab.gateway))
        await call.stuck.wait()
        await meter.held.wait()
        (turn,) = lab.gateway.open_turns.turns
        kept = sum(map(len, turn._answer._pieces))  # type: ignore[union-attr,arg-type]
        assert HELD_BYTES // 2 < kept <= HELD_BYTES + READ_BYTES
        taken = meter.read
        assert taken <= len(call.body) * 2 + 2 * READ_BYTES + HELD_BYTES + READ_BYTES
        others = await RawClient.connect(lab.port)
        for _ in range(20):
            await others.send(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert (await others.answer())[0] == 200
        assert meter.read == taken
        enough = True
        call.go_on.set()
        await task
        assert call.body.endswith(b"data: [DONE]\n\n")
        assert meter.read > taken
        others.close()


async def test_a_client_that_takes_nothing_is_let_go_and_its_upstream_too() -> None:
    ended = asyncio.Event()

    async def play(connection: Connection) -> None:
        try:
            await pour()(connection)
        finally:
            ended.set()

    async with setup(play, timeouts=Timeouts(send=0.1)) as lab:
        client = await slow_client(lab.port)
        await client.ask(CHAT, chat())
        await ended.wait()
        while not lab.lines:
            await asyncio.sleep(0)
        assert json.loads(lab.lines[-1])["error"] == "client_left"
        client.close()


async def test_a_client_that_reads_slowly_is_waited_for() -> None:
    count = 0

    def enough() -> bool:
        nonlocal count
        count += 1
        return count > 300

    async with setup(pour(enough), timeouts=Timeouts(send=0.2)) as lab:
        client = await slow_client(lab.port)
        await client.ask(CHAT, chat())
        await client.head()
        body = b""
        while piece := await client.piece():
            body += piece
            await asyncio.sleep(0.002)
        assert body.endswith(b"data: [DONE]\n\n")
        client.close()


# ---- requests that take their time

HASTY = Timeouts(request_head=0.1, request_body=0.1)


async def test_a_head_that_does_not_come_to_its_end() -> None:
    async with setup(hello, timeouts=HASTY) as lab:
        await lab.client.send(b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nx-sl")
        assert (await lab.client.reader.read()).startswith(b"HTTP/1.1 408 Request Timeout\r\n")
        assert lab.upstream.heads == []


@pytest.mark.parametrize("bytes_before", [b"", b"\r\n", b"\r\n\r\n"])
async def test_a_connection_that_says_nothing(bytes_before: bytes) -> None:
    async with setup(hello, timeouts=HASTY) as lab:
        await lab.client.send(bytes_before)
        assert await lab.client.reader.read() == b""


async def test_blank_lines_between_requests_do_not_keep_a_connection() -> None:
    async with setup(hello, timeouts=HASTY) as lab:
        assert (await lab.ask())[0] == 200
        await lab.client.send(b"\r\n")
        assert await lab.client.reader.read() == b""


async def test_a_head_in_drops_that_never_ends() -> None:
    async with setup(hello, timeouts=HASTY) as lab:
        await lab.client.send(b"GET /health HTTP/1.1\r\n")
        while not lab.client.reader.at_eof() and not lab.client.reader._buffer:  # type: ignore[attr-defined]
            try:
                await lab.client.send(b"x: y\r\n")
            except ConnectionError:
                break
            await asyncio.sleep(0.01)


async def test_an_idle_connection_between_requests_is_not_meant() -> None:
    async with setup(hello, timeouts=HASTY) as lab:
        for _ in range(2):
            assert (await lab.ask())[0] == 200
            await asyncio.sleep(0.2)
        assert lab.upstream.connections == 1


async def test_an_answer_is_not_cut_by_half_a_request_behind_it() -> None:
    go_on = asyncio.Event()

    async def play(connection: Connection) -> None:
        await connection.send(HEAD + chunked(ROLE + say("one")))
        await go_on.wait()
        await connection.send(chunked(say("two") + DONE) + LAST)

    async with setup(play, timeouts=HASTY) as lab:
        await lab.client.ask(CHAT, chat())
        await lab.client.head()
        await lab.client.send(b"GET /health HTTP/1.1\r\nx-ha")
        await asyncio.sleep(0.25)
        go_on.set()
        assert text_of(await lab.client.body()) == "onetwo"
        assert (await lab.client.reader.read()).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize(
    "body",
    [b"content-length: 20\r\n\r\n{", b"transfer-encoding: chunked\r\n\r\n5\r\n{", b"content-length: 20\r\n\r\n"],
    ids=["length", "chunked", "nothing"],
)
async def test_a_body_that_does_not_come_to_its_end(body: bytes) -> None:
    async with setup(hello, timeouts=HASTY) as lab:
        await lab.client.send(b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\n" + body)
        status, head = await lab.client.head()
        assert (status, b"connection: close" in head) == (408, True)
        answer = json.loads(await lab.client.reader.read())
        assert (answer["type"], "was not there in 0.1 s" in answer["error"]["message"]) == ("error", True)
        assert lab.upstream.heads == []


async def test_connections_that_begin_a_request_and_stop_hold_up_nobody() -> None:
    async with setup(hello) as lab:
        idle = [await RawClient.connect(lab.port) for _ in range(50)]
        for one in idle:
            await one.send(b"POST /v1/chat/completions HTTP/1.1\r\ncontent-le")
        assert (await lab.ask())[0] == 200
        for one in idle:
            one.close()


# ---- what an upstream sends


def packed(text: bytes) -> Callable[[Connection], Awaitable[None]]:
    async def play(connection: Connection) -> None:
        data = gzip.compress(text)
        head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(data)
        await connection.send(head + data)

    return play


@pytest.mark.parametrize("over", [0, 1])
async def test_the_size_of_an_answer_is_that_of_the_unpacked_one(over: int) -> None:
    text = say("first") + b": comment\n\n" * 100_000 + DONE
    room = len(text) - over * (len(DONE) + 1)
    async with setup(packed(text), limits=Limits(answer_mib=room / MIB)) as lab:
        status, body = await lab.ask()
        assert (status, text_of(body)) == (200, "first")
        assert (f"more than {room} bytes".encode() in body) == bool(over)


async def test_a_small_body_that_would_unpack_to_a_large_one_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    unpacked = 0
    from dragoman.upstreams.unpacking import Unpacker

    take = Unpacker.take

    def count(unpacker: Unpacker) -> bytes:
        nonlocal unpacked
        data = take(unpacker)
        unpacked += len(data)
        return data

    monkeypatch.setattr(Unpacker, "take", count)
    async with setup(packed(say("first") + b"data: " + b"x" * (64 * MIB)), limits=Limits(event_mib=0.5)) as lab:
        status, body = await lab.ask()
        assert (status, text_of(body)) == (200, "first")
        assert b"an event of more than 524288 bytes" in body
    assert unpacked <= MIB


@pytest.mark.parametrize("over", [0, 1])
async def test_the_headers_of_an_answer(over: int) -> None:
    known = len("content-type") + len("text/event-stream") + len("transfer-encoding") + len("chunked") + len("x")

    async def play(connection: Connection) -> None:
        head = HEAD[:-2] + b"x: " + b"y" * (KIB - known + over) + b"\r\n\r\n"
        await connection.send(head + chunked(say("hello") + DONE) + LAST)

    async with setup(play, limits=Limits(response_header_kib=1)) as lab:
        status, body = await lab.ask()
        assert status == (502 if over else 200)
        assert (b"gave no answer that can be read" in body) == bool(over)
