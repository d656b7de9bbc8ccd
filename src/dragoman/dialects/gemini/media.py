"""Images, documents and sounds of a request: Google's ``inlineData`` and ``fileData``."""

from __future__ import annotations

import re

from dragoman.canonical.errors import invalid_request
from dragoman.canonical.request import Audio, Document, Image
from dragoman.dataurl import read_data_url
from dragoman.dialects.gemini.wire import JSON, NAME, as_text
from dragoman.exceptions import InvalidRequest

_OWN_FILE = re.compile(r"gs://|files/|https://generativelanguage\.googleapis\.com/")

Attachment = Image | Document | Audio


def parse_media(part: JSON) -> Attachment | None:
    """The attachment in a part with ``inlineData`` or ``fileData``; ``None`` for what has no form (video)."""
    if isinstance(blob := part.get("inlineData"), dict):
        return _inline(blob)
    if isinstance(file := part.get("fileData"), dict):
        return _file(file)
    return None


def _inline(blob: JSON) -> Attachment | None:
    media_type, data = as_text(blob.get("mimeType")), standard_base64(as_text(blob.get("data")))
    family = media_type.partition("/")[0]
    if not data or family == "video":
        return None
    if family == "image":
        return Image(media_type=media_type, data=data)
    if family == "audio":
        return Audio(media_type=media_type, data=data)
    name = as_text(blob.get("displayName")) or None
    return Document(media_type=media_type or None, data=data, name=name)


def _file(file: JSON) -> Attachment | None:
    uri, media_type = as_text(file.get("fileUri")), as_text(file.get("mimeType"))
    family = media_type.partition("/")[0]
    if found := read_data_url(uri):
        return _inline({**file, "mimeType": media_type or found[0], "data": found[1]})
    if not uri or family in ("video", "audio") or (not media_type and _is_video(uri)):
        return None
    own = _OWN_FILE.match(uri) is not None
    url, file_id = (None, uri) if own else (uri, None)
    origin = NAME if own else None
    if family == "image":
        return Image(media_type=media_type, url=url, file_id=file_id, origin=origin)
    name = as_text(file.get("displayName")) or None
    return Document(media_type=media_type or None, url=url, file_id=file_id, origin=origin, name=name)


def _is_video(uri: str) -> bool:
    return "youtube.com/" in uri or "youtu.be/" in uri


def standard_base64(text: str) -> str:
    """The same bytes in the standard alphabet, padded: google-genai writes the URL-safe one."""
    plain = text.translate({ord("-"): "+", ord("_"): "/"}).rstrip("=")
    return plain + "=" * (-len(plain) % 4)


def render_media(part: Attachment, path: str) -> JSON:
    """The part for an upstream.

    Raises ``InvalidRequest`` for a file in another vendor's store: it cannot be reached from there.
    """
    if isinstance(part, Audio):
        return {"inlineData": {"mimeType": part.media_type, "data": part.data}}
    if isinstance(part, Document) and part.text is not None:
        return {"text": part.text}
    media_type = part.media_type or _DEFAULT_TYPES[type(part)]
    if part.data is not None:
        return {"inlineData": {"mimeType": media_type, "data": part.data}}
    if part.file_id is not None and part.origin != NAME:
        raise InvalidRequest(invalid_request("a file of another provider cannot be used with this model", path))
    uri = part.url or part.file_id or ""
    if found := read_data_url(uri):
        return {"inlineData": {"mimeType": found[0] or media_type, "data": found[1]}}
    return {"fileData": {"mimeType": part.media_type or _type_of_name(uri) or media_type, "fileUri": uri}}


def _type_of_name(uri: str) -> str | None:
    """The media type that the name in a URI tells. The library's own table would be read from the machine's files."""
    return _TYPES.get(uri.partition("?")[0].partition("#")[0].rpartition(".")[2].lower())


_DEFAULT_TYPES: dict[type, str] = {Image: "image/png", Document: "application/pdf"}
_TYPES = {
    **{name: f"image/{name}" for name in ("png", "jpeg", "webp", "heic", "heif", "gif", "bmp")},
    **{name: f"text/{name}" for name in ("html", "css", "csv", "xml", "rtf")},
    **{"jpg": "image/jpeg", "svg": "image/svg+xml", "txt": "text/plain", "md": "text/markdown", "htm": "text/html"},
    **{"pdf": "application/pdf", "json": "application/json"},
}
"""By the end of a file's name."""
