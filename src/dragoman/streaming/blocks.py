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
    """A block of text or reasoning. ``key`` is the upstream's, ``None`` if it tells no blocks apart.

    ``join`` is that of all passages of the kind: the other half of a character may come in the next one.
    """

    __slots__ = ("join", "key", "kind", "proofs")

    def __init__(self, kind: PassageKind, key: Hashable, join: SurrogateJoiner) -> None:
        super().__init__()
        self.kind = kind
        self.key = key
        self.join = join
        self.proofs: list[Opaque] = []

    def delta(self, text: str) -> e.Event:
        """More of it."""
        return e.ReasoningDelta(text) if self.kind == "reasoning" else e.TextDelta(text)

    def ending(self) -> e.Event:
        """What ends it, with its proofs."""
        if self.kind == "reasoning":
            return e.ReasoningEnd(tuple(self.proofs))
        return e.TextEnd(self.proofs[-1] if self.proofs else None)
