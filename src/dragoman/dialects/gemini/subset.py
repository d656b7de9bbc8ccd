"""JSON Schema as Google's own ``Schema``: a subset of OpenAPI's, for servers that take nothing else.

What the subset has is on lists here; every other keyword goes, as a loss with its path. A schema is told
from a map of properties: a *property* of any name stays. The types are one word each, in upper case;
``null`` is ``nullable``; references stand in full, since there are none.

Sources: design/requests.md, 4; protocols/anthropic-google.md, 4 (12). Google's API refuses references
(BerriAI/litellm#9625), lists of types (voocel/litellm#9), enums of other types than text, formats that
it does not list, lists without ``items`` and a ``required`` without its property.
"""

from __future__ import annotations

from math import floor
from typing import Any
from urllib.parse import unquote

from dragoman.canonical.request import Loss
from dragoman.dialects.gemini.wire import JSON, as_list, as_object

_DEEPEST = 32
"""Levels of a schema; below there is nothing but objects of any kind."""
_MOST = 4000
"""Schemas within one: references that stand in full may multiply."""

_ANNOTATIONS = ("title", "description", "default", "example", "examples")
_SILENT = frozenset({"$schema", "$id", "$comment", "$anchor", "$defs", "definitions", "nullable", "propertyOrdering"})
"""What says nothing of the values, or is read elsewhere."""
_FORMATS = {
    "string": ("date-time", "enum"),
    "number": ("float", "double"),
    "integer": ("int32", "int64"),
}
_LIMITS: dict[str, tuple[str, ...]] = {
    "object": ("minProperties", "maxProperties"),
    "array": ("minItems", "maxItems"),
    "string": ("minLength", "maxLength"),
    "number": ("minimum", "maximum"),
    "integer": ("minimum", "maximum"),
    "boolean": (),
}
"""The types, and the limits of each that are numbers."""
_SIGNS: tuple[tuple[str, frozenset[str]], ...] = (
    ("object", frozenset({"properties", "required", "additionalProperties", "patternProperties", *_LIMITS["object"]})),
    ("array", frozenset({"items", "prefixItems", "uniqueItems", *_LIMITS["array"]})),
    ("string", frozenset({"pattern", "format", *_LIMITS["string"]})),
    ("number", frozenset({"exclusiveMinimum", "exclusiveMaximum", "multipleOf", *_LIMITS["number"]})),
)
"""Keywords that show the type of a schema that names none."""
_READ = frozenset(
    {"type", "enum", "const", "anyOf", "oneOf", "allOf", "format", "pattern", "properties", "required", "items"}
    | {"prefixItems", "additionalProperties", "exclusiveMinimum", "exclusiveMaximum", *_ANNOTATIONS, *_SILENT}
    | {limit for limits in _LIMITS.values() for limit in limits}
)
_ANYTHING: JSON = {
    "anyOf": [
        {"type": "STRING"},
        {"type": "NUMBER"},
        {"type": "BOOLEAN"},
        {"type": "OBJECT"},
        {"type": "ARRAY", "items": {"type": "STRING"}},
    ]
}
"""A value of any kind: each schema needs a type."""

_NARROWER = {"number": "integer"}

Above = tuple[str, ...]
"""The way down to a schema: a pointer for each reference that was followed, "" for all other steps."""


def parameters_subset(schema: JSON, path: str, losses: list[Loss]) -> JSON | None:
    """The ``parameters`` of a function; ``None`` if it takes none. They are an object at the root."""
    converter = _Converter(schema, path)
    found = converter.convert(schema, path)
    if objects := [option for option in found.pop("anyOf", ()) if option.get("properties")]:
        converter.lose(path, "alternatives at the root are joined")
        found = _joined(objects, found)
    losses += converter.losses()
    found.pop("nullable", None)
    return found if found.get("type") == "OBJECT" and found.get("properties") else None


