"""Clients that would rather speak another protocol over their connection."""

from __future__ import annotations

import json

import pytest

from dragoman.gateway.accesslog import AccessLog
from dragoman.gateway.app import Gateway
from dragoman.gateway.connect import serve_alone
from dragoman.gateway.settings import Secret, Settings
from dragoman.upstreams.demo import DemoUpstream
from tests.gateway.sockets import RawClient, listening

QUESTION = json.dumps({"model": "chat", "messages": [{"role": "user", "content": "hello"}]}).encode()


def gateway(*keys: str) -> Gateway:
    settings = Settings(keys=[Secret(key) for key in keys])
    return Gateway(settings, serve_alone("demo", DemoUpstream(pace=0), settings), AccessLog(lambda _: None))


def head(line: str, *headers: str) -> bytes:
    return "\r\n".join((f"{line} HTTP/1.1", "Host: 127.0.0.1", *headers, "", "")).encode()


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/messages"])
async def test_a_websocket_is_refused_so_that_codex_turns_to_http_at_once(path: str) -> None:
    asked = head(f"GET {path}", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13")
    async with listening(gateway("sk-of-the-client"), 5) as (port, _):
        client = await RawClient.connect(port)
        await client.send(asked)
        status, answer = await client.answer()
        assert status == 426, "any other status is tried again, several times"
        assert "over HTTP" in json.loads(answer)["error"]["message"]
        assert await client.reader.read() == b""
        client.close()


@pytest.mark.parametrize("name", ["Upgrade", "upgrade"])
async def test_a_body_behind_an_offer_of_http_2_is_read(name: str) -> None:
    offer = ("Connection: Upgrade, HTTP2-Settings", f"{name}: h2c", "HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAA")
    asked = head("POST /v1/chat/completions", *offer, f"Content-Length: {len(QUESTION)}")
    async with listening(gateway(), 5) as (port, _):
        client = await RawClient.connect(port)
        for pieces in ([asked + QUESTION], [asked, QUESTION]):
            for piece in pieces:
                await client.send(piece)
            status, answer = await client.answer()
            assert (status, json.loads(answer)["object"]) == (200, "chat.completion")
        client.close()
