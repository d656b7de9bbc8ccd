"""One upstream answer, assembled: what a decoder tells becomes the canonical stream.

Decoders know a wire's words; this object knows the rules (design/streams.md, 2 to 6 and 8 to 9).
A decoder calls the methods below in the order of the wire, as often as it likes, with whatever
the upstream said; events come out of ``take``. Nothing comes out before something real was said
(text, reasoning, a named call, a finish), so an early failure is a lone ``ResponseError``.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import msgspec

from dragoman.canonical import events as e
from dragoman.canonical.errors import Error
from dragoman.canonical.opaque import Opaque
from dragoman.streaming.ids import Ids
from dragoman.streaming.toolcalls import CallFragment

Key = Hashable | None


class DecodeContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a decoder and its assembler have to know of the exchange.

    ``origin`` is the upstream's dialect. ``tools`` are the names that the client declared, ``None``
    if unknown. ``choices`` is how many answers it asked for. ``legal_id`` is what a call id must
    match in the client's dialect; others get a reversible alias.
    """

    origin: str
    ids: Ids
    tools: frozenset[str] | None = None
    choices: int = 1
    legal_id: re.Pattern[str] | None = None


class AnswerAssembler:
    """Collects one answer and emits its canonical events."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context

    # ---- the envelope

    def envelope(self, *, id: str | None = None, model: str | None = None, created: int | None = None,
                 native: dict[str, Any] | None = None) -> None:
        """Facts of the answer as a whole; the first non-empty value of each counts."""
        raise NotImplementedError

    def choice(self, index: int) -> None:
        """The following calls are about this choice. One answer was asked for: all indexes are one."""
        raise NotImplementedError

    # ---- blocks

    def text(self, text: str, key: Key = None, *, refusal: bool = False, native: dict[str, Any] | None = None) -> None:
        """More text. Different keys are different blocks; without a key, text joins while nothing stands between."""
        raise NotImplementedError

    def cite(self, citation: e.Citation, key: Key = None) -> None:
        """A source for the text block of this key (or the latest one)."""
        raise NotImplementedError

    def sign_text(self, proof: Opaque, key: Key = None) -> None:
        """A proof that belongs to the text block; it ends with it. Without a block, an empty one is made."""
        raise NotImplementedError

    def reasoning(self, text: str, key: Key = None, *, summary: bool = False) -> None:
        """More reasoning text."""
        raise NotImplementedError

    def prove(self, proof: Opaque, key: Key = None) -> None:
        """A signature, ciphertext or redacted data of the reasoning block of this key (or the open one, else a new one)."""
        raise NotImplementedError

    def end_block(self, key: Key) -> None:
        """The text or reasoning block of this key is over; unknown keys are ignored."""
        raise NotImplementedError

    def server_tool(self, *items: dict[str, Any]) -> None:
        """Blocks of a tool that the upstream ran, whole, in its own words."""
        raise NotImplementedError

    def media(self, media: e.Media) -> None:
        """An image or a sound that the model made."""
        raise NotImplementedError

    # ---- client tool calls

    def call(self, fragment: CallFragment) -> None:
        """A piece of a client tool call: header, continuation, or both."""
        raise NotImplementedError

    def end_call(self, fragment: CallFragment) -> None:
        """The upstream says that the call of these keys is over; ``arguments`` is a snapshot of all of them.

        Deltas win over the snapshot, which supplies what they did not bring. A call that is not
        known yet is opened, so a snapshot alone is a call.
        """
        raise NotImplementedError

    def whole_call(self, fragment: CallFragment) -> None:
        """A call of its own in one piece, whatever else looks like it (gemini)."""
        raise NotImplementedError

    # ---- counts and ends

    def usage(self, usage: e.Usage, native: dict[str, Any] | None = None) -> None:
        """Totals so far; known counts replace earlier ones."""
        raise NotImplementedError

    def finish(self, reason: e.FinishReason, raw: str | None = None, *, stop_sequence: str | None = None,
               native: dict[str, Any] | None = None) -> None:
        """The upstream named a reason for the end. Recorded, not obeyed: more may follow, the strongest counts."""
        raise NotImplementedError

    def interrupt(self, message: str) -> None:
        """The upstream says that it broke off (a known interruption word): the answer is cut."""
        raise NotImplementedError

    def terminate(self) -> None:
        """A proven end without a reason: ``[DONE]``, ``message_stop``, the end of a whole JSON body."""
        raise NotImplementedError

    def fail(self, error: Error) -> None:
        """The upstream reports a failure. After a real finish it no longer counts."""
        raise NotImplementedError

    def close(self) -> None:
        """The upstream's bytes are over: one end goes out."""
        raise NotImplementedError

    # ---- out

    def take(self) -> list[e.Event]:
        """The events since the last call."""
        raise NotImplementedError

    def quirk(self, slug: str) -> None:
        """Counts a repaired oddity (``streaming.quirks``)."""
        raise NotImplementedError

    def lose(self, what: str) -> None:
        """Notes content that has no form in the canonical stream."""
        raise NotImplementedError