def value_subset(schema: JSON, path: str, losses: list[Loss]) -> JSON:
    """The same for a schema of any value (``responseSchema``)."""
    converter = _Converter(schema, path)
    found = converter.convert(schema, path)
    losses += converter.losses()
    return found


def _joined(objects: list[JSON], beside: JSON) -> JSON:
    """One object with the properties of all; what each of them demands is demanded."""
    found: dict[str, list[JSON]] = {}
    for option in objects:
        for name, inner in option["properties"].items():
            if inner not in found.setdefault(name, []):
                found[name].append(inner)
    properties = {name: _either(every) for name, every in found.items()}
    required = [name for name in found if all(name in option.get("required", ()) for option in objects)]
    return {**beside, "type": "OBJECT", "properties": properties, **({"required": required} if required else {})}


def _either(options: list[JSON]) -> JSON:
    """What fits one of these; lists of texts become one list."""
    if len(options) == 1:
        return options[0]
    if all(option.keys() == {"type", "enum"} for option in options):
        return {"type": "STRING", "enum": list(dict.fromkeys(text for option in options for text in option["enum"]))}
    return {"anyOf": options}


class _Converter:
    """Converts one schema, to whose root its references point."""

    def __init__(self, root: JSON, path: str) -> None:
        self._root = root
        self._path = path
        self._left = _MOST
        self._losses: dict[str, str] = {}

    def lose(self, path: str, reason: str) -> None:
        self._losses.setdefault(path, reason)

    def losses(self) -> list[Loss]:
        """What did not fit, each path once."""
        return [Loss(path, reason) for path, reason in self._losses.items()]

    def convert(self, schema: Any, path: str, above: Above = ()) -> JSON:
        """The schema in the subset."""
        self._left -= 1
        if self._left < 0 or len(above) > _DEEPEST:
            self.lose(self._path, "too large a schema: what lies deep in it is an object of any kind")
            return {"type": "OBJECT"}
        if not isinstance(schema, dict):
            return dict(_ANYTHING)
        flat, above = self._flat(schema, path, above)
        flat, options, above = self._alternatives(flat, path, above)
        for name in flat:
            if name not in _READ:
                self.lose(f"{path}.{name}", "no keyword of this API's schemas")
        kinds, null = _kinds(flat)
        out = _annotations(flat)
        if options and not flat.get("properties"):
            out |= self._union(flat, options, path, above)
        elif kinds:
            every = [found for kind in kinds if (found := self._typed(kind, flat, path, above)) is not None]
            if not every:
                self.lose(f"{path}.enum", "no listed value is of the type")
            out |= {"anyOf": every} if len(every) > 1 else every[0] if every else {"type": kinds[0].upper()}
        else:
            out |= {"type": "NULL"} if _is_null(flat) else _ANYTHING
        if null and out.get("type") != "NULL":
            out["nullable"] = True
        return out

    # ---- what stands for something else

    def _flat(self, schema: JSON, path: str, above: Above) -> tuple[JSON, Above]:
        """The schema with what its ``$ref`` and ``allOf`` stand for."""
        while "$ref" in schema:
            pointer = schema["$ref"]
            schema = {name: value for name, value in schema.items() if name != "$ref"}
            target = _target(self._root, pointer)
            if target is None or pointer in above:
                self.lose(f"{path}.$ref", "it has no end" if target else "it leads nowhere")
                return {**_annotations(target or {}), "type": "object", **schema}, above
            above = (*above, pointer)
            self._merge(schema, target, path)
        branches = schema.get("allOf")
        if not isinstance(branches, list) or len(above) > _DEEPEST:
            return schema, above
        schema = {name: value for name, value in schema.items() if name != "allOf"}
        for number, branch in enumerate(branches):
            found, inner = self._flat(as_object(branch), f"{path}.allOf[{number}]", (*above, ""))
            above = (*above, *(pointer for pointer in inner[len(above) :] if pointer))
            self._merge(schema, found, path)
        return schema, above

    def _merge(self, into: JSON, other: JSON, path: str) -> None:
        """Adds what another schema demands of the same value."""
        for name, value in other.items():
            mine = into.get(name)
            if name not in into:
                into[name] = value
            elif name == "properties" and isinstance(mine, dict) and isinstance(value, dict):
                both = {key: {"allOf": [mine[key], inner]} for key, inner in value.items() if key in mine}
                into[name] = {**mine, **value, **both}
            elif name == "required":
                into[name] = list(dict.fromkeys([*_texts(mine), *_texts(value)]))
            elif name == "enum":
                into[name] = [item for item in as_list(mine) if item in as_list(value)]
            elif mine != value and name not in _ANNOTATIONS and name not in _SILENT:
                self.lose(f"{path}.{name}", "several are demanded at once: one stays")

    def _alternatives(self, flat: JSON, path: str, above: Above) -> tuple[JSON, list[tuple[str, Any]], Above]:
        """The alternatives with their paths, if there are two at least; a single one becomes part of the schema.

        ``null`` is none: it makes the schema nullable.
        """
        while (name := next((word for word in ("anyOf", "oneOf") if as_list(flat.get(word))), None)) is not None:
            every = [(f"{path}.{name}[{number}]", option) for number, option in enumerate(flat[name])]
            options = [(place, option) for place, option in every if not _is_null(option)]
            flat = {word: value for word, value in flat.items() if word != name}
            if len(options) < len(every):
                flat["nullable"] = True
            if len(options) != 1:
                if options and flat.get("properties"):
                    self.lose(f"{path}.{name}", "alternatives beside properties")
                return flat, options, above
            place, option = options[0]
            found, above = self._flat(dict(as_object(option)), place, above)
            self._merge(flat, found, path)
        return flat, [], above

    # ---- values

    def _union(self, flat: JSON, options: list[tuple[str, Any]], path: str, above: Above) -> JSON:
        """The alternatives, each with what is demanded of all."""
        apart = ("nullable", "anyOf", "oneOf", *_ANNOTATIONS)
        common = {name: value for name, value in flat.items() if name in _READ and name not in apart}
        if "type" in common:
            common["type"] = _kinds(flat)[0]
        return _either(
            [
                self.convert({**common, **option} if isinstance(option, dict) else option, place, (*above, ""))
                for place, option in options
            ]
        )

    def _typed(self, kind: str, flat: JSON, path: str, above: Above) -> JSON | None:
        """What is said of values of this type; ``None`` if there are none among those listed."""
        out: JSON = {"type": kind.upper()}
        out |= {name: flat[name] for name in _LIMITS[kind] if _is_number(flat.get(name))}
        if (values := _values(flat)) is not None:
            fitting = [value for value in values if _kind_of(value) in (kind, _NARROWER.get(kind))]
            if not fitting:
                return None
            texts = [value for value in fitting if isinstance(value, str) and value]
            out |= {"enum": texts} if texts else {}
            if len(texts) < len(fitting):
                self.lose(f"{path}.{'enum' if 'enum' in flat else 'const'}", "only texts can be listed")
        if kind == "object":
            out |= self._object(flat, path, (*above, ""))
        elif kind == "array":
            out |= self._array(flat, path, (*above, ""))
        elif kind in _FORMATS:
            out |= self._scalar(kind, flat, path)
        return out

    def _object(self, flat: JSON, path: str, below: Above) -> JSON:
        if flat.get("additionalProperties") not in (None, True, False, {}):
            self.lose(f"{path}.additionalProperties", "no keyword of this API's schemas")
        given = as_object(flat.get("properties"))
        found = {
            name: self.convert(inner, f"{path}.properties.{name}", below)
            for name, inner in given.items()
            if inner is not False
        }
        demanded = dict.fromkeys(_texts(flat.get("required")))
        required = [name for name in demanded if name in found]
        if len(required) < len(demanded):
            self.lose(f"{path}.required", "only properties that are described can be demanded")
        return {**({"properties": found} if found else {}), **({"required": required} if required else {})}

    def _array(self, flat: JSON, path: str, below: Above) -> JSON:
        items: Any = flat.get("items")
        places = as_list(flat.get("prefixItems"))
        if isinstance(items, list):
            items, places = None, items
        if places:
            self.lose(f"{path}.prefixItems", "the items of a list are all alike")
            items = {"anyOf": [*places, *([items] if isinstance(items, dict) else [])]}
        return {"items": self.convert(items, f"{path}.items", below)}

    def _scalar(self, kind: str, flat: JSON, path: str) -> JSON:
        out: JSON = {}
        if (form := flat.get("format")) is not None:
            if form in _FORMATS[kind]:
                out["format"] = form
            else:
                self.lose(f"{path}.format", f"this API knows no format {form}")
        if kind == "string":
            return {**out, "pattern": flat["pattern"]} if isinstance(flat.get("pattern"), str) else out
        for name, other, step in (("exclusiveMinimum", "minimum", 1), ("exclusiveMaximum", "maximum", -1)):
            bound = flat.get(name)
            if bound is None:
                continue
            whole = kind == "integer" and _is_number(bound)
            if _is_number(bound) and other not in flat:
                out[other] = (floor(bound) if step > 0 else -floor(-bound)) + step if whole else bound
            if not whole or other in flat:
                self.lose(f"{path}.{name}", "bounds belong to the values")
        return out


