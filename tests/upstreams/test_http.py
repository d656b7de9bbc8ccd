"""The HTTP client on real sockets: what it asks, which connections it uses again, how it fails."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping

import pytest

from dragoman.canonical.errors import ErrorKind
from dragoman.dialects.contract import UpstreamRequest
from dragoman.upstreams import dial, pool
from dragoman.upstreams.answer import HttpAnswer
from dragoman.upstreams.http import HttpUpstream
from dragoman.upstreams.interface import UpstreamError
from tests.gateway.sockets import HEAD, LAST, Connection, Play, RawUpstream, chunked

SECRET = "sk-of-the-upstream"
REQUEST = UpstreamRequest(path="/chat", body={"model": "m"})


class Lab:
    def __init__(self, server: RawUpstream, upstream: HttpUpstream) -> None:
        self.server = server
        self.port = server.port
        self.upstream = upstream

    async def ask(self, request: UpstreamRequest = REQUEST) -> HttpAnswer:
        return await self.upstream.send(request)

    async def body(self) -> bytes:
        """A whole answer."""
        answer = await self.ask()
        out = b""
        while data := await answer.read():
            out += data
        return out

    async def fails(self, words: str, kind: ErrorKind = ErrorKind.BAD_UPSTREAM) -> None:
        with pytest.raises(UpstreamError) as caught:
            await self.body()
        assert caught.value.error.message == f"the upstream 'up' {words}"
        assert caught.value.error.kind is kind
        assert SECRET not in str(caught.value)
        assert str(self.port) not in str(caught.value)


@contextlib.asynccontextmanager
async def serving(play: Play, headers: Mapping[str, str] | None = None) -> AsyncIterator[Lab]:
    async with RawUpstream(play) as server:
        upstream = HttpUpstream(
            name="up",
            dialect="chat",
            base_url=f"http://127.0.0.1:{server.port}/v1",
            headers={"Authorization": f"Bearer {SECRET}", **(headers or {})},
            connect=30,
        )
        try:
            yield Lab(server, upstream)
        finally:
            await upstream.aclose()


async def hello(connection: Connection) -> bool:
    await connection.send(HEAD + chunked(b"hello") + LAST)
    return True


def raw(data: bytes) -> Play:
    """An answer of these bytes; then the server hangs up."""

    async def play(connection: Connection) -> None:
        await connection.send(data)

    return play


# ---- the request


async def test_what_is_sent() -> None:
    async with serving(hello, {"x-team": "blue"}) as lab:
        await lab.ask(
            UpstreamRequest(path="/chat?alt=sse", body={"text": "é"}, headers={"X-Own": "1", "x-team": "red"})
        )
        line, *headers = lab.server.heads[0].decode().split("\r\n")[:-2]
        assert line == "POST /v1/chat?alt=sse HTTP/1.1"
        assert dict(header.split(": ", 1) for header in headers) == {
            "host": f"127.0.0.1:{lab.server.port}",
            "accept": "*/*",
            "accept-encoding": "identity",
            "content-type": "application/json",
            "user-agent": "dragoman",
            "x-own": "1",
            "x-team": "blue",
            "authorization": f"Bearer {SECRET}",
            "content-length": "13",
        }
        assert len(headers) == 9
        assert lab.server.bodies == ['{"text":"é"}'.encode()]


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/a b", {}),
        ("/a\r\nx: y", {}),
        ("", {"x": "a\r\nb: c"}),
        ("", {"x": "a\nb"}),
        ("", {"x": "a\0"}),
        ("", {"x\r\ny": "a"}),
        ("", {"x": "\u2028"}),
    ],
)
async def test_what_would_be_another_request_is_not_sent(path: str, headers: dict[str, str]) -> None:
    async with serving(hello) as lab:
        with pytest.raises(UpstreamError) as caught:
            await lab.ask(UpstreamRequest(path=path, body={}, headers=headers))
        assert caught.value.error.kind is ErrorKind.INVALID_REQUEST
        assert lab.server.connections == 0


@pytest.mark.parametrize(
    ("url", "host", "place"),
    [
        ("http://llm.test/v1", "llm.test", ("llm.test", 80)),
        ("http://llm.test:80", "llm.test", ("llm.test", 80)),
        ("http://LLM.test:8000/a/b", "llm.test:8000", ("llm.test", 8000)),
        ("http://[::1]:8000", "[::1]:8000", ("::1", 8000)),
    ],
)
async def test_where_it_is_sent(url: str, host: str, place: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []
    connected = dial.connected

    async def elsewhere(name: str, port: int) -> object:
        asked.append((name, port))
        return await connected("127.0.0.1", server.port)

    monkeypatch.setattr(dial, "connected", elsewhere)
    async with RawUpstream(hello) as server:
        upstream = HttpUpstream(name="up", dialect="chat", base_url=url, headers={}, connect=30)
        await upstream.send(REQUEST)
        await upstream.aclose()
        assert asked == [place]
        assert f"host: {host}\r\n".encode() in server.heads[0]


# ---- which connection


async def test_a_connection_is_used_again_and_two_at_a_time_are_two() -> None:
    async with serving(hello) as lab:
        assert [await lab.body() for _ in range(3)] == [b"hello"] * 3
        assert lab.server.connections == 1
        assert list(await asyncio.gather(lab.body(), lab.body())) == [b"hello"] * 2
        assert lab.server.connections == 2


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 5\r\n\r\nhello",
        b"HTTP/1.0 200 OK\r\ncontent-length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello and more",
    ],
    ids=["close", "http-1.0", "more"],
)
async def test_a_connection_that_is_not_used_again(data: bytes) -> None:
    async def play(connection: Connection) -> None:
        await connection.send(data)
        await connection.until_closed()

    async with serving(play) as lab:
        assert [await lab.body() for _ in range(2)] == [b"hello"] * 2
        assert lab.server.connections == 2


async def test_an_answer_that_comes_before_the_request_was_taken() -> None:
    """The rest of the request is still on its way: the connection cannot take another."""

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Large\r\ncontent-length: 0\r\n\r\n")
        await writer.drain()
        opened.append(writer)

    opened: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(play, "127.0.0.1", 0, limit=1 << 10)
    port = server.sockets[0].getsockname()[1]
    upstream = HttpUpstream(name="up", dialect="chat", base_url=f"http://127.0.0.1:{port}", headers={}, connect=30)
    for _ in range(2):
        answer = await upstream.send(UpstreamRequest(path="/", body={"text": "x" * (32 << 20)}))
        assert answer.status == 413
    assert len(opened) == 2
    await upstream.aclose()
    server.close()
    for writer in opened:
        writer.close()


async def test_a_resting_connection_is_ended_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = asyncio.Event()

    async def play(connection: Connection) -> None:
        await hello(connection)
        await connection.until_closed()
        ended.set()

    monkeypatch.setattr(pool, "REST", 0.01)
    async with serving(play) as lab:
        await lab.body()
        await ended.wait()


async def test_how_many_connections_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = asyncio.Event()
    everybody = asyncio.Barrier(3)

    async def play(connection: Connection) -> None:
        await everybody.wait()
        await hello(connection)
        await connection.until_closed()
        ended.set()

    monkeypatch.setattr(pool, "RESTING", 2)
    async with serving(play) as lab:
        await asyncio.gather(*(lab.body() for _ in range(3)))
        await ended.wait()
        assert lab.server.connections == 3


async def test_aclose_cuts_what_is_open_and_a_later_request_connects_again() -> None:
    async def play(connection: Connection) -> bool:
        if len(lab.server.heads) > 1:
            return await hello(connection)
        await connection.send(HEAD + chunked(b"half"))
        await connection.until_closed()
        return False

    async with serving(play) as lab:
        answer = await lab.ask()
        assert await answer.read() == b"half"
        await lab.upstream.aclose()
        with pytest.raises(UpstreamError, match="broke off"):
            await answer.read()
        assert await lab.body() == b"hello"


# ---- a connection that the server gave up


@pytest.mark.parametrize("reset", [False, True])
async def test_a_kept_connection_that_ended_is_asked_again_once(reset: bool) -> None:
    async def play(connection: Connection) -> bool:
        if not connection.number:
            return await hello(connection)
        if reset:
            connection.reset()
        return False

    async with serving(play) as lab:
        assert [await lab.body() for _ in range(3)] == [b"hello"] * 3
        assert len(lab.server.heads) == 5


async def test_it_is_asked_again_on_a_new_connection_and_no_third_time() -> None:
    """Though another kept one would be there."""
    everybody = asyncio.Barrier(3)

    async def play(connection: Connection) -> bool:
        if len(lab.server.heads) > 3:
            return False
        await everybody.wait()
        return await hello(connection)

    async with serving(play) as lab:
        await asyncio.gather(*(lab.body() for _ in range(3)))
        await lab.fails("gave no answer that can be read")
        assert (len(lab.server.heads), lab.server.connections) == (5, 4)


@pytest.mark.parametrize(
    "data", [b"H", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n"]
)
async def test_a_kept_connection_that_said_something_is_not_asked_again(data: bytes) -> None:
    async def play(connection: Connection) -> bool:
        if not connection.number:
            return await hello(connection)
        await connection.send(data)
        return False

    async with serving(play) as lab:
        await lab.body()
        with pytest.raises(UpstreamError):
            await lab.body()
        assert len(lab.server.heads) == 2


async def test_a_kept_connection_that_spoke_unasked() -> None:
    spoke = asyncio.Event()

    async def play(connection: Connection) -> bool:
        await hello(connection)
        if lab.server.connections == 1:
            await connection.send(b"HTTP/1.1 408 Timeout\r\ncontent-length: 0\r\n\r\n")
            await connection.until_closed()
            spoke.set()
        return True

    async with serving(play) as lab:
        await lab.body()
        await spoke.wait()
        assert await lab.body() == b"hello"
        assert lab.server.connections == 2


# ---- failures


@pytest.mark.parametrize("data", [b"", b"no HTTP\r\n\r\n", b"HTTP/1.1 200 OK\r\nx: y"])
async def test_no_answer(data: bytes) -> None:
    async with serving(raw(data)) as lab:
        await lab.fails("gave no answer that can be read")
        assert len(lab.server.heads) == 1


@pytest.mark.parametrize(
    "data", [HEAD + chunked(b"a"), HEAD + b"zz\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\na"]
)
async def test_half_an_answer(data: bytes) -> None:
    async with serving(raw(data)) as lab:
        await lab.fails("broke off its answer")


async def test_nobody_listens() -> None:
    async with serving(hello) as lab:
        await lab.server.__aexit__()
        await lab.fails("cannot be reached: nothing listens there")


@pytest.mark.parametrize("host", ["no-such-host.invalid", "x" * 64 + ".invalid"])
async def test_no_such_host(host: str) -> None:
    upstream = HttpUpstream(name="up", dialect="chat", base_url=f"http://{host}/v1", headers={}, connect=30)
    with pytest.raises(UpstreamError, match="cannot be reached: there is no server of its name"):
        await upstream.send(REQUEST)


async def test_it_takes_too_long_to_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(host: str, port: int) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(dial, "connected", never)
    upstream = HttpUpstream(name="up", dialect="chat", base_url="http://127.0.0.1:1", headers={}, connect=0.01)
    with pytest.raises(UpstreamError, match="could not be reached in time") as caught:
        await upstream.send(REQUEST)
    assert caught.value.error.kind is ErrorKind.UPSTREAM_TIMEOUT


# ---- whoever asked goes away


@pytest.mark.parametrize("closed", [False, True])
async def test_the_connection_ends_at_once(closed: bool) -> None:
    """When the wait for a head is cancelled, and when an answer is closed."""
    asked, ended = asyncio.Event(), asyncio.Event()

    async def play(connection: Connection) -> None:
        if closed:
            await connection.send(HEAD + chunked(b"one"))
        asked.set()
        await connection.until_closed()
        ended.set()

    async with serving(play) as lab:
        asking = asyncio.ensure_future(lab.ask())
        await asked.wait()
        if closed:
            (await asking).close()
        else:
            asking.cancel()
        await ended.wait()


async def test_nobody_reads() -> None:
    """The server cannot get rid of what nobody takes; when somebody does, all of it comes."""
    size = 64 << 20

    async def play(connection: Connection) -> bool:
        await connection.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size)
        sending = asyncio.ensure_future(connection.send(bytes(size)))
        await asyncio.wait((sending,), timeout=0.05)
        blocked.set_result(not sending.done())
        await sending
        return True

    blocked = asyncio.get_running_loop().create_future()
    async with serving(play) as lab:
        answer = await lab.ask()
        assert await blocked
        taken, largest = 0, 0
        while data := await answer.read():
            taken, largest = taken + len(data), max(largest, len(data))
        assert taken == size
        assert largest <= 1 << 18
