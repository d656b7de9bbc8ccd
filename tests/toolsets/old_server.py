"""An MCP server of the protocol of 2025, of the standard library alone: what old and foreign servers are like.

python old_server.py [--http PORT] [--journal FILE] [--deaf] [--stubborn]

--deaf: never answers anything; --stubborn: SIGTERM does not end it.
It knows no ``server/discover``, gives its tools page by page, tells of changes unasked, has sessions over HTTP
and answers there with plain JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

JSON = dict[str, Any]
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


class Server:
    def __init__(self, journal: str) -> None:
        self.tools: list[JSON] = [
            {"name": "echo", "description": "Says it again.", "inputSchema": TEXT},
            {"name": "wait", "inputSchema": {"type": "object", "properties": {"seconds": {"type": "number"}}}},
            {"name": "learn", "inputSchema": {"type": "object"}},
            {"name": "die", "inputSchema": {"type": "object"}},
            {"name": "hang", "inputSchema": {"type": "object"}},
            {"name": "odd", "inputSchema": {"type": "object", "properties": {"a": {"type": "strong"}}}},
        ]
        self.cancels: dict[Any, threading.Event] = {}
        self.tell: Callable[[JSON], None] = lambda message: None
        self._journal = journal

    def note(self, line: str) -> None:
        if self._journal:
            with open(self._journal, "a") as file:
                file.write(f"{line}\n")

    def answer(self, message: JSON) -> JSON | None:
        """The answer, if there is to be one."""
        method, id, params = message["method"], message.get("id"), message.get("params") or {}
        if method == "notifications/cancelled" and params["requestId"] in self.cancels:
            self.cancels[params["requestId"]].set()
        if id is None:
            return None
        results: dict[str, Callable[[JSON], JSON]] = {
            "initialize": self._initialize,
            "tools/list": self._list,
            "tools/call": lambda params: self._call(id, params),
        }
        head = {"jsonrpc": "2.0", "id": id}
        if method not in results:
            return {**head, "error": {"code": -32601, "message": "Method not found"}}
        return {**head, "result": results[method](params)}

    def _initialize(self, params: JSON) -> JSON:
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "old", "version": "1"},
        }

    def _list(self, params: JSON) -> JSON:
        at = int(params.get("cursor") or 0)
        more = {"nextCursor": str(at + 1)} if at + 1 < len(self.tools) else {}
        return {"tools": [self.tools[at]], **more}

    def _call(self, id: Any, params: JSON) -> JSON:
        name, arguments = params["name"], params.get("arguments") or {}
        text = str(arguments.get("text"))
        self.note(f"{name} start")
        if name == "wait":
            cancel = self.cancels[id] = threading.Event()
            text = "cancelled" if cancel.wait(arguments["seconds"]) else "waited"
            self.note(f"wait {text}")
        if name == "die":
            os._exit(3)
        if name == "learn":
            self.tools.append({"name": "learnt", "inputSchema": TEXT})
            self.tell({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        return {"content": [{"type": "text", "text": text}]}


def serve_stdio(server: Server) -> None:
    lock = threading.Lock()

    def write(message: JSON | None) -> None:
        if message is not None:
            with lock:
                sys.stdout.write(json.dumps(message) + "\n")
                sys.stdout.flush()

    server.tell = write
    print("this line is no message")
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("params", {}).get("name") == "hang":
            server.note("hang start")
            time.sleep(message["params"]["arguments"]["seconds"])
        threading.Thread(target=lambda message=message: write(server.answer(message)), daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    """Streamable HTTP, as plainly as it goes. ``session`` and ``mcp`` are the server's."""

    protocol_version = "HTTP/1.1"
    mcp: Server
    session: str
    streams: ClassVar[list[queue.Queue[JSON]]] = []

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _send(self, status: int, body: JSON | None = None, **headers: str) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        first = message["method"] == "initialize"
        if self.headers.get("authorization") != "Bearer sesame":
            self._send(401, {"detail": "no key"})
        elif not first and self.headers.get("mcp-session-id") != self.session:
            self._send(404, {"detail": "no session"})
        elif (answer := self.mcp.answer(message)) is None:
            self._send(202)
        else:
            self._send(200, answer, **({"mcp-session-id": self.session} if first else {}))

    def do_DELETE(self) -> None:
        self.mcp.note("session ended")
        self._send(204)

    def do_GET(self) -> None:
        stream: queue.Queue[JSON] = queue.Queue()
        self.streams.append(stream)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        while True:
            self.wfile.write(f"data: {json.dumps(stream.get())}\n\n".encode())
            self.wfile.flush()


def serve_http(server: Server, port: int) -> None:
    def tell(message: JSON) -> None:
        for stream in Handler.streams:
            stream.put(message)

    server.tell = tell
    Handler.mcp, Handler.session = server, f"session-{os.getpid()}"
    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as listener:
        listener.daemon_threads = True
        print(f"running on http://127.0.0.1:{listener.server_port}", file=sys.stderr, flush=True)
        listener.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--http", type=int, metavar="PORT")
    parser.add_argument("--journal", default="")
    for flag in ("--deaf", "--stubborn"):
        parser.add_argument(flag, action="store_true")
    options = parser.parse_args()
    if options.stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if options.deaf:
        threading.Event().wait()
    server = Server(options.journal)
    if options.http is None:
        serve_stdio(server)
    else:
        serve_http(server, options.http)


if __name__ == "__main__":
    main()
