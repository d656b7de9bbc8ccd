"""How many connections to an upstream are open at the same time, and who waits for one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from dragoman.canonical.errors import ErrorKind
from dragoman.dialects.contract import UpstreamRequest
from dragoman.upstreams.http import HttpUpstream
from dragoman.upstreams.interface import UpstreamError
from tests.gateway.sockets import HEAD, LAST, Connection, Play, RawUpstream, chunked

REQUEST = UpstreamRequest(path="/chat", body={"model": "m"})


@contextlib.asynccontextmanager
async def upstream(play: Play, most: int, connect: float = 30.0) -> AsyncIterator[tuple[HttpUpstream, RawUpstream]]:
    async with RawUpstream(play) as server:
        one = HttpUpstream(
            name="up",
            dialect="chat",
            base_url=f"http://127.0.0.1:{server.port}/v1",
            headers={},
            connect=connect,
            connections=most,
        )
        try:
            yield one, server
        finally:
            await one.aclose()


async def hello(connection: Connection) -> bool:
    await connection.send(HEAD + chunked(b"hello") + LAST)
    return True


async def body(one: HttpUpstream) -> bytes:
    answer = await one.send(REQUEST)
    out = b""
    while data := await answer.read():
        out += data
    return out


async def stay(connection: Connection) -> None:
    await connection.send(HEAD + chunked(b"hello"))
    await connection.until_closed()


async def test_as_many_as_allowed_and_one_more_that_waits() -> None:
    async with upstream(stay, 2) as (one, server):
        first, second = await one.send(REQUEST), await one.send(REQUEST)
        third = asyncio.ensure_future(one.send(REQUEST))
        for _ in range(20):
            await asyncio.sleep(0)
        assert (third.done(), server.connections) == (False, 2)
        first.close()
        assert (await third).status == 200
        assert server.connections == 3
        second.close()


async def test_who_waits_longest_is_first() -> None:
    order: list[int] = []
    async with upstream(hello, 1) as (one, server):

        async def ask(number: int) -> None:
            await body(one)
            order.append(number)

        await asyncio.gather(*(ask(number) for number in range(5)))
        assert (order, server.connections) == ([0, 1, 2, 3, 4], 1)


async def test_waiting_is_bounded_by_the_time_to_connect() -> None:
    async with upstream(stay, 1, connect=0.02) as (one, _):
        answer = await one.send(REQUEST)
        with pytest.raises(UpstreamError) as caught:
            await one.send(REQUEST)
        assert caught.value.error.kind is ErrorKind.OVERLOADED
        assert caught.value.error.message == "the upstream 'up' has no free connection: all are in use"
        answer.close()
        assert (await one.send(REQUEST)).status == 200


async def test_a_client_that_leaves_while_it_waits_takes_no_place() -> None:
    async with upstream(stay, 1) as (one, _):
        answer = await one.send(REQUEST)
        waiting = asyncio.ensure_future(one.send(REQUEST))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait((waiting,))
        answer.close()
        assert (await one.send(REQUEST)).status == 200


@pytest.mark.parametrize(
    "data",
    [b"", b"no HTTP\r\n\r\n", HEAD + b"zz\r\n", HEAD + chunked(b"half"), b"HTTP/1.1 200 OK\r\n\r\nto the end"],
    ids=["nothing", "garbage", "bad-chunk", "cut", "to-the-end"],
)
async def test_however_an_answer_ends_its_place_is_free_again(data: bytes) -> None:
    async def play(connection: Connection) -> None:
        await connection.send(data)

    async with upstream(play, 1, connect=5) as (one, _):
        for _ in range(4):
            with contextlib.suppress(UpstreamError):
                await body(one)


async def test_a_request_that_is_given_up_before_its_head_frees_its_place() -> None:
    asked = asyncio.Event()

    async def play(connection: Connection) -> None:
        asked.set()
        await connection.until_closed()

    async with upstream(play, 1, connect=5) as (one, _):
        for _ in range(3):
            asked.clear()
            task = asyncio.ensure_future(one.send(REQUEST))
            await asked.wait()
            task.cancel()
            await asyncio.wait((task,))


async def test_one_that_cannot_connect_frees_its_place() -> None:
    async with upstream(hello, 1, connect=5) as (one, server):
        await server.__aexit__()
        for _ in range(3):
            with pytest.raises(UpstreamError, match="cannot be reached"):
                await one.send(REQUEST)


async def test_a_kept_connection_that_ended_is_replaced_within_the_bound() -> None:
    async def play(connection: Connection) -> bool:
        if connection.number:
            return False
        return await hello(connection)

    async with upstream(play, 1, connect=5) as (one, _):
        for _ in range(4):
            assert await body(one) == b"hello"
