"""Arguments made up from schemas: they fit, they do no harm, and no schema breaks the demo."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.upstreams.demo.arguments import arguments_for, words_in


def filled(schema: Any, said: str = "What is new?", name: str = "value") -> Any:
    """What a required property with this schema gets."""
    return arguments_for({"type": "object", "properties": {name: schema}, "required": [name]}, said)[name]


def test_only_required_properties_are_filled_nested_ones_too() -> None:
    point = {"type": "object", "properties": {"x": {"type": "number"}, "label": {}}, "required": ["x"]}
    schema = {
        "type": "object",
        "properties": {"points": {"type": "array", "items": point}, "verbose": {"type": "boolean"}},
        "required": ["points", "verbose"],
    }
    assert arguments_for(schema, "") == {"points": [{"x": 1}], "verbose": False}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "enum": ["celsius", "kelvin"]}, "celsius"),
        ({"const": 7}, 7),
        ({"type": "integer", "default": 5}, 5),
        ({"type": "string", "default": None}, "What is new?"),
        ({"type": "integer"}, 1),
        ({"type": "integer", "minimum": 10}, 10),
        ({"type": "integer", "exclusiveMinimum": 10}, 11),
        ({"type": "integer", "maximum": -3}, -3),
        ({"type": "integer", "minimum": 7, "multipleOf": 5}, 10),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.5),
        ({"type": "integer", "minimum": 10**400}, 1),
        ({"type": "boolean"}, False),
        ({"type": "null"}, None),
        ({"type": ["null", "integer"]}, 1),
        ({"type": "array", "items": {"type": "integer"}}, [1]),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 3}, [1, 1, 1]),
        ({"type": "array", "maxItems": 0}, []),
        ({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "boolean"}]}, [1, False]),
        ({"items": {"enum": ["a"]}}, ["a"]),
        ({"properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"a": 1}),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, 1),
        ({"oneOf": [{"enum": ["x"]}, {"type": "null"}]}, "x"),
        ({"allOf": [{"properties": {"a": {"const": 1}}}, {"required": ["a"]}], "type": "object"}, {"a": 1}),
        ({"type": "string", "format": "date"}, "2025-01-01"),
        ({"type": "string", "maxLength": 4}, "What"),
        ({"type": "string", "minLength": 15}, "What is new?..."),
    ],
)
def test_values_fit_their_schema(schema: Any, value: Any) -> None:
    assert filled(schema) == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("command", "ls"),
        ("file_path", "."),
        ("dirPath", "."),
        ("pattern", "."),
        ("URL", "https://example.com/"),
        ("city", "Oslo"),
        ("query", "What is new?"),
        ("profile", "What is new?"),
    ],
)
def test_texts_are_harmless_or_the_users_words(name: str, value: str) -> None:
    assert filled({"type": "string"}, name=name) == value
    assert filled({"type": "array", "items": {"type": "string"}}, name=name) == [value]


def test_a_glob_is_told_by_its_description() -> None:
    assert filled({"type": "string", "description": "The glob pattern to match"}, name="pattern") == "*"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (True, "What is new?"),
        (False, None),
        (None, "What is new?"),
        ({}, "What is new?"),
        ("string", "What is new?"),
        ({"type": {"odd": 1}}, "What is new?"),
        ({"type": "whatever"}, "What is new?"),
        ({"type": "object", "required": "all", "properties": []}, {}),
        ({"type": "object", "required": ["a", 3, None]}, {"a": "What is new?"}),
        ({"enum": []}, "What is new?"),
        ({"anyOf": []}, "What is new?"),
        ({"anyOf": [True]}, "What is new?"),
        ({"type": "string", "minLength": "long", "maxLength": None}, "What is new?"),
        ({"type": "integer", "minimum": "low", "multipleOf": 0}, 1),
        ({"$ref": "#/nowhere/at/all"}, "What is new?"),
    ],
)
def test_odd_schemas_are_read_over(schema: Any, value: Any) -> None:
    assert filled(schema) == value


@pytest.mark.parametrize("schema", [None, True, False, [], "object", {}, {"type": "array"}, {"type": "object"}])
def test_arguments_are_an_object_whatever_was_declared(schema: Any) -> None:
    assert arguments_for(schema, "") == {}


def test_references_are_followed() -> None:
    schema = {
        "type": "object",
        "properties": {"unit": {"$ref": "#/$defs/Unit"}},
        "required": ["unit"],
        "$defs": {"Unit": {"enum": ["m", "km"]}},
    }
    assert arguments_for(schema, "") == {"unit": "m"}


def test_a_schema_that_requires_itself_comes_to_an_end() -> None:
    names = [f"p{number}" for number in range(20)]
    schema = {"type": "object", "properties": {name: {"$ref": "#"} for name in names}, "required": names}
    assert set(arguments_for(schema, "")) == set(names)
    loop = {"allOf": [{"$ref": "#"}] * 5, "$ref": "#"}
    assert arguments_for(loop, "") == {}


def test_words_in_identifiers() -> None:
    assert words_in("mcp__docs__readHTMLPage-2") == {"mcp", "docs", "read", "html", "page", "2"}
