"""``python -m bench.load``: keeps streams open until enough are done, and says how long each delta took.

Prints one JSON object. The delay of a delta is the time from the write of ``bench.upstream`` to the read here.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import time
from typing import Any, cast

import uvloop

_STAMP = re.compile(rb"@(\d+)@")
_PROMPT = "What is the weather in Utrecht? " + "Context. " * 100
_SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}


def asked(dialect: str, model: str) -> tuple[str, dict[str, Any]]:
    """The path and the body of a request with a tool."""
    tools: list[dict[str, Any]]
    turns = [{"role": "user", "content": _PROMPT}]
    function = {"name": "run", "description": "Runs it"}
    match dialect:
        case "messages":
            tools = [{**function, "input_schema": _SCHEMA}]
            body = {"model": model, "stream": True, "max_tokens": 999, "messages": turns, "tools": tools}
            return "/v1/messages", body
        case "responses":
            tools = [{"type": "function", **function, "parameters": _SCHEMA}]
            return "/v1/responses", {"model": model, "stream": True, "store": False, "input": turns, "tools": tools}
        case "gemini":
            tools = [{"functionDeclarations": [{**function, "parameters": _SCHEMA}]}]
            contents = [{"role": "user", "parts": [{"text": _PROMPT}]}]
            path = f"/v1beta/models/{model}:streamGenerateContent?alt=sse"
            return path, {"contents": contents, "tools": tools}
    tools = [{"type": "function", "function": {**function, "parameters": _SCHEMA}}]
    return "/v1/chat/completions", {"model": model, "stream": True, "messages": turns, "tools": tools}


class Stream(asyncio.Protocol):
    """One connection, used again: sends the request, reads the answer to its end."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self.usable = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def start(self) -> asyncio.Future[bool]:
        """Whether the answer came whole; ``delays`` has the nanoseconds of its deltas."""
        self.delays: list[int] = []
        self._newest = 0
        self._head = self._tail = b""
        self._in_body = False
        self._done = asyncio.get_running_loop().create_future()
        self._transport.write(self._request)
        return self._done

    def data_received(self, data: bytes) -> None:
        now = time.monotonic_ns()
        if not self._in_body:
            self._head += data
            head, blank, data = self._head.partition(b"\r\n\r\n")
            if not blank:
                return
            self._in_body = True
            length = re.search(rb"content-length: (\d+)", head)
            self._left = int(length[1]) if length else -1
            if not head.startswith(b"HTTP/1.1 200"):
                self._over(False)
                return
        whole, place = self._tail + data, 0
        for stamp in _STAMP.finditer(whole):
            place = stamp.end()
            if (written := int(stamp[1])) > self._newest:  # the end of a stream may repeat its text
                self._newest = written
                self.delays.append(now - written)
        self._tail = whole[place:][-48:]
        self._left -= len(data)
        if self._left == 0 or (self._left < 0 and self._tail.endswith(b"0\r\n\r\n")):
            self._over(True)

    def connection_lost(self, exc: Exception | None) -> None:
        self._over(False)
        self.usable = False

    def _over(self, whole: bool) -> None:
        self.usable = whole and b"connection: close" not in self._head.lower()
        if not self._done.done():
            self._done.set_result(whole)


class Load:
    """``streams`` in all, ``at_once`` of them open. A stream counts if each of its deltas came."""

    def __init__(self, port: int, request: bytes, streams: int, deltas: int) -> None:
        self.delays: list[int] = []
        self.failed = 0
        self._port = port
        self._request = request
        self._left = streams
        self._deltas = deltas

    async def run(self, at_once: int) -> None:
        await asyncio.gather(*(self._work() for _ in range(at_once)))

    async def _work(self) -> None:
        stream: Stream | None = None
        while self._left > 0:
            self._left -= 1
            await asyncio.sleep(0)  # a connection that the server has closed is known to be so
            if stream is None or not stream.usable:
                _, stream = await asyncio.get_running_loop().create_connection(
                    lambda: Stream(self._request), "127.0.0.1", self._port
                )
            if await stream.start() and len(stream.delays) == self._deltas:
                self.delays += stream.delays
            else:
                self.failed += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--dialect", default="chat")
    parser.add_argument("--model", default="m")
    parser.add_argument("--streams", type=int, default=96)
    parser.add_argument("--at-once", type=int, default=32)
    parser.add_argument("--deltas", type=int, default=100, help="that each stream must have")
    wanted = parser.parse_args()
    path, body = asked(wanted.dialect, wanted.model)
    raw = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {len(raw)}\r\n\r\n"
    load = Load(wanted.port, head.encode() + raw, wanted.streams, wanted.deltas)
    uvloop.run(load.run(wanted.at_once))
    delays = sorted(load.delays) or [0]
    p50, p99 = (delays[int(len(delays) * share)] / 1e6 for share in (0.5, 0.99))
    print(json.dumps({"deltas": len(load.delays), "failed": load.failed, "p50_ms": p50, "p99_ms": p99}))


if __name__ == "__main__":
    main()
