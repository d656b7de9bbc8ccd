"""What a client's history cannot hold: the gateway's calls and results of earlier answers.

A client returns the results of its own calls, and echoes what it was shown; the model has to see the turns
as they were. So the turns of an answer in which the gateway ran tools are kept, by the ids that the
client knows: those of its calls, and those of the gateway's calls that it was shown. In its next request
its version of the answer is replaced by the kept turns. Bounded; what is gone (after a restart, say)
degrades visibly: the client's own version stays, without the gateway's calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from dragoman.canonical import request as q
from dragoman.canonical.aliases import original

MARK = "dgm"
"""Begins every id under which a client is shown a call of the gateway's, behind its dialect's prefix."""


class PastLimits(msgspec.Struct, frozen=True, kw_only=True):
    """``answers``: how many are kept; ``age``: seconds."""

    answers: int = 10_000
    age: float = 24 * 3600


class _Answer(msgspec.Struct, frozen=True):
    messages: tuple[q.Message, ...]
    since: float


class PastAnswers:
    """Turns of earlier answers, apart for each client (``scope``). Times are Unix times in seconds."""

    def __init__(self, limits: PastLimits | None = None) -> None:
        self._limits = limits or PastLimits()
        self._kept: dict[tuple[str, str], _Answer] = {}

    def keep(self, scope: str, ids: Iterable[str], messages: Sequence[q.Message], now: float) -> None:
        """Keeps the turns of an answer under the ids by which its client will speak of it."""
        answer = _Answer(tuple(messages), now)
        for id in ids:
            self._kept.pop((scope, original(id)), None)
            self._kept[scope, original(id)] = answer
        while len(self._kept) > self._limits.answers:
            del self._kept[next(iter(self._kept))]

    def find(self, scope: str, ids: Iterable[str], now: float) -> tuple[q.Message, ...] | None:
        """The turns of the answer that one of these ids belongs to."""
        for id in ids:
            answer = self._kept.get((scope, original(id)))
            if answer is not None and now - answer.since <= self._limits.age:
                return answer.messages
        return None


def completed(request: q.Request, past: PastAnswers, scope: str, now: float) -> q.Request:
    """The request with the gateway's turns in their places, and without what was only shown."""
    messages: list[q.Message] = []
    run: list[q.Message] = []  # of the assistant: one answer, in however many messages
    for message in (*request.messages, None):
        if message is not None and message.role is q.Role.ASSISTANT:
            run.append(message)
            continue
        if run:
            messages += _replaced(run, past, scope, now)
            run = []
        if message is not None:
            messages.append(message)
    if messages == list(request.messages):
        return request
    return msgspec.structs.replace(request, messages=tuple(messages))


def _replaced(run: list[q.Message], past: PastAnswers, scope: str, now: float) -> list[q.Message]:
    parts = [part for message in run for part in message.parts]
    shown = [part for part in parts if isinstance(part, q.ToolRun)]
    ids = [part.id for part in parts if isinstance(part, q.ToolCall)] + [part.id for part in shown]
    kept = past.find(scope, ids, now)
    if kept is not None:
        return list(kept)
    if not shown:
        return run
    return [q.Message(message.role, tuple(p for p in message.parts if p not in shown)) for message in run]
