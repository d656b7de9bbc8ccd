"""A name with several addresses, some of which are dead."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from dragoman.upstreams import dial

V4, V6 = socket.AF_INET, socket.AF_INET6


@pytest_asyncio.fixture
async def port() -> AsyncIterator[int]:
    """Where somebody listens."""
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


def resolved(monkeypatch: pytest.MonkeyPatch, *addresses: tuple[str, int]) -> None:
    real = asyncio.get_running_loop().getaddrinfo

    async def getaddrinfo(host: str, port: int, **how: Any) -> list[Any]:
        if host != "llm.test":
            return await real(host, port, **how)
        return [(V4, socket.SOCK_STREAM, 6, "", address) for address in addresses]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)


def dead(monkeypatch: pytest.MonkeyPatch, *places: str) -> list[str]:
    """These addresses swallow packets. The list gets those that were given up."""
    attempt, given_up = dial._attempt, []

    async def attempted(address: dial.Address) -> socket.socket:
        place = str(address[1][0])
        if place not in places:
            return await attempt(address)
        try:
            await asyncio.Event().wait()
        finally:
            given_up.append(place)
        raise AssertionError

    monkeypatch.setattr(dial, "_attempt", attempted)
    return given_up


def closed_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def test_families_take_turns() -> None:
    addresses: list[dial.Address] = [(V6, ("a",)), (V6, ("b",)), (V6, ("c",)), (V4, ("d",)), (V4, ("e",))]
    assert [place for _, (place, *_) in dial.in_turn(addresses)] == ["a", "d", "b", "e", "c"]


async def test_the_first_that_answers(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    resolved(monkeypatch, ("127.0.0.1", closed_port()), ("127.0.0.1", port))
    with await dial.connected("llm.test", 1) as sock:
        assert sock.getpeername() == ("127.0.0.1", port)
        assert not sock.getblocking()


async def test_a_dead_address_is_not_waited_for(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dial, "_STAGGER", 0.001)
    resolved(monkeypatch, ("127.1.1.1", 1), ("127.1.1.2", 1), ("127.0.0.1", port))
    given_up = dead(monkeypatch, "127.1.1.1", "127.1.1.2")
    with await dial.connected("llm.test", 1) as sock:
        assert sock.getpeername() == ("127.0.0.1", port)
    await asyncio.sleep(0)
    assert sorted(given_up) == ["127.1.1.1", "127.1.1.2"]


async def test_the_first_failure_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused(address: dial.Address) -> socket.socket:
        raise ConnectionRefusedError(address[1][0])

    monkeypatch.setattr(dial, "_attempt", refused)
    resolved(monkeypatch, ("127.1.1.1", 1), ("127.1.1.2", 1))
    with pytest.raises(ConnectionRefusedError, match=r"127\.1\.1\.1"):
        await dial.connected("llm.test", 1)


async def test_cancelling_gives_up_every_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dial, "_STAGGER", 0.001)
    resolved(monkeypatch, ("127.1.1.1", 1), ("127.1.1.2", 1))
    given_up = dead(monkeypatch, "127.1.1.1", "127.1.1.2")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await dial.connected("llm.test", 1)
    await asyncio.sleep(0)
    assert sorted(given_up) == ["127.1.1.1", "127.1.1.2"]


async def test_one_who_comes_second_is_closed(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both connect in the same moment: one socket is given, the other not left open."""
    monkeypatch.setattr(dial, "_STAGGER", 0)
    resolved(monkeypatch, ("127.0.0.1", port), ("127.0.0.1", port))
    attempt, made, together = dial._attempt, [], asyncio.Barrier(2)

    async def attempted(address: dial.Address) -> socket.socket:
        sock = await attempt(address)
        made.append(sock)
        await together.wait()
        return sock

    monkeypatch.setattr(dial, "_attempt", attempted)
    sock = await dial.connected("llm.test", 1)
    await asyncio.sleep(0)
    assert sorted(one.fileno() >= 0 for one in made) == [False, True]
    sock.close()
