"""What the Messages API refuses in a history: roles, blocks, calls and their results, thinking.

Sources: protocols/anthropic-google.md, 1.3; Anthropic's API reference and error texts. That user and
assistant take turns is demanded by some of those who host the API, not by Anthropic itself, which
joins neighbours.
"""

from __future__ import annotations

import re
from typing import Any

from dragoman.testing.faults import JSON, Faults, given

NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_THINKING = ("thinking", "redacted_thinking")
_OF_USER = {"tool_result", "image", "document", "search_result", "container_upload"}
"""Documents of the assistant were taken in versions before 2026-10-21, and nobody needs them."""
_OF_ASSISTANT = {"tool_use", *_THINKING}
_IN_RESULT = ("text", "image", "document", "search_result", "tool_reference")
_BLOCKS: dict[str, set[str]] = {
    "text": {"text", "citations"},
    "image": {"source"},
    "document": {"source", "title", "context", "citations"},
    "search_result": {"source", "title", "content", "citations"},
    "tool_use": {"id", "name", "input", "caller", "toolset_name"},
    "tool_result": {"tool_use_id", "content", "is_error"},
    "thinking": {"thinking", "signature"},
    "redacted_thinking": {"data"},
}
"""The members of each block that clients write; blocks of tools that servers ran go back as they came."""
_UNMARKED = _THINKING
"""Blocks that take no cache marker."""

Block = tuple[str, JSON]


def validate(body: JSON, faults: Faults, *, tools: bool, thinks: str) -> None:
    """Collects the faults of ``messages``. ``tools``: some are declared; ``thinks``: the type of thinking."""
    last: tuple[str, str, list[Block]] | None = None
    ids: set[str] = set()
    all_turns: list[tuple[str, list[Block]]] = []
    for path, message in faults.list(body.get("messages"), "messages", least=1):
        message = faults.object(message, path, {"role", "content"})
        role = faults.word(message.get("role"), f"{path}.role", ("user", "assistant", "system"))
        blocks = _content(message.get("content"), f"{path}.content", faults)
        for place, block in blocks:
            _block(block, place, role, ids, faults)
        if role == "system":
            continue
        if last is None and role == "assistant":
            faults.add(f"{path}.role", "the first turn must be the user's")
        elif last is not None and last[0] == role:
            faults.add(f"{path}.role", f"two turns of the {role} in a row")
        if role == "assistant" and blocks and blocks[-1][1].get("type") in _THINKING:
            faults.add(blocks[-1][0], "a turn must not end in thinking")
        _pairing(last, path, role, blocks, faults)
        last = (role, path, blocks)
        all_turns.append((role, blocks))
    if last is not None and last[0] == "assistant":
        _pairing(last, "messages", "user", [], faults)
        _final(last[2], last[1], faults)
    if ids and not tools:
        faults.add("tools", "must be declared where the history has calls")
    if thinks == "enabled":
        _goes_on_thinking(all_turns, faults)


# ---- pairs


def _pairing(
    last: tuple[str, str, list[Block]] | None, path: str, role: str, blocks: list[Block], faults: Faults
) -> None:
    """Each call of the turn before has one result here, before any other block; nothing else has one."""
    calls = [block.get("id") for _, block in last[2] if block.get("type") == "tool_use"] if last else []
    results = [block.get("tool_use_id") for _, block in blocks if block.get("type") == "tool_result"]
    for number, (place, block) in enumerate(blocks):
        if block.get("type") != "tool_result":
            continue
        id = block.get("tool_use_id")
        if id not in calls:
            faults.add(f"{place}.tool_use_id", f"the turn before has no call {id!r}")
        if id in results[:number] or results.count(id) > 1:
            faults.add(f"{place}.tool_use_id", f"the call {id!r} has more than one result")
        if any(before.get("type") != "tool_result" for _, before in blocks[:number]):
            faults.add(place, "results must stand before all else")
    if role == "user":
        for id in calls:
            if id not in results:
                faults.add(path, f"the call {id!r} has no result")
    elif calls:
        faults.add(path, "results must follow their calls at once")


def _final(blocks: list[Block], path: str, faults: Faults) -> None:
    """A final turn of the assistant, which the model goes on with."""
    place, block = blocks[-1] if blocks else (path, {})
    text = block.get("text")
    if isinstance(text, str) and text != text.rstrip():
        faults.add(place, "the final turn of the assistant must not end in blanks")


def _goes_on_thinking(turns: list[tuple[str, list[Block]]], faults: Faults) -> None:
    """With a budget, the turn that goes on after results must have begun with thinking."""
    if not turns or turns[-1][0] != "user" or not _has_results(turns[-1][1]):
        return
    for role, blocks in reversed(turns):
        if role == "user" and not _has_results(blocks):
            break
        if role == "assistant" and blocks and blocks[0][1].get("type") in _THINKING:
            return
    faults.add("messages", "thinking is enabled, but the turn that goes on does not begin with it")


