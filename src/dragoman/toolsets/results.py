"""Outcomes put into shape: structured content folded into text, and what is too large cut, visibly."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman import jsontext
from dragoman.canonical.request import Document, ResultPart, Text
from dragoman.toolloop.loop import ToolOutcome


class ResultLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of one result. ``text``: of all its text; ``media``: of all else, as base64."""

    text: int = 256 << 10
    media: int = 5 << 20


def fitted(outcome: ToolOutcome, limits: ResultLimits) -> ToolOutcome:
    """The outcome within the limits: text cut with a mark, larger media replaced by a note."""
    whole = sum(map(_text_bytes, outcome.parts))
    if whole <= limits.text and sum(map(_media_bytes, outcome.parts)) <= limits.media:
        return outcome
    text_left, media_left, cut = limits.text, limits.media, False
    kept: list[ResultPart] = []
    for part in outcome.parts:
        if not isinstance(part, Text):
            size = _media_bytes(part)
            fits = size <= media_left
            media_left -= size if fits else 0
            kept.append(part if fits else Text(text=f"[{_kind(part)} of {size} bytes left out: too large]"))
        elif (size := _text_bytes(part)) <= text_left:
            text_left -= size
            kept.append(part)
        elif not cut:
            cut = True
            head = part.text.encode("utf-8", "replace")[:text_left].decode("utf-8", "ignore")
            kept.append(Text(text=f"{head}\n[cut: only {limits.text} of {whole} bytes are shown]"))
            text_left = 0
    return msgspec.structs.replace(outcome, parts=tuple(kept))


def folded(parts: tuple[ResultPart, ...], structured: Any) -> tuple[ResultPart, ...]:
    """The parts with structured content as JSON text behind them, unless their text says it already."""
    if structured is None or _says(parts, structured):
        return parts
    return (*parts, Text(text=jsontext.render(structured).decode()))


def _says(parts: tuple[ResultPart, ...], structured: Any) -> bool:
    texts = [part.text for part in parts if isinstance(part, Text)]
    values = [_value(text) for text in texts]
    if structured in values:
        return True
    # Servers wrap what is no object, and give a list item by item (modelcontextprotocol/python-sdk).
    if isinstance(structured, dict) and structured.keys() == {"result"}:
        inner = structured["result"]
        return inner in values or inner in texts or (bool(texts) and inner in (values, texts))
    return False


def _value(text: str) -> Any:
    try:
        return jsontext.parse(text)
    except ValueError:
        return ...  # equals no JSON value


def _text_bytes(part: ResultPart) -> int:
    return len(part.text.encode("utf-8", "replace")) if isinstance(part, Text) else 0


def _media_bytes(part: ResultPart) -> int:
    if isinstance(part, Text):
        return 0
    return len(part.data or "") + (len(part.text or "") if isinstance(part, Document) else 0)


def _kind(part: ResultPart) -> str:
    kind = type(part).__name__.lower()
    media_type = getattr(part, "media_type", None)
    return f"{kind} ({media_type})" if media_type else kind
