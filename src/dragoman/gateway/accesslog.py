"""The access log: one JSON line for each exchange, and nothing in it that is secret or said in confidence.

No prompts, no answers, no headers, no query strings, no error texts (an upstream's may quote any of
them): names, counts, kinds and times only.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from dragoman import jsontext
from dragoman.canonical.errors import Error
from dragoman.canonical.events import Usage
from dragoman.canonical.request import Loss
from dragoman.translate import Exchange

_LONGEST = 200
"""Characters of a text that a client chose (a path, a model name)."""
_MOST = 20
"""Losses that are listed one by one."""

CLIENT_CLOSED = 499
"""What is logged as status where the client left before a head (nginx's number)."""


class Record:
    """What one line says. Fields are filled in as they become known; ``None`` is left out."""

    def __init__(self, request_id: str, method: str, path: str) -> None:
        self.request_id = request_id
        self.method = method
        self.path = path
        self.client: str | None = None
        self.model: str | None = None
        self.upstream: str | None = None
        self.tried = 0
        self.cooling: list[str] = []
        self.failed: dict[str, str] = {}
        self.status = 0
        self.finish: str | None = None
        self.error: str | None = None
        self.usage: Usage | None = None
        self.quirks: dict[str, int] = {}
        self.losses: tuple[Loss, ...] = ()
        self.dropped: dict[str, int] = {}
        self.unkept = False
        self.tools: dict[str, int] = {}
        self.rounds = 1
        self._time = time.time()
        self._began = time.monotonic()

    def take(self, exchange: Exchange) -> None:
        """What an exchange that is over, or was dropped, has to tell."""
        self.finish, self.usage = exchange.finish, exchange.usage
        self.quirks, self.losses, self.dropped = exchange.quirks, exchange.losses, exchange.dropped
        self.error = exchange.error.kind.value if exchange.error else None
        self.tools, self.rounds = exchange.tools_ran, exchange.rounds

    def fail(self, target: str, error: Error | None) -> None:
        """A target failed, and another is asked if there is one."""
        self.failed[target[:_LONGEST]] = error.kind.value if error else "unknown"

    def leave(self, status: int) -> None:
        """The client left before the end."""
        self.status, self.error = status, "client_left"

    def line(self) -> dict[str, Any]:
        """The values as they are written."""
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(self._time, UTC).isoformat(timespec="milliseconds"),
            "request_id": self.request_id,
            "method": self.method,
            "path": self.path[:_LONGEST],
            "client": self.client,
            "model": self.model and self.model[:_LONGEST],
            "upstream": self.upstream and self.upstream[:_LONGEST],
            "tried": self.tried if self.tried > 1 else None,
            "failed": self.failed or None,
            "cooling": [target[:_LONGEST] for target in self.cooling] or None,
            "status": self.status,
            "finish": self.finish,
            "error": self.error,
            "usage": _counts(self.usage),
            "tools": self.tools or None,
            "rounds": self.rounds if self.rounds > 1 else None,
            "duration_ms": round((time.monotonic() - self._began) * 1000, 1),
            "quirks": self.quirks or None,
            "losses": [f"{loss.path}: {loss.reason}"[:_LONGEST] for loss in self.losses[:_MOST]] or None,
            "dropped": self.dropped or None,
            "unkept": self.unkept or None,
            "more_losses": max(0, len(self.losses) - _MOST) or None,
        }
        return {name: value for name, value in fields.items() if value is not None}


def _counts(usage: Usage | None) -> dict[str, int] | None:
    if usage is None:
        return None
    found = {name: count for name in usage.__struct_fields__ if (count := getattr(usage, name)) is not None}
    return found or None


def to_stderr(line: str) -> None:
    """Where lines go unless told otherwise."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


class AccessLog:
    """Writes records, one line each, through a function that takes the line.

    ``worker``: the number of the process that writes, where a gateway has several.
    """

    def __init__(self, write: Callable[[str], None] = to_stderr, worker: int | None = None) -> None:
        self._write = write
        self._always = {} if worker is None else {"worker": worker}

    def write(self, record: Record) -> None:
        self.note(record.line())

    def note(self, fields: dict[str, Any]) -> None:
        """A line of another kind, for what is no exchange."""
        self._write(jsontext.render({**fields, **self._always}).decode())
