"""Token counts: Google's ``usageMetadata`` and the canonical counts.

``candidatesTokenCount`` leaves the thoughts out, ``promptTokenCount`` holds what came from a cache,
and the results of server tools are counted apart (protocols/anthropic-google.md, 2.3). Canonical
``input`` is prompt + tool use, ``output`` is candidates + thoughts (design/streams.md, 9).
"""

from __future__ import annotations

from typing import Any

from dragoman.canonical.events import Usage
from dragoman.dialects.gemini.wire import COUNTS, JSON, as_count


def parse_usage(metadata: JSON) -> Usage:
    """The canonical counts of a (merged) ``usageMetadata``."""
    prompt, candidates, thoughts, tools = (as_count(metadata.get(name)) for name in COUNTS)
    total = as_count(metadata.get("totalTokenCount"))
    sent = None if prompt is None else prompt + (tools or 0)
    made: int | None = None
    if candidates is not None:
        made = candidates + (thoughts or 0)
        if thoughts and sent is not None and total == sent + candidates >= sent + thoughts:
            made = candidates  # a relay that counts the thoughts among the candidates: its total says so
    elif total is not None and sent is not None:
        made = max(0, total - sent)
    elif thoughts is not None:
        made = thoughts
    return Usage(input=sent, output=made, cached=as_count(metadata.get("cachedContentTokenCount")), reasoning=thoughts)


def render_usage(usage: Usage | None, native: JSON | None = None) -> JSON:
    """A complete ``usageMetadata``: its four parts, zeros for what is unknown, and their exact sum.

    ``native`` is Google's own object where the answer came from there: its details stay, and its
    count of tool use tells how the input splits. Readers keep the latest object as it is, so
    nothing may be left out.
    """
    usage = usage or Usage()
    metadata: JSON = dict(native or {})
    sent = usage.input or 0
    thoughts = usage.reasoning or 0
    made = thoughts if usage.output is None else usage.output
    tools = min(as_count(metadata.get("toolUsePromptTokenCount")) or 0, sent)
    metadata["promptTokenCount"] = sent - tools
    metadata["candidatesTokenCount"] = max(0, made - thoughts)
    metadata["thoughtsTokenCount"] = min(thoughts, made)
    metadata["toolUsePromptTokenCount"] = tools
    metadata["totalTokenCount"] = sent + made
    metadata.pop("cachedContentTokenCount", None)
    if usage.cached is not None:
        metadata["cachedContentTokenCount"] = min(usage.cached, sent - tools)
    return metadata


def merged(before: JSON, now: Any) -> JSON:
    """The counts so far with what a further object says; ``null`` says nothing."""
    if not isinstance(now, dict):
        return before
    if before.keys() <= now.keys() and None not in now.values():
        return now
    return {**before, **{name: value for name, value in now.items() if value is not None}}
