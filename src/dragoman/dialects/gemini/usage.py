"""Token counts: Google's ``usageMetadata`` and the canonical counts.

``candidatesTokenCount`` leaves the thoughts out, ``promptTokenCount`` holds what came from a cache,
and the results of server tools are counted apart (protocols/anthropic-google.md, 2.3). Canonical
``input`` is prompt + tool use, ``output`` is candidates + thoughts (design/streams.md, 9).
"""

from __future__ import annotations

from typing import Any

from dragoman import jsontext
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


class Counts:
    """The counts of a stream so far: each chunk may tell more of them, and ``null`` says nothing."""

    def __init__(self) -> None:
        self._known: JSON = {}
        self._latest = b""

    def add(self, counts: Any) -> None:
        """What a further chunk says; anything."""
        known = self.total()
        if isinstance(counts, dict):
            self._known = {**known, **{name: value for name, value in counts.items() if value is not None}}

    def replace(self, counts: bytes) -> None:
        """The JSON of counts that differ in their numbers alone from those told last: it is read only if none follow."""
        self._latest = counts

    def total(self) -> JSON:
        """What is known now."""
        if self._latest:
            latest, self._latest = jsontext.parse(self._latest), b""
            self.add(latest)
        return self._known
