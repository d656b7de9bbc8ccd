"""The client's side of one exchange: what it asked, and the answer as it goes out.

Over plain ASGI messages, so that the gateway runs in any ASGI server.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import parse_qs

from dragoman import jsontext
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.dialects.contract import Dialect
from dragoman.exceptions import InvalidRequest

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
WriteNow = Callable[[bytes], bool]
"""What our own server puts into the scope as ``dragoman.write``: sends a piece of a body that has begun, without a
coroutine, and returns whether the connection can take more."""

_SANE_VALUE = re.compile(r"[\x20-\x7e]{0,1024}\Z")
"""What may stand in a header that goes out: nothing that could end it."""


class ClientGone(Exception):  # noqa: N818 - nobody's error
    """The client left before its request was whole."""


class Refusal(InvalidRequest):
    """A request that is refused with headers of its own."""

    def __init__(self, error: Error, headers: Mapping[str, str]) -> None:
        super().__init__(error)
        self.headers = headers


class ClientRequest:
    """One HTTP request. ``headers`` has lower-case names; of several alike the last counts."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"].removeprefix(scope.get("root_path", ""))
        self.query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        self.raw_headers: list[tuple[bytes, bytes]] = list(scope["headers"])
        self.headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in self.raw_headers}
        # It knows the scope's own answer: left there, the two would keep each other until a collection.
        self.write_now: WriteNow | None = scope.pop("dragoman.write", None)
        self._receive = receive

    def parameter(self, name: str) -> str | None:
        """The value of a query parameter."""
        return self.query[name][-1] if name in self.query else None

    async def body(self, most: int, seconds: float) -> bytes:
        """The whole body, of no more bytes than these and in that time. Raises ``InvalidRequest`` and ``ClientGone``."""
        try:
            async with asyncio.timeout(seconds):
                return await self._body(most)
        except TimeoutError:
            message = f"the request body was not there in {seconds:g} s"
            raise Refusal(Error(kind=ErrorKind.TIMEOUT, message=message), {"connection": "close"}) from None

    async def _body(self, most: int) -> bytes:
        declared = self.headers.get("content-length", "")
        if declared.isascii() and declared.isdigit() and int(declared) > most:
            raise InvalidRequest(_too_large(most))
        pieces, size, more = [], 0, True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
            if size > most:
                # Without a length there may be no end: the rest is not waited for.
                raise Refusal(_too_large(most), {"connection": "close"})
            more = message.get("more_body", False)
        return b"".join(pieces)

    async def gone(self) -> None:
        """Returns once the client has left (or has its whole answer). Only after ``body``."""
        while (await self._receive())["type"] != "http.disconnect":
            pass


def _too_large(most: int) -> Error:
    return Error(kind=ErrorKind.TOO_LARGE, message=f"the request body has more than {most:,} bytes")


class Reply:
    """The answer to one request, in the shape of the client's dialect.

    Before ``begun`` an error has a status of its own; afterwards the body is all that is left.
    """

    def __init__(self, send: Send, dialect: Dialect, request_id: str, write_now: WriteNow | None = None) -> None:
        self.dialect = dialect
        self.request_id = request_id
        self.status = 0
        self.tried = 0
        """Targets that were asked."""
        self.ended = False
        self._send = send
        self._write_now = write_now
        self._full = False
        self._unsent = b""

    @property
    def begun(self) -> bool:
        return self.status != 0

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Sends the head. A value that could not stand in a header is left out."""
        every = {**headers, "x-request-id": self.request_id, **self.dialect.client_headers(self.request_id)}
        if self.tried > 1:
            every["x-dragoman-tried"] = str(self.tried)
        lines = [(n.encode("latin-1"), v.encode("latin-1")) for n, v in every.items() if _SANE_VALUE.match(v)]
        self.status = status
        await self._send({"type": "http.response.start", "status": status, "headers": lines})

    def put(self, data: bytes) -> bool:
        """Sends a piece of the body. Returns whether the next may follow; else ``settle`` is to be awaited first."""
        if self._write_now is None:
            self._unsent += data
            return False
        self._full = not self._write_now(data)
        return not self._full

    @property
    def settled(self) -> bool:
        """Whether the client's connection has what was put, and can take more."""
        return not self._full and not self._unsent

    async def settle(self) -> None:
        """Returns once it is ``settled``."""
        data, self._unsent, self._full = self._unsent, b"", False
        await self.write(data)

    async def write(self, data: bytes) -> None:
        """Sends a piece of the body; returns when the client's connection can take more."""
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self, data: bytes = b"") -> None:
        self.ended = True
        await self._send({"type": "http.response.body", "body": data, "more_body": False})

    async def whole(self, status: int, value: Any, headers: Mapping[str, str] | None = None) -> None:
        """A whole JSON answer."""
        data = jsontext.render(value)
        await self.begin(
            status, {"content-type": "application/json", "content-length": str(len(data)), **(headers or {})}
        )
        await self.end(data)

    async def error(self, error: Error, headers: Mapping[str, str] | None = None) -> None:
        """A whole error answer with its own status."""
        await self.whole(
            self.dialect.status_of(error),
            self.dialect.render_error(error, self.request_id),
            {**self.dialect.error_headers(error), **(headers or {})},
        )
