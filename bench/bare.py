"""The floor of the stack: two asyncio protocols on uvloop, httptools on the answer, and nothing else.

``python -m bench.bare PORT UPSTREAM_PORT`` hands every answer on, its chunks unpacked and packed again.
"""

from __future__ import annotations

import asyncio
import sys
from typing import cast

import httptools
import uvloop

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


class Upstream(asyncio.Protocol):
    def __init__(self, client: asyncio.Transport) -> None:
        self.transport: asyncio.Transport | None = None
        self.unsent: list[bytes] = []
        self._client = client
        self._pieces: list[bytes] = []
        self.on_body = self._pieces.append
        self._begin()

    def _begin(self) -> None:
        self._begun = self._ended = False
        self._parser = httptools.HttpResponseParser(self)

    def on_message_complete(self) -> None:
        self._ended = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.transport.writelines(self.unsent)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)
        if not self._begun:
            self._begun = True
            self._client.write(_HEAD)
        if self._pieces:
            whole = b"".join(self._pieces)
            self._pieces.clear()
            self._client.write(b"%x\r\n%b\r\n" % (len(whole), whole))
        if self._ended:
            self._client.write(b"0\r\n\r\n")
            self._begin()

    def connection_lost(self, exc: Exception | None) -> None:
        self._client.close()


class Client(asyncio.Protocol):
    def __init__(self, upstream: int) -> None:
        self._port = upstream

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        loop = asyncio.get_running_loop()
        self._upstream = upstream = Upstream(cast("asyncio.Transport", transport))
        self._connecting = loop.create_task(loop.create_connection(lambda: upstream, "127.0.0.1", self._port))

    def data_received(self, data: bytes) -> None:
        if self._upstream.transport is None:
            self._upstream.unsent.append(data)
        else:
            self._upstream.transport.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._upstream.transport is not None:
            self._upstream.transport.close()


async def serve(port: int, upstream: int) -> None:
    server = await asyncio.get_running_loop().create_server(lambda: Client(upstream), "127.0.0.1", port, backlog=2048)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1]), int(sys.argv[2])))
