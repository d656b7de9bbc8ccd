"""A whole answer: the same blocks as the stream, each in one piece.

``streaming.accumulate`` makes it of the events of a stream, so that streamed equals whole.
"""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.canonical.events import Citation, FinishReason, Media, ServerTool, ToolKind, ToolRun, Usage
from dragoman.canonical.opaque import Opaque


class TextBlock(msgspec.Struct, frozen=True, kw_only=True):
    """Text with its sources; ``refusal`` as in ``TextStart``."""

    text: str
    refusal: bool = False
    citations: tuple[Citation, ...] = ()
    signature: Opaque | None = None
    native: tuple[dict[str, Any], ...] = ()
    """What the deltas carried beside their text (logprobs), in order."""
    item_id: str | None = None
    """As in ``TextStart``."""


class ReasoningBlock(msgspec.Struct, frozen=True, kw_only=True):
    """``parts``: where in the text (characters) the further parts of the origin's item begin."""

    text: str
    summary: bool = False
    opaque: tuple[Opaque, ...] = ()
    item_id: str | None = None
    parts: tuple[int, ...] = ()


class ToolCallBlock(msgspec.Struct, frozen=True, kw_only=True):
    """``arguments`` is the text as it was streamed; ``sound`` as in ``ToolCallDelta``, over all of it."""

    id: str
    name: str
    arguments: str
    kind: ToolKind = "function"
    complete: bool = True
    sound: bool = True
    signature: Opaque | None = None
    namespace: str | None = None
    native: dict[str, Any] | None = None


Block = TextBlock | ReasoningBlock | ToolCallBlock | ServerTool | ToolRun | Media


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """One of the answers; ``raw`` and ``origin`` as in ``ResponseEnd``."""

    blocks: tuple[Block, ...]
    finish: FinishReason
    raw: str | None = None
    origin: str = ""
    stop_sequence: str | None = None
    native: dict[str, Any] | None = None


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that ended as its upstream said; a failed one is an ``Error`` instead."""

    id: str
    model: str
    created: int | None
    choices: tuple[Choice, ...]
    usage: Usage | None = None
    origin: str = ""
    native: dict[str, Any] | None = None
    usage_native: dict[str, Any] | None = None
