"""Sources of the answer: Google's grounding and citation metadata, and canonical citations.

Google's offsets count bytes of UTF-8, canonical ones characters of the text block
(protocols/anthropic-google.md, 3). Both kinds of metadata speak of the answer as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from dragoman.canonical.events import Citation
from dragoman.dialects.gemini.wire import JSON, NAME, as_count, as_list, as_object, as_text

_SOURCES = ("web", "retrievedContext", "maps", "image")


class Passage(msgspec.Struct, frozen=True):
    """A citation, and the text of the block that it stands in, with what came before it (bytes)."""

    citation: Citation
    text: str
    before: int


def parse_citations(metadata: JSON, blocks: Sequence[str]) -> Iterator[Citation]:
    """The citations in a candidate's ``groundingMetadata`` and ``citationMetadata``.

    ``blocks`` are the texts of the text blocks so far; offsets are told for the last one only,
    since a citation belongs to the latest block.
    """
    place = _Place(blocks)
    grounding = as_object(metadata.get("groundingMetadata"))
    sources = [_source(chunk) for chunk in as_list(grounding.get("groundingChunks"))]
    cited: set[int] = set()
    for support in map(as_object, as_list(grounding.get("groundingSupports"))):
        segment = as_object(support.get("segment"))
        start, end = place.characters(segment)
        for index in map(as_count, as_list(support.get("groundingChunkIndices"))):
            if index is not None and index < len(sources) and (source := sources[index]) is not None:
                cited.add(index)
                quote = as_text(segment.get("text")) or None
                yield msgspec.structs.replace(source, quote=quote, start=start, end=end)
    for index, source in enumerate(sources):
        if source is not None and index not in cited:
            yield source
    attributions = as_object(metadata.get("citationMetadata"))
    for item in map(as_object, as_list(attributions.get("citations") or attributions.get("citationSources"))):
        start, end = place.characters(item)
        url, title = as_text(item.get("uri")) or None, as_text(item.get("title")) or None
        if url or title:
            yield Citation(url=url, title=title, start=start, end=end, origin=NAME)


def _source(chunk: Any) -> Citation | None:
    for kind in _SOURCES:
        if source := as_object(as_object(chunk).get(kind)):
            url = as_text(source.get("uri") or source.get("sourceUri")) or None
            title = as_text(source.get("title")) or None
            return Citation(url=url, title=title, origin=NAME) if url or title else None
    return None


class _Place:
    """Turns offsets in the bytes of the whole answer into characters of its last text block."""

    def __init__(self, blocks: Sequence[str]) -> None:
        self._last = blocks[-1].encode("utf-8", "replace") if blocks else b""
        self._before = sum(len(text.encode("utf-8", "replace")) for text in blocks[:-1])

    def characters(self, segment: JSON) -> tuple[int | None, int | None]:
        end = as_count(segment.get("endIndex"))
        start = as_count(segment.get("startIndex")) or 0
        if end is None or as_count(segment.get("partIndex")):
            return None, None
        start, end = start - self._before, end - self._before
        if not 0 <= start < end <= len(self._last):
            return None, None
        return len(self._last[:start].decode("utf-8", "ignore")), len(self._last[:end].decode("utf-8", "ignore"))


def render_grounding(passages: Iterable[Passage]) -> JSON | None:
    """``groundingMetadata`` for citations that another dialect made; ``None`` if there is nothing to say."""
    chunks: list[JSON] = []
    known: dict[tuple[str | None, str | None], int] = {}
    supports: list[JSON] = []
    for passage in passages:
        citation = passage.citation
        if not (citation.url or citation.title):
            continue
        key = (citation.url, citation.title)
        if key not in known:
            known[key] = len(chunks)
            chunks.append(_chunk(citation))
        if segment := _segment(passage):
            supports.append({"segment": segment, "groundingChunkIndices": [known[key]]})
    if not chunks:
        return None
    return {"groundingChunks": chunks, "groundingSupports": supports} if supports else {"groundingChunks": chunks}


def _chunk(citation: Citation) -> JSON:
    source = {"uri": citation.url, "title": citation.title}
    said = {name: value for name, value in source.items() if value}
    return {"web": said} if citation.url else {"retrievedContext": said}


def _segment(passage: Passage) -> JSON | None:
    start, end, text = passage.citation.start, passage.citation.end, passage.text
    if start is None or end is None or not 0 <= start < end <= len(text):
        return None
    first = passage.before + len(text[:start].encode("utf-8", "replace"))
    cited = text[start:end]
    segment: JSON = {"endIndex": first + len(cited.encode("utf-8", "replace")), "text": cited}
    return {"startIndex": first, **segment} if first else segment
