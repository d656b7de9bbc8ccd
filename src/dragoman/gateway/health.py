"""Which targets are left in peace for a while, since they fail. Without IO: the clock is handed in.

A target that failed several times in a row, or said when it wants to be asked again, *cools down*: models with
other targets pass over it. Afterwards one request *probes* it, the others go on passing over it until the probe
was answered. A probe that fails begins another cool-down; one that tells nothing leaves it to the next request.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from dragoman.canonical.errors import Error
from dragoman.failures import worth_another
from dragoman.gateway.routing import Target
from dragoman.gateway.settings import FailoverSettings

_KNOWN = 4096
"""Failing targets that are remembered; clients may name targets, so there may be any number."""
_BUSY = (429, 503, 529)
"""Statuses with which a Retry-After counts."""


class Attempt(msgspec.Struct, frozen=True, eq=False):
    """One request to a target. ``answering`` tells whether it has said something of an answer."""

    target: Target
    since: float
    answering: Callable[[], bool]


class _Failing:
    """What is known of a target that has not answered soundly since it failed."""

    __slots__ = ("cooling_since", "failures", "probe", "until")

    def __init__(self) -> None:
        self.failures = 0
        self.until: float | None = None
        """When its cool-down ends or ended; ``None``: there was none."""
        self.cooling_since = 0.0
        self.probe: Attempt | None = None


class Health:
    """The health of all targets, by what requests to them came to."""

    def __init__(self, bounds: FailoverSettings, clock: Callable[[], float]) -> None:
        self._bounds = bounds
        self._clock = clock
        self._failing: dict[Target, _Failing] = {}

    def admits(self, target: Target) -> bool:
        """Whether a request that could go elsewhere may be put to this target."""
        known = self._failing.get(target)
        if known is None or known.until is None:
            return True
        if known.probe is not None:
            return known.probe.answering()
        return self._clock() >= known.until

    def begin(self, target: Target, answering: Callable[[], bool]) -> Attempt:
        """A request goes to this target; ``learn`` is to be told how it ended."""
        attempt = Attempt(target, self._clock(), answering)
        known = self._failing.get(target)
        if known is not None and known.probe is None and known.until is not None and attempt.since >= known.until:
            known.probe = attempt
        return attempt

    def release(self, attempt: Attempt) -> None:
        """It ended, and told nothing of the target: its client left, or the gateway is being stopped."""
        known = self._failing.get(attempt.target)
        if known is not None and known.probe is attempt:
            known.probe = None

    def learn(self, attempt: Attempt, error: Error | None) -> None:
        """It ended in this error. One that is about the request shows that the target is alive."""
        if error is not None and worth_another(error):
            self._fail(attempt, error)
            return
        self.release(attempt)
        known = self._failing.get(attempt.target)
        # what was asked before the cool-down began says nothing of what comes after it
        if known is not None and (known.until is None or attempt.since >= known.cooling_since):
            del self._failing[attempt.target]

    def _fail(self, attempt: Attempt, error: Error) -> None:
        known = self._failing.get(attempt.target) or _Failing()
        if known.until is not None and attempt.since < known.cooling_since and known.probe is not attempt:
            return  # so it does if it failed
        self._failing.pop(attempt.target, None)
        self._failing[attempt.target] = known  # the youngest now
        if len(self._failing) > _KNOWN:
            del self._failing[next(iter(self._failing))]
        known.failures += 1
        wait = 0.0
        if error.status in _BUSY and error.retry_after is not None:
            wait = min(error.retry_after, self._bounds.longest)
        if known.failures >= self._bounds.failures or known.probe is attempt:
            wait = max(wait, self._bounds.cool_down)
        if known.probe is attempt:
            known.probe = None
        now = self._clock()
        if wait > 0 and (known.until is None or now + wait > known.until):
            known.until, known.cooling_since = now + wait, now
