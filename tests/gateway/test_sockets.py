"""The gateway between real sockets: what only real connections do."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
from collections.abc import AsyncIterator

import pytest

from dragoman.gateway.accesslog import AccessLog
from dragoman.gateway.app import Gateway
from dragoman.gateway.connect import connect
from dragoman.gateway.server import Server
from dragoman.gateway.settings import (
    BaseUrl,
    DialectName,
    HeaderValue,
    Limits,
    Secret,
    Settings,
    Timeouts,
    UpstreamSettings,
)
from tests.gateway.sockets import HEAD, LAST, Connection, Play, RawClient, RawUpstream, chunked, listening
from tests.gateway.wires import DONE, ROLE, chat, say, text_of, whole

CHAT = "/v1/chat/completions"
SECRET = "sk-of-the-upstream"


class Setup:
    """A raw upstream, a gateway before it, a client at it."""

    def __init__(
        self, upstream: RawUpstream, client: RawClient, port: int, server: Server, lines: list[str], gateway: Gateway
    ) -> None:
        self.upstream = upstream
        self.client = client
        self.port = port
        self.server = server
        self.lines = lines
        self.gateway = gateway

    async def ask(self, *, stream: bool = True) -> tuple[int, bytes]:
        await self.client.ask(CHAT, chat(stream=stream))
        return await self.client.answer()


@contextlib.asynccontextmanager
async def setup(
    play: Play, *, drain: float = 5, limits: Limits | None = None, timeouts: Timeouts | None = None
) -> AsyncIterator[Setup]:
    lines: list[str] = []
    async with RawUpstream(play) as upstream:
        one = UpstreamSettings(
            dialect=DialectName("chat"),
            base_url=BaseUrl(f"http://127.0.0.1:{upstream.port}/v1"),
            api_key=Secret(SECRET),
            headers={"x-team": HeaderValue("blue")},
        )
        settings = Settings(upstreams={"up": one}, timeouts=timeouts or Timeouts(connect=5), limits=limits or Limits())
        gateway = Gateway(settings, connect(settings), AccessLog(lines.append))
        async with listening(gateway, drain) as (port, server):
            client = await RawClient.connect(port)
            try:
                yield Setup(upstream, client, port, server, lines, gateway)
            finally:
                client.close()


async def hello(connection: Connection) -> bool:
    await connection.send(HEAD + chunked(ROLE + say("hello") + DONE) + LAST)
    return True


# ---- what the upstream gets


async def test_what_reaches_the_upstream() -> None:
    async with setup(hello) as lab:
        assert await lab.ask()
        (head,) = lab.upstream.heads
        line, *headers = head.decode().lower().split("\r\n")[:-2]
        assert line == "post /v1/chat/completions http/1.1"
        names = [name for name, _, _ in (header.partition(":") for header in headers)]
        assert len(names) == len(set(names))
        assert f"authorization: bearer {SECRET}" in headers
        assert "x-team: blue" in headers
        assert f"host: 127.0.0.1:{lab.upstream.port}" in headers
        assert "cookie" not in names
        assert b'"model":"m"' in lab.upstream.bodies[0].replace(b" ", b"")


async def test_connections_are_kept() -> None:
    async with setup(hello) as lab:
        for _ in range(3):
            status, body = await lab.ask()
            assert (status, text_of(body)) == (200, "hello")
        assert lab.upstream.connections == 1


async def test_a_kept_connection_that_the_upstream_closed() -> None:
    """Closed as the next request comes: asked again on a new one, once."""

    async def play(connection: Connection) -> bool:
        if connection.number:
            return False
        return await hello(connection)

    async with setup(play) as lab:
        for _ in range(3):
            status, body = await lab.ask()
            assert (status, text_of(body)) == (200, "hello")


async def test_a_new_connection_that_closes_is_not_asked_again() -> None:
    async def play(connection: Connection) -> bool:
        return False

    async with setup(play) as lab:
        status, _ = await lab.ask()
        assert (status, len(lab.upstream.heads)) == (502, 1)


# ---- what the upstream does


async def test_pieces_pass_one_by_one() -> None:
    """The second piece is sent only after the client has the first."""
    seen = asyncio.Event()

    async def play(connection: Connection) -> None:
        await connection.send(HEAD + chunked(ROLE + say("one")))
        await seen.wait()
        await connection.send(chunked(say("two") + DONE) + LAST)

    async with setup(play) as lab:
        await lab.client.ask(CHAT, chat())
        await lab.client.head()
        first = b""
        while b"one" not in first:
            first += await lab.client.piece()
        seen.set()
        assert text_of(first + await lab.client.body()) == "onetwo"


@pytest.mark.parametrize(
    "end",
    [b"", b"5\r\nab", b"zz\r\n", b"5;\r\nabcde", LAST],
    ids=["between-chunks", "in-a-chunk", "bad-size", "no-line-end", "body-ended-answer-not"],
)
async def test_a_cut_gives_all_that_came_and_an_error(end: bytes) -> None:
    async def play(connection: Connection) -> None:
        await connection.send(HEAD + chunked(ROLE + say("half")))
        await seen.wait()
        await connection.send(chunked(say(" of it")) + end)

    seen = asyncio.Event()
    async with setup(play) as lab:
        await lab.client.ask(CHAT, chat())
        await lab.client.head()
        body = await lab.client.piece()
        seen.set()
        body += await lab.client.body()
        assert text_of(body) == "half of it"
        assert b'"error"' in body


async def test_a_reset() -> None:
    async def play(connection: Connection) -> None:
        await connection.send(HEAD + chunked(ROLE + say("half")))
        await seen.wait()
        connection.reset()

    seen = asyncio.Event()
    async with setup(play) as lab:
        await lab.client.ask(CHAT, chat())
        await lab.client.head()
        body = await lab.client.piece()
        seen.set()
        body += await lab.client.body()
        assert text_of(body) == "half"
        assert b'"error"' in body


async def test_an_answer_that_proves_its_end_needs_no_last_chunk() -> None:
    async def play(connection: Connection) -> None:
        await connection.send(HEAD + chunked(say("all") + DONE))

    async with setup(play) as lab:
        status, body = await lab.ask()
        assert (status, text_of(body)) == (200, "all")
        assert b'"error"' not in body


@pytest.mark.parametrize(
    "raw",
    [
        b"\x16\x03\x01 no HTTP\r\n\r\n",
        b"",
        b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx-large: " + b"x" * (1 << 20) + b"\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\ncontent-length: 3\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc",
    ],
    ids=["no-http", "nothing", "no-body", "large-header", "redirect", "brotli", "no-gzip"],
)
async def test_no_answer_at_all(raw: bytes) -> None:
    async def play(connection: Connection) -> None:
        await connection.send(raw)

    async with setup(play) as lab:
        status, body = await lab.ask()
        assert status == 502, body
        assert SECRET.encode() not in body
        assert str(lab.upstream.port).encode() not in body


async def test_gzip_that_was_not_asked_for_is_read() -> None:
    async def play(connection: Connection) -> None:
        data = gzip.compress(whole("packed"))
        head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(data)
        await connection.send(head + data)

    async with setup(play) as lab:
        status, body = await lab.ask(stream=False)
        assert (status, b"packed" in body) == (200, True)


async def test_interim_answers_are_passed_over() -> None:
    async def play(connection: Connection) -> None:
        await connection.send(b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n")
        await hello(connection)

    async with setup(play) as lab:
        assert text_of((await lab.ask())[1]) == "hello"


async def test_nobody_listens() -> None:
    async with setup(hello) as lab:
        await lab.upstream.__aexit__()
        status, body = await lab.ask()
        assert (status, b"cannot be reached" in body) == (502, True)


# ---- what the client does


@pytest.mark.parametrize("talking", [False, True])
async def test_a_client_that_leaves_ends_the_connection_to_the_upstream(talking: bool) -> None:
    ended = asyncio.Event()

    async def play(connection: Connection) -> None:
        if talking:
            await connection.send(HEAD + chunked(ROLE + say("hello")))
        started.set()
        await connection.until_closed()
        ended.set()

    started = asyncio.Event()
    async with setup(play) as lab:
        await lab.client.ask(CHAT, chat())
        await started.wait()
        if talking:
            await lab.client.head()
        lab.client.close()
        await ended.wait()


async def test_back_pressure() -> None:
    """A client that does not read stops the upstream; the rest comes once it reads."""
    total = 24 << 20
    sent = 0
    blocked = asyncio.Event()

    async def play(connection: Connection) -> None:
        nonlocal sent
        await connection.send(HEAD)
        piece = chunked(say("x" * 16384))
        while sent < total:
            connection.writer.write(piece)
            sent += len(piece)
            try:
                await asyncio.wait_for(connection.writer.drain(), None if blocked.is_set() else 0.3)
            except TimeoutError:
                blocked.set()
                await connection.writer.drain()
        await connection.send(chunked(DONE) + LAST)

    async with setup(play) as lab:
        client = await RawClient.connect(lab.port, limit=1 << 14)
        await client.ask(CHAT, chat())
        await blocked.wait()
        assert sent < total
        others = await RawClient.connect(lab.port)
        await others.send(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert (await others.answer())[0] == 200
        await client.head()
        body = await client.body()
        assert body.endswith(b"data: [DONE]\n\n")
        assert body.count(b"x") >= sent * 0.9
        client.close()
        others.close()


@pytest.mark.parametrize(
    "head",
    [
        b"content-length: 2\r\ntransfer-encoding: chunked\r\n",
        b"content-length: 2\r\ncontent-length: 30\r\n",
        b"content-length: +2\r\n",
        b"transfer-encoding : chunked\r\ncontent-length: 2\r\n",
        b"transfer-encoding: chunked, identity\r\n",
    ],
)
async def test_an_ambiguous_length_is_refused_and_nothing_behind_it_served(head: bytes) -> None:
    async with setup(hello) as lab:
        await lab.client.send(b"POST " + CHAT.encode() + b" HTTP/1.1\r\nhost: localhost\r\n" + head + b"\r\n{}")
        await lab.client.send(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
        answer = await lab.client.reader.read()
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert answer.count(b"HTTP/1.1") == 1
        assert lab.upstream.heads == []


async def test_endless_headers() -> None:
    async with setup(hello) as lab:
        await lab.client.send(b"GET /health HTTP/1.1\r\nx-endless: ")
        with contextlib.suppress(ConnectionError):
            while not lab.client.reader.at_eof() and not lab.client.reader._buffer:  # type: ignore[attr-defined]
                await lab.client.send(b"x" * 16384)
                await asyncio.sleep(0)
        assert (await lab.client.head())[0] == 431


async def test_an_endless_body_is_refused() -> None:
    async with setup(hello, limits=Limits(body_mib=0.01)) as lab:
        await lab.client.send(
            b"POST " + CHAT.encode() + b" HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        await lab.client.send(chunked(b"x" * 20_000))
        status, head = await lab.client.head()
        assert (status, b"connection: close" in head) == (413, True)


async def test_pipelined_requests_are_answered_in_order() -> None:
    async with setup(hello) as lab:
        await lab.client.ask(CHAT, chat())
        await lab.client.ask(CHAT, {**chat(), "model": "other/m", "messages": []})
        assert (await lab.client.answer())[0] == 200
        assert (await lab.client.answer())[0] == 400


# ---- stopping


async def test_open_streams_end_well_after_the_stop() -> None:
    stopped = asyncio.Event()

    async def play(connection: Connection) -> None:
        await connection.send(HEAD + chunked(ROLE + say("before")))
        await stopped.wait()
        await connection.send(chunked(say(" after") + DONE) + LAST)

    async with setup(play) as lab:
        await lab.client.ask(CHAT, chat())
        _, head = await lab.client.head()
        lab.server.should_exit = True
        while lab.server.servers[0].is_serving():
            await asyncio.sleep(0.01)
        with pytest.raises(ConnectionError):
            await RawClient.connect(lab.port)
        stopped.set()
        assert text_of(await lab.client.body()) == "before after"
        assert await lab.client.reader.read() == b""
        assert b"200" in head


async def test_streams_that_go_on_after_the_drain_end_in_an_error() -> None:
    async def play(connection: Connection) -> None:
        await connection.send(HEAD + chunked(ROLE + say("half")))
        await connection.until_closed()

    async with setup(play, drain=0.05) as lab:
        await lab.client.ask(CHAT, chat())
        await lab.client.head()
        lab.server.should_exit = True
        body = await lab.client.body()
        assert text_of(body) == "half"
        assert b"being stopped" in body


async def test_an_idle_connection_does_not_hold_up_the_stop() -> None:
    async with setup(hello) as lab:
        await lab.ask()
        lab.server.should_exit = True
        assert await lab.client.reader.read() == b""