def _target(root: JSON, pointer: Any) -> JSON | None:
    """The schema that a reference of this document (``#/$defs/x``) means."""
    if not isinstance(pointer, str) or not pointer.startswith("#"):
        return None
    value: Any = root
    for step in filter(None, unquote(pointer[1:]).split("/")):
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            value = as_object(value).get(key)
    return value if isinstance(value, dict) else None


def _annotations(flat: JSON) -> JSON:
    found = {name: flat[name] for name in ("title", "description") if isinstance(flat.get(name), str)}
    found |= {name: flat[name] for name in ("default", "example") if flat.get(name) is not None}
    if "example" not in found and (examples := as_list(flat.get("examples"))):
        found["example"] = examples[0]
    return found


def _texts(value: Any) -> list[str]:
    return [item for item in as_list(value) if isinstance(item, str)]


def _values(flat: JSON) -> list[Any] | None:
    """The values that are listed, without ``null``; ``None`` if none are."""
    values = flat["enum"] if isinstance(flat.get("enum"), list) else [flat["const"]] if "const" in flat else None
    return None if values is None else [value for value in values if value is not None]


def _kinds(flat: JSON) -> tuple[list[str], bool]:
    """The types of the values, and whether ``null`` is one of them."""
    said = flat.get("type")
    named = [name.lower() for name in (said if isinstance(said, list) else [said]) if isinstance(name, str)]
    kinds = [name for name in dict.fromkeys(named) if name in _LIMITS]
    null = "null" in named or flat.get("nullable") is True or None in [*as_list(flat.get("enum")), flat.get("const", 0)]
    if not kinds and "null" not in named:
        kinds = _shown(flat)
    if {"integer", "number"} <= set(kinds):
        kinds.remove("integer")
    return kinds, null


def _shown(flat: JSON) -> list[str]:
    """The types of a schema that names none."""
    if values := _values(flat):
        return list(dict.fromkeys(_kind_of(value) for value in values))
    return [kind for kind, signs in _SIGNS if signs & flat.keys()][:1]


_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "boolean"),
    (str, "string"),
    (int, "integer"),
    (float, "number"),
    (list, "array"),
    (dict, "object"),
)


def _kind_of(value: Any) -> str:
    return next((kind for type_, kind in _KINDS if isinstance(value, type_)), "null")


def _is_null(option: Any) -> bool:
    if not isinstance(option, dict):
        return False
    kind = option.get("type")
    return (isinstance(kind, str) and kind.lower() == "null") or (_values(option) == [] and option != {})


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
