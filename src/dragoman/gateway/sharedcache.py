"""A cache in an SQLite file that several processes of one gateway share.

Asked from the event loop itself: a look or a write takes some tens of microseconds, less than handing it to
a thread would, and there is one for each request, never for a delta. Readers do not wait for anybody (WAL);
a writer waits for another one's few rows. A file that fails costs what it kept, never an answer.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from dragoman import jsontext
from dragoman.cache import CacheLimits

_SCHEMA = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS entries (
    serial INTEGER PRIMARY KEY AUTOINCREMENT, since REAL NOT NULL, size INTEGER NOT NULL, data BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS keys (key BLOB NOT NULL, serial INTEGER NOT NULL, PRIMARY KEY (key, serial)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS keys_by_serial ON keys (serial);
CREATE TABLE IF NOT EXISTS totals (one INTEGER PRIMARY KEY CHECK (one = 1), entries INTEGER, bytes INTEGER);
INSERT OR IGNORE INTO totals VALUES (1, 0, 0);
CREATE TRIGGER IF NOT EXISTS entry_in AFTER INSERT ON entries BEGIN
    UPDATE totals SET entries = entries + 1, bytes = bytes + new.size;
END;
CREATE TRIGGER IF NOT EXISTS entry_out AFTER DELETE ON entries BEGIN
    DELETE FROM keys WHERE serial = old.serial;
    UPDATE totals SET entries = entries - 1, bytes = bytes - old.size;
END;
COMMIT;
"""
_BUSY = 5.0
"""Seconds to wait for another process while the file is opened."""
_TURN, _TURNS = 2, 500
"""Milliseconds to wait for another one's few rows, and how often: left to itself SQLite soon sleeps for 100."""
_UNENCODABLE = (OverflowError, TypeError, ValueError, RecursionError)

V = TypeVar("V")

_log = logging.getLogger(__name__)


class SharedCache(Generic[V]):
    """``dragoman.cache.Cache`` of values of one ``kind``. ``latest``: an id has one value, the last that came.

    Only the owner may read the file: what models thought is in it. Raises ``sqlite3.Error`` and ``OSError``.
    """

    def __init__(self, file: Path, kind: type[V], limits: CacheLimits, *, latest: bool = False) -> None:
        self.limits = limits
        self._latest = latest
        self._decoder = msgspec.json.Decoder(kind)
        os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
        self._database = sqlite3.connect(file, timeout=_BUSY, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = OFF")  # it does not outlive the gateway anyway
        self._database.executescript(_SCHEMA)
        self._database.execute(f"PRAGMA busy_timeout = {_TURN}")

    def put(self, scope: str, ids: Sequence[str], value: V, size: int, now: float) -> None:
        """See ``Cache``."""
        keys = [_key(scope, id) for id in dict.fromkeys(ids)]
        if not keys:
            return
        try:
            data = _encoded(value)
            with self._database:  # commits, or takes back
                self._begin()
                self._insert(keys, data, size, now)
                self._prune(now)
        except (sqlite3.Error, *_UNENCODABLE) as error:
            _log.warning("something could not be kept: %s", type(error).__name__)

    def get(self, scope: str, ids: Iterable[str], now: float) -> dict[str, Sequence[V]]:
        """See ``Cache``."""
        found: dict[str, Sequence[V]] = {}
        values: dict[int, V] = {}  # one may have several ids
        try:
            with self._database:
                self._database.execute("BEGIN")  # one look at the file for all of them
                for id in ids:
                    rows = self._database.execute(
                        "SELECT serial, data FROM keys JOIN entries USING (serial)"
                        " WHERE key = ? AND since >= ? ORDER BY serial DESC",
                        (_key(scope, id), now - self.limits.age),
                    ).fetchall()
                    for serial, data in rows:
                        if serial not in values:
                            values[serial] = self._decoder.decode(data)
                    if rows:
                        found[id] = [values[serial] for serial, _ in rows]
        except (sqlite3.Error, msgspec.MsgspecError) as error:
            _log.warning("something could not be looked up: %s", type(error).__name__)
        return found

    def close(self) -> None:
        """Closes the file."""
        self._database.close()

    def _begin(self) -> None:
        for left in reversed(range(_TURNS)):
            try:
                self._database.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                if not left or error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                    raise

    def _insert(self, keys: list[bytes], data: bytes, size: int, now: float) -> None:
        if self._latest:
            self._database.executemany(
                "DELETE FROM entries WHERE serial IN (SELECT serial FROM keys WHERE key = ?)", [(key,) for key in keys]
            )
        row = self._database.execute("INSERT INTO entries (since, size, data) VALUES (?, ?, ?)", (now, size, data))
        self._database.executemany("INSERT INTO keys VALUES (?, ?)", [(key, row.lastrowid) for key in keys])

    def _prune(self, now: float) -> None:
        limits = self.limits
        oldest = "SELECT serial, since FROM entries ORDER BY serial LIMIT 1"
        while (row := self._database.execute(oldest).fetchone()) is not None:
            entries, size = self._database.execute("SELECT entries, bytes FROM totals").fetchone()
            if entries <= limits.entries and size <= limits.bytes and now - row[1] <= limits.age:
                return
            self._database.execute("DELETE FROM entries WHERE serial = ?", (row[0],))


def _key(scope: str, id: str) -> bytes:
    """Of one length, whatever clients take for ids."""
    named = f"{len(scope)}:{scope}{id}".encode("utf-8", "surrogatepass")
    return blake2b(named, digest_size=16).digest()


def _encoded(value: object) -> bytes:
    """JSON, which the decoder of the kind reads back; half a surrogate pair becomes U+FFFD."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return jsontext.render(msgspec.to_builtins(value))
