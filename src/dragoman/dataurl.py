"""``data:`` URLs (RFC 2397), in which pictures, sounds and files stand inside of a request or an answer."""

from __future__ import annotations

import re
from base64 import b64encode
from urllib.parse import unquote_to_bytes

_DATA_URL = re.compile(r"data:([^;,\s]*)(?:;(?!base64,)[^;,]*)*(;base64)?,(.*)", re.IGNORECASE | re.DOTALL)
_SIGNATURES = {"/9j/": "image/jpeg", "iVBOR": "image/png", "R0lGOD": "image/gif", "UklGR": "image/webp"}
"""How the base64 of a picture begins."""


def read_data_url(url: str) -> tuple[str | None, str] | None:
    """Media type (in lower case; that of the picture itself if none is told) and base64 data; ``None`` for another URL."""
    found = _DATA_URL.fullmatch(url)
    if found is None:
        return None
    kind, packed, data = found.groups()
    if not packed:
        data = b64encode(unquote_to_bytes(data)).decode()
    elif "%" in data:
        data = unquote_to_bytes(data).decode("latin-1")
    return kind.lower() or picture_type(data), data


def picture_type(data: str) -> str | None:
    """The media type that the beginning of this base64 shows, if it is that of a common picture."""
    return next((kind for start, kind in _SIGNATURES.items() if data.startswith(start)), None)


def data_url(media_type: str | None, data: str) -> str:
    """The URL that holds this base64 data."""
    return f"data:{media_type or 'application/octet-stream'};base64,{data}"
