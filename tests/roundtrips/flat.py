"""A request's history as one list of what was said, called and answered, whatever its dialect.

Read by a few plain lines for each dialect; what stands before (system, tools) is left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

JSON = dict[str, Any]


class Entry(msgspec.Struct, frozen=True):
    """``kind`` is ``text``, ``call``, ``result`` or ``other``; ``value`` its text, its arguments, or all of it as JSON."""

    role: str
    kind: str
    value: str
    id: str = ""
    name: str = ""


def flat(dialect: str, body: JSON) -> list[Entry]:
    """The history of a request."""
    return list(_READERS[dialect](body))


def _other(role: str, value: Any) -> Entry:
    return Entry(role, "other", json.dumps(value))


def _chat(body: JSON) -> Iterator[Entry]:
    for message in body["messages"]:
        role, content = message["role"], message.get("content") or []
        if role == "tool":
            yield Entry("user", "result", _chat_text(content), message["tool_call_id"])
            continue
        for name in ("reasoning_content", "reasoning_details", "refusal", "extra_content"):
            if message.get(name):
                yield _other(role, [name, message[name]])
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for part in parts:
            yield Entry(role, "text", part["text"]) if part["type"] == "text" else _other(role, part)
        for call in message.get("tool_calls") or []:
            inner = call.get("function") or call["custom"]
            yield Entry(role, "call", inner.get("arguments", inner.get("input")), call["id"], inner["name"])
            if "extra_content" in call:
                yield _other(role, call["extra_content"])


def _chat_text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _responses(body: JSON) -> Iterator[Entry]:
    for item in body["input"]:
        match item.get("type", "message"):
            case "message":
                content = item["content"]
                parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
                for part in parts:
                    yield Entry(item["role"], "text", part["text"]) if "text" in part else _other(item["role"], part)
            case "function_call" | "custom_tool_call":
                yield Entry(
                    "assistant", "call", item.get("arguments", item.get("input")), item["call_id"], item["name"]
                )
            case "function_call_output" | "custom_tool_call_output":
                output = item["output"]
                text = output if isinstance(output, str) else "".join(part.get("text", "") for part in output)
                yield Entry("user", "result", text, item["call_id"])
            case _:
                yield _other("assistant", item)


def _messages(body: JSON) -> Iterator[Entry]:
    for message in body["messages"]:
        role, content = message["role"], message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            match block["type"]:
                case "text":
                    yield Entry(role, "text", block["text"])
                case "tool_use":
                    yield Entry(role, "call", json.dumps(block["input"]), block["id"], block["name"])
                case "tool_result":
                    inner = block.get("content") or ""
                    text = inner if isinstance(inner, str) else "".join(part.get("text", "") for part in inner)
                    yield Entry(role, "result", text, block["tool_use_id"])
                case _:
                    yield _other(role, block)


_TEXTS = ("output", "error", "result", "content")
"""Where clients put the text of a result."""


def _gemini(body: JSON) -> Iterator[Entry]:
    for content in body["contents"]:
        role = {"model": "assistant"}.get(content.get("role", "user"), "user")
        for part in content["parts"]:
            if call := part.get("functionCall"):
                yield Entry(role, "call", json.dumps(call.get("args") or {}), call.get("id") or "", call["name"])
            elif result := part.get("functionResponse"):
                given = result["response"]
                text = next(
                    (str(given[name]) for name in _TEXTS if name in given), json.dumps(given, separators=(",", ":"))
                )
                yield Entry(role, "result", text, result.get("id") or "", result["name"])
            elif "text" in part and not part.get("thought"):
                yield Entry(role, "text", part["text"])
            else:
                yield _other(role, part)
            if "thoughtSignature" in part:
                yield _other(role, part["thoughtSignature"])


_READERS: dict[str, Callable[[JSON], Iterator[Entry]]] = {
    "chat": _chat,
    "responses": _responses,
    "messages": _messages,
    "gemini": _gemini,
}
