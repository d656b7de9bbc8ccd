"""Google's own ``Schema``, a subset of OpenAPI's: what it knows, and what it demands.

Sources: Google's API reference; error texts ("Unknown name", "missing field", "property is not defined").
"""

from __future__ import annotations

from typing import Any

from dragoman.testing.faults import JSON, Faults, given

_KEYWORDS = {
    *("type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties", "required"),
    *("minProperties", "maxProperties", "minLength", "maxLength", "pattern", "example", "anyOf", "propertyOrdering"),
    *("default", "items", "minimum", "maximum"),
}
_TYPES = ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL")
_FORMATS = {
    "STRING": ("date-time", "enum"),
    "NUMBER": ("float", "double"),
    "INTEGER": ("int32", "int64"),
}


def openapi_subset(value: Any, path: str, faults: Faults, *, root: bool = False) -> None:
    """A schema in the subset. ``root``: that of a function's arguments, which is an object."""
    schema = faults.object(value, path, _KEYWORDS)
    kind = schema.get("type")
    kind = kind.upper() if isinstance(kind, str) else kind
    if kind is not None or not given(schema, "anyOf"):
        faults.word(kind, f"{path}.type", _TYPES)
    _properties(schema, path, faults)
    if root and kind != "OBJECT":
        faults.add(f"{path}.type", "the arguments of a function are an object")
    if root and not schema.get("properties"):
        faults.add(f"{path}.properties", "must not be empty: a function without arguments has no parameters")
    if given(schema, "items"):
        openapi_subset(schema["items"], f"{path}.items", faults)
    elif kind == "ARRAY":
        faults.add(f"{path}.items", "must be there")
    if given(schema, "anyOf"):
        for place, inner in faults.list(schema["anyOf"], f"{path}.anyOf", least=1):
            openapi_subset(inner, place, faults)
    _values(schema, kind, path, faults)


def _properties(schema: JSON, path: str, faults: Faults) -> None:
    properties = faults.object(schema.get("properties") or {}, f"{path}.properties")
    for name, inner in properties.items():
        openapi_subset(inner, f"{path}.properties.{name}", faults)
    for place, name in faults.list(schema.get("required") or [], f"{path}.required"):
        faults.known(name, place, properties, "property")


def _values(schema: JSON, kind: Any, path: str, faults: Faults) -> None:
    if given(schema, "enum"):
        if kind not in ("STRING", None):
            faults.add(f"{path}.enum", "is known for texts only")
        for place, word in faults.list(schema["enum"], f"{path}.enum", least=1):
            faults.text(word, place)
    if given(schema, "format") and schema["format"] not in _FORMATS.get(str(kind), ()):
        faults.add(f"{path}.format", f"{schema['format']!r} is not known for {kind}")
