"""One timer for all waits of a turn.

A timer for each wait would be made and cancelled with every delta, though hardly one ever rings. This one
is set once; where the time it was set for has moved back, it finds out when it rings, and is set again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf


def _never() -> float:
    return inf


class Alarm:
    """Cancels what its task waits for when ``due`` (a time of the loop) has come.

    The task says when it waits for what may be cancelled (``waiting``), and asks ``rang`` of each
    ``CancelledError`` whether it was the alarm. A time that comes nearer has to be told (``set``).
    """

    def __init__(self, due: Callable[[], float]) -> None:
        self.waiting = False
        self._due = due
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[object] | None = None
        self._timer: asyncio.Handle | None = None
        self._at = 0.0
        self._cancelled_before = 0
        self._rang = False

    @property
    def is_set(self) -> bool:
        return self._timer is not None

    def set(self) -> None:
        """Rings for this task when the time has come, and not later."""
        if self._task is None:
            self._task = asyncio.current_task()
            self._cancelled_before = self._task.cancelling() if self._task is not None else 0
        due = self._due()
        if self._timer is not None:
            if self._at <= due:
                return
            self._timer.cancel()
        self._at = due
        self._timer = self._loop.call_at(due, self.ring)

    def ring(self) -> None:
        """Rings if the time has come. If its task does not wait, it has to be set again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self.waiting or self._rang or self._task is None:
            return
        if self._due() <= self._loop.time():
            self._rang = True
            self._task.cancel()
        else:
            self.set()

    def rang(self) -> bool:
        """Whether the cancellation that was just caught is the alarm's, and nobody else's as well."""
        rang, self._rang = self._rang, False
        return rang and self._task is not None and self._task.uncancel() <= self._cancelled_before

    def off(self) -> None:
        """Rings no more."""
        self.waiting, self._due, self._task = False, _never, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
