"""JSON Schemas as OpenAI's servers take them."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialects.openai_schema import closed, describes_object, fits_strict, object_schema

TEXT = {"type": "string"}


def an_object(properties: Any, **members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **members}


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (None, an_object({})),
        ({}, an_object({})),
        ({"type": "object"}, an_object({})),
        ({"properties": {"a": TEXT}}, an_object({"a": TEXT})),
        (an_object({"a": TEXT}), an_object({"a": TEXT})),
        ({"anyOf": [an_object({})]}, {"anyOf": [an_object({})]}),
    ],
)
def test_parameters_are_of_objects(given: Any, sent: Any) -> None:
    assert object_schema(given) == sent


def test_the_root_of_a_structured_output_is_an_object() -> None:
    assert describes_object(an_object({}))
    assert describes_object({"properties": {}})
    assert not describes_object({"type": "array"})
    assert not describes_object({"anyOf": []})


STRICT = an_object({"a": TEXT}, required=["a"], additionalProperties=False)


@pytest.mark.parametrize(
    ("schema", "fits"),
    [
        (STRICT, True),
        (an_object({}, additionalProperties=False), True),
        (an_object({"a": TEXT}, additionalProperties=False), False),
        (an_object({"a": TEXT}, required=["a"]), False),
        ({**STRICT, "properties": {"a": {"type": "string", "minLength": 1}}}, False),
        ({**STRICT, "properties": {"a": {"anyOf": [TEXT, STRICT]}}}, True),
        ({**STRICT, "properties": {"a": {"type": "array", "items": STRICT}}}, True),
        ({**STRICT, "properties": {"a": {"type": ["object", "null"]}}}, False),
        ({**STRICT, "properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": STRICT}}, True),
        ({**STRICT, "anyOf": [STRICT]}, False),
        ({**STRICT, "properties": 7}, False),
        ({"type": "array", "items": STRICT}, False),
        ([], False),
    ],
)
def test_strict_mode(schema: Any, fits: bool) -> None:
    assert fits_strict(schema) is fits


def test_open_objects_are_closed() -> None:
    inner = an_object({"b": TEXT}, required=["b"])
    schema = an_object({"a": {"type": "array", "items": inner}, "c": {"anyOf": [inner, TEXT]}}, required=["a", "c"])
    assert not fits_strict(schema)
    assert fits_strict(closed(schema))
    assert closed(an_object({}, additionalProperties=True)) == an_object({}, additionalProperties=True)


def test_depth_has_an_end() -> None:
    deep: Any = STRICT
    for _ in range(5000):
        deep = an_object({"a": deep}, required=["a"])
    assert not fits_strict(closed(deep))
