"""Answers that are kept for their clients, in SQLite: in a file, or in memory.

Each answer holds the keys of all items that led to it and of those that it gave; an item is kept once,
whichever answers hold it. So an answer stands alone, whatever became of those before it, and a long
conversation costs what was said in it once. Bounded for each client key (``scope``) by number, bytes
and age; the oldest answer goes first.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from typing import Any, TypeVar

import msgspec

from dragoman import jsontext
from dragoman.exceptions import ConfigurationError, DragomanError
from dragoman.gateway.settings import StateSettings

_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    scope TEXT NOT NULL, id TEXT NOT NULL, since REAL NOT NULL, target TEXT NOT NULL,
    body BLOB, items BLOB NOT NULL, given INTEGER NOT NULL, bytes INTEGER NOT NULL, PRIMARY KEY (scope, id)
);
CREATE INDEX IF NOT EXISTS answers_by_scope ON answers (scope, since);
CREATE INDEX IF NOT EXISTS answers_by_age ON answers (since);
CREATE TABLE IF NOT EXISTS items (
    scope TEXT NOT NULL, key BLOB NOT NULL, id TEXT NOT NULL, data BLOB NOT NULL, uses INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
);
CREATE INDEX IF NOT EXISTS items_by_id ON items (scope, id);
CREATE TABLE IF NOT EXISTS sizes (scope TEXT PRIMARY KEY, answers INTEGER NOT NULL, bytes INTEGER NOT NULL);
CREATE TRIGGER IF NOT EXISTS answer_in AFTER INSERT ON answers BEGIN
    INSERT INTO sizes VALUES (new.scope, 1, new.bytes)
    ON CONFLICT (scope) DO UPDATE SET answers = answers + 1, bytes = bytes + new.bytes;
END;
CREATE TRIGGER IF NOT EXISTS answer_out AFTER DELETE ON answers BEGIN
    UPDATE sizes SET answers = answers - 1, bytes = bytes - old.bytes WHERE scope = old.scope;
END;
CREATE TRIGGER IF NOT EXISTS item_in AFTER INSERT ON items BEGIN
    INSERT INTO sizes VALUES (new.scope, 0, length(new.data))
    ON CONFLICT (scope) DO UPDATE SET bytes = bytes + length(new.data);
END;
CREATE TRIGGER IF NOT EXISTS item_out AFTER DELETE ON items BEGIN
    UPDATE sizes SET bytes = bytes - length(old.data) WHERE scope = old.scope;
END;
"""
_KEY_BYTES = 16
_AT_ONCE = 100
"""Answers past their age that one more answer clears away at most."""
_BUSY = 5.0
"""Seconds to wait for another process that writes to the same file."""

JSON = dict[str, Any]
T = TypeVar("T")


class StateError(DragomanError):
    """The database failed."""


class KeptAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer as it is kept.

    ``body`` is what the client got, without its items; ``None`` for one that its upstream (``target``) keeps
    itself. ``given`` of the ``items`` led to it (in order), the rest is what it said. ``since`` is a Unix time.
    """

    id: str
    target: str
    since: float
    body: JSON | None = None
    items: tuple[JSON, ...] = ()
    given: int = 0


class AnswerStore:
    """The database. Work on a file is done in a thread of its own, on memory at once."""

    def __init__(self, settings: StateSettings) -> None:
        self._limits = settings
        self._thread = ThreadPoolExecutor(1, "state") if settings.url.file else None
        try:
            self._database = _opened(settings.url.file)
        except (OSError, sqlite3.Error) as error:
            raise ConfigurationError([f"state.url: the file cannot be used: {error}"]) from None

    async def keep(self, scope: str, answer: KeptAnswer) -> None:
        """Keeps an answer, in place of one of the same id; the oldest go where a limit is passed."""
        await self._do(lambda: self._keep(scope, answer))

    async def find(self, scope: str, id: str, now: float) -> KeptAnswer | None:
        """The answer of this id, unless it is too old."""
        return await self._do(lambda: self._find(scope, id, now))

    async def find_items(self, scope: str, ids: Sequence[str]) -> dict[str, JSON]:
        """Those of these items that are held, by id."""
        return await self._do(lambda: self._find_items(scope, ids))

    async def delete(self, scope: str, id: str) -> bool:
        """Forgets an answer; whether there was one to be shown."""
        return await self._do(lambda: self._delete(scope, id))

    def limit(self, limits: StateSettings) -> None:
        """Other limits from now on; ``limits.url`` says nothing here."""
        self._limits = limits

    def close(self) -> None:
        """Closes the file; nothing can be asked any more."""
        if self._thread is not None:
            self._thread.shutdown()
        self._database.close()

    async def _do(self, work: Callable[[], T]) -> T:
        try:
            if self._thread is None:
                return work()
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except sqlite3.Error as error:
            raise StateError(str(error)) from error

    # ---- what is done, in one transaction each

    def _keep(self, scope: str, answer: KeptAnswer) -> None:
        rows = [(_key(data := jsontext.render(item)), str(item.get("id") or ""), data) for item in answer.items]
        keys = b"".join(key for key, _, _ in rows)
        body = None if answer.body is None else jsontext.render(answer.body)
        size = len(keys) + len(body or b"") + len(answer.id) + len(answer.target)
        with self._database as database:
            self._forget(scope, answer.id)
            database.executemany(
                "INSERT INTO items VALUES (?, ?, ?, ?, 1) ON CONFLICT (scope, key) DO UPDATE SET uses = uses + 1",
                [(scope, key, id, data) for key, id, data in rows],
            )
            database.execute(
                "INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (scope, answer.id, answer.since, answer.target, body, keys, answer.given, size),
            )
            self._prune(scope, answer.since)

    def _find(self, scope: str, id: str, now: float) -> KeptAnswer | None:
        row = self._database.execute(
            "SELECT since, target, body, items, given FROM answers WHERE scope = ? AND id = ?", (scope, id)
        ).fetchone()
        if row is None or now - row[0] > self._age:
            return None
        since, target, body, keys, given = row
        items = [item for key in _keys(keys) if (item := self._item(scope, key)) is not None]
        if len(items) * _KEY_BYTES < len(keys):
            return None  # another process let go of it just now
        return KeptAnswer(
            id=id,
            target=target,
            since=since,
            body=None if body is None else jsontext.parse(body),
            items=tuple(items),
            given=given,
        )

    def _item(self, scope: str, key: bytes) -> JSON | None:
        row = self._database.execute("SELECT data FROM items WHERE scope = ? AND key = ?", (scope, key)).fetchone()
        return None if row is None else jsontext.parse(row[0])

    def _find_items(self, scope: str, ids: Iterable[str]) -> dict[str, JSON]:
        found: dict[str, JSON] = {}
        for id in ids:
            row = self._database.execute(
                "SELECT data FROM items WHERE scope = ? AND id = ? ORDER BY rowid DESC LIMIT 1", (scope, id)
            ).fetchone()
            if row is not None:
                found[id] = jsontext.parse(row[0])
        return found

    def _delete(self, scope: str, id: str) -> bool:
        with self._database as database:
            row = database.execute("SELECT body FROM answers WHERE scope = ? AND id = ?", (scope, id)).fetchone()
            self._forget(scope, id)
        return row is not None and row[0] is not None

    # ---- limits

    @property
    def _age(self) -> float:
        return self._limits.days * 86_400

    def _prune(self, scope: str, now: float) -> None:
        """Lets go of what is too old, whoever it is for, and of this client's oldest past a limit."""
        aged = "SELECT scope, id FROM answers WHERE since < ? LIMIT ?"
        for row in self._database.execute(aged, (now - self._age, _AT_ONCE)).fetchall():
            self._forget(*row)
        oldest = "SELECT id FROM answers WHERE scope = ? ORDER BY since, rowid LIMIT 1"
        most = int(self._limits.mib * (1 << 20))
        while (row := self._database.execute(oldest, (scope,)).fetchone()) is not None:
            answers, size = self._database.execute(
                "SELECT answers, bytes FROM sizes WHERE scope = ?", (scope,)
            ).fetchone()
            if answers <= self._limits.answers and size <= most:
                return
            self._forget(scope, row[0])

    def _forget(self, scope: str, id: str) -> None:
        row = self._database.execute("SELECT items FROM answers WHERE scope = ? AND id = ?", (scope, id)).fetchone()
        if row is None:
            return
        keys = [(scope, key) for key in _keys(row[0])]
        self._database.executemany("UPDATE items SET uses = uses - 1 WHERE scope = ? AND key = ?", keys)
        self._database.executemany("DELETE FROM items WHERE scope = ? AND key = ? AND uses <= 0", keys)
        self._database.execute("DELETE FROM answers WHERE scope = ? AND id = ?", (scope, id))


def _opened(file: str | None) -> sqlite3.Connection:
    """The database, with its tables. Only its owner may read the file: prompts are in it."""
    if file is not None:
        os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
    database = sqlite3.connect(file or ":memory:", timeout=_BUSY, check_same_thread=False)
    if file is not None:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version not in (0, _VERSION):
        database.close()
        raise sqlite3.DatabaseError(f"it was written by another version (its schema is {version})")
    if version == 0:
        database.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT;")
    return database


def _key(data: bytes) -> bytes:
    return blake2b(data, digest_size=_KEY_BYTES).digest()


def _keys(joined: bytes) -> list[bytes]:
    return [joined[place : place + _KEY_BYTES] for place in range(0, len(joined), _KEY_BYTES)]
