"""A value that fits a JSON schema: the arguments of a call that nobody thought about.

Only what is required is filled. Texts are chosen to do no harm: a tool that takes a command gets
``ls``, one that takes a path gets ``.``; what looks like a question gets the user's own words.
Schemas come from anywhere: an odd one is read as if the odd part were not there.
"""

from __future__ import annotations

import math
import re
from typing import Any

JSON = dict[str, Any]

_DEPTH = 12
_SCHEMAS = 2000
"""How deep a value may get, and how many schemas are looked at for it: a schema may require itself."""
_LONGEST = 4096
_MOST = 64
"""How long a text and an array may get only because the schema wants it."""
_EXACT = 2**53
"""A bound beyond this (either side) is none: nobody is asked for such a number."""
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")

_BY_FORMAT = {
    "date-time": "2025-01-01T12:00:00Z",
    "date": "2025-01-01",
    "time": "12:00:00Z",
    "duration": "PT1H",
    "email": "someone@example.com",
    "hostname": "example.com",
    "ipv4": "127.0.0.1",
    "ipv6": "::1",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
_BY_NAME = (
    ({"command", "commands", "cmd", "script", "shell", "argv"}, "ls"),
    ({"path", "paths", "file", "files", "filename", "dir", "directory", "folder", "root", "cwd", "workdir"}, "."),
    ({"glob", "globs"}, "*"),
    ({"pattern", "regex", "regexp"}, "."),
    ({"url", "urls", "uri", "link", "href"}, "https://example.com/"),
    ({"city", "location", "place"}, "Oslo"),
    ({"country"}, "Norway"),
    ({"timezone", "zone"}, "UTC"),
    ({"date", "day"}, "2025-01-01"),
    ({"email"}, "someone@example.com"),
    ({"language", "lang", "locale"}, "en"),
    ({"code", "expression"}, "1 + 1"),
    ({"id", "ids"}, "1"),
)


def words_in(name: str) -> set[str]:
    """The words of an identifier, in lower case: ``readFile``, ``read_file`` and ``read-file`` are alike."""
    return {word.lower() for word in _WORDS.findall(name)}


def arguments_for(schema: Any, said: str) -> JSON:
    """Arguments that fit the ``parameters`` of a tool; ``said`` is what the user said."""
    value = _Filler(schema, said).value(schema, "", 0)
    return value if isinstance(value, dict) else {}


class _Filler:
    """Fills one schema; ``root`` is where its references point to."""

    def __init__(self, root: Any, said: str) -> None:
        self._root = root
        self._said = said or "demo"
        self._left = _SCHEMAS

    def value(self, schema: Any, name: str, depth: int) -> Any:
        """A value for the property of this name."""
        schema = self._flat(schema, depth)
        if "const" in schema:
            return schema["const"]
        if isinstance(enum := schema.get("enum"), list) and enum:
            return enum[0]
        if (default := schema.get("default")) is not None:
            return default
        kind = _kind(schema)
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, name, depth)
        if kind in ("integer", "number"):
            return _number(schema, whole=kind == "integer")
        if kind == "boolean":
            return False
        return None if kind == "null" else self._text(schema, name)

    def _flat(self, schema: Any, depth: int) -> JSON:
        """The schema with references followed and alternatives chosen; ``True`` and rubbish allow anything."""
        if not isinstance(schema, dict):
            return {"type": "null"} if schema is False else {}
        self._left -= 1
        if depth > _DEPTH or self._left < 0:
            return {"type": "null"}
        parts: list[Any] = []
        if isinstance(reference := schema.get("$ref"), str):
            parts.append(self._referred(reference))
        if isinstance(every := schema.get("allOf"), list):
            parts += every
        for word in ("anyOf", "oneOf"):
            if isinstance(options := schema.get(word), list) and options:
                parts.append(next((one for one in options if one != {"type": "null"}), options[0]))
        flat: JSON = schema
        for part in parts:
            flat = _joined(flat, self._flat(part, depth + 1))
        return flat

    def _referred(self, reference: str) -> Any:
        found = self._root
        for step in reference.removeprefix("#").split("/")[1:]:
            found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
        return found

    def _object(self, schema: JSON, depth: int) -> JSON:
        required, properties = schema.get("required"), schema.get("properties")
        names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
        known = properties if isinstance(properties, dict) else {}
        return {name: self.value(known.get(name), name, depth + 1) for name in names}

    def _array(self, schema: JSON, name: str, depth: int) -> list[Any]:
        first = schema.get("prefixItems")
        places = first if isinstance(first, list) else []
        least = max(1, len(places), _count(schema.get("minItems"), 0))
        size = min(least, _MOST, _count(schema.get("maxItems"), _MOST))
        kinds = [*places, *[schema.get("items")] * size][:size]
        return [self.value(kind, name, depth + 1) for kind in kinds]

    def _text(self, schema: JSON, name: str) -> str:
        text = _BY_FORMAT.get(str(schema.get("format"))) or self._hinted(schema, words_in(name)) or self._said
        least, most = _count(schema.get("minLength"), 0), _count(schema.get("maxLength"), len(text))
        return text[:most].ljust(min(least, _LONGEST), ".")

    @staticmethod
    def _hinted(schema: JSON, words: set[str]) -> str | None:
        if "pattern" in words and "glob" in str(schema.get("description")).lower():
            return "*"
        return next((text for names, text in _BY_NAME if names & words), None)


def _kind(schema: JSON) -> str:
    """The type, guessed where it is missing or one of several."""
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    if isinstance(kind, str):
        return kind
    if "properties" in schema or "required" in schema:
        return "object"
    return "array" if "items" in schema or "prefixItems" in schema else "string"


def _joined(one: JSON, other: JSON) -> JSON:
    """Two schemas that must both hold, as far as filling needs it."""
    joined = {**other, **one}
    properties = [part["properties"] for part in (one, other) if isinstance(part.get("properties"), dict)]
    required = [part["required"] for part in (one, other) if isinstance(part.get("required"), list)]
    if len(properties) > 1:
        joined["properties"] = {**properties[1], **properties[0]}
    if len(required) > 1:
        joined["required"] = [*required[0], *required[1]]
    return joined


def _count(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else otherwise


def _number(schema: JSON, *, whole: bool) -> int | float:
    """1 if the schema allows it, else a bound or a number between the bounds."""
    low = max(_bound(schema, "minimum", -math.inf), _bound(schema, "exclusiveMinimum", -math.inf))
    high = min(_bound(schema, "maximum", math.inf), _bound(schema, "exclusiveMaximum", math.inf))
    step = _bound(schema, "multipleOf", 1.0)
    upwards = math.ceil(low / step) * step if step > 0 and abs(low / step) < _EXACT else step
    tries = (1.0, low, high, upwards, upwards + step, high - step, (low + high) / 2)
    fitting = (one for one in tries if _allowed(one, schema) and (one.is_integer() or not whole))
    value = next(fitting, 1.0)
    return int(value) if value.is_integer() else value


def _allowed(value: float, schema: JSON) -> bool:
    step = _bound(schema, "multipleOf", 0.0)
    return (
        math.isfinite(value)
        and _bound(schema, "minimum", -math.inf) <= value <= _bound(schema, "maximum", math.inf)
        and _bound(schema, "exclusiveMinimum", -math.inf) < value < _bound(schema, "exclusiveMaximum", math.inf)
        and (step <= 0 or (value / step).is_integer())
    )


def _bound(schema: JSON, word: str, otherwise: float) -> float:
    value = schema.get(word)
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < _EXACT:
        return otherwise
    return float(value)
