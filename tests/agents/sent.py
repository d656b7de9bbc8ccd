"""Requests as agents sent them, recorded. Long texts stand as their length, paths and ids are neutral."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.asking import CLIENTS

JSON = dict[str, Any]

FOLDER = Path(__file__).parent / "requests"
_ENDS = {"/chat/completions": "chat", "/responses": "responses", "/messages": "messages", "/count_tokens": "messages"}


class Sent(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A request. ``agent`` is the program and its version; the model is ``up/m``, in the body or the path."""

    name: str
    agent: str
    path: str
    query: str
    headers: dict[str, str]
    body: JSON

    def __repr__(self) -> str:
        return self.name

    @property
    def dialect(self) -> str:
        return next((dialect for end, dialect in _ENDS.items() if self.path.endswith(end)), "gemini")

    @property
    def counts(self) -> bool:
        """Whether it asks how many tokens there are, and for no answer."""
        return self.path.endswith(("/count_tokens", ":countTokens"))

    @property
    def whole(self) -> Sent:
        """The same, for an answer in one piece."""
        body = {name: value for name, value in self.body.items() if name not in ("stream", "stream_options")}
        path = self.path.replace(":streamGenerateContent", ":generateContent")
        return msgspec.structs.replace(self, path=path, body=body, query="")

    def with_members(self, **members: Any) -> Sent:
        """The same, with other members in the body."""
        return msgspec.structs.replace(self, body={**self.body, **members})


def sent(name: str) -> Sent:
    """The request of this name."""
    found = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return Sent(name=name, **found)


def every() -> list[Sent]:
    """All of them."""
    return [sent(path.stem) for path in sorted(FOLDER.glob("*.json"))]


def abroad(*requests: Sent) -> pytest.MarkDecorator:
    """Each of these requests, for upstreams of each dialect but its own."""
    ways = [
        pytest.param(request, upstream, id=f"{request}-to-{upstream}")
        for request in requests
        for upstream in CLIENTS
        if upstream != request.dialect
    ]
    return pytest.mark.parametrize(("request_", "upstream"), ways)


# ---- its tools


class Tool(msgspec.Struct, frozen=True):
    """A function; ``schema`` is that of its arguments, in the words of JSON Schema."""

    name: str
    schema: JSON


def tools(dialect: str, body: JSON) -> list[Tool]:
    """The functions that a request declares; those of a space have its name in front, hosted tools are left out."""
    return list(_tools(dialect, body.get("tools") or []))


def _tools(dialect: str, declared: list[JSON], space: str = "") -> Iterator[Tool]:
    for one in declared:
        if dialect == "gemini":
            for inner in one.get("functionDeclarations") or []:
                yield Tool(inner["name"], inner.get("parametersJsonSchema") or lowered(inner.get("parameters") or {}))
        elif dialect == "chat":
            yield Tool(one["function"]["name"], one["function"].get("parameters") or {})
        elif dialect == "messages":
            yield Tool(one["name"], one["input_schema"])
        elif one["type"] == "namespace":
            yield from _tools(dialect, one["tools"], f"{one['name']}__")
        elif one["type"] == "function":
            yield Tool(space + one["name"], one.get("parameters") or {})


def lowered(schema: Any) -> Any:
    """A schema whose types Google's API writes in upper case, in lower case."""
    if isinstance(schema, list):
        return [lowered(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: value.lower() if name == "type" and isinstance(value, str) else lowered(value)
        for name, value in schema.items()
    }


def arguments_for(schema: JSON) -> JSON:
    """Arguments that a tool takes: what it demands, as short as can be."""
    made = {"string": 'a ü "b"\\', "number": 1.5, "integer": 3, "boolean": True, "array": [], "object": {}}
    members = schema.get("properties") or {}
    return {
        name: (members[name].get("enum") or [made[str(members[name].get("type", "string"))]])[0]
        for name in schema.get("required") or []
    }


def is_legal(name: str) -> bool:
    """Whether every API takes this for the name of a function, or the id of a call."""
    return re.fullmatch("[A-Za-z0-9_-]{1,64}", name) is not None
