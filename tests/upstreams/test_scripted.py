"""The scripted upstream keeps the promises of ``upstreams.interface``."""

from __future__ import annotations

import asyncio

import pytest

from dragoman.canonical.errors import Error, ErrorKind
from dragoman.dialects.contract import UpstreamRequest
from dragoman.upstreams.interface import UpstreamError
from dragoman.upstreams.scripted import ScriptedAnswer, ScriptedUpstream

FAILURE = UpstreamError(Error(kind=ErrorKind.BAD_UPSTREAM, message="cut"))
REQUEST = UpstreamRequest(path="/x", body={})


async def test_steps_in_order() -> None:
    answer = ScriptedAnswer([b"one", 0.0, b"", b"two"])
    assert [await answer.read() for _ in range(4)] == [b"one", b"two", b"", b""]


async def test_a_failure_comes_after_all_bytes_and_stays() -> None:
    answer = ScriptedAnswer([b"one", FAILURE])
    assert await answer.read() == b"one"
    for _ in range(2):
        with pytest.raises(UpstreamError, match="cut"):
            await answer.read()


async def test_a_read_that_is_cancelled_loses_nothing() -> None:
    answer = ScriptedAnswer([0.05, b"one"])
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.001):
            await answer.read()
    assert await answer.read() == b"one"


async def test_a_closed_answer_is_over() -> None:
    answer = ScriptedAnswer([b"one"])
    answer.close()
    assert await answer.read() == b""


async def test_requests_are_kept() -> None:
    upstream = ScriptedUpstream("chat", lambda _: ScriptedAnswer([b"one"]))
    answer = await upstream.send(REQUEST)
    assert upstream.seen == [REQUEST]
    await upstream.aclose()
    assert answer.closed


async def test_no_answer() -> None:
    with pytest.raises(UpstreamError, match="cut"):
        await ScriptedUpstream("chat", lambda _: FAILURE).send(REQUEST)
