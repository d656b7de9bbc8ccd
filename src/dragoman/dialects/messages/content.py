"""Blocks of a request to canonical parts, and back.

What this file does not know stays whole as ``Native``: it passes within the dialect, and is a loss
elsewhere. Source: protocols/anthropic-google.md, 1.3.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any, NoReturn

import msgspec

from dragoman import jsontext
from dragoman.canonical import request as q
from dragoman.canonical.aliases import original
from dragoman.canonical.errors import invalid_request
from dragoman.canonical.opaque import Opaque, unseal
from dragoman.dialects.messages import wire
from dragoman.dialects.messages.response import BOUND
from dragoman.exceptions import InvalidRequest

JSON = dict[str, Any]


def refuse(path: str, expected: str) -> NoReturn:
    """Raises ``InvalidRequest`` for the member at this path."""
    raise InvalidRequest(invalid_request(f"{path}: expected {expected}", path))


def text_at(value: JSON, name: str, path: str) -> str:
    """The member, which must be a text."""
    found = value.get(name)
    if not isinstance(found, str):
        refuse(f"{path}.{name}", "a string")
    return found


class ContentReader:
    """Reads the contents of one request; ``unknown`` collects the paths of what found no place.

    Call ids that are aliases become the upstream's again; results get the name of their call.
    """

    def __init__(self) -> None:
        self.unknown: list[str] = []
        self._names: dict[str, str] = {}

    def parts(self, content: Any, path: str) -> tuple[q.Part, ...]:
        """A message's content: a text, or a list of blocks."""
        if isinstance(content, str):
            return (q.Text(text=content),)
        if not isinstance(content, list):
            refuse(path, "a string or a list of content blocks")
        found: list[q.Part] = []
        for number, block in enumerate(content):
            place = f"{path}.{number}"
            if not isinstance(block, dict) or not isinstance(block.get("type"), str):
                refuse(place, "a content block: an object with a type")
            found.append(self._part(block, place))
        return _bound(found)

    def _part(self, block: JSON, path: str) -> q.Part:
        match block["type"]:
            case "text":
                if block.get("citations"):
                    self.unknown.append(f"{path}.citations")
                return q.Text(text=text_at(block, "text", path), cache=_cache(block))
            case "image":
                return self._image(block, path)
            case "document":
                return self._document(block, path)
            case "search_result":
                return self._search_result(block)
            case "thinking" | "redacted_thinking":
                return _reasoning(block, path)
            case "tool_use":
                return self._call(block, path)
            case "tool_result":
                return self._result(block, path)
            case _:
                return q.Native(origin=wire.NAME, value=block)

    def _image(self, block: JSON, path: str) -> q.Image | q.Native:
        source = _source(block, path)
        cache = _cache(block)
        match source.get("type"):
            case "base64":
                data = text_at(source, "data", f"{path}.source")
                return q.Image(media_type=_word(source.get("media_type")), data=data, cache=cache)
            case "url":
                return q.Image(url=text_at(source, "url", f"{path}.source"), cache=cache)
            case "file":
                return q.Image(file_id=text_at(source, "file_id", f"{path}.source"), origin=wire.NAME, cache=cache)
        return q.Native(origin=wire.NAME, value=block)

    def _document(self, block: JSON, path: str) -> q.Document | q.Native:
        source = _source(block, path)
        place = f"{path}.source"
        self.unknown += [f"{path}.{name}" for name in ("context", "citations") if block.get(name)]
        more: JSON = {"name": _word(block.get("title")), "cache": _cache(block)}
        match source.get("type"):
            case "base64":
                kind = _word(source.get("media_type")) or "application/pdf"
                return q.Document(media_type=kind, data=text_at(source, "data", place), **more)
            case "text":
                return q.Document(media_type="text/plain", text=text_at(source, "data", place), **more)
            case "url":
                return q.Document(url=text_at(source, "url", place), **more)
            case "file":
                return q.Document(file_id=text_at(source, "file_id", place), origin=wire.NAME, **more)
            case "content" if (text := _plain(source.get("content"))) is not None:
                return q.Document(media_type="text/plain", text=text, **more)
        return q.Native(origin=wire.NAME, value=block)

    def _search_result(self, block: JSON) -> q.Document | q.Native:
        text = _plain(block.get("content"))
        if text is None:
            return q.Native(origin=wire.NAME, value=block)
        named = [word for name in ("title", "source") if (word := _word(block.get(name)))]
        return q.Document(media_type="text/plain", name=" – ".join(named) or None, text=text, cache=_cache(block))

    def _call(self, block: JSON, path: str) -> q.ToolCall:
        id, name = original(text_at(block, "id", path)), text_at(block, "name", path)
        given = block.get("input")
        if given is not None and not isinstance(given, dict):
            refuse(f"{path}.input", "an object")
        self._names[id] = name
        return q.ToolCall(id=id, name=name, arguments=jsontext.render(given or {}).decode(), cache=_cache(block))

    def _result(self, block: JSON, path: str) -> q.ToolResult:
        id = original(text_at(block, "tool_use_id", path))
        content = block.get("content")
        parts: list[q.Text | q.Image | q.Document | q.Audio] = []
        for part in self.parts([] if content is None else content, f"{path}.content"):
            match part:
                case q.Text() | q.Image() | q.Document():
                    parts.append(part)
                case q.Native():  # tool_reference and what is to come: the model reads it as it is
                    parts.append(q.Text(text=jsontext.render(part.value).decode()))
                case _:
                    refuse(f"{path}.content", "text, image and document blocks")
        error = block.get("is_error") is True
        return q.ToolResult(id=id, parts=tuple(parts), name=self._names.get(id), error=error, cache=_cache(block))


