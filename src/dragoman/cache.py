"""What is kept between requests, bounded by number, size and age: what is gone is missing as if it had never been kept.

A value is kept for one client (``scope``) under the ids by which that client will speak of it. The interface
has no IO in it; whether values lie in this process or are shared with others is the gateway's choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, Protocol, TypeVar

import msgspec

V = TypeVar("V")


class CacheLimits(msgspec.Struct, frozen=True, kw_only=True):
    """``entries``: values; ``bytes``: of all of them; ``age``: seconds."""

    entries: int = 20_000
    bytes: int = 64 << 20
    age: float = 24 * 3600


class Cache(Protocol[V]):
    """Values by the ids that belong to them. Times are Unix times in seconds."""

    limits: CacheLimits
    """May be set at any time; what is beyond goes with the next value that comes."""

    def put(self, scope: str, ids: Sequence[str], value: V, size: int, now: float) -> None:
        """Keeps a value of about so many bytes under these ids, and lets go of the oldest where a limit is passed."""

    def get(self, scope: str, ids: Iterable[str], now: float) -> dict[str, Sequence[V]]:
        """The values under each of these ids that are not too old, the youngest first; ids without are left out."""


class _Entry(msgspec.Struct, Generic[V], frozen=True):
    keys: tuple[tuple[str, str], ...]
    value: V
    size: int
    since: float


class LocalCache(Generic[V]):
    """``Cache`` in this process. ``latest``: an id has one value, the last that came."""

    def __init__(self, limits: CacheLimits, *, latest: bool = False) -> None:
        self.limits = limits
        self._latest = latest
        self._entries: dict[int, _Entry[V]] = {}
        self._by_key: dict[tuple[str, str], list[int]] = {}
        self._serial = 0
        self._size = 0

    def put(self, scope: str, ids: Sequence[str], value: V, size: int, now: float) -> None:
        """See ``Cache``."""
        keys = tuple(dict.fromkeys((scope, id) for id in ids))
        if not keys:
            return
        for key in keys if self._latest else ():
            for serial in tuple(self._by_key.get(key, ())):
                self._forget(serial)
        self._serial += 1
        self._entries[self._serial] = _Entry(keys, value, size, now)
        self._size += size
        for key in keys:
            self._by_key.setdefault(key, []).append(self._serial)
        while self._entries and self._excessive(now):
            self._forget(next(iter(self._entries)))

    def get(self, scope: str, ids: Iterable[str], now: float) -> dict[str, Sequence[V]]:
        """See ``Cache``."""
        found: dict[str, Sequence[V]] = {}
        for id in ids if self._entries else ():
            entries = [self._entries[serial] for serial in reversed(self._by_key.get((scope, id), ()))]
            if values := [entry.value for entry in entries if now - entry.since <= self.limits.age]:
                found[id] = values
        return found

    def _excessive(self, now: float) -> bool:
        limits, oldest = self.limits, next(iter(self._entries.values()))
        too_much = len(self._entries) > limits.entries or self._size > limits.bytes
        return too_much or now - oldest.since > limits.age

    def _forget(self, serial: int) -> None:
        gone = self._entries.pop(serial)
        self._size -= gone.size
        for key in gone.keys:
            left = self._by_key[key]
            left.remove(serial)
            if not left:
                del self._by_key[key]
