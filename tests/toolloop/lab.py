"""A gateway that listens on loopback, with tools of its own, over a model that speaks every dialect."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
import pytest

from dragoman import dialects
from dragoman.gateway.accesslog import AccessLog
from dragoman.gateway.app import Gateway
from dragoman.gateway.config import load
from dragoman.gateway.connect import connect
from dragoman.gateway.server import Server
from dragoman.toolsets.connect import connect as connect_tools
from tests.asking import ask
from tests.gateway.sockets import RawClient, listening
from tests.reading import Said, read
from tests.roundtrips.echo import Kept, follow, keep
from tests.toolloop import shelf
from tests.toolloop.model import DIALECTS, JSON, Model

SHELF = "tools: {shelf: {python: 'tests.toolloop.shelf:TOOLS'}}\n"

every_client = pytest.mark.parametrize("client", DIALECTS)
every_upstream = pytest.mark.parametrize("upstream", DIALECTS)


class Answer(msgspec.Struct, frozen=True):
    """What a client got."""

    client: str
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def said(self) -> Said:
        assert self.status == 200, self.body
        assert dialects.get(self.client).check(self.body) == []
        return read(self.client, self.body)

    @property
    def kept(self) -> Kept:
        return keep(self.client, self.body)

    @property
    def error(self) -> str:
        """The message of an error answer."""
        return str(json.loads(self.body)["error"]["message"])

    @property
    def shown(self) -> list[tuple[str, str, str, bool]]:
        """Server, tool, output and failure of each call that was shown, in a dialect that has a form for it."""
        return _SHOWN[self.client](self.kept.turn)


def _shown_items(turn: list[JSON]) -> list[tuple[str, str, str, bool]]:
    items = [item for item in turn if item["type"] == "mcp_call"]
    assert len({item["id"] for item in items}) == len(items)
    return [
        (item["server_label"], item["name"], item["output"] or item["error"], item["error"] is not None)
        for item in items
    ]


def _shown_blocks(turn: list[JSON]) -> list[tuple[str, str, str, bool]]:
    blocks = turn[0]["content"]
    results = {block["tool_use_id"]: block for block in blocks if block["type"] == "mcp_tool_result"}
    uses = [block for block in blocks if block["type"] == "mcp_tool_use"]
    assert [use["id"] for use in uses] == list(results)
    found = []
    for use in uses:
        result = results[use["id"]]
        text = "".join(part["text"] for part in result["content"])
        found.append((use["server_name"], use["name"], text, result["is_error"]))
    return found


_SHOWN = {"responses": _shown_items, "messages": _shown_blocks}


class Lab:
    """``model`` is what the upstreams have behind them; ``log`` the lines of the access log."""

    def __init__(self, model: Model, port: int, server: Server, lines: list[str]) -> None:
        self.model = model
        self.port = port
        self.server = server
        self._lines = lines

    @property
    def log(self) -> list[JSON]:
        return [json.loads(line) for line in self._lines]

    async def post(self, client: str, path: str, body: JSON, headers: Mapping[str, str] | None = None) -> Answer:
        """One request on a connection of its own."""
        connection = await RawClient.connect(self.port)
        try:
            await send(connection, path, body, headers)
            status, head = await connection.head()
            lines = dict(line.lower().split(": ", 1) for line in head.decode().split("\r\n")[1:-2])
            if (length := lines.get("content-length")) is not None:
                return Answer(client, status, lines, await connection.reader.readexactly(int(length)))
            return Answer(client, status, lines, await connection.body())
        finally:
            connection.close()

    async def ask(
        self,
        client: str,
        upstream: str,
        *,
        stream: bool = True,
        history: list[Any] | None = None,
        more: JSON | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """The usual question. ``more``: further members of the body; ``None`` takes one out."""
        asked = ask(client, f"{upstream}/m", stream=stream, history=history)
        body = {name: value for name, value in {**asked.body, **(more or {})}.items() if value is not None}
        return await self.post(client, asked.path, body, headers)

    async def go_on(self, client: str, upstream: str, answer: Answer, *results: str, **more: Any) -> Answer:
        """The client's next request: a result for each call of the answer, or a new prompt if there was none."""
        kept = answer.kept
        prompt = "" if kept.calls else "Thank you!"
        return await self.ask(client, upstream, history=[*kept.turn, *follow(kept, results, prompt)], **more)


async def send(connection: RawClient, path: str, body: JSON, headers: Mapping[str, str] | None = None) -> None:
    data = json.dumps(body).encode()
    lines = {
        "host": "127.0.0.1",
        "content-type": "application/json",
        "content-length": str(len(data)),
        **(headers or {}),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    await connection.send(f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + data)


@contextlib.asynccontextmanager
async def opened(config: str = SHELF, *, drain: float = 5) -> AsyncIterator[Lab]:
    """The lab with these further sections of the configuration."""
    shelf.journal.clear()
    shelf.doors.clear()
    lines: list[str] = []
    model = Model()
    async with model.server:
        gateway = over(model, config, lines)
        await gateway.start()
        async with listening(gateway, drain) as (port, server):
            yield Lab(model, port, server, lines)
        assert model.faults == []


def over(model: Model, config: str, lines: list[str]) -> Gateway:
    """A gateway over this model, which listens; its access log goes to ``lines``."""
    settings = load(_upstreams(model.server.port) + config, {})
    toolbox = connect_tools(settings.tools, settings.tool_loop)
    return Gateway(settings, connect(settings), AccessLog(lines.append), toolbox)


def _upstreams(port: int) -> str:
    lines = [
        f"  {name}: {{dialect: {name}, base_url: 'http://127.0.0.1:{port}{dialects.get(name).base_path}'}}\n"
        for name in DIALECTS
    ]
    return "upstreams:\n" + "".join(lines)
