"""JSON Schema as Google's own kind of schema."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.canonical.request import Loss
from dragoman.dialects.gemini.schema import parse_schema
from dragoman.dialects.gemini.subset import parameters_subset, value_subset

JSON = dict[str, Any]

TEXT = {"type": "STRING"}
ANYTHING = {
    "anyOf": [
        {"type": "STRING"},
        {"type": "NUMBER"},
        {"type": "BOOLEAN"},
        {"type": "OBJECT"},
        {"type": "ARRAY", "items": {"type": "STRING"}},
    ]
}


def value(schema: Any) -> tuple[JSON, list[str]]:
    """What becomes of a schema, and the paths that are lost."""
    losses: list[Loss] = []
    found = value_subset(schema, "s", losses)
    return found, [loss.path.removeprefix("s.") for loss in losses]


def parameters(schema: Any) -> tuple[JSON | None, list[str]]:
    losses: list[Loss] = []
    found = parameters_subset(schema, "s", losses)
    return found, [loss.path.removeprefix("s.") for loss in losses]


SAYS_THE_SAME: dict[str, tuple[JSON, JSON]] = {
    "all of its words": (
        {"type": "string", "title": "T", "description": "D", "default": "d", "example": "e", "pattern": "x"},
        {"type": "STRING", "title": "T", "description": "D", "default": "d", "example": "e", "pattern": "x"},
    ),
    "limits": (
        {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 9}, "minItems": 1, "maxItems": 3},
        {"type": "ARRAY", "items": {"type": "INTEGER", "minimum": 1, "maximum": 9}, "minItems": 1, "maxItems": 3},
    ),
    "types in upper case": ({"type": "OBJECT", "properties": {"a": {"type": "STRING", "nullable": True}}},) * 2,
    "a type array with null": ({"type": ["string", "null"]}, {"type": "STRING", "nullable": True}),
    "a type array of one": ({"type": ["boolean"]}, {"type": "BOOLEAN"}),
    "a type array": (
        {"type": ["string", "integer"], "description": "D", "minLength": 1, "maximum": 5},
        {"description": "D", "anyOf": [{"type": "STRING", "minLength": 1}, {"type": "INTEGER", "maximum": 5}]},
    ),
    "any number": ({"type": ["integer", "number", "null"]}, {"type": "NUMBER", "nullable": True}),
    "only null": ({"type": "null"}, {"type": "NULL"}),
    "a union with null": (
        {"anyOf": [{"type": "integer", "description": "inner"}, {"type": "null", "description": "none"}]},
        {"type": "INTEGER", "description": "inner", "nullable": True},
    ),
    "the outer description counts": (
        {"oneOf": [{"type": "null"}, {"type": "string", "description": "inner"}], "description": "outer"},
        {"type": "STRING", "description": "outer", "nullable": True},
    ),
    "a larger union with null": (
        {"anyOf": [{"type": "string"}, {"type": "number"}, {"const": None}]},
        {"anyOf": [{"type": "STRING"}, {"type": "NUMBER"}], "nullable": True},
    ),
    "unions in unions": (
        {"anyOf": [{"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": "null"}]},
        {"type": "STRING", "nullable": True},
    ),
    "a union of literals": (
        {"anyOf": [{"const": "a"}, {"const": "b"}, {"enum": ["b", "c"]}]},
        {"type": "STRING", "enum": ["a", "b", "c"]},
    ),
    "a union of one type": (
        {"type": ["object", "null"], "oneOf": [{"properties": {"a": {}}}, {"required": []}]},
        {"anyOf": [{"type": "OBJECT", "properties": {"a": ANYTHING}}, {"type": "OBJECT"}], "nullable": True},
    ),
    "a constant": ({"const": "x", "description": "D"}, {"type": "STRING", "enum": ["x"], "description": "D"}),
    "an enum without a type": ({"enum": ["a", None]}, {"type": "STRING", "enum": ["a"], "nullable": True}),
    "formats that it knows": (
        {
            "type": "object",
            "properties": {"t": {"type": "string", "format": "date-time"}, "n": {"format": "date-time"}},
        },
        {
            "type": "OBJECT",
            "properties": {
                "t": {"type": "STRING", "format": "date-time"},
                "n": {"type": "STRING", "format": "date-time"},
            },
        },
    ),
    "bounds of whole numbers": (
        {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 9.5},
        {"type": "INTEGER", "minimum": 1, "maximum": 9},
    ),
    "the first of several examples": ({"type": "string", "examples": ["a"]}, {"type": "STRING", "example": "a"}),
    "no type, but signs of one": (
        {"properties": {"a": {"items": {"pattern": "x"}}, "b": {"minimum": 1}}},
        {
            "type": "OBJECT",
            "properties": {
                "a": {"type": "ARRAY", "items": {"type": "STRING", "pattern": "x"}},
                "b": {"type": "NUMBER", "minimum": 1},
            },
        },
    ),
    "no sign at all": ({"description": "D"}, {"description": "D", **ANYTHING}),
    "a list of anything": ({"type": "array"}, {"type": "ARRAY", "items": ANYTHING}),
    "what says nothing of values": (
        {"$schema": "x", "$id": "y", "$comment": "z", "type": "object", "additionalProperties": False},
        {"type": "OBJECT"},
    ),
    "properties are no keywords": (
        {"type": "object", "properties": {name: {"type": "string"} for name in ("type", "$ref", "not", "properties")}},
        {"type": "OBJECT", "properties": dict.fromkeys(("type", "$ref", "not", "properties"), TEXT)},
    ),
    "a reference": (
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/A~1B%20C", "description": "here"}, "b": {"$ref": "#/$defs/D"}},
            "$defs": {"A/B C": {"type": "string", "description": "there"}, "D": {"$ref": "#/$defs/A~1B%20C"}},
        },
        {
            "type": "OBJECT",
            "properties": {
                "a": {"type": "STRING", "description": "here"},
                "b": {"type": "STRING", "description": "there"},
            },
        },
    ),
    "all of several": (
        {
            "allOf": [
                {"$ref": "#/definitions/A"},
                {"properties": {"b": {"type": "boolean"}, "a": {"minLength": 1}}, "required": ["b", "a"]},
            ],
            "definitions": {"A": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}},
        },
        {
            "type": "OBJECT",
            "properties": {"a": {"type": "STRING", "minLength": 1}, "b": {"type": "BOOLEAN"}},
            "required": ["a", "b"],
        },
    ),
    "enums of all": ({"allOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]}, {"type": "STRING", "enum": ["b"]}),
}


@pytest.mark.parametrize("name", SAYS_THE_SAME)
def test_what_the_subset_can_say(name: str) -> None:
    schema, expected = SAYS_THE_SAME[name]
    assert value(schema) == (expected, [])


LOSES: dict[str, tuple[JSON, JSON, list[str]]] = {
    "keywords": (
        {
            "type": "object",
            "properties": {"n": {"type": "integer", "multipleOf": 2}},
            "patternProperties": {},
            "x-a": 1,
        },
        {"type": "OBJECT", "properties": {"n": {"type": "INTEGER"}}},
        ["patternProperties", "x-a", "properties.n.multipleOf"],
    ),
    "free properties": ({"additionalProperties": {"type": "string"}}, {"type": "OBJECT"}, ["additionalProperties"]),
    "formats": ({"type": "string", "format": "uri"}, TEXT, ["format"]),
    "numbers in enums": ({"type": "number", "enum": [1, 2.5]}, {"type": "NUMBER"}, ["enum"]),
    "constants": ({"const": True}, {"type": "BOOLEAN"}, ["const"]),
    "empty texts in enums": ({"enum": ["", "a"]}, {"type": "STRING", "enum": ["a"]}, ["enum"]),
    "enums of another type": ({"type": "string", "enum": [1]}, TEXT, ["enum"]),
    "mixed enums": (
        {"enum": ["a", 1]},
        {"anyOf": [{"type": "STRING", "enum": ["a"]}, {"type": "INTEGER"}]},
        ["enum"],
    ),
    "bounds": ({"type": "number", "exclusiveMinimum": 0}, {"type": "NUMBER", "minimum": 0}, ["exclusiveMinimum"]),
    "bounds of draft 4": (
        {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
        {"type": "INTEGER", "minimum": 0},
        ["exclusiveMinimum"],
    ),
    "tuples": (
        {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
        {"type": "ARRAY", "items": {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]}},
        ["prefixItems"],
    ),
    "required that is not described": (
        {"type": "object", "properties": {"a": {"type": "string"}, "never": False}, "required": ["a", "b", "never"]},
        {"type": "OBJECT", "properties": {"a": TEXT}, "required": ["a"]},
        ["required"],
    ),
    "alternatives beside properties": (
        {
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        {"type": "OBJECT", "properties": {"a": TEXT}},
        ["anyOf"],
    ),
    "what contradicts": (
        {"allOf": [{"type": "string", "maxLength": 5}, {"maxLength": 3}]},
        {"type": "STRING", "maxLength": 5},
        ["maxLength"],
    ),
    "recursion": (
        {
            "$ref": "#/$defs/Node",
            "$defs": {
                "Node": {
                    "description": "A node.",
                    "properties": {"value": {"type": "string"}, "next": {"$ref": "#/$defs/Node"}},
                }
            },
        },
        {
            "description": "A node.",
            "type": "OBJECT",
            "properties": {"value": TEXT, "next": {"description": "A node.", "type": "OBJECT"}},
        },
        ["properties.next.$ref"],
    ),
    "recursion through the root": (
        {"type": "object", "properties": {"next": {"$ref": "#"}}},
        {"type": "OBJECT", "properties": {"next": {"type": "OBJECT", "properties": {"next": {"type": "OBJECT"}}}}},
        ["properties.next.properties.next.$ref"],
    ),
    "recursion without a step": (
        {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"allOf": [{"$ref": "#/$defs/A"}]}}},
        {"type": "OBJECT"},
        ["allOf[0].$ref"],
    ),
    "references that lead nowhere": (
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/no"}, "b": {"$ref": "https://x/y"}, "c": {"$ref": 5}}},
        {"type": "OBJECT", "properties": {name: {"type": "OBJECT"} for name in "abc"}},
        [f"properties.{name}.$ref" for name in "abc"],
    ),
}


@pytest.mark.parametrize("name", LOSES)
def test_what_it_cannot_say_is_lost_by_name(name: str) -> None:
    schema, expected, lost = LOSES[name]
    assert value(schema) == (expected, lost)


@pytest.mark.parametrize(
    ("schema", "expected", "lost"),
    [
        ({}, None, []),
        ({"type": "object", "properties": {}, "additionalProperties": False}, None, []),
        (
            {"type": ["object", "null"], "properties": {"a": {"type": "string"}}},
            {"type": "OBJECT", "properties": {"a": TEXT}},
            [],
        ),
        (
            {
                "description": "D",
                "oneOf": [
                    {
                        "properties": {"kind": {"const": "a"}, "x": {"type": "string"}, "y": {}},
                        "required": ["kind", "x"],
                    },
                    {"properties": {"kind": {"const": "b"}, "x": {"type": "integer"}}, "required": ["kind"]},
                ],
            },
            {
                "description": "D",
                "type": "OBJECT",
                "properties": {
                    "kind": {"type": "STRING", "enum": ["a", "b"]},
                    "x": {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]},
                    "y": ANYTHING,
                },
                "required": ["kind"],
            },
            ["s"],
        ),
    ],
)
def test_parameters_are_one_object(schema: JSON, expected: Any, lost: list[str]) -> None:
    assert parameters(schema) == (expected, lost)


def test_references_that_multiply_and_depth_have_an_end() -> None:
    branching: JSON = {
        f"n{n}": {"type": "object", "properties": {side: {"$ref": f"#/$defs/n{n + 1}"} for side in "ab"}}
        for n in range(30)
    }
    found, lost = value({"$ref": "#/$defs/n0", "$defs": {**branching, "n30": {"type": "string"}}})
    assert len(json.dumps(found)) < 1 << 20
    assert lost == ["s"]
    deep: JSON = {"type": "string"}
    for number in range(900):
        deep = {"type": "array", "items": deep} if number % 2 else {"allOf": [deep]}
    found, lost = value(deep)
    assert found["type"] == "ARRAY"
    assert lost == ["s"]


ODD: list[Any] = [None, True, [], "x", 5, {"type": 5}, {"type": ["x", 5]}, {"properties": []}, {"required": "a"}]
ODD += [{"enum": "x"}, {"enum": []}, {"anyOf": {}}, {"anyOf": [5, True]}, {"allOf": [5]}, {"items": [{}]}, {"items": 5}]
ODD += [{"type": "array", "items": [5]}, {"minLength": "x"}, {"properties": {"a": None}}, {"format": {}}, {"const": {}}]


@pytest.mark.parametrize("schema", ODD)
def test_odd_schemas_become_some_schema(schema: Any) -> None:
    found, _ = value(schema)
    assert "type" in found or "anyOf" in found
    inside, _ = value({"type": "object", "properties": {"a": schema}})
    assert inside["properties"] == {"a": found}


@pytest.mark.parametrize(
    "name", [name for name, (schema, _) in SAYS_THE_SAME.items() if "$ref" not in json.dumps(schema)]
)
def test_the_subset_read_back_is_the_subset_again(name: str) -> None:
    found, _ = value(SAYS_THE_SAME[name][0])
    assert value(parse_schema(found)) == (found, [])
