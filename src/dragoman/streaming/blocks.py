"""What stands in an answer, one after another: each block waits until those before it have ended."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal

from dragoman.canonical import events as e
from dragoman.canonical.opaque import Opaque
from dragoman.streaming.text import SurrogateJoiner

PassageKind = Literal["text", "refusal", "reasoning"]


class Block:
    """A block: its events wait in ``pending`` until it is the first of the queue (``streaming.sequence``)."""

    __slots__ = ("closed", "pending")

    def __init__(self) -> None:
        self.pending: list[e.Event] = []
        self.closed = False
        """Nothing more comes of it; its end may still be pending."""


class Passage(Block):
    """A block of text or reasoning. ``key`` is the upstream's, ``None`` if it tells no blocks apart."""

    __slots__ = ("join", "key", "kind", "proofs")

    def __init__(self, kind: PassageKind, key: Hashable) -> None:
        super().__init__()
        self.kind = kind
        self.key = key
        self.join = SurrogateJoiner()
        self.proofs: list[Opaque] = []

    def ending(self) -> list[e.Event]:
        """The events that end it: half a character that never got its other half, then the proofs."""
        rest = self.join.finish()
        if self.kind == "reasoning":
            end: e.Event = e.ReasoningEnd(tuple(self.proofs))
            return [e.ReasoningDelta(rest), end] if rest else [end]
        end = e.TextEnd(self.proofs[-1] if self.proofs else None)
        return [e.TextDelta(rest), end] if rest else [end]
