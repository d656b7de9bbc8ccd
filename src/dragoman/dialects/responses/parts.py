"""Content parts: text, images, files and sounds inside of messages and tool results, both ways."""

from __future__ import annotations

from typing import Any

from dragoman.canonical.request import (
    Audio,
    Document,
    Image,
    Loss,
    Native,
    Part,
    Refusal,
    Text,
)
from dragoman.dataurl import data_url, read_data_url
from dragoman.dialects.openai_shapes import ORIGINS, read_cache
from dragoman.dialects.responses.errors import refused
from dragoman.dialects.responses.wire import JSON, NAME, object_of, text_of

_SOUNDS = {"wav": "audio/wav", "mp3": "audio/mpeg"}
_SUFFIXES = {
    "application/pdf": ".pdf",
    "application/json": ".json",
    "text/plain": ".txt",
    "text/csv": ".csv",
    "text/html": ".html",
    "text/markdown": ".md",
}
"""A file is known by its name there: the end of one that has none."""
_FORMATS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def parse_content(raw: Any, path: str) -> tuple[Part, ...]:
    """The content of a message or of a tool's output: a string, or a list of parts. Raises ``InvalidRequest``."""
    if raw is None:
        return ()
    if isinstance(raw, str):
        return (Text(text=raw),)
    if isinstance(raw, dict):
        raw = [raw]
    if not isinstance(raw, list):
        raise refused("expected a string or a list of parts", path)
    return tuple(_part(part, f"{path}[{number}]") for number, part in enumerate(raw))


def _part(raw: Any, path: str) -> Part:
    if isinstance(raw, str):
        return Text(text=raw)
    if not isinstance(raw, dict):
        raise refused("expected an object", path)
    match raw.get("type"):
        case "input_text" | "output_text" | "text" | "summary_text" | "reasoning_text":
            return Text(text=_text(raw, "text", path), cache=read_cache(raw))
        case "refusal":
            return Refusal(text=_text(raw, "refusal", path))
        case "input_image" | "image_url":
            return _image(raw, path)
        case "input_file" | "file":
            return _document(raw, path)
        case "input_audio":
            sound = object_of(raw.get("input_audio"))
            form = text_of(sound.get("format")) or "wav"
            return Audio(
                media_type=_SOUNDS.get(form, f"audio/{form}"), data=_text(sound, "data", f"{path}.input_audio")
            )
        case str():
            return Native(origin=NAME, value=raw)
        case _:
            raise refused("expected a type", f"{path}.type")


def _text(raw: JSON, member: str, path: str) -> str:
    value = raw.get(member)
    if not isinstance(value, str):
        raise refused("expected a string", f"{path}.{member}")
    return value


def _image(raw: JSON, path: str) -> Image:
    where, cache = raw.get("image_url"), read_cache(raw)
    detail = text_of(raw.get("detail"))
    if isinstance(where, dict):  # the chat dialect's form
        detail = detail or text_of(where.get("detail"))
        where = where.get("url")
    if isinstance(where, str) and where:
        if found := read_data_url(where):
            return Image(media_type=found[0], data=found[1], detail=detail, cache=cache)
        return Image(url=where, detail=detail, cache=cache)
    file_id = text_of(raw.get("file_id"))
    if file_id is None:
        raise refused("expected image_url or file_id", f"{path}.image_url")
    return Image(file_id=file_id, origin=NAME, detail=detail, cache=cache)


def _document(raw: JSON, path: str) -> Document:
    raw = {**raw, **object_of(raw.get("file"))}
    name, cache = text_of(raw.get("filename")), read_cache(raw)
    if data := text_of(raw.get("file_data")):
        media_type, data = read_data_url(data) or (None, data)
        return Document(media_type=media_type or _guess(name), name=name, data=data, cache=cache)
    if url := text_of(raw.get("file_url")):
        return Document(media_type=_guess(name), name=name, url=url, cache=cache)
    file_id = text_of(raw.get("file_id"))
    if file_id is None:
        raise refused("expected file_data, file_url or file_id", path)
    return Document(name=name, file_id=file_id, origin=NAME, cache=cache)


def _guess(name: str | None) -> str | None:
    return next((kind for kind, suffix in _SUFFIXES.items() if name and name.lower().endswith(suffix)), None)


# ---- canonical to wire


def render_part(part: Part, path: str, losses: list[Loss]) -> JSON | None:
    """One part of a user's or a tool's content; ``None`` and a loss for one that has no form here.

    Raises ``InvalidRequest`` for a file that only another vendor's store holds.
    """
    match part:
        case Text(text=text):
            return {"type": "input_text", "text": text}
        case Image():
            return _render_image(part, path)
        case Document():
            return _render_document(part, path)
        case Audio(media_type=media_type, data=data) if media_type in _FORMATS:
            return {"type": "input_audio", "input_audio": {"data": data, "format": _FORMATS[media_type]}}
    losses.append(Loss(path, f"{type(part).__name__.lower()} has no form in the responses dialect"))
    return None


def _render_image(part: Image, path: str) -> JSON:
    out: JSON = {"type": "input_image", "detail": part.detail or "auto"}
    if part.file_id is not None:
        return {**out, "file_id": _own_file(part.file_id, part.origin, path)}
    if part.data is not None:
        return {**out, "image_url": data_url(part.media_type or "image/png", part.data)}
    return {**out, "image_url": part.url}


def _render_document(part: Document, path: str) -> JSON:
    if part.text is not None:
        return {"type": "input_text", "text": f"{part.name}:\n{part.text}" if part.name else part.text}
    named: JSON = {"filename": part.name} if part.name else {}
    if part.file_id is not None:
        return {"type": "input_file", "file_id": _own_file(part.file_id, part.origin, path)}
    if part.url is not None:
        return {"type": "input_file", "file_url": part.url}
    media_type = part.media_type or "application/pdf"
    named.setdefault("filename", "document" + _SUFFIXES.get(media_type, ""))
    return {"type": "input_file", **named, "file_data": data_url(media_type, part.data or "")}


def _own_file(file_id: str, origin: str | None, path: str) -> str:
    if origin not in ORIGINS:
        raise refused(f"the file {file_id} is held by another provider; send its contents", path)
    return file_id
