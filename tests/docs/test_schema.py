"""The JSON Schema of the configuration: it is up to date, and takes what the gateway takes."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
import yaml

from tests.docs import generate, schema
from tests.docs.pages import PAGES
from tests.gateway.test_config import FULL

SCHEMA = json.loads(schema.FILE.read_text("utf-8"))


def fits(value: Any) -> bool:
    return jsonschema.Draft202012Validator(SCHEMA).is_valid(value)


def test_it_is_what_the_code_says() -> None:
    """``python -m tests.docs.generate`` writes it anew."""
    assert schema.FILE.read_text("utf-8") == schema.written(generate.words_of_keys())


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_every_key_says_what_it_means() -> None:
    def missing(part: dict[str, Any], place: str) -> list[str]:
        found = []
        for name, inner in part.get("properties", {}).items():
            here = f"{place}.{name}"
            deeper = missing(inner, here) + missing(inner.get("additionalProperties") or {}, f"{here}.*")
            found += deeper if deeper or "description" in inner or "properties" in inner else [here]
        return found

    parts = {".upstreams", ".tools", ".tools.*.mcp"}  # what holds keys that say it
    assert [place for place in missing(SCHEMA, "") if place not in parts] == []


def test_it_takes_what_the_gateway_takes() -> None:
    assert fits(yaml.safe_load(FULL))
    blocks = [
        block.partition("```")[0]
        for page in PAGES
        for block in page.read_text("utf-8").split("<!-- configuration -->\n```yaml\n")[1:]
    ]
    assert blocks
    for block in blocks:
        assert fits(yaml.safe_load(block)), block


@pytest.mark.parametrize(
    "wrong",
    [
        {"upstream": {}},
        {"upstreams": {"a": {"dialect": "chats", "base_url": "http://h"}}},
        {"upstreams": {"a": {"dialect": "chat"}}},
        {"upstreams": {"a": {"dialect": "chat", "base_url": "h"}}},
        {"limits": {"body_mib": 0}},
        {"limits": {"streams": 1.5}},
        {"timeouts": {"idle": "soon"}},
        {"failover": {"failures": 0}},
        {"listen": "localhost"},
        {"tools": {"a": {"approval": "maybe"}}},
    ],
)
def test_it_refuses_what_the_gateway_refuses(wrong: Any) -> None:
    assert not fits(wrong)