def _has_results(blocks: list[Block]) -> bool:
    return any(block.get("type") == "tool_result" for _, block in blocks)


# ---- blocks


def _content(value: Any, path: str, faults: Faults) -> list[Block]:
    if isinstance(value, str):
        return [(path, {"type": "text", "text": value})]
    return [(place, faults.object(block, place)) for place, block in faults.list(value, path, least=1)]


def _block(block: JSON, path: str, role: str, ids: set[str], faults: Faults) -> None:
    kind = block.get("type")
    if not isinstance(kind, str):
        faults.add(f"{path}.type", "a block must have a type")
        return
    if (kind in _OF_USER and role != "user") or (kind in _OF_ASSISTANT and role != "assistant"):
        faults.add(path, f"{kind} cannot stand in a turn of the {role}")
    if kind in _BLOCKS:
        faults.object(block, path, {"type", "cache_control", *_BLOCKS[kind]})
    if kind in _UNMARKED and given(block, "cache_control"):
        faults.add(f"{path}.cache_control", f"is not taken on {kind}")
    marker(block, path, faults)
    match kind:
        case "text":
            faults.said(block.get("text"), f"{path}.text")
        case "image":
            _source(block, path, _IMAGES, faults)
        case "document":
            _source(block, path, ("application/pdf",), faults)
        case "tool_use":
            _call(block, path, ids, faults)
        case "tool_result":
            _result(block, path, faults)
        case "thinking":
            faults.text(block.get("thinking"), f"{path}.thinking", blank=True)
            faults.proof(block.get("signature"), f"{path}.signature")
        case "redacted_thinking":
            faults.proof(block.get("data"), f"{path}.data")


def text_block(block: JSON, path: str, faults: Faults) -> None:
    """A block of text, which says something."""
    faults.said(block.get("text"), f"{path}.text")
    marker(block, path, faults)


def marker(holder: JSON, path: str, faults: Faults) -> None:
    """A cache marker, if there is one."""
    if given(holder, "cache_control"):
        place = f"{path}.cache_control" if path else "cache_control"
        found = faults.object(holder["cache_control"], place, {"type", "ttl", "scope"})
        faults.word(found.get("type"), f"{place}.type", ("ephemeral",))
        if given(found, "ttl"):
            faults.word(found["ttl"], f"{place}.ttl", ("5m", "1h"))


def _call(block: JSON, path: str, ids: set[str], faults: Faults) -> None:
    id = faults.text(block.get("id"), f"{path}.id", pattern=_ID)
    if id in ids:
        faults.add(f"{path}.id", f"there is another call {id!r}")
    ids.add(id)
    faults.text(block.get("name"), f"{path}.name", pattern=NAME)
    faults.object(block.get("input"), f"{path}.input")


def _result(block: JSON, path: str, faults: Faults) -> None:
    faults.text(block.get("tool_use_id"), f"{path}.tool_use_id", pattern=_ID)
    if given(block, "is_error"):
        faults.flag(block["is_error"], f"{path}.is_error")
    content = block.get("content")
    if content is None or isinstance(content, str):
        if block.get("is_error") is True and not content:
            faults.add(f"{path}.content", "must not be empty where the call failed")
        return
    for place, inner in faults.list(content, f"{path}.content"):
        kind = faults.object(inner, place).get("type")
        faults.word(kind, f"{place}.type", _IN_RESULT)
        if block.get("is_error") is True and kind != "text":
            faults.add(place, "a failed result can hold text only")
        elif kind in _IN_RESULT:
            _block(inner, place, "user", set(), faults)


def _source(block: JSON, path: str, types: tuple[str, ...], faults: Faults) -> None:
    place = f"{path}.source"
    source = faults.object(block.get("source"), place)
    match source.get("type"):
        case "base64":
            faults.word(source.get("media_type"), f"{place}.media_type", types)
            faults.text(source.get("data"), f"{place}.data", pattern=re.compile(r"[A-Za-z0-9+/]+={0,2}"))
        case "text" if block["type"] == "document":
            faults.word(source.get("media_type"), f"{place}.media_type", ("text/plain",))
            faults.text(source.get("data"), f"{place}.data")
        case "content" if block["type"] == "document":
            pass
        case "url":
            faults.text(source.get("url"), f"{place}.url", pattern=re.compile(r"https?://\S+"))
        case "file":
            faults.text(source.get("file_id"), f"{place}.file_id")
        case kind:
            faults.add(f"{place}.type", f"{kind!r} is no source of this block")
