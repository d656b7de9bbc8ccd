"""Server-sent events (stub)."""
from __future__ import annotations

import msgspec


class ServerSentEvent(msgspec.Struct, frozen=True):
    """One event: its ``event`` field ("" if none) and its data, lines joined by LF, as UTF-8 bytes."""

    event: str
    data: bytes
