"""A client that leaves, a gateway that stops, and a connection that is kept warm while a tool works."""

from __future__ import annotations

import asyncio

import pytest

from dragoman import dialects
from dragoman.canonical.errors import Error, ErrorKind
from tests.asking import ask
from tests.gateway.sockets import RawClient
from tests.reading import read
from tests.toolloop import shelf
from tests.toolloop.lab import SHELF, Lab, every_client, opened, send
from tests.toolloop.model import Says
from tests.toolsets.servers import nothing_left, until

STOPPED = Error(kind=ErrorKind.OVERLOADED, message="the gateway is being stopped")
CALL = Says(text="Looking. ", calls=(("shelf__wait", {}),))


async def begin(lab: Lab, client: str, *, stream: bool = True) -> RawClient:
    """A request whose tool has begun to work."""
    connection = await RawClient.connect(lab.port)
    asked = ask(client, "chat/m", stream=stream)
    await send(connection, asked.path, asked.body)
    await until(lambda: bool(shelf.doors))
    return connection


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_leaves_while_a_tool_works(stream: bool) -> None:
    """The call is cancelled, and the upstream not asked again."""
    async with nothing_left(), opened() as lab:
        lab.model.play(CALL, Says(text="Too late."))
        connection = await begin(lab, "messages", stream=stream)
        connection.close()
        await until(lambda: "wait cancelled" in shelf.journal)
        await until(lambda: bool(lab.log))
        assert lab.log[0]["error"] == "client_left"
        assert len(lab.model.seen) == 1


async def test_a_client_that_leaves_in_a_later_round() -> None:
    async with nothing_left(), opened() as lab:
        never = asyncio.Event()
        lab.model.play(Says(calls=(("shelf__count", {}),)), Says(text="Too late.", until=never))
        connection = await RawClient.connect(lab.port)
        asked = ask("responses", "messages/m")
        await send(connection, asked.path, asked.body)
        await until(lambda: len(lab.model.seen) == 2)
        connection.close()
        await until(lambda: bool(lab.log))
        assert (lab.log[0]["error"], lab.log[0]["tools"]) == ("client_left", {"shelf__count": 1})


@every_client
async def test_the_connection_is_kept_warm_while_a_tool_works(client: str) -> None:
    timeouts = "timeouts: {head: 0.05, heartbeat: 0.05}\n"
    async with opened(SHELF + timeouts) as lab:
        beat = dialects.get(client).heartbeat
        for text in ("Looking. ", ""):  # with something said before, and with nothing
            shelf.doors.clear()
            lab.model.play(Says(text=text, calls=(("shelf__wait", {}),)), Says(text="It is open."))
            connection = await begin(lab, client)
            status, _ = await connection.head()
            assert status == 200
            data = b""
            while data.count(beat) < 2 + data.count(b"data:") * (beat == b"\n"):
                data += await connection.piece()
            shelf.doors[0].set()
            data += await connection.body()
            connection.close()
            assert read(client, without(beat, data)).text == text + "It is open."


def without(beat: bytes, data: bytes) -> bytes:
    """The stream as a client reads it: a heartbeat is a comment, an event to be ignored, or an empty line."""
    if beat == b"\n":
        return b"\n\n".join(block.strip(b"\n") for block in data.split(b"\n\n") if block.strip(b"\n")) + b"\n\n"
    return data.replace(beat, b"")


@pytest.mark.parametrize("stream", [True, False])
@every_client
async def test_a_gateway_that_stops_does_not_wait_for_tools(client: str, stream: bool) -> None:
    async with nothing_left(), opened(drain=0.1) as lab:
        lab.model.play(CALL)
        connection = await begin(lab, client, stream=stream)
        lab.server.should_exit = True
        status, body = await connection.answer()
        assert status == (200 if stream else dialects.get(client).status_of(STOPPED))
        assert b"the gateway is being stopped" in body
        connection.close()
        await until(lambda: "wait cancelled" in shelf.journal)
