"""What is known of an exchange where an upstream's answer is read."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from dragoman.names import ToolIdentity
from dragoman.streaming.ids import Ids


class Notes:
    """What was odd in an answer, and what of it has no form, each with how often it was so."""

    def __init__(self) -> None:
        self.quirks: dict[str, int] = {}
        self.losses: dict[str, int] = {}
        self.count = 0
        """How many there are in all."""

    def quirk(self, slug: str) -> None:
        """Counts a repaired oddity (``streaming.quirks``)."""
        self.count += 1
        self.quirks[slug] = self.quirks.get(slug, 0) + 1

    def lose(self, what: str) -> None:
        """Counts content that has no form in the canonical stream."""
        self.count += 1
        self.losses[what] = self.losses.get(what, 0) + 1


class DecodeContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a decoder and its assembler have to know of the exchange.

    ``origin`` is the upstream's dialect. ``tools`` are the tools that the client declared, by the names that
    the upstream has for them, ``None`` if unknown. ``choices`` is how many answers it asked for.
    ``legal_id`` is what a call id must match in the client's dialect; others get a reversible alias.
    ``freeform_client``: the client takes custom calls of tools that it did not declare. ``open_calls``
    is how many calls may be open at the same time, ``longest_arguments`` the characters that one may have.
    """

    origin: str
    ids: Ids
    tools: Mapping[str, ToolIdentity] | None = None
    choices: int = 1
    legal_id: re.Pattern[str] | None = None
    freeform_client: bool = True
    open_calls: int = 128
    longest_arguments: int = 16 << 20
