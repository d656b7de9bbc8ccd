"""JSON Schemas as OpenAI's servers take them, in both of their dialects.

Source: OpenAI's documentation of structured outputs.
"""

from __future__ import annotations

from typing import Any

JSON = dict[str, Any]

_MAPS = frozenset({"properties", "$defs", "definitions"})
_PLAIN = frozenset({"type", "required", "additionalProperties", "enum", "const", "$ref", "description", "title"})
"""What may stand in a strict schema as it is; bounds and formats depend on the model."""
_DEEPEST = 10
"""How deep a strict schema may be."""


def object_schema(schema: JSON | None) -> JSON:
    """The ``parameters`` of a tool: a schema of objects, with properties even if there are none.

    Servers refuse one without them, as tools without arguments have it.
    """
    given = schema or {}
    if given.get("type") != "object" and not any(word in given for word in ("anyOf", "oneOf", "allOf", "$ref")):
        given = {**given, "type": "object"}
    return given if given.get("type") != "object" or "properties" in given else {**given, "properties": {}}


def describes_object(schema: JSON) -> bool:
    """Whether it may be the root of a structured output, which has to be an object."""
    return schema.get("type") == "object" or ("type" not in schema and "properties" in schema)


def fits_strict(schema: Any, depth: int = 0) -> bool:
    """Whether strict mode takes it: every object closed and every property required."""
    if not isinstance(schema, dict) or depth > _DEEPEST or (not depth and schema.get("type") != "object"):
        return False
    for word, value in schema.items():
        if word in _MAPS:
            fits = isinstance(value, dict) and all(fits_strict(inner, depth + 1) for inner in value.values())
        elif word == "anyOf":
            fits = depth > 0 and isinstance(value, list) and all(fits_strict(inner, depth + 1) for inner in value)
        elif word == "items":
            fits = fits_strict(value, depth + 1)
        else:
            fits = word in _PLAIN
        if not fits:
            return False
    return _is_closed(schema)


def closed(schema: Any, depth: int = 0) -> Any:
    """The schema, with every object closed that says nothing of further members: strict mode demands it said."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return schema
    out: JSON = {"additionalProperties": False} if "properties" in schema else {}
    for word, value in schema.items():
        if word in _MAPS and isinstance(value, dict):
            out[word] = {name: closed(inner, depth + 1) for name, inner in value.items()}
        elif word == "anyOf" and isinstance(value, list):
            out[word] = [closed(inner, depth + 1) for inner in value]
        else:
            out[word] = closed(value, depth + 1) if word == "items" else value
    return out


def _is_closed(schema: JSON) -> bool:
    kind = schema.get("type")
    if "properties" not in schema and kind != "object" and not (isinstance(kind, list) and "object" in kind):
        return True
    properties, required = schema.get("properties") or {}, schema.get("required") or []
    same = isinstance(required, list) and len(required) == len(properties)
    return schema.get("additionalProperties") is False and same and all(name in required for name in properties)
