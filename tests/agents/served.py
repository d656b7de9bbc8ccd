"""A chat server for agents that really run: it says what a plan says, and keeps what it was asked."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec

JSON = dict[str, Any]


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """What the model says: a text, or the call of a tool; ``input`` is how many tokens it says that it read."""

    text: str = ""
    call: tuple[str, JSON] | None = None
    input: int = 10


Plan = Callable[[JSON], Turn]
"""What is said to a request."""


class Server:
    """Where it listens, and the requests that it got."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.asked: list[JSON] = []
        self.address = ""

    def answer(self, body: JSON) -> tuple[str, bytes]:
        """The type of an answer, and its bytes."""
        self.asked.append(body)
        turn = self.plan(body)
        message: JSON = {"role": "assistant", "content": turn.text or None}
        if turn.call:
            name, arguments = turn.call
            function = {"name": name, "arguments": json.dumps(arguments)}
            message["tool_calls"] = [{"id": f"call_{len(self.asked)}", "type": "function", "function": function}]
        choice: JSON = {"index": 0, "finish_reason": "tool_calls" if turn.call else "stop"}
        made: JSON = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
        made["usage"] = {"prompt_tokens": turn.input, "completion_tokens": 1, "total_tokens": turn.input + 1}
        if not body.get("stream"):
            return "application/json", json.dumps({**made, "choices": [{**choice, "message": message}]}).encode()
        for index, call in enumerate(message.get("tool_calls", [])):
            call["index"] = index
        chunk = {**made, "object": "chat.completion.chunk", "choices": [{**choice, "delta": message}]}
        return "text/event-stream", b"data: %b\n\ndata: [DONE]\n\n" % json.dumps(chunk).encode()


@contextlib.contextmanager
def serving(plan: Plan) -> Iterator[Server]:
    """A server with this plan."""
    server = Server(plan)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            kind, data = server.answer(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as there:
        server.address = f"127.0.0.1:{there.server_port}"
        threading.Thread(target=there.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            there.shutdown()


def offered(body: JSON) -> set[str]:
    """The names of the tools that a request offers."""
    return {tool["function"]["name"] for tool in body.get("tools") or []}


def results(body: JSON) -> int:
    """How many calls have their results in a request."""
    return sum(message["role"] == "tool" for message in body["messages"])
