"""Every recorded answer through the gateway, between real sockets: an upstream that cuts, a client that asks."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import msgspec
import pytest

from dragoman import dialects
from dragoman.gateway.accesslog import AccessLog
from dragoman.gateway.app import Gateway
from dragoman.gateway.connect import connect
from dragoman.gateway.settings import BaseUrl, DialectName, Settings, UpstreamSettings
from tests.asking import CLIENTS, ask
from tests.corpus.comparing import differences
from tests.fixtures import Fixture, fixtures, pieces
from tests.gateway.sockets import RawClient, listening

CUTS = (0, 1)
"""Bytes in a chunk of the upstream's; 0: the body in one."""
AT_A_TIME = 24


class Upstream:
    """Plays the answer that the request's model names, in chunks of the size that it names: ``size/slug``."""

    def __init__(self, dialect: str) -> None:
        self._answers = {fixture.slug: fixture for fixture in fixtures(dialect)}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while True:
                size, slug = await self._asked(reader)
                await self._play(self._answers[slug], size, writer)
        writer.close()

    async def _asked(self, reader: asyncio.StreamReader) -> tuple[int, str]:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        lines = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:-2])
        body = await reader.readexactly(int(lines["content-length"]))
        path = head.split(" ")[1]
        in_path = path.partition("/models/")[2].partition(":")[0]
        size, slug = (in_path or msgspec.json.decode(body)["model"]).split("/")
        return int(size), slug

    async def _play(self, fixture: Fixture, size: int, writer: asyncio.StreamWriter) -> None:
        expected = fixture.expected
        head = f"HTTP/1.1 {expected.status} .\r\ncontent-type: {expected.content_type}\r\ntransfer-encoding: chunked\r\n\r\n"
        writer.write(head.encode())
        for piece in pieces(fixture.body, size):
            if writer.is_closing():  # the gateway has heard enough: an error ends an answer
                raise ConnectionError
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await asyncio.sleep(0)
            await asyncio.sleep(0)  # the gateway reads now, before the next one
        writer.write(b"0\r\n\r\n")
        await writer.drain()


@contextlib.asynccontextmanager
async def gateway_before(dialect: str) -> AsyncIterator[int]:
    """The port of a gateway whose upstream ``up`` speaks this dialect."""
    server = await asyncio.start_server(Upstream(dialect).serve, "127.0.0.1", 0)
    port: int = server.sockets[0].getsockname()[1]
    url = BaseUrl(f"http://127.0.0.1:{port}{dialects.get(dialect).base_path}")
    settings = Settings(upstreams={"up": UpstreamSettings(dialect=DialectName(dialect), base_url=url)})
    async with server, listening(Gateway(settings, connect(settings), AccessLog(lambda _: None))) as (ours, _):
        yield ours


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("upstream", CLIENTS)
async def test_every_answer_crosses_the_gateway(upstream: str, client: str) -> None:
    asked = [(fixture, cut) for fixture in fixtures(upstream) if fixture.fits(client) for cut in CUTS]
    gate = asyncio.Semaphore(AT_A_TIME)
    async with gateway_before(upstream) as port:

        async def one(fixture: Fixture, cut: int) -> list[str]:
            async with gate:
                status, kind, body = await _answer(port, fixture, client, cut)
            found = differences(fixture, client, status, body)
            if status == 200 and (kind == "text/event-stream") is not fixture.expected.stream:
                found.append(f"it is {kind}")
            return [f"{fixture} in chunks of {cut or 'any'} bytes: {what}" for what in found]

        found = await asyncio.gather(*(one(*each) for each in asked))
    assert [line for lines in found for line in lines] == []


async def _answer(port: int, fixture: Fixture, client: str, cut: int) -> tuple[int, str, bytes]:
    """Status, content type and body."""
    expected = fixture.expected
    asked = ask(client, f"up/{cut}/{fixture.slug}", stream=expected.stream, choices=expected.choices)
    connection = await RawClient.connect(port)
    try:
        await connection.ask(asked.path, asked.body)
        status, head = await connection.head()
        lines = dict(line.split(": ", 1) for line in head.decode().lower().split("\r\n")[1:-2])
        length = lines.get("content-length")
        body = await (connection.body() if length is None else connection.reader.readexactly(int(length)))
        return status, lines["content-type"], body
    finally:
        connection.close()
