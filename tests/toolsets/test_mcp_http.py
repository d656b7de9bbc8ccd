"""MCP servers over streamable HTTP, of both generations of the protocol."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from dragoman.toolsets.mcp import Patience
from dragoman.toolsets.settings import HiddenHeader, McpSettings, ServerUrl
from tests.toolsets.servers import (
    KEY,
    LAB,
    OLD,
    QUICK,
    lines,
    names,
    nothing_left,
    opened,
    over_http,
    running,
    until,
)

either = pytest.mark.parametrize("script", [LAB, OLD], ids=["new", "old"])


@either
async def test_tools_are_listed_called_and_followed(script: str) -> None:
    async with running(script, "--http", "0") as server, opened(over_http(server.url)) as toolset:
        assert toolset.state.condition == "ready"
        assert (await toolset.call("echo", {"text": "schön 🌍\n"})).text == "schön 🌍\n"
        await toolset.call("learn", {"name": "learnt"} if script == LAB else {})
        await until(lambda: "learnt" in names(toolset))


async def test_headers_are_the_configured_ones() -> None:
    async with running(LAB, "--http", "0") as server, opened(over_http(server.url)) as toolset:
        assert (await toolset.call("header", {"name": "authorization"})).text == "Bearer sesame"
        assert (await toolset.call("header", {"name": "cookie"})).text == "not sent"


@either
async def test_a_cancelled_call_is_cancelled_at_the_server(script: str, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    async with (
        running(script, "--http", "0", "--journal", str(journal)) as server,
        opened(over_http(server.url)) as toolset,
    ):
        call = asyncio.create_task(toolset.call("wait", {"seconds": 60}))
        await until(lambda: "wait start" in lines(journal))
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await until(lambda: "wait cancelled" in lines(journal))
        assert (await toolset.call("echo", {"text": "still there"})).text == "still there"


@either
async def test_a_server_that_is_killed_in_a_call_comes_back(script: str, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    async with (
        running(script, "--http", "0", "--journal", str(journal)) as server,
        opened(over_http(server.url)) as toolset,
    ):
        call = asyncio.create_task(toolset.call("wait", {"seconds": 60}))
        await until(lambda: "wait start" in lines(journal))
        await server.end()
        outcome = await call
        assert outcome.error
        assert "lab" in outcome.text
        await until(lambda: toolset.tools == ())
        assert (await toolset.call("echo", {"text": "?"})).error
        async with running(script, "--http", str(server.port)):
            await until(lambda: "echo" in names(toolset))
            assert (await toolset.call("echo", {"text": "back"})).text == "back"


@either
async def test_the_end_of_an_idle_server_is_noticed(script: str) -> None:
    async with running(script, "--http", "0") as server, opened(over_http(server.url)) as toolset:
        await server.end()
        await until(lambda: toolset.tools == ())
        await until(lambda: "cannot be reached" in toolset.state.detail)


async def test_a_server_that_was_started_anew_gets_a_new_session() -> None:
    patience = Patience(start=60, answer=1, pause=0.05, longest_pause=0.5, look=0.2)
    async with running(OLD, "--http", "0") as server, opened(over_http(server.url), patience) as toolset:
        await server.end()
        async with running(OLD, "--http", str(server.port)):
            await until(lambda: toolset.state.condition == "ready" and toolset.tools != ())
            outcome = await toolset.call("echo", {"text": "again"})
            if outcome.error:  # it was called before anybody could notice
                await until(lambda: toolset.tools != ())
                outcome = await toolset.call("echo", {"text": "again"})
            assert outcome.text == "again"


async def test_a_session_is_ended(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    async with running(OLD, "--http", "0", "--journal", str(journal)) as server:
        async with opened(over_http(server.url)):
            pass
        assert lines(journal) == ["session ended"]


async def test_a_server_that_stands_still_is_not_offered(tmp_path: Path) -> None:
    """It is there, takes connections, and says nothing; then it goes on."""
    patience = Patience(start=2, answer=0.5, pause=0.05, longest_pause=0.1, look=0.2)
    async with running(OLD, "--http", "0") as server, opened(over_http(server.url), patience) as toolset:
        server.send(signal.SIGSTOP)
        call = asyncio.create_task(toolset.call("echo", {"text": "?"}))
        await until(lambda: toolset.tools == ())
        call.cancel()
        await asyncio.wait([call])
        server.send(signal.SIGCONT)
        await until(lambda: "echo" in names(toolset))


async def test_a_wrong_key() -> None:
    async with running(OLD, "--http", "0") as server:
        settings = McpSettings(url=ServerUrl(server.url), headers={"authorization": HiddenHeader("Bearer wrong-key")})
        async with opened(settings) as toolset:
            assert toolset.state.condition == "down"
            assert "wrong-key" not in toolset.state.detail


async def test_a_server_that_is_not_there_is_tried_again() -> None:
    async with running(OLD, "--http", "0") as server:
        pass
    async with opened(over_http(server.url)) as toolset:
        assert toolset.state.condition == "down"
        assert "cannot be reached" in toolset.state.detail
        async with running(OLD, "--http", str(server.port)):
            await until(lambda: "echo" in names(toolset))


# ---- servers that are none

Play = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def playing(play: Play) -> AsyncIterator[str]:
    """A server that does this with each connection; its URL."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await play(reader, writer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"


async def never_answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def hangs_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")


def answers(head: str, body: str = "") -> Play:
    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 {head}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n{body}".encode())
        await writer.drain()

    return play


@pytest.mark.parametrize(
    ("play", "words"),
    [
        (never_answers, "did not come up"),
        (hangs_up, "broke off"),
        (answers("502 Bad Gateway\r\ncontent-type: text/html", "<h1>no</h1>"), "HTTP 502"),
        (answers("200 OK\r\ncontent-type: text/html", "<h1>hello</h1>"), "text/html"),
        (answers("200 OK\r\ncontent-type: application/json", "{nonsense"), "parse"),
        (answers("302 Found\r\nlocation: http://127.0.0.1:1/elsewhere"), "not followed"),
    ],
)
async def test_what_is_no_mcp_server_is_down(play: Play, words: str) -> None:
    patience = Patience(start=2, answer=1, pause=60)
    async with playing(play) as url, opened(over_http(url), patience) as toolset:
        assert toolset.state.condition == "down"
        assert words in toolset.state.detail
        assert toolset.tools == ()


def refuses(words: str) -> Play:
    """Answers the first message of a client with an error of the protocol."""

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length:")[2].split()[0])
        number = json.loads(await reader.readexactly(length))["id"]
        body = json.dumps({"jsonrpc": "2.0", "id": number, "error": {"code": -32000, "message": words}})
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
        writer.write(head % len(body) + body.encode())
        await writer.drain()

    return play


async def test_a_key_of_the_url_that_a_server_repeats_is_not_shown() -> None:
    async with playing(refuses("no licence for sesame-key")) as url:
        settings = McpSettings(url=ServerUrl(f"{url}?key=sesame-key"))
        async with opened(settings, QUICK) as toolset:
            assert toolset.state.detail.startswith("no licence for ")
            assert "sesame" not in toolset.state.detail


async def test_a_url_with_a_key_is_not_shown() -> None:
    async with nothing_left():
        settings = McpSettings(url=ServerUrl("http://127.0.0.1:1/mcp?key=sesame-key"), headers=KEY)
        async with opened(settings, QUICK) as toolset:
            assert "sesame" not in f"{toolset.about} {toolset.state} {settings!r}"
