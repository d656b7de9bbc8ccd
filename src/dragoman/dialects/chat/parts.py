"""Content parts of messages: text, images, sound, files."""

from __future__ import annotations

from typing import Any

from dragoman.canonical.errors import invalid_request
from dragoman.canonical.request import Audio, Document, Image, Native, Part, Refusal, Text
from dragoman.dataurl import data_url, read_data_url
from dragoman.dialects.chat.wire import NAME
from dragoman.dialects.openai_shapes import read_cache
from dragoman.exceptions import InvalidRequest

JSON = dict[str, Any]

_AUDIO = {"wav": "audio/wav", "mp3": "audio/mpeg"}
_AUDIO_FORMAT = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def refuse(message: str, param: str) -> InvalidRequest:
    """The exception for a field at fault, and what was expected; ``param`` is its path in the client's body."""
    return InvalidRequest(invalid_request(f"{param}: {message}", param))


def need_object(value: Any, where: str) -> JSON:
    if not isinstance(value, dict):
        raise refuse("expected an object", where)
    return value


def need_text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise refuse("expected a string", where)
    return value


# ------------------------------------------------------------------ reading


def parse_content(content: Any, where: str) -> list[Part]:
    """The parts of a message's ``content``; ``null`` and "" are none."""
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [Text(text=content)]
    if not isinstance(content, list):
        raise refuse("expected a string or a list of content parts", where)
    return [_parse_part(part, f"{where}[{number}]") for number, part in enumerate(content)]


def _parse_part(part: Any, where: str) -> Part:
    if isinstance(part, str):
        return Text(text=part)
    part = need_object(part, where)
    match part.get("type"):
        case "text" | "input_text" | "output_text":
            return Text(text=need_text(part.get("text"), f"{where}.text"), cache=read_cache(part))
        case "refusal":
            return Refusal(text=need_text(part.get("refusal"), f"{where}.refusal"))
        case "image_url":
            return _parse_image(part, where)
        case "input_audio":
            return _parse_audio(part, where)
        case "file":
            return _parse_file(part, where)
        case str():
            return Native(origin=NAME, value=part)
        case _:
            raise refuse("expected the kind of content part", f"{where}.type")


def _parse_image(part: JSON, where: str) -> Image:
    value = part.get("image_url")
    detail = value.get("detail") if isinstance(value, dict) else None
    url = value.get("url") if isinstance(value, dict) else value
    if not isinstance(url, str) or not url:
        raise refuse("expected a URL", f"{where}.image_url.url")
    detail = detail if isinstance(detail, str) else None
    if found := read_data_url(url):
        return Image(media_type=found[0], data=found[1], detail=detail, cache=read_cache(part))
    return Image(url=url, detail=detail, cache=read_cache(part))


def _parse_audio(part: JSON, where: str) -> Audio:
    value = need_object(part.get("input_audio"), f"{where}.input_audio")
    data = need_text(value.get("data"), f"{where}.input_audio.data")
    format = value.get("format")
    if found := read_data_url(data):
        return Audio(media_type=found[0] or "audio/wav", data=found[1])
    format = format.lower() if isinstance(format, str) and format else "wav"
    return Audio(media_type=_AUDIO.get(format, f"audio/{format}"), data=data)


def _parse_file(part: JSON, where: str) -> Document:
    value = need_object(part.get("file"), f"{where}.file")
    name = value.get("filename")
    name = name if isinstance(name, str) and name else None
    cache = read_cache(part)
    if isinstance(id := value.get("file_id"), str) and id:
        return Document(name=name, file_id=id, origin=NAME, cache=cache)
    data = need_text(value.get("file_data"), f"{where}.file.file_data")
    if found := read_data_url(data):
        return Document(media_type=found[0] or _guess(name), name=name, data=found[1], cache=cache)
    if data.startswith(("https://", "http://")):
        return Document(media_type=_guess(name), name=name, url=data, cache=cache)
    return Document(media_type=_guess(name), name=name, data=data, cache=cache)


def _guess(name: str | None) -> str:
    """OpenAI's files without a type are PDFs."""
    return "text/plain" if name and name.lower().endswith((".txt", ".md")) else "application/pdf"


# ------------------------------------------------------------------ writing


def render_part(part: Part, where: str) -> JSON | None:
    """A part of a user message; ``None`` for what has no form here. Raises for a foreign ``file_id``."""
    match part:
        case Text():
            return {"type": "text", "text": part.text} if part.text else None
        case Image():
            return _render_image(part, where)
        case Audio():
            format = _AUDIO_FORMAT.get(part.media_type, part.media_type.partition("/")[2])
            return {"type": "input_audio", "input_audio": {"data": part.data, "format": format}}
        case Document():
            return _render_document(part, where)
        case Native(origin="chat"):
            return part.value
    return None


def _render_image(part: Image, where: str) -> JSON:
    if part.file_id is not None:
        raise refuse("an image by file id cannot be read here; send its data or a URL", where)
    url = part.url if part.data is None else data_url(part.media_type or "image/png", part.data)
    image: JSON = {"url": url or ""}
    if part.detail:
        image["detail"] = part.detail
    return {"type": "image_url", "image_url": image}


def _render_document(part: Document, where: str) -> JSON | None:
    if part.text is not None:
        return {"type": "text", "text": f"{part.name}:\n{part.text}" if part.name else part.text}
    if part.data is not None:
        media_type = part.media_type or "application/pdf"
        name = part.name or ("document.pdf" if media_type == "application/pdf" else "document")
        return {"type": "file", "file": {"filename": name, "file_data": data_url(media_type, part.data)}}
    if part.file_id is not None:
        if part.origin != NAME:
            raise refuse("a file of another API's store cannot be read here; send its data", where)
        return {"type": "file", "file": {"file_id": part.file_id}}
    return None