def _reasoning(block: JSON, path: str) -> q.Reasoning:
    """A thinking block; what this gateway sealed becomes its origin's proof again."""
    if block["type"] == "redacted_thinking":
        return q.Reasoning(opaque=(_proof(text_at(block, "data", path), "redacted"),))
    text = block.get("thinking")
    signature = block.get("signature")
    opaque = (_proof(signature, "signature"),) if isinstance(signature, str) and signature else ()
    return q.Reasoning(
        text=text if isinstance(text, str) else "",
        summary=any(proof.kind == "encrypted" for proof in opaque),  # who encrypts reasoning shows a summary
        opaque=opaque,
    )


def _proof(text: str, kind: Any) -> Opaque:
    return unseal(text) or Opaque(wire.NAME, kind, text)


def _bound(parts: Iterable[q.Part]) -> tuple[q.Part, ...]:
    """Proofs that travelled beside the block that they belong to are put on it again.

    One of a call stands before or after it, one of a text after it (``response.bound_proofs``).
    """
    found: list[q.Part] = []
    waiting: dict[str, Opaque] = {}
    for part in parts:
        proof = _bound_proof(part)
        if proof is None:
            if isinstance(part, q.ToolCall) and part.id in waiting:
                part = msgspec.structs.replace(part, signature=waiting.pop(part.id))
            found.append(part)
            continue
        id = original((proof.id or "").removeprefix(BOUND))
        proof = msgspec.structs.replace(proof, id=None)
        last = found[-1] if found else None
        if not id and isinstance(last, q.Text) and last.signature is None:
            found[-1] = msgspec.structs.replace(last, signature=proof)
        elif not id:
            found.append(q.Text(text="", signature=proof))
        elif isinstance(last, q.ToolCall) and last.id == id:
            found[-1] = msgspec.structs.replace(last, signature=proof)
        else:
            waiting[id] = proof
    return tuple(found)


def _bound_proof(part: q.Part) -> Opaque | None:
    if isinstance(part, q.Reasoning) and not part.text and len(part.opaque) == 1:
        proof = part.opaque[0]
        if proof.origin != wire.NAME and proof.id is not None and proof.id.startswith(BOUND):
            return proof
    return None


def _source(block: JSON, path: str) -> JSON:
    source = block.get("source")
    if not isinstance(source, dict):
        refuse(f"{path}.source", "an object")
    return source


