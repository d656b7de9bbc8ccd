"""Results of MCP tools as outcomes.

Text and pictures as they are; a resource as what it holds; a link, and what no model can read, as a
line of text that says what was there.
"""

from __future__ import annotations

import binascii
from base64 import b64decode

from mcp import types as m

from dragoman.canonical.request import Audio, Document, Image, ResultPart, Text
from dragoman.toolloop.loop import ToolOutcome
from dragoman.toolsets.results import folded

_TEXT_TYPES = ("application/json", "application/xml", "application/yaml", "image/svg+xml")


def outcome_of(result: m.CallToolResult) -> ToolOutcome:
    """What the model is told of this result."""
    parts = tuple(map(_part, result.content))
    return ToolOutcome(parts=folded(parts, result.structured_content), error=result.is_error)


def _part(block: m.ContentBlock) -> ResultPart:
    if isinstance(block, m.TextContent):
        return Text(text=block.text)
    if isinstance(block, m.ImageContent | m.AudioContent):
        return _media(block.data, block.mime_type, None)
    if isinstance(block, m.ResourceLink):
        about = f" ({block.description})" if block.description else ""
        return Text(text=f"[resource {block.title or block.name}: {block.uri}{about}]")
    resource = block.resource
    if isinstance(resource, m.TextResourceContents):
        return Text(text=resource.text)
    return _media(resource.blob, resource.mime_type, resource.uri)


def _media(data: str, media_type: str | None, uri: str | None) -> ResultPart:
    kind = (media_type or "").partition(";")[0].strip().lower()
    named = f"[{kind or 'data'}{f' {uri}' if uri else ''}"
    try:
        size = len(b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        return Text(text=f"{named} left out: not base64]")
    if kind.startswith("text/") or kind in _TEXT_TYPES:
        return Text(text=b64decode(data).decode("utf-8", "replace"))
    if kind.startswith("image/"):
        return Image(media_type=kind, data=data)
    if kind.startswith("audio/"):
        return Audio(media_type=kind, data=data)
    if kind == "application/pdf":
        return Document(media_type=kind, data=data, name=(uri or "").rpartition("/")[2] or None)
    return Text(text=f"{named} of {size} bytes left out: no model reads it]")
