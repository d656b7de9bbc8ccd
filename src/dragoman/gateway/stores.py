"""All that is kept between requests: answers to go on from, reasoning that clients forget, turns with our tools.

One process keeps it in memory (but for ``state.url``), several in files that they share (``sharedcache``).
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from dragoman.cache import Cache, CacheLimits, LocalCache
from dragoman.gateway.settings import Limits, Settings, StateUrl
from dragoman.gateway.sharedcache import SharedCache
from dragoman.gateway.state import AnswerStore
from dragoman.memory import ReasoningMemory, Remembered
from dragoman.toolloop.past import PastAnswer, PastAnswers

_MIB = 1 << 20


class Stores:
    """Opened for one process. ``folder``: that of the files which it shares with others; without, it shares none.

    Raises ``ConfigurationError`` if answers cannot be kept where ``settings.state`` says, and ``sqlite3.Error``.
    """

    def __init__(self, settings: Settings, folder: Path | None = None) -> None:
        state, limits = settings.state, settings.limits
        if folder is not None and state.url.file is None:
            state = msgspec.structs.replace(state, url=StateUrl(f"sqlite:///{folder / 'answers.db'}"))
        self.answers = AnswerStore(state)
        self._reasoning: Cache[Remembered]
        self._turns: Cache[PastAnswer]
        if folder is None:
            self._reasoning = LocalCache(_reasoning(limits), latest=True)
            self._turns = LocalCache(_turns(limits))
        else:
            self._reasoning = SharedCache(folder / "reasoning.db", Remembered, _reasoning(limits), latest=True)
            self._turns = SharedCache(folder / "turns.db", PastAnswer, _turns(limits))
        self.memory = ReasoningMemory(self._reasoning)
        self.past = PastAnswers(self._turns)

    def limit(self, settings: Settings) -> None:
        """Other limits from now on."""
        self.answers.limit(settings.state)
        self._reasoning.limits = _reasoning(settings.limits)
        self._turns.limits = _turns(settings.limits)

    def close(self) -> None:
        """Closes what is in files; nothing can be asked any more."""
        self.answers.close()
        for cache in (self._reasoning, self._turns):
            if isinstance(cache, SharedCache):
                cache.close()


def _reasoning(limits: Limits) -> CacheLimits:
    memory = limits.memory  # a call has two entries (``ReasoningMemory``)
    return CacheLimits(entries=2 * memory.calls, bytes=int(memory.mib * _MIB), age=memory.hours * 3600)


def _turns(limits: Limits) -> CacheLimits:
    turns = limits.turns
    return CacheLimits(entries=turns.answers, bytes=int(turns.mib * _MIB), age=turns.hours * 3600)