def _cache(block: JSON) -> JSON | None:
    cache = block.get("cache_control")
    return cache if isinstance(cache, dict) else None


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _plain(content: Any) -> str | None:
    """The content if it is text throughout."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not all(
        isinstance(part, dict) and isinstance(part.get("text"), str) for part in content
    ):
        return None
    return "\n".join(part["text"] for part in content)


# ---- parts to blocks


class ContentWriter:
    """Writes parts as blocks; ``losses`` collects what has no form here."""

    def __init__(self) -> None:
        self.losses: list[q.Loss] = []

    def lose(self, path: str, reason: str) -> None:
        self.losses.append(q.Loss(path, reason))

    def blocks(self, part: q.Part, path: str) -> list[JSON]:
        """The blocks of a part that is neither a call nor a result (``turns`` writes those)."""
        match part:
            case q.Text(text=text):
                if part.signature is not None:
                    self.lose(path, "a proof of another API's reasoning")
                return [marked({"type": "text", "text": text}, part.cache)] if text.strip() else []
            case q.Refusal(text=text):
                return [{"type": "text", "text": text}] if text.strip() else []
            case q.Reasoning():
                return self._thinking(part, path)
            case q.Image():
                return [marked({"type": "image", "source": _image_source(part, path)}, part.cache)]
            case q.Document():
                return self._document(part, path)
            case q.Native(origin=origin, value=value):
                if origin == wire.NAME:
                    return [value]
                self.lose(path, f"a part that only {origin} knows")
            case q.Audio():
                self.lose(path, "audio has no form in messages")
        return []

    def _thinking(self, part: q.Reasoning, path: str) -> list[JSON]:
        """Only what this API signed goes back to it, byte for byte (design/streams.md, 8)."""
        own = [proof for proof in part.opaque if proof.origin == wire.NAME]
        if len(own) < len(part.opaque):
            self.lose(path, "a proof of another API's reasoning")
        elif not own and part.text:
            self.lose(path, "reasoning without a signature of this API")
        blocks: list[JSON] = []
        text = part.text
        for proof in own:
            if proof.kind == "redacted":
                blocks.append({"type": "redacted_thinking", "data": proof.data})
            else:
                blocks.append({"type": "thinking", "thinking": text, "signature": proof.data})
                text = ""
        return blocks

    def _document(self, part: q.Document, path: str) -> list[JSON]:
        source = _document_source(part, path)
        if source is None:
            self.lose(path, f"a document of type {part.media_type}: messages takes PDF and plain text")
            return []
        block: JSON = {"type": "document", "source": source}
        if part.name:
            block["title"] = part.name
        return [marked(block, part.cache)]

    def result(self, result: q.ToolResult, id: str, path: str) -> JSON:
        """A ``tool_result``; one text is a string, for servers that know nothing else."""
        inner = [block for part in result.parts for block in self.blocks(part, path)]
        block: JSON = {"type": "tool_result", "tool_use_id": id}
        if len(inner) == 1 and inner[0].keys() == {"type", "text"}:
            block["content"] = inner[0]["text"]
        elif inner:
            block["content"] = inner
        if result.error:
            block["is_error"] = True
        return marked(block, result.cache)


def marked(block: JSON, cache: JSON | None) -> JSON:
    """The block with its cache marker, if it has one."""
    return {**block, "cache_control": cache} if cache else block


_IMAGE_TYPES = {"/9j/": "image/jpeg", "iVBOR": "image/png", "R0lGOD": "image/gif", "UklGR": "image/webp"}


def _file_source(part: q.Image | q.Document, path: str) -> JSON:
    if part.origin != wire.NAME:
        raise InvalidRequest(
            invalid_request(f"{path}: the file {part.file_id} is not in the upstream's file store", path)
        )
    return {"type": "file", "file_id": part.file_id}


def _image_source(part: q.Image, path: str) -> JSON:
    if part.data is not None:
        kind = part.media_type or next(
            (kind for start, kind in _IMAGE_TYPES.items() if part.data.startswith(start)), "image/png"
        )
        return {"type": "base64", "media_type": kind, "data": part.data}
    if part.url is not None:
        return {"type": "url", "url": part.url}
    return _file_source(part, path)


def _document_source(part: q.Document, path: str) -> JSON | None:
    if part.text is not None:
        return {"type": "text", "media_type": "text/plain", "data": part.text}
    if part.url is not None:
        return {"type": "url", "url": part.url}
    if part.data is None:
        return _file_source(part, path)
    kind = part.media_type or "application/pdf"
    if kind == "application/pdf":
        return {"type": "base64", "media_type": kind, "data": part.data}
    text = _decoded(part.data) if kind.startswith("text/") or kind in ("application/json", "application/xml") else None
    return None if text is None else {"type": "text", "media_type": "text/plain", "data": text}


def _decoded(data: str) -> str | None:
    try:
        return base64.b64decode(data, validate=False).decode("utf-8")
    except ValueError:
        return None
