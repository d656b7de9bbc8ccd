"""JSON Schemas in the forms that the Messages API takes."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialects.messages.schema import Subset, tool_schema

TEXT = {"type": "string"}


def closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "expected", "lost"),
    [
        (None, {"type": "object", "properties": {}}, 0),
        ({}, {"type": "object", "properties": {}}, 0),
        ({"properties": {"a": TEXT}}, {"type": "object", "properties": {"a": TEXT}}, 0),
        ({"type": ["object", "null"], "properties": {}}, {"type": "object", "properties": {}}, 0),
        ({"$ref": "#/$defs/A", "$defs": {}}, {"type": "object", "$ref": "#/$defs/A", "$defs": {}}, 0),
        (
            {"type": "object", "properties": {"a": TEXT}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"type": "object", "properties": {"a": TEXT}},
            1,
        ),
        (
            {"oneOf": [{"properties": {"a": TEXT}, "required": ["a"]}, {"properties": {"b": TEXT}}], "title": "T"},
            {"type": "object", "title": "T", "properties": {"a": TEXT, "b": TEXT}},
            1,
        ),
    ],
)
def test_a_tools_schema_is_an_object_at_its_root(schema: Any, expected: Any, lost: int) -> None:
    reasons: list[str] = []
    assert tool_schema(schema, reasons.append) == expected
    assert len(reasons) == lost


@pytest.mark.parametrize(
    ("schema", "expected", "told", "exact"),
    [
        (closed(a=TEXT), closed(a=TEXT), [], True),
        ({**closed(a=TEXT), "$schema": "x"}, closed(a=TEXT), [], True),
        ({"type": "object", "properties": {"a": TEXT}}, closed(a=TEXT), [], False),
        (closed(a={"type": "integer", "minimum": 1}), closed(a={"type": "integer", "description": "(minimum: 1)"}), ["minimum"], False),
        (
            closed(a={"type": "string", "description": "A word.", "pattern": "^a"}),
            closed(a={"type": "string", "description": 'A word.\n(pattern: "^a")'}),
            ["pattern"],
            False,
        ),
        (closed(a={"type": "string", "format": "date"}), closed(a={"type": "string", "format": "date"}), [], True),
        (closed(a={"enum": ["x", None, 1]}), closed(a={"enum": ["x", None, 1]}), [], True),
        (closed(a={"oneOf": [TEXT, {"type": "null"}]}), closed(a={"anyOf": [TEXT, {"type": "null"}]}), [], False),
        (
            closed(a={"type": "array", "items": {"type": "object", "properties": {"b": TEXT}}, "minItems": 1}),
            closed(a={"type": "array", "items": closed(b=TEXT), "minItems": 1}),
            [],
            False,
        ),
        (closed(pattern=TEXT, minimum=TEXT), closed(pattern=TEXT, minimum=TEXT), [], True),
        (
            {**closed(a={"$ref": "#/$defs/A"}), "$defs": {"A": {"type": "object", "properties": {"b": TEXT}}}},
            {**closed(a={"$ref": "#/$defs/A"}), "$defs": {"A": closed(b=TEXT)}},
            [],
            False,
        ),
        (
            {"type": "object", "properties": {"a": TEXT}, "additionalProperties": True},
            {**closed(a=TEXT), "description": "(additionalProperties: true)"},
            ["additionalProperties"],
            False,
        ),
    ],
)  # fmt: skip
def test_the_subset(schema: Any, expected: Any, told: list[str], exact: bool) -> None:
    subset = Subset(schema)
    assert subset.possible
    assert (subset.schema, list(subset.told), subset.exact) == (expected, told, exact)


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = TEXT
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return schema


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": "object", "additionalProperties": TEXT},
        closed(a={}),
        closed(a={"anyOf": [True]}),
        {"$ref": "#"},
        {"$ref": "https://a.example/schema.json"},
        {**closed(a={"$ref": "#/$defs/A"}), "$defs": {"A": {"type": "array", "items": {"$ref": "#/$defs/A"}}}},
        deep(500),
    ],
)
def test_what_the_subset_cannot_express(schema: dict[str, Any]) -> None:
    assert not Subset(schema).possible
    assert not Subset(schema).exact
