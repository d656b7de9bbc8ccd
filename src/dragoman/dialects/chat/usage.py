"""Token counts: OpenAI's words and those of other servers, inclusive on both sides (design/streams.md, 9)."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from dragoman.canonical.events import Usage

_MOST = 1 << 53
"""No count of tokens, and no number that every client reads."""

_DIGITS = re.compile("[0-9]{1,16}")

_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
_DETAILS = ("prompt_tokens_details", "completion_tokens_details")
_OTHER_DETAILS = ("input_tokens_details", "output_tokens_details")


def _count(value: Any) -> int | None:
    """A whole number that is not negative, whatever it is written as."""
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MOST:
        return None
    return int(value) if isinstance(value, int) or value.is_integer() else None


def _first(*values: Any) -> int | None:
    return next((count for value in values if (count := _count(value)) is not None), None)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def parse_usage(value: Any) -> Usage | None:
    """The counts of a ``usage`` object; ``None`` if it tells nothing.

    DeepSeek counts cache hits beside the details (case ``usage-deepseek-cache-fields``). xAI leaves
    the reasoning out of ``completion_tokens`` but counts it in the total (protocols/openai.md, part 3).
    """
    if not isinstance(value, dict) or not value:
        return None
    prompt, completion = (
        _object(value.get(name) or value.get(other)) for name, other in zip(_DETAILS, _OTHER_DETAILS, strict=True)
    )
    cached = _first(prompt.get("cached_tokens"), value.get("prompt_cache_hit_tokens"), value.get("cached_tokens"))
    given = _first(value.get("prompt_tokens"), value.get("input_tokens"))
    made = _first(value.get("completion_tokens"), value.get("output_tokens"))
    thought = _first(completion.get("reasoning_tokens"), value.get("reasoning_tokens"))
    if thought and made is not None and _count(value.get("total_tokens")) == (given or 0) + made + thought:
        made += thought
    usage = Usage(
        input=given,
        output=made,
        cached=cached,
        cache_write=_first(prompt.get("cache_write_tokens"), prompt.get("cache_creation_tokens")),
        reasoning=thought,
    )
    return None if usage == Usage() else usage


def without_zeros(usage: Usage, before: Usage) -> Usage:
    """The counts without zeros where more was counted before: totals never fall, such a zero says nothing."""
    fields = usage.__struct_fields__
    empty = {name: None for name in fields if getattr(usage, name) == 0 and getattr(before, name)}
    return msgspec.structs.replace(usage, **empty) if empty else usage


def render_usage(usage: Usage | None, native: dict[str, Any] | None = None) -> dict[str, Any]:
    """The ``usage`` object; unknown counts are zeros. ``native`` is what a chat upstream said beyond them."""
    usage = usage or Usage()
    given, made = usage.input or 0, usage.output or 0
    body: dict[str, Any] = {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}
    known: dict[str, dict[str, int | None]] = {
        "prompt_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": usage.cache_write},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }
    native = native or {}
    for name, counts in known.items():
        details = {key: count for key, held in _object(native.get(name)).items() if (count := _count(held)) is not None}
        details |= {key: count for key, count in counts.items() if count is not None}
        if details:
            body[name] = details
    return body | {key: held for key, held in native.items() if key not in (*_COUNTS, *_DETAILS) and held is not None}
