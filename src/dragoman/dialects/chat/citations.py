"""Sources of the text: ``url_citation`` annotations, and the lists that search engines add."""

from __future__ import annotations

from typing import Any

from dragoman.canonical.events import Citation
from dragoman.dialects.chat.wire import NAME


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _place(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def read_annotation(annotation: Any) -> Citation | None:
    """The source that an annotation names; other sorts than ``url_citation`` are for chat clients only."""
    if not isinstance(annotation, dict):
        return None
    inner = annotation.get("url_citation")
    body = inner if isinstance(inner, dict) else annotation
    return Citation(
        url=_text(body.get("url")),
        title=_text(body.get("title")),
        quote=_text(body.get("content")),
        start=_place(body.get("start_index")),
        end=_place(body.get("end_index")),
        origin=NAME,
        native=annotation,
    )


def read_sources(value: dict[str, Any]) -> list[Citation]:
    """Perplexity's and xAI's lists beside the choices; a search result adds its title to the bare URL."""
    found: dict[str, Citation] = {}
    for name in ("search_results", "citations"):
        entries = value.get(name)
        for entry in entries if isinstance(entries, list) else ():
            members = entry if isinstance(entry, dict) else {"url": entry}
            url = _text(members.get("url"))
            if url and url not in found:
                found[url] = Citation(url=url, title=_text(members.get("title")), quote=_text(members.get("snippet")))
    return list(found.values())


def render_annotation(citation: Citation, offset: int) -> dict[str, Any] | None:
    """The annotation for a client, its places counted from ``offset`` on; ``None`` if there is no URL to name.

    Clients demand all four members (``@ai-sdk/openai`` rejects a chunk without a title or a place):
    a source of no particular place has the empty range at the start.
    """
    if citation.origin == NAME and citation.native is not None:
        return citation.native
    if not citation.url:
        return None
    start = (citation.start or 0) + offset
    return {
        "type": "url_citation",
        "url_citation": {
            "url": citation.url,
            "title": citation.title or citation.url,
            "start_index": start,
            "end_index": max(start, (citation.end or 0) + offset),
        },
    }
