"""One request for each thing that a client of a dialect can ask for: a plain body, with that one thing in it.

The rows of the table of losses (``generate_losses``), each with its form in every client dialect that has one.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import msgspec

JSON = dict[str, Any]
Change = Callable[[JSON], None]
"""Puts the thing into a body."""


class Probe(msgspec.Struct, frozen=True):
    """``forms``: by client dialect, how it is said there. ``without``: the same body but for the thing itself,
    where that is not the plain body."""

    name: str
    forms: dict[str, Change]
    without: dict[str, Change] = {}


SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
DATA = "iVBORw0KGgo="
PDF = "JVBERi0xLjQK"
URL = "https://llm.example/a.png"

PLAIN: dict[str, JSON] = {
    "chat": {
        "model": "m",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}],
        "tools": [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}],
    },
    "responses": {
        "model": "m",
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "Hello"}]}],
        "tools": [{"type": "function", "name": "weather", "parameters": SCHEMA}],
        "store": False,
    },
    "messages": {
        "model": "m",
        "max_tokens": 4096,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}],
        "tools": [{"name": "weather", "input_schema": SCHEMA}],
    },
    "gemini": {
        "contents": [{"role": "user", "parts": [{"text": "Hello"}]}],
        "tools": [{"functionDeclarations": [{"name": "weather", "parametersJsonSchema": SCHEMA}]}],
    },
}
"""What each probe begins with: a question, and a tool."""
HISTORY = {"chat": "messages", "responses": "input", "messages": "messages", "gemini": "contents"}
CONTENT = {"chat": "content", "responses": "content", "messages": "content", "gemini": "parts"}


def asked(client: str, change: Change | None = None) -> JSON:
    """The plain body of this dialect, changed."""
    body = copy.deepcopy(PLAIN[client])
    if change is not None:
        change(body)
    return body


# ---- how things get into a body


def member(**members: Any) -> Change:
    """Members of the body; objects are joined."""

    def change(body: JSON) -> None:
        for name, value in members.items():
            known = body.get(name)
            body[name] = {**known, **value} if isinstance(known, dict) else value

    return change


def config(**members: Any) -> Change:
    """Members of gemini's ``generationConfig``."""
    return member(generationConfig=members)


def alike(clients: str, **members: Any) -> dict[str, Change]:
    """The same members in each of these dialects."""
    return dict.fromkeys(clients.split(), member(**members))


def _history(body: JSON) -> list[JSON]:
    found: list[JSON] = next(body[name] for name in ("messages", "input", "contents") if name in body)
    return found


def turns(*after: JSON, before: tuple[JSON, ...] = ()) -> Change:
    """Turns around the question."""

    def change(body: JSON) -> None:
        history = _history(body)
        history[:0] = before
        history += after

    return change


def part(value: JSON) -> Change:
    """A part beside the question."""

    def change(body: JSON) -> None:
        turn = _history(body)[0]
        turn[next(name for name in ("content", "parts") if name in turn)].append(value)

    return change


def marked(**members: Any) -> Change:
    """Members on the question's text."""

    def change(body: JSON) -> None:
        _history(body)[0]["content"][0].update(members)

    return change


def tool(value: JSON) -> Change:
    """A further tool."""
    return lambda body: body["tools"].append(value)


def on_tool(**members: Any) -> Change:
    """Members of the tool at hand."""

    def change(body: JSON) -> None:
        held = body["tools"][0]
        held = held.get("function", held)
        held = held.get("functionDeclarations", [held])[0]
        held.update(members)

    return change
