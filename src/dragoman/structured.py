"""Structured output from models that cannot be made to give it: the schema as an instruction."""

from __future__ import annotations

from typing import Any

from dragoman import jsontext

JSON_ONLY = "Answer with JSON, and nothing else."


def instruction(schema: dict[str, Any] | None) -> str:
    """What tells a model to answer with JSON of this schema."""
    if not schema:
        return JSON_ONLY
    return f"Answer with JSON that follows this schema, and nothing else:\n{jsontext.render(schema).decode()}"
