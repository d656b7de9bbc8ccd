"""Blocks of a client's request to canonical parts.

A block of a type that this file does not know stays whole as ``Native``; members that it does not
know are losses elsewhere. Source: protocols/anthropic-google.md, 1.3.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from dragoman import jsontext
from dragoman.canonical import request as q
from dragoman.canonical.aliases import original
from dragoman.canonical.opaque import Opaque, unseal
from dragoman.dataurl import read_data_url
from dragoman.dialects.messages import wire
from dragoman.dialects.messages.members import refuse, text_at
from dragoman.dialects.messages.response import BOUND

JSON = dict[str, Any]

_READ: dict[str, frozenset[str]] = {
    "text": frozenset({"text"}),
    "image": frozenset({"source"}),
    "document": frozenset({"source", "title"}),
    "search_result": frozenset({"source", "title", "content"}),
    "thinking": frozenset({"thinking", "signature"}),
    "redacted_thinking": frozenset({"data"}),
    "tool_use": frozenset({"id", "name", "input"}),
    "tool_result": frozenset({"tool_use_id", "content", "is_error"}),
}
"""The members of each type of block that have a canonical form, beside ``type`` and ``cache_control``."""


class ContentReader:
    """Reads the contents of one request; ``unknown`` collects the canonical paths of what found no place.

    A path in a refusal is that of the client's body, as this API writes it. Call ids that are aliases
    become the upstream's again; results get the name of their call.
    """

    def __init__(self) -> None:
        self.unknown: list[str] = []
        self._names: dict[str, str] = {}

    def parts(self, content: Any, path: str, place: str) -> tuple[q.Part, ...]:
        """A content: a text, or a list of blocks. ``place`` is the canonical path of what holds it."""
        if isinstance(content, str):
            return (q.Text(text=content),)
        if not isinstance(content, list):
            refuse(path, "a string or a list of content blocks")
        found: list[q.Part] = []
        for number, block in enumerate(content):
            if not isinstance(block, dict) or not isinstance(block.get("type"), str):
                refuse(f"{path}.{number}", "a content block: an object with a type")
            found.append(self._part(block, f"{path}.{number}", f"{place}.parts[{number}]"))
        return _bound(found)

    def _part(self, block: JSON, path: str, place: str) -> q.Part:
        kind = block["type"]
        if (known := _READ.get(kind)) is not None:
            self.unknown += [f"{place}.{name}" for name in block if name not in known and _asks(name, block[name])]
        match kind:
            case "text":
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
                return self._result(block, path, place)
            case "mcp_tool_use" | "mcp_tool_result" if (id := _run_id(block)) is not None:
                return q.ToolRun(id=id)
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
                url = text_at(source, "url", f"{path}.source")
                if found := read_data_url(url):
                    return q.Image(media_type=found[0], data=found[1], cache=cache)
                return q.Image(url=url, cache=cache)
            case "file":
                return q.Image(file_id=text_at(source, "file_id", f"{path}.source"), origin=wire.NAME, cache=cache)
        return q.Native(origin=wire.NAME, value=block)

    def _document(self, block: JSON, path: str) -> q.Document | q.Native:
        source = _source(block, path)
        place = f"{path}.source"
        more: JSON = {"name": _word(block.get("title")), "cache": _cache(block)}
        match source.get("type"):
            case "base64":
                kind = _word(source.get("media_type")) or "application/pdf"
                return q.Document(media_type=kind, data=text_at(source, "data", place), **more)
            case "text":
                return q.Document(media_type="text/plain", text=text_at(source, "data", place), **more)
            case "url":
                url = text_at(source, "url", place)
                if found := read_data_url(url):
                    return q.Document(media_type=found[0] or "application/pdf", data=found[1], **more)
                return q.Document(url=url, **more)
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

    def _result(self, block: JSON, path: str, place: str) -> q.ToolResult:
        id = original(text_at(block, "tool_use_id", path))
        content = block.get("content")
        parts: list[q.Text | q.Image | q.Document | q.Audio] = []
        for part in self.parts([] if content is None else content, f"{path}.content", place):
            match part:
                case q.Text() | q.Image() | q.Document():
                    parts.append(part)
                case q.Native():  # tool_reference and what is to come: the model reads it as it is
                    parts.append(q.Text(text=jsontext.render(part.value).decode()))
                case _:
                    refuse(f"{path}.content", "text, image and document blocks")
        error = block.get("is_error") is True
        return q.ToolResult(id=id, parts=tuple(parts), name=self._names.get(id), error=error, cache=_cache(block))


def _asks(name: str, value: Any) -> bool:
    """Whether a member that is not read asks for something."""
    if not value or name in ("type", "cache_control"):
        return False
    if isinstance(value, dict) and name == "caller":
        return value.get("type") != "direct"
    return not (isinstance(value, dict) and name == "citations" and not value.get("enabled"))


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
        if proof.home != wire.NAME and proof.id is not None and proof.id.startswith(BOUND):
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


def _run_id(block: JSON) -> str | None:
    """The id of a gateway's call that an earlier answer showed, and that the client echoes."""
    shown = block.get("id" if block["type"] == "mcp_tool_use" else "tool_use_id")
    if isinstance(shown, str) and shown.startswith(wire.RUN_ID):
        return original(shown[len(wire.RUN_ID) :])
    return None
