"""The configuration as a JSON Schema, for editors: from the types of ``settings`` and the words of the page.

Written to ``docs/dragoman.schema.json`` by ``python -m tests.docs.generate``. It says what the types say; what must
fit together only the gateway checks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import UnionType
from typing import Any, get_args, get_origin

import msgspec

from dragoman import dialects
from dragoman.dialects.contract import Facts
from dragoman.gateway import settings
from dragoman.toolsets.settings import Approval
from tests.docs.pages import ROOT

FILE = ROOT / "docs" / "dragoman.schema.json"

JSON = dict[str, Any]

_LEAVES: dict[type, JSON] = {
    settings.DialectName: {"enum": dialects.names()},
    settings.BaseUrl: {"type": "string", "pattern": "^https?://[^?#]+$|^\\$"},
    settings.Address: {"type": "string", "pattern": ":[0-9]+$|^\\$"},
    settings.StateUrl: {"type": "string", "pattern": "^memory$|^sqlite:///.|^\\$"},
    Approval: {
        "anyOf": [
            {"enum": ["allow", "deny"]},
            {"type": "object", "additionalProperties": {"enum": ["allow", "deny"]}},
        ]
    },
}
"""What a class with a ``read`` of its own takes, if it is not any text."""


def schema(words: Mapping[str, str]) -> JSON:
    """The schema; ``words`` is what the page says of a key (``limits.body_mib``)."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "dragoman.yaml",
        **_of(settings.Settings, "", words),
    }


def _of(kind: Any, place: str, words: Mapping[str, str]) -> JSON:
    if get_origin(kind) is UnionType and type(None) in get_args(kind):
        (kind,) = (one for one in get_args(kind) if one is not type(None))
        return {"anyOf": [_of(kind, place, words), {"type": "null"}]}
    if hasattr(kind, "read"):
        return _LEAVES.get(kind, {"type": "string"})
    if kind is settings.Accepts:
        return _members(Facts, f"{place}.", words)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _members(kind, f"{place}." if place else "", words)
    if get_origin(kind) is dict:
        return {"type": "object", "additionalProperties": _of(get_args(kind)[1], f"{place}.NAME", words)}
    if get_origin(kind) is list:
        return {"type": "array", "items": _of(get_args(kind)[0], place, words)}
    return msgspec.json.schema(kind)


def _members(kind: type[msgspec.Struct], place: str, words: Mapping[str, str]) -> JSON:
    fields = msgspec.structs.fields(kind)
    found: JSON = {"type": "object", "additionalProperties": False, "properties": {}}
    for field in fields:
        key = place + field.name
        said = (
            words.get(key) or words.get(re.sub(r"^upstreams\.NAME\.(?=timeouts\.)", "", key)) or words.get(field.name)
        )
        about = {"description": re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", said)} if said else {}
        found["properties"][field.name] = {**about, **_of(field.type, key, words)}
    if required := [field.name for field in fields if field.required]:
        found["required"] = required
    return found


def written(words: Mapping[str, str]) -> str:
    """As it stands in the file."""
    return json.dumps(schema(words), indent=1, ensure_ascii=False) + "\n"
