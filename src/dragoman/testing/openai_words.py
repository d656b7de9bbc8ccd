"""What both OpenAI dialects take alike. Source: protocols/openai.md."""

from __future__ import annotations

import re
from typing import Any

from dragoman.testing.faults import JSON, Faults, given
from dragoman.testing.schemas import any_schema, strict_openai

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""Names of tools and of formats."""
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
TIERS = ("auto", "default", "flex", "scale", "priority", "fast")
LOGPROBS = (0, 20)
URL = re.compile(r"https?://\S+|data:[\w.+-]+/[\w.+-]+;base64,[A-Za-z0-9+/]+={0,2}")
"""An address, or the data itself."""


def says_json(value: Any) -> bool:
    """Whether the word stands in any text of the input."""
    if isinstance(value, str):
        return "json" in value.lower()
    if isinstance(value, dict):
        return any(says_json(inner) for inner in value.values())
    return isinstance(value, list) and any(says_json(inner) for inner in value)


def schema_format(value: Any, path: str, faults: Faults, *, flat: bool = False) -> None:
    """The schema of an answer; ``flat`` where its type stands beside it."""
    members = {"name", "description", "schema", "strict"}
    form: JSON = faults.object(value, path, members | {"type"} if flat else members)
    faults.text(form.get("name"), f"{path}.name", pattern=NAME)
    held = any_schema(form.get("schema"), f"{path}.schema", faults)
    if given(form, "description"):
        faults.text(form["description"], f"{path}.description", blank=True)
    if given(form, "strict") and faults.flag(form["strict"], f"{path}.strict"):
        strict_openai(held, f"{path}.schema", faults)
