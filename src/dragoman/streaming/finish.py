"""How did the answer end? Every sign is recorded, none is obeyed before the end (design/streams.md, 6).

Strength: error > interrupted > content_filter > length > paused > tool_calls > stop. A reason is as true as the
content: with a client call ``stop`` becomes ``tool_calls``, without one ``tool_calls`` becomes ``stop``, and a
call whose arguments stop midway makes either a ``length``. ``length`` and ``content_filter`` are never overridden.
"""

from __future__ import annotations

from typing import Any

from dragoman.canonical.events import FinishReason, ResponseEnd

_STRENGTH = (
    FinishReason.STOP,
    FinishReason.TOOL_CALLS,
    FinishReason.PAUSED,
    FinishReason.LENGTH,
    FinishReason.CONTENT_FILTER,
)


class FinishRecord:
    """The reasons that the upstream named."""

    __slots__ = ("_native", "_raw", "_stop_sequence", "reason")

    def __init__(self) -> None:
        self.reason: FinishReason | None = None
        self._raw: str | None = None
        self._stop_sequence: str | None = None
        self._native: dict[str, Any] | None = None

    def record(
        self, reason: FinishReason, raw: str | None, stop_sequence: str | None, native: dict[str, Any] | None
    ) -> None:
        """One more reason; the stronger one stays, of equals the first."""
        if self.reason is None or _STRENGTH.index(reason) > _STRENGTH.index(self.reason):
            self.reason, self._raw, self._stop_sequence = reason, raw, stop_sequence
        if native:
            self._native = {**(self._native or {}), **native}

    @property
    def normal(self) -> bool:
        """Whether the model ended by itself: then a call without arguments has none."""
        return self.reason in (None, FinishReason.STOP, FinishReason.TOOL_CALLS)

    def end(self, *, calls: bool, incomplete: bool, origin: str) -> ResponseEnd:
        """The one end: ``calls`` tells whether a client call went out, ``incomplete`` whether one is half."""
        reason = self.reason or FinishReason.STOP
        if reason in (FinishReason.STOP, FinishReason.TOOL_CALLS):
            reason = FinishReason.TOOL_CALLS if calls else FinishReason.STOP
            if incomplete:
                reason = FinishReason.LENGTH
        true = reason is self.reason
        return ResponseEnd(
            finish=reason,
            raw=self._raw if true else None,
            origin=origin,
            stop_sequence=self._stop_sequence if true else None,
            native=self._native,
        )
