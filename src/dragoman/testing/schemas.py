"""JSON Schemas as tools and formats have them: what each vendor demands of one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dragoman.testing.faults import JSON, Faults

_ONE = ("items", "not", "additionalProperties", "contains", "propertyNames", "if", "then", "else")
_SEVERAL = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")

_ENFORCED_NOT = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength")
"""Keywords that Anthropic refuses where it has to enforce a schema."""


def inner(schema: Any, path: str) -> Iterator[tuple[str, JSON]]:
    """The schema and every schema inside of it, each with its path."""
    if not isinstance(schema, dict):
        return
    yield path, schema
    for name in _ONE:
        yield from inner(schema.get(name), f"{path}.{name}")
    for name in _SEVERAL:
        held = schema.get(name)
        for number, one in enumerate(held if isinstance(held, list) else []):
            yield from inner(one, f"{path}.{name}[{number}]")
    for name in _NAMED:
        held = schema.get(name)
        for key, one in held.items() if isinstance(held, dict) else ():
            yield from inner(one, f"{path}.{name}.{key}")


def is_object(schema: JSON) -> bool:
    """Whether it describes objects."""
    kind = schema.get("type")
    return kind == "object" or (isinstance(kind, list) and "object" in kind) or "properties" in schema


def object_schema(value: Any, path: str, faults: Faults) -> JSON:
    """The schema of a tool's arguments: an object of the type ``object``."""
    found = any_schema(value, path, faults)
    if found.get("type") != "object":
        faults.add(f"{path}.type", f"expected object, not {found.get('type')!r}")
    return found


def any_schema(value: Any, path: str, faults: Faults) -> JSON:
    """A schema of any kind."""
    found = faults.object(value, path)
    if "properties" in found:
        faults.object(found["properties"], f"{path}.properties")
    return found


def strict_openai(value: Any, path: str, faults: Faults) -> None:
    """What OpenAI demands of a schema that it enforces: closed objects whose members are all required."""
    schema = faults.object(value, path)
    if not is_object(schema) or "anyOf" in schema:
        faults.add(path, "a strict schema must describe an object")
    for place, one in inner(schema, path):
        if not is_object(one):
            continue
        if one.get("additionalProperties") is not False:
            faults.add(f"{place}.additionalProperties", "must be false in a strict schema")
        names = one.get("properties") or {}
        required = one.get("required") or []
        if isinstance(names, dict) and isinstance(required, list) and not _names(required, names):
            faults.add(f"{place}.required", "must name every member in a strict schema")


def _names(required: list[Any], members: JSON) -> bool:
    """Whether the list names all of these members, and nothing else."""
    return all(isinstance(name, str) for name in required) and set(required) == set(members)


def strict_anthropic(value: Any, path: str, faults: Faults) -> None:
    """What Anthropic demands of a schema that it enforces: closed objects, and no limits on values."""
    schema = any_schema(value, path, faults)
    for place, one in inner(schema, path):
        if is_object(one) and one.get("additionalProperties") is not False:
            faults.add(f"{place}.additionalProperties", "must be false where the schema is enforced")
        for name in _ENFORCED_NOT:
            if name in one:
                faults.add(f"{place}.{name}", "is not taken where the schema is enforced")
