"""Server-sent events, read as servers really write them.

The standard's rules, and what has been seen beyond them: ``data: data:`` is unwrapped once, a
comment or a word to keep the connection alive inside a data field is skipped, a line ``error: …`` is
an event of that name and so is an error in bare JSON, and a last event without its blank line counts
if its JSON is whole (design/streams.md, 10). Only CR, LF and CRLF end a line: bytes are never decoded
before they are cut.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import msgspec

from dragoman import jsontext
from dragoman.exceptions import RemoteProtocolError

DONE = b"[DONE]"

_FIELDS = frozenset({b"data", b"event", b"error", b"id", b"retry", b""})
"""What a line can begin with, up to its colon; a comment begins with that."""
_ALIVE = re.compile(rb"\[?(?:ping|pong|keep[-_ ]?alive|heart[-_ ]?beat)\]?", re.IGNORECASE)
_LONGEST_WORD = 16
_NONE = object()


class ServerSentEvent(msgspec.Struct, frozen=True):
    """One event: its ``event`` field ("" if none) and its data, lines joined by LF, as UTF-8 bytes."""

    event: str
    data: bytes


class ServerSentEventReader:
    """Bytes in any cut to events. ``cut`` tells after ``finish`` that the last event was not whole.

    ``note`` gets the slug of each oddity. Raises ``RemoteProtocolError`` for an event of more than ``limit`` bytes,
    once those before it were given.
    """

    def __init__(self, limit: int, note: Callable[[str], None]) -> None:
        self.cut = False
        self._limit = limit
        self._note = note
        self._parts: list[bytes] = []  # of the line that has not ended
        self._pending = 0  # bytes in it
        self._size = 0  # bytes in the whole lines of the event that has not ended
        self._after_cr = False
        self._event = ""
        self._data: list[bytes] = []
        self._bare: list[bytes] = []  # lines of JSON that are no fields

    @property
    def between(self) -> bool:
        """Whether no event has begun."""
        return not (self._parts or self._data or self._event or self._bare or self._size or self._after_cr)

    def feed(self, data: bytes) -> Iterator[ServerSentEvent]:
        """The events that these bytes complete; to be iterated to its end."""
        if not data:
            return
        if self._after_cr and data[:1] == b"\n":
            data = data[1:]
        self._after_cr = data.endswith(b"\r")
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines: list[bytes] = []
        if b"\n" in data:
            if self._parts:
                data = b"".join((*self._parts, data))
                self._parts, self._pending = [], 0
            lines = data.split(b"\n")
            data = lines.pop()
        if data:
            self._parts.append(data)
            self._pending += len(data)
        for line in lines:
            if line:
                self._field(line)
                continue
            if event := self._dispatch():
                yield event
            if self._bare and (event := self._bare_error()):
                yield event
        if self._size + self._pending > self._limit:
            self._refuse()

    def finish(self) -> Iterator[ServerSentEvent]:
        """The end of the bytes: an event whose blank line is missing counts if it is whole."""
        line = b"".join(self._parts)
        self._parts = []
        if line:
            self._field(line)
        if event := self._dispatch():
            if event.data == DONE or _read(event.data) is not _NONE:
                self._note("sse-no-final-blank-line")
                yield event
            else:
                self.cut = True
        if self._bare and (event := self._bare_error()):
            yield event

    def _field(self, line: bytes) -> None:
        self._size += len(line)
        if self._size > self._limit:
            self._refuse()
        name, _, value = line.partition(b":")
        if value[:1] == b" ":
            value = value[1:]
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._event = value.decode("utf-8", "replace")
        elif name == b"error" and value:
            self._note("error-as-field-name")
            self._event = "error"
            self._data.append(value)
        elif (self._bare or line.lstrip()[:1] == b"{") and name not in _FIELDS:
            self._bare.append(line)

    def _dispatch(self) -> ServerSentEvent | None:
        event, fields = self._event, self._data
        self._event, self._data, self._size = "", [], 0
        if not fields:
            return None
        data = (fields[0] if len(fields) == 1 else b"\n".join(fields)).strip()
        if data.startswith(b"data:"):
            self._note("sse-double-data-prefix")
            data = data[5:].strip()
        if not data:
            return None
        if data.startswith(b":") or (len(data) <= _LONGEST_WORD and _ALIVE.fullmatch(data)):
            self._note("sse-comment-as-data")
            return None
        return ServerSentEvent(event, data)

    def _bare_error(self) -> ServerSentEvent | None:
        """The error in lines that are JSON without a field's name: what a server writes that fails in mid-stream."""
        data, self._bare = b"\n".join(self._bare), []
        value = _read(data)
        if isinstance(value, dict) and _tells_error(value):
            self._note("error-as-bare-json")
            return ServerSentEvent("error", data)
        return None

    def _refuse(self) -> NoReturn:
        raise RemoteProtocolError(f"the upstream sent an event of more than {self._limit} bytes")


def _read(data: bytes) -> Any:
    """The value of a JSON text; ``_NONE`` for anything else."""
    try:
        return jsontext.parse(data)
    except ValueError:
        return _NONE


def _tells_error(value: dict[str, Any]) -> bool:
    if "error" in (value.get("type"), value.get("object")) or isinstance(value.get("message"), str):
        return True
    return any(value.get(name) for name in ("error", "errors", "detail"))


def frame(data: bytes) -> bytes:
    """One event without a name, as it goes to a client."""
    return b"data: " + data + b"\n\n"


def named_frame(event: str, data: bytes) -> bytes:
    """One event with its name, as it goes to a client."""
    return b"event: " + event.encode() + b"\ndata: " + data + b"\n\n"
