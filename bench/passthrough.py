"""A point of reference for ``bench.gateway``: uvicorn and aiohttp, and nothing in between.

``python -m bench.passthrough PORT UPSTREAM_PORT`` hands every answer on, piece by piece as it comes.
"""

from __future__ import annotations

import sys
from typing import Any

import aiohttp
import uvicorn


class PassThrough:
    """The ASGI application."""

    def __init__(self, upstream: str) -> None:
        self._upstream = upstream
        self._session: aiohttp.ClientSession | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self._session is None:
            self._session = aiohttp.ClientSession(self._upstream, connector=aiohttp.TCPConnector(limit=0))
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        path = scope["path"] + ("?" + scope["query_string"].decode() if scope["query_string"] else "")
        async with self._session.post(path, data=body, headers={"content-type": "application/json"}) as answer:
            head = [(b"content-type", answer.content_type.encode())]
            await send({"type": "http.response.start", "status": answer.status, "headers": head})
            while data := await answer.content.readany():
                await send({"type": "http.response.body", "body": data, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


if __name__ == "__main__":
    uvicorn.run(
        PassThrough(f"http://127.0.0.1:{sys.argv[2]}"),
        port=int(sys.argv[1]),
        loop="uvloop",
        http="httptools",
        lifespan="off",
        log_level="warning",
        access_log=False,
    )
