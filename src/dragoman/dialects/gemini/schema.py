"""Google's ``Schema`` (an OpenAPI subset, types in upper case) as JSON Schema.

A schema is told from a map of properties: a *property* named ``type`` is never respelled. What is
JSON Schema already (opencode puts lower-case types under ``parameters``) comes out unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dragoman.dialects.gemini.wire import JSON, as_count

_TYPES = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})
_SPELLED = {
    "any_of": "anyOf",
    "min_items": "minItems",
    "max_items": "maxItems",
    "min_length": "minLength",
    "max_length": "maxLength",
    "min_properties": "minProperties",
    "max_properties": "maxProperties",
    "property_ordering": "propertyOrdering",
    "additional_properties": "additionalProperties",
}
_NUMBERS = frozenset({"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"})
"""Written as strings by protobuf (int64)."""


def parse_schema(schema: Any) -> Any:
    """The JSON Schema that says the same; anything but an object comes out as it is."""
    if not isinstance(schema, dict):
        return schema
    out: JSON = {}
    for key, value in schema.items():
        name = _SPELLED.get(key) or str(key)
        if name in ("nullable", "propertyOrdering"):
            continue
        if name == "type" and isinstance(value, str):
            if value == "TYPE_UNSPECIFIED":
                continue
            value = value.lower() if value in _TYPES else value
        elif name in _NUMBERS:
            number = as_count(value)
            value = value if number is None else number
        elif name in _INSIDE:
            value = _INSIDE[name](value)
        elif name == "example":
            name, value = "examples", [value]
        out[name] = value
    return _nullable(out) if schema.get("nullable") is True else out


def read_json_schema(schema: Any) -> Any:
    """A schema from a member for JSON Schema: Gemini CLI puts Google's own kind there, too."""
    own = isinstance(schema, dict) and isinstance(kind := schema.get("type"), str) and kind in _TYPES
    return parse_schema(schema) if own else schema


def _schemas(value: Any) -> Any:
    return [parse_schema(item) for item in value] if isinstance(value, list) else parse_schema(value)


def _named(value: Any) -> Any:
    return {name: parse_schema(item) for name, item in value.items()} if isinstance(value, dict) else value


_INSIDE: dict[str, Callable[[Any], Any]] = {
    "properties": _named,
    "$defs": _named,
    "defs": _named,
    "items": _schemas,
    "anyOf": _schemas,
    "oneOf": _schemas,
    "allOf": _schemas,
    "prefixItems": _schemas,
    "additionalProperties": parse_schema,
}
"""Keywords that hold further schemas."""


def _nullable(schema: JSON) -> JSON:
    """OpenAPI's ``nullable`` as a union with ``null``."""
    kind = schema.get("type")
    if isinstance(kind, str) and kind != "null":
        schema["type"] = [kind, "null"]
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    options = schema.get("anyOf")
    if isinstance(options, list) and {"type": "null"} not in options:
        schema["anyOf"] = [*options, {"type": "null"}]
    return schema
