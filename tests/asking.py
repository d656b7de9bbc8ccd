"""One question in each client's dialect: the same prompt and the same four tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

JSON = dict[str, Any]

CLIENTS = ("chat", "responses", "messages", "gemini")
PROMPT = "What is the weather in Utrecht, and what stands in notes.txt?"


def _schema(*names: str) -> JSON:
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": list(names)}


TOOLS: dict[str, JSON] = {
    "get_weather": _schema("city"),
    "read_file": _schema("path"),
    "run": _schema("command"),
    "list_tasks": _schema(),
}


class Asked(msgspec.Struct, frozen=True):
    """A request as it reaches the gateway. ``model`` and ``stream`` are what the path says, if it does."""

    path: str
    body: JSON
    model: str | None = None
    stream: bool | None = None


def ask(client: str, model: str, *, stream: bool = True, choices: int = 1, history: list[Any] | None = None) -> Asked:
    """The question; ``history`` is what follows it, in the client's own words."""
    return _BUILDERS[client](model, stream, choices, history or [])


def _chat(model: str, stream: bool, choices: int, history: list[Any]) -> Asked:
    tools = [{"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in TOOLS.items()]
    body: JSON = {"model": model, "messages": [{"role": "user", "content": PROMPT}, *history], "tools": tools}
    if stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    if choices > 1:
        body["n"] = choices
    return Asked("/v1/chat/completions", body)


def _responses(model: str, stream: bool, choices: int, history: list[Any]) -> Asked:
    tools = [{"type": "function", "name": name, "parameters": schema} for name, schema in TOOLS.items()]
    turns = [{"role": "user", "content": PROMPT}, *history]
    body = {"model": model, "input": turns, "tools": tools, "stream": stream, "store": False}
    return Asked("/v1/responses", body)


def _messages(model: str, stream: bool, choices: int, history: list[Any]) -> Asked:
    tools = [{"name": name, "input_schema": schema} for name, schema in TOOLS.items()]
    turns = [{"role": "user", "content": PROMPT}, *history]
    body = {"model": model, "max_tokens": 4096, "messages": turns, "tools": tools, "stream": stream}
    return Asked("/v1/messages", body)


def _gemini(model: str, stream: bool, choices: int, history: list[Any]) -> Asked:
    declared = [{"name": name, "parametersJsonSchema": schema} for name, schema in TOOLS.items()]
    turns = [{"role": "user", "parts": [{"text": PROMPT}]}, *history]
    verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
    body = {"contents": turns, "tools": [{"functionDeclarations": declared}]}
    return Asked(f"/v1beta/models/{model}:{verb}", body, model, stream)


_BUILDERS: dict[str, Callable[[str, bool, int, list[Any]], Asked]] = {
    "chat": _chat,
    "responses": _responses,
    "messages": _messages,
    "gemini": _gemini,
}
