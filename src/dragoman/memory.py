"""What clients forget between turns: the reasoning that came with a call, and its proofs.

Many APIs refuse a history in which a call lacks the proof of the reasoning that led to it, and many clients
do not send back what they do not know (design/requests.md, 5). So the reasoning of an answer with
calls is kept by the ids of these calls (``cache``), and put back where a client left it out.

Some servers number the calls of every conversation alike (``functions.read:0``). So a call is found by its id
and its arguments; by the id alone only while no other call had it, since clients may write arguments anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b

import msgspec

from dragoman import jsontext
from dragoman.cache import Cache, CacheLimits, LocalCache
from dragoman.canonical import events as e
from dragoman.canonical import request as q
from dragoman.canonical.aliases import original
from dragoman.canonical.opaque import Opaque


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """What belongs to one call: the reasoning before it in its answer, and its own signature.

    ``arguments`` is a digest of the call's own; ``ambiguous``: calls with others had the same id.
    """

    origin: str
    reasoning: tuple[q.Reasoning, ...] = ()
    signature: Opaque | None = None
    arguments: str = ""
    ambiguous: bool = False

    @property
    def size(self) -> int:
        """Bytes, about."""
        texts = [part.text for part in self.reasoning]
        proofs = [proof.data for part in self.reasoning for proof in part.opaque]
        return 200 + sum(map(len, [*texts, *proofs])) + (len(self.signature.data) if self.signature else 0)


Call = tuple[str, str]
"""The id of a call, and its arguments."""


class ReasoningMemory:
    """Reasoning by the client it was for (``scope``) and the id of a call. Times are Unix times in seconds."""

    def __init__(self, cache: Cache[Remembered] | None = None) -> None:
        self._cache: Cache[Remembered] = LocalCache(CacheLimits(), latest=True) if cache is None else cache

    def keep(self, scope: str, call_id: str, arguments: str, remembered: Remembered, now: float) -> None:
        """Keeps what belongs to a call with these arguments."""
        id, digest = original(call_id), _digest(arguments)
        remembered = msgspec.structs.replace(remembered, arguments=digest)
        alone = next(iter(self._cache.get(scope, (id,), now).get(id, ())), remembered)
        if alone.ambiguous or alone.arguments != digest:
            alone = Remembered(origin=remembered.origin, ambiguous=True)
        else:
            alone = remembered
        for key, value in ((_exact(id, digest), remembered), (id, alone)):
            self._cache.put(scope, (key,), value, value.size, now)

    def recall(self, scope: str, calls: Iterable[Call], now: float) -> dict[Call, Remembered]:
        """What is known of these calls."""
        ids = {call: original(call[0]) for call in calls}
        by_id = self._cache.get(scope, dict.fromkeys(ids.values()), now)
        known = {call: by_id[id][0] for call, id in ids.items() if id in by_id}
        exact = {call: _exact(ids[call], _digest(call[1])) for call, found in known.items() if found.ambiguous}
        told_apart = self._cache.get(scope, exact.values(), now) if exact else {}
        known |= {call: told_apart[key][0] for call, key in exact.items() if key in told_apart}
        return {call: found for call, found in known.items() if not found.ambiguous}


def _exact(id: str, digest: str) -> str:
    return f"{id}\n{digest}"


def _digest(arguments: str) -> str:
    """Of arguments, however their JSON is written."""
    try:
        plain = msgspec.json.encode(jsontext.parse(arguments or "{}"), order="sorted")
    except ValueError:
        plain = arguments.encode("utf-8", "surrogatepass")
    return blake2b(plain, digest_size=16).hexdigest()


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
        self._arguments: list[str] = []

    def add(self, events: Iterable[e.Event]) -> None:
        """More of the answer."""
        for event in events:
            match event:
                case e.TextDelta():  # nearly all of them
                    pass
                case e.ToolCallDelta(text):
                    self._arguments.append(text)
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
                    self._call, self._arguments = event, []
                case e.ToolCallEnd(signature=late) if self._call is not None:
                    self._keep(self._call, late or self._call.signature)

    def _keep(self, call: e.ToolCallStart, signature: Opaque | None) -> None:
        if self._reasoning or signature is not None:
            remembered = Remembered(origin=self._origin, reasoning=tuple(self._reasoning), signature=signature)
            self._memory.keep(self._scope, call.id, "".join(self._arguments), remembered, self._now)


def reminded(request: q.Request, memory: ReasoningMemory, scope: str, origin: str, now: float) -> q.Request:
    """The request with what its client forgot, as far as the upstream of this dialect made it."""
    calls = [
        (part.id, part.arguments)
        for message in request.messages
        for part in message.parts
        if isinstance(part, q.ToolCall)
    ]
    known = memory.recall(scope, calls, now) if calls else {}
    if not known:
        return request
    messages = tuple(_reminded(message, known, origin) for message in request.messages)
    return msgspec.structs.replace(request, messages=messages)


def _reminded(message: q.Message, known: Mapping[Call, Remembered], origin: str) -> q.Message:
    if message.role is not q.Role.ASSISTANT:
        return message
    parts: list[q.Part] = []
    forgotten: tuple[q.Reasoning, ...] = ()
    for part in message.parts:
        if isinstance(part, q.ToolCall):
            found = known.get((part.id, part.arguments))
            if found is not None and found.origin == origin:
                forgotten = forgotten or found.reasoning
                if part.signature is None and found.signature is not None:
                    part = msgspec.structs.replace(part, signature=found.signature)
        parts.append(part)
    if forgotten and not any(isinstance(part, q.Reasoning) for part in parts):
        parts[:0] = forgotten
    return q.Message(message.role, tuple(parts))
