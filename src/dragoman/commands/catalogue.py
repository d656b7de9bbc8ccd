"""What a configuration says of models: the names that clients can use, and what each of them means."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.gateway.connect import model_facts
from dragoman.gateway.discovery import DEMO, Found
from dragoman.gateway.facts import ModelFacts
from dragoman.gateway.routing import Found as Route
from dragoman.gateway.routing import Router
from dragoman.gateway.spelling import near
from dragoman.upstreams.demo import MODELS as DEMO_MODELS
from dragoman.upstreams.demo import DemoUpstream

_NEAREST = 3


class Place(msgspec.Struct, frozen=True):
    """An upstream: what it speaks, where it is; ``models`` are its own, if it is known which it has."""

    dialect: str
    address: str
    facts: ModelFacts
    models: tuple[str, ...] = ()


class Fact(msgspec.Struct, frozen=True):
    """A fact about a model, and who says it."""

    name: str
    value: Any
    place: str


class Catalogue:
    """The names of one configuration. Nothing is asked of upstreams."""

    def __init__(self, found: Found) -> None:
        settings = found.settings
        self.source = found.source
        self.entries = dict(settings.models)
        self.places = {
            name: Place(str(wanted.dialect), str(wanted.base_url), model_facts(wanted))
            for name, wanted in settings.upstreams.items()
        } or {DEMO: Place(DemoUpstream.dialect, "built in", ModelFacts(), tuple(DEMO_MODELS))}
        self._router = Router({name: place.models for name, place in self.places.items()}, settings.models)

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the gateway lists."""
        return self._router.names

    def find(self, name: str) -> Route | None:
        """What the name means; ``None`` if it leads nowhere."""
        route = self._router.find(name)
        if route is None or any(map(self._router.may_have, route.targets)):
            return route
        return None

    def near(self, name: str) -> list[str]:
        """The names that somebody may have meant."""
        model = name.rpartition("/")[2]
        addresses = [f"{upstream}/{model}" for upstream, place in self.places.items() if not place.models]
        return near(name, dict.fromkeys([*self.names, *self.entries, *addresses]), _NEAREST)

    def facts(self, upstream: str, model: str) -> list[Fact]:
        """What is known of a model beyond the defaults, each by the one that counts."""
        layers = self.places[upstream].facts.layers(model)
        last = {name: Fact(name, value, layer.place) for layer in layers for name, value in layer.facts.items()}
        return list(last.values())
