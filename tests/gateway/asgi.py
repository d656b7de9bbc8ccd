"""A client that calls an ASGI application in this process, and can leave in the middle."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from dragoman.gateway.app import Gateway
from dragoman.gateway.client import Message


class Call:
    """One request. ``start`` it, then await ``answered`` (or ``piece`` after piece); ``leave`` to go."""

    def __init__(
        self,
        method: str,
        path: str,
        body: bytes | Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        query: str = "",
        cut: int = 0,
    ) -> None:
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = {"host": "127.0.0.1:4180", "content-type": "application/json", **(headers or {})}
        self.scope: dict[str, Any] = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in lines.items()],
        }
        self.status = 0
        self.headers: dict[str, str] = {}
        self.pieces: list[bytes] = []
        self.ended = False
        size = cut or max(1, len(data))
        self._body = [data[place : place + size] for place in range(0, len(data), size)] or [b""]
        self._left = asyncio.Event()
        self._news = asyncio.Event()

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def message(self) -> str:
        """The message of an error answer."""
        return str(self.json["error"]["message"])

    def leave(self) -> None:
        self._left.set()

    async def answered(self, gateway: Gateway) -> Call:
        await gateway(self.scope, self._receive, self._send)
        return self

    async def begun(self) -> bytes:
        """The first piece of the body, once it is there."""
        while not self.pieces:
            self._news.clear()
            await self._news.wait()
        return self.pieces[0]

    async def _receive(self) -> Message:
        if self._body:
            piece = self._body.pop(0)
            return {"type": "http.request", "body": piece, "more_body": bool(self._body)}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            assert not self.status
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            return
        assert self.status
        assert not self.ended
        if message["body"]:
            self.pieces.append(message["body"])
        self.ended = not message["more_body"]
        self._news.set()
