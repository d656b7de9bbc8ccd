"""JSON Schemas as this API takes them.

A tool's ``input_schema`` is an object at its root, without alternatives there (anthropics/claude-code#40075).
The schema of a structured output, and of a strict tool, keeps to a subset, in which every object is
closed; the official SDK, too, tells the model of the rest in descriptions. Source: Anthropic's
documentation of structured outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dragoman import jsontext

JSON = dict[str, Any]

_ALTERNATIVES = ("allOf", "anyOf", "oneOf")
_DEFINITIONS = ("$defs", "definitions")
_MAPS = ("properties", *_DEFINITIONS)
_KEPT = frozenset({"type", "required", "const", "$ref", "description", "title", "default"})
_SILENT = frozenset({"$schema", "$id", "$comment", "examples", "deprecated", "readOnly", "writeOnly"})
"""What says nothing of the values."""
_SHAPED = frozenset({"type", "properties", "$ref", "enum", "const", *_ALTERNATIVES})
"""Of these a schema has one at least, or any value fits it."""
_FORMATS = ("date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid")
_DEEPEST = 64
"""Levels of a schema that are looked at."""


def tool_schema(schema: JSON | None, lose: Callable[[str], None]) -> JSON:
    """The ``input_schema`` of a tool. Alternatives at its root are joined: all their properties, none demanded."""
    schema = schema or {}
    out: JSON = {"type": "object"}
    out |= {name: value for name, value in schema.items() if name != "type" and name not in _ALTERNATIVES}
    if any(word in schema for word in _ALTERNATIVES):
        lose("alternatives at the root of a schema are joined")
        options = [option for word in _ALTERNATIVES for option in _list(schema.get(word))]
        found = [option["properties"] for option in options if isinstance(option.get("properties"), dict)]
        for properties in found:
            out["properties"] = {**properties, **(out.get("properties") or {})}
    if "$ref" not in out:
        out.setdefault("properties", {})
    return out


def _list(value: Any) -> list[JSON]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


class Subset:
    """One schema in the subset."""

    def __init__(self, schema: JSON) -> None:
        self.possible = _is_finite(schema)
        """Whether the subset can express it at all: no recursion, and no value of any shape."""
        self._same = True
        self.told: dict[str, None] = {}
        """The keywords that only descriptions tell."""
        self.schema: JSON = self._fitted(schema) if self.possible else schema

    @property
    def exact(self) -> bool:
        """Whether it allows just what the original does."""
        return self.possible and self._same and not self.told

    def _fitted(self, schema: Any) -> Any:
        if not isinstance(schema, dict) or not _SHAPED & schema.keys():
            self.possible = False
            return schema
        out: JSON = {}
        told: JSON = {}
        for name, value in schema.items():
            if name in _MAPS and isinstance(value, dict):
                out[name] = {key: self._fitted(inner) for key, inner in value.items()}
            elif name in _ALTERNATIVES and isinstance(value, list):
                self._same = self._same and name != "oneOf"
                out["anyOf" if name == "oneOf" else name] = [self._fitted(inner) for inner in value]
            elif name == "items" and isinstance(value, dict):
                out[name] = self._fitted(value)
            elif name in _KEPT or _keeps(name, value):
                out[name] = value
            elif name not in _SILENT and name != "additionalProperties":
                told[name] = value
        self._close(schema, out, told)
        if told:
            self.told |= dict.fromkeys(told)
            words = ", ".join(f"{name}: {jsontext.render(value).decode()}" for name, value in told.items())
            out["description"] = f"{schema.get('description') or ''}\n({words})".strip()
        return out

    def _close(self, schema: JSON, out: JSON, told: JSON) -> None:
        """No object has members beyond its properties."""
        kinds = schema.get("type")
        if "properties" not in schema and "object" not in (kinds if isinstance(kinds, list) else [kinds]):
            return
        members = schema.get("additionalProperties")
        if members is not False:
            self._same = False
            self.possible = self.possible and bool(out.get("properties"))
            if members is not None:
                told["additionalProperties"] = members
        out["additionalProperties"] = False


def _keeps(name: str, value: Any) -> bool:
    if name == "enum":
        return isinstance(value, list) and not any(isinstance(item, dict | list) for item in value)
    return (name == "format" and value in _FORMATS) or (name == "minItems" and value in (0, 1))


def _is_finite(schema: JSON) -> bool:
    """Whether every reference leads to a definition, and no definition back to itself."""
    defined: JSON = {}
    for place in _DEFINITIONS:
        inner = schema.get(place)
        if isinstance(inner, dict):
            defined |= {f"#/{place}/{name}": value for name, value in inner.items()}
    followed: dict[str, bool] = {}  # target → whether it has been followed to its end

    def ends(value: Any, depth: int) -> bool:
        if isinstance(value, list):
            return all(ends(item, depth) for item in value)
        if not isinstance(value, dict):
            return True
        if depth > _DEEPEST:
            return False
        target = value.get("$ref")
        if isinstance(target, str) and not followed.get(target):
            if target in followed or target not in defined:
                return False
            followed[target] = False
            followed[target] = ends(defined[target], depth + 1)
            if not followed[target]:
                return False
        return all(ends(inner, depth + 1) for name, inner in value.items() if name not in _DEFINITIONS)

    return ends(schema, 0)
