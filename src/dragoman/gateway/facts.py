"""What is known of an upstream and its models: the configuration, over presets, over defaults (design/requests.md, 7).

Presets are data (``presets.yaml``). What the operator says of one model counts more than what is said
of the whole upstream, and of several patterns that fit a model the longest counts most.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import msgspec
import yaml

from dragoman.dialects.contract import Facts
from dragoman.patterns import matches

_PRESETS = Path(__file__).with_name("presets.yaml")
_REMEMBERED = 256
"""Models of an upstream whose facts are not looked up again."""

Given = Mapping[str, Any]
"""Facts by name, as far as somebody gave them."""


class Preset(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Facts about the models of a host, or about models wherever they are; the later preset counts more."""

    dialect: str
    facts: dict[str, Any]
    source: str
    date: datetime.date
    host: str = "*"
    models: tuple[str, ...] = ("*",)

    def fits(self, dialect: str, host: str, model: str) -> bool:
        """Whether it is about this model of this host; a model's name may have a vendor before a slash."""
        names = {model.lower(), model.lower().rpartition("/")[2]}
        return (
            dialect == self.dialect
            and bool(matches(self.host, host.lower()))
            and any(matches(pattern, name) for pattern in self.models for name in names)
        )


class Layer(msgspec.Struct, frozen=True):
    """Facts that one place gives; ``place`` says where that is."""

    place: str
    facts: Given


@cache
def presets() -> tuple[Preset, ...]:
    """All presets. Raises ``msgspec.ValidationError`` for a mistake in the file."""
    return msgspec.convert(yaml.safe_load(_PRESETS.read_text("utf-8")), tuple[Preset, ...])


class ModelFacts:
    """The facts about one upstream, by the name that a model has there.

    ``given`` is what the configuration says of the upstream, ``models`` what it says of models, by pattern.
    """

    def __init__(
        self,
        dialect: str = "",
        host: str = "",
        given: Given | None = None,
        models: Mapping[str, Given] | None = None,
        known: Sequence[Preset] = (),
    ) -> None:
        self._dialect = dialect
        self._host = host
        self._given = given or {}
        self._models = sorted((models or {}).items(), key=lambda entry: len(entry[0].replace("*", "")))
        self._known = known
        self._remembered = lru_cache(_REMEMBERED)(self._found)

    def of(self, model: str) -> Facts:
        """What is known of this model."""
        return self._remembered(model)

    def layers(self, model: str) -> list[Layer]:
        """Who says what of this model; the later layer counts more."""
        known = [preset for preset in self._known if preset.fits(self._dialect, self._host, model)]
        own = [(pattern, given) for pattern, given in self._models if matches(pattern, model)]
        return [
            *(Layer(f"preset: {preset.source}", preset.facts) for preset in known),
            Layer("accepts of the upstream", self._given),
            *(Layer(f"accepts of its models {pattern!r}", given) for pattern, given in own),
        ]

    def _found(self, model: str) -> Facts:
        found: dict[str, Any] = {}
        for layer in self.layers(model):
            found |= layer.facts
        return msgspec.convert(found, Facts)
