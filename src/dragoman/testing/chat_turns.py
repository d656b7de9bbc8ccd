"""What Chat Completions refuse in ``messages``: roles, content, calls and their results.

Sources: protocols/openai.md, 1; OpenAI's error texts. Members of other vendors in which clients give
reasoning back are taken, since servers that do not know them read over them; and so are those that the
official SDK's helper for streams leaves in its messages.
"""

from __future__ import annotations

from typing import Any

from dragoman.testing.faults import JSON, Faults, given
from dragoman.testing.openai_words import NAME, URL

_REASONING = {"reasoning_content", "reasoning", "reasoning_details", "extra_content"}
_MEMBERS: dict[str, set[str]] = {
    "system": {"content", "name"},
    "developer": {"content", "name"},
    "user": {"content", "name"},
    "assistant": {
        *("content", "refusal", "audio", "tool_calls", "name", "function_call", "annotations", "images"),
        *("parsed", *_REASONING),
    },
    "tool": {"tool_call_id", "content"},
    "function": {"name", "content"},
}
_PARTS: dict[str, tuple[str, ...]] = {
    "system": ("text",),
    "developer": ("text",),
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
    "tool": ("text",),
    "function": (),
}
_LONGEST_CALL_ID = 40
_PROVEN = ("signature", "data")
"""The members of an entry of ``reasoning_details`` that prove it."""


def validate(value: Any, faults: Faults) -> None:
    """Collects the faults of ``messages``."""
    waiting: dict[str, str] = {}
    for path, message in faults.list(value, "messages", least=1):
        message = faults.object(message, path)
        role = faults.word(message.get("role"), f"{path}.role", _MEMBERS)
        if not role:
            continue
        faults.object(message, path, {"role", *_MEMBERS[role]})
        if role == "tool":
            id = faults.text(message.get("tool_call_id"), f"{path}.tool_call_id")
            if waiting.pop(id, None) is None:
                faults.add(f"{path}.tool_call_id", f"no call {id!r} waits for a result")
        else:
            _unanswered(waiting, faults)
        _content(message, role, path, faults)
        if role == "assistant":
            waiting = _calls(message, path, faults)
            _reasoning(message, path, faults)
    _unanswered(waiting, faults)


def _unanswered(waiting: dict[str, str], faults: Faults) -> None:
    for id, path in waiting.items():
        faults.add(path, f"the call {id!r} has no result right after it")
    waiting.clear()


def _content(message: JSON, role: str, path: str, faults: Faults) -> None:
    content, place = message.get("content"), f"{path}.content"
    if isinstance(content, str):
        return
    if content is None:
        if role != "assistant" or not any(
            message.get(name) for name in ("tool_calls", "function_call", "refusal", "audio")
        ):
            faults.add(place, "must be there")
        return
    for where, part in faults.list(content, place, least=1):
        kind = faults.word(faults.object(part, where).get("type"), f"{where}.type", _PARTS[role])
        if kind:
            _part(part, kind, where, faults)


def _part(part: JSON, kind: str, path: str, faults: Faults) -> None:
    faults.object(part, path, {"type", kind, "prompt_cache_breakpoint", "cache_control"})
    match kind:
        case "text" | "refusal":
            faults.text(part.get(kind), f"{path}.{kind}")
        case "image_url":
            image = faults.object(part.get(kind), f"{path}.image_url", {"url", "detail"})
            faults.text(image.get("url"), f"{path}.image_url.url", pattern=URL)
            if given(image, "detail"):
                faults.word(image["detail"], f"{path}.image_url.detail", ("auto", "low", "high", "original"))
        case "input_audio":
            sound = faults.object(part.get(kind), f"{path}.input_audio", {"data", "format"})
            faults.text(sound.get("data"), f"{path}.input_audio.data")
            faults.word(sound.get("format"), f"{path}.input_audio.format", ("wav", "mp3"))
        case "file":
            file = faults.object(part.get(kind), f"{path}.file", {"file_id", "file_data", "filename"})
            if given(file, "file_id") == given(file, "file_data"):
                faults.add(f"{path}.file", "needs either file_id or file_data")
            elif given(file, "file_data"):
                faults.text(file["file_data"], f"{path}.file.file_data", pattern=URL)
                faults.text(file.get("filename"), f"{path}.file.filename")


def _calls(message: JSON, path: str, faults: Faults) -> dict[str, str]:
    """The ids of the calls, and where they stand."""
    found: dict[str, str] = {}
    if not given(message, "tool_calls"):
        return found
    for place, call in faults.list(message["tool_calls"], f"{path}.tool_calls", least=1):
        kind = faults.word(faults.object(call, place).get("type"), f"{place}.type", ("function", "custom"))
        if not kind:
            continue
        faults.object(call, place, {"id", "type", kind, "index", "extra_content"})
        id = faults.text(call.get("id"), f"{place}.id", longest=_LONGEST_CALL_ID)
        if id in found:
            faults.add(f"{place}.id", f"there is another call {id!r}")
        found[id] = place
        member = "arguments" if kind == "function" else "input"
        inner = faults.object(call.get(kind), f"{place}.{kind}", {"name", member, "parsed_arguments"})
        faults.text(inner.get("name"), f"{place}.{kind}.name", pattern=NAME)
        if kind == "function":
            faults.json_object(inner.get(member), f"{place}.function.arguments")
        else:
            faults.text(inner.get(member), f"{place}.custom.input", blank=True)
    return found


def _reasoning(message: JSON, path: str, faults: Faults) -> None:
    for name in ("reasoning_content", "reasoning"):
        if given(message, name):
            faults.text(message[name], f"{path}.{name}", blank=True)
    for place, entry in faults.list(message.get("reasoning_details") or [], f"{path}.reasoning_details"):
        faults.object(entry, place)
        for name in _PROVEN:
            if isinstance(entry, dict) and entry.get(name):
                faults.proof(entry[name], f"{place}.{name}")
