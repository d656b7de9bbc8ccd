"""The legal orders of a canonical stream, as one table.

              IDLE ──ResponseStart──▶ OPEN ──UsageUpdate──▶ COUNTED ──ResponseEnd──▶ ENDED
                                       │  ▲                    │
                              *Start   ▼  │ *End               │
                              TEXT, REASONING, CALL            │
                (any but ENDED) ──ResponseError──▶ ENDED ◀─────┘

``ServerTool``, ``ToolRun`` and ``Media`` are whole blocks in one event. A cut answer may leave its block open:
``ResponseError`` is legal everywhere, so that half a call never looks finished.
"""

from __future__ import annotations

from enum import Enum

from dragoman.canonical import events as e
from dragoman.exceptions import LocalProtocolError


class StreamState(Enum):
    """Where a stream stands; the three in the middle have a block open."""

    IDLE = "idle"
    OPEN = "open"
    TEXT = "text"
    REASONING = "reasoning"
    CALL = "call"
    COUNTED = "counted"
    ENDED = "ended"


_S = StreamState

TRANSITIONS: dict[tuple[StreamState, type], StreamState] = {
    (_S.IDLE, e.ResponseStart): _S.OPEN,
    (_S.OPEN, e.TextStart): _S.TEXT,
    (_S.TEXT, e.TextDelta): _S.TEXT,
    (_S.TEXT, e.CitationAdded): _S.TEXT,
    (_S.TEXT, e.TextEnd): _S.OPEN,
    (_S.OPEN, e.ReasoningStart): _S.REASONING,
    (_S.REASONING, e.ReasoningDelta): _S.REASONING,
    (_S.REASONING, e.ReasoningEnd): _S.OPEN,
    (_S.OPEN, e.ToolCallStart): _S.CALL,
    (_S.CALL, e.ToolCallDelta): _S.CALL,
    (_S.CALL, e.ToolCallEnd): _S.OPEN,
    (_S.OPEN, e.ServerTool): _S.OPEN,
    (_S.OPEN, e.ToolRun): _S.OPEN,
    (_S.OPEN, e.Media): _S.OPEN,
    (_S.OPEN, e.UsageUpdate): _S.COUNTED,
    (_S.OPEN, e.ResponseEnd): _S.ENDED,
    (_S.COUNTED, e.ResponseEnd): _S.ENDED,
    **{(state, e.ResponseError): _S.ENDED for state in _S if state is not _S.ENDED},
}

_FOLLOWING = {
    state: {kind: after for (before, kind), after in TRANSITIONS.items() if before is state} for state in StreamState
}
_OF_ALL_CHOICES = (e.ResponseStart, e.UsageUpdate, e.ResponseError)


class LegalOrder:
    """Follows a stream and refuses what the table does not have.

    Several choices share start, usage and failure; each has its own blocks and its own end
    (``InChoice``). Raises ``LocalProtocolError``.
    """

    __slots__ = ("choices", "legal", "state")

    def __init__(self) -> None:
        self.state = StreamState.IDLE
        self.legal = _FOLLOWING[self.state]
        """The kinds of events that are legal now, and the states after them."""
        self.choices: dict[int, StreamState] = {}

    def advance(self, event: e.Event) -> None:
        following = self.legal.get(type(event))
        if following is self.state:
            return
        if type(event) is e.InChoice:
            self._advance_choice(event)
            return
        if following is None:
            raise LocalProtocolError(f"{type(event).__name__} is illegal in state {self.state.value}")
        self.state, self.legal = following, _FOLLOWING[following]

    def _advance_choice(self, event: e.InChoice) -> None:
        inner = type(event.event)
        if inner in _OF_ALL_CHOICES or self.state in (StreamState.IDLE, StreamState.ENDED):
            raise LocalProtocolError(f"{inner.__name__} of choice {event.index} is illegal in state {self.state.value}")
        state = self.choices.get(event.index, StreamState.OPEN)
        following = TRANSITIONS.get((state, inner))
        if following is None:
            raise LocalProtocolError(f"{inner.__name__} of choice {event.index} is illegal in state {state.value}")
        self.choices[event.index] = following
