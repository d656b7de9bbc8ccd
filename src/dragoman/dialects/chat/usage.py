"""Token counts: OpenAI's words and those of other servers, inclusive on both sides (design/streams.md, 9)."""

from __future__ import annotations

from typing import Any

from dragoman.canonical.events import Usage

_MOST = 1 << 53
"""No count of tokens, and no number that every client reads."""

_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
_DETAILS = ("prompt_tokens_details", "completion_tokens_details")


def _count(value: Any) -> int | None:
    """A whole number that is not negative, whatever it is written as."""
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
    prompt, completion = (_object(value.get(name)) for name in _DETAILS)
    cached = _first(prompt.get("cached_tokens"), value.get("prompt_cache_hit_tokens"), value.get("cached_tokens"))
    given, made = _count(value.get("prompt_tokens")), _count(value.get("completion_tokens"))
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
