"""What clients forget between turns: the reasoning that came with a call, and its proofs.

Many APIs refuse a history in which a call lacks the proof of the reasoning that led to it, and many clients
do not send back what they do not know (design/requests.md, 5). So the reasoning of an answer with
calls is kept by the ids of these calls, and put back where a client left it out. Bounded by
number, size and age; what is gone is missing as if it had never been kept.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from dragoman.canonical import events as e
from dragoman.canonical import request as q
from dragoman.canonical.aliases import original
from dragoman.canonical.opaque import Opaque


class MemoryLimits(msgspec.Struct, frozen=True, kw_only=True):
    """``entries``: calls; ``bytes``: of all that is kept; ``age``: seconds."""

    entries: int = 20_000
    bytes: int = 64 << 20
    age: float = 24 * 3600


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """What belongs to one call: the reasoning before it in its answer, and its own signature."""

    origin: str
    reasoning: tuple[q.Reasoning, ...]
    signature: Opaque | None
    since: float

    @property
    def size(self) -> int:
        """Bytes, about."""
        texts = [part.text for part in self.reasoning]
        proofs = [proof.data for part in self.reasoning for proof in part.opaque]
        return 200 + sum(map(len, [*texts, *proofs])) + (len(self.signature.data) if self.signature else 0)


class ReasoningMemory:
    """Reasoning by the client it was for (``scope``) and the id of a call. Times are Unix times in seconds."""

    def __init__(self, limits: MemoryLimits | None = None) -> None:
        self._limits = limits or MemoryLimits()
        self._kept: dict[tuple[str, str], Remembered] = {}
        self._size = 0

    def keep(self, scope: str, call_id: str, remembered: Remembered) -> None:
        """Keeps it, and lets go of the oldest where a limit is passed."""
        key = (scope, original(call_id))
        self._forget(key)
        self._kept[key] = remembered
        self._size += remembered.size
        while self._kept and (len(self._kept) > self._limits.entries or self._size > self._limits.bytes):
            self._forget(next(iter(self._kept)))

    def recall(self, scope: str, call_id: str, now: float) -> Remembered | None:
        """What is known of a call, unless it is too old."""
        key = (scope, original(call_id))
        found = self._kept.get(key)
        if found is not None and now - found.since > self._limits.age:
            self._forget(key)
            return None
        return found

    def _forget(self, key: tuple[str, str]) -> None:
        gone = self._kept.pop(key, None)
        if gone is not None:
            self._size -= gone.size


class AnswerRecorder:
    """Follows the events of one answer, and keeps what belongs to its calls."""

    def __init__(self, memory: ReasoningMemory, scope: str, origin: str, now: float) -> None:
        self._memory = memory
        self._scope = scope
        self._origin = origin
        self._now = now
        self._reasoning: list[q.Reasoning] = []
        self._text: list[str] = []
        self._summary = False
        self._call: e.ToolCallStart | None = None

    def add(self, events: Iterable[e.Event]) -> None:
        """More of the answer."""
        for event in events:
            match event:
                case e.ResponseStart():
                    self._reasoning = []  # each upstream turn has its own
                case e.ReasoningDelta(text):
                    self._text.append(text)
                case e.ReasoningStart(summary):
                    self._text, self._summary = [], summary
                case e.ReasoningEnd(opaque):
                    part = q.Reasoning(text="".join(self._text), summary=self._summary, opaque=opaque)
                    self._reasoning.append(part)
                case e.ToolCallStart():
                    self._call = event
                case e.ToolCallEnd(signature=late) if self._call is not None:
                    self._keep(self._call, late or self._call.signature)

    def _keep(self, call: e.ToolCallStart, signature: Opaque | None) -> None:
        if self._reasoning or signature is not None:
            remembered = Remembered(
                origin=self._origin, reasoning=tuple(self._reasoning), signature=signature, since=self._now
            )
            self._memory.keep(self._scope, call.id, remembered)


def reminded(request: q.Request, memory: ReasoningMemory, scope: str, origin: str, now: float) -> q.Request:
    """The request with what its client forgot, as far as the upstream of this dialect made it."""
    messages = tuple(_reminded(message, memory, scope, origin, now) for message in request.messages)
    return msgspec.structs.replace(request, messages=messages)


def _reminded(message: q.Message, memory: ReasoningMemory, scope: str, origin: str, now: float) -> q.Message:
    if message.role is not q.Role.ASSISTANT:
        return message
    parts: list[q.Part] = []
    forgotten: tuple[q.Reasoning, ...] = ()
    for part in message.parts:
        if isinstance(part, q.ToolCall):
            found = memory.recall(scope, part.id, now)
            if found is not None and found.origin == origin:
                forgotten = forgotten or found.reasoning
                if part.signature is None and found.signature is not None:
                    part = msgspec.structs.replace(part, signature=found.signature)
        parts.append(part)
    if forgotten and not any(isinstance(part, q.Reasoning) for part in parts):
        parts[:0] = forgotten
    return q.Message(message.role, tuple(parts))
