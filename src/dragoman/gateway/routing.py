"""Which target does a model name mean? Pure: names in, names out (design/product.md, configuration).

An exact ``models`` name, then the longest matching pattern, then ``<upstream>/<model>``; else, if
there is only one upstream, the name is a model there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec

from dragoman.gateway.spelling import nearest
from dragoman.patterns import matches


class Target(msgspec.Struct, frozen=True):
    """A model at an upstream, in the upstream's own words."""

    upstream: str
    model: str

    def __str__(self) -> str:
        return f"{self.upstream}/{self.model}"


class Reason(StrEnum):
    """Why a name means its targets."""

    NAME = "exact name"
    PATTERN = "pattern"
    DIRECT = "direct address"
    ONLY = "only upstream"


class Found(msgspec.Struct, frozen=True):
    """What a name means: its targets, why, and the ``models`` entry (or the upstream) that says so."""

    targets: tuple[Target, ...]
    reason: Reason
    entry: str


class Router:
    """Finds the targets of a name, in the order in which they are to be tried.

    ``upstreams``: by name, and the models of those that know which they have.
    """

    def __init__(self, upstreams: Mapping[str, Sequence[str]], models: Mapping[str, Sequence[str]]) -> None:
        self._upstreams = upstreams
        self._exact = {name: _targets(targets) for name, targets in models.items() if "*" not in name}
        patterns = [(name, _targets(targets)) for name, targets in models.items() if "*" in name]
        self._patterns = sorted(patterns, key=lambda pattern: len(pattern[0]), reverse=True)

    @property
    def names(self) -> tuple[str, ...]:
        """The names that can be listed: those without a pattern, and those of upstreams that know their models."""
        return (*self._exact, *(f"{name}/{model}" for name, own in self._upstreams.items() for model in own))

    def knows(self, name: str) -> bool:
        """Whether a name is listed, or may mean something all the same."""
        return name in self.names or any(map(self.may_have, self.targets(name)))

    def may_have(self, target: Target) -> bool:
        """Whether an upstream has this model, as far as is known."""
        models = self._upstreams[target.upstream]
        return not models or target.model in models

    def targets(self, name: str) -> tuple[Target, ...]:
        """The targets of this name; none if it is unknown."""
        found = self.find(name)
        return found.targets if found else ()

    def find(self, name: str) -> Found | None:
        """The targets of this name, and why; ``None`` if it is unknown."""
        if found := self._exact.get(name):
            return Found(found, Reason.NAME, name)
        for pattern, targets in self._patterns:
            if match := matches(pattern, name):
                carried = dict.fromkeys(Target(one.upstream, one.model.replace("*", match[1], 1)) for one in targets)
                return Found(tuple(carried), Reason.PATTERN, pattern)
        upstream, slash, model = name.partition("/")
        if slash and upstream in self._upstreams:
            return Found((Target(upstream, model),), Reason.DIRECT, upstream) if model else None
        if name and len(self._upstreams) == 1:
            (only,) = self._upstreams
            return Found((Target(only, name),), Reason.ONLY, only)
        return None


def _targets(texts: Iterable[str]) -> tuple[Target, ...]:
    """Each once: none is asked twice for one request."""
    return tuple(dict.fromkeys(map(_target, texts)))


def _target(text: str) -> Target:
    upstream, _, model = text.partition("/")
    return Target(upstream, model)


def target_mistake(name: str, target: str, upstreams: Sequence[str]) -> str | None:
    """What is wrong with a target of a ``models`` entry."""
    upstream, slash, model = target.partition("/")
    if not slash or not model:
        return f"expected UPSTREAM/MODEL, not {target!r}"
    if upstream not in upstreams:
        return f"there is no upstream {upstream!r}{nearest(upstream, upstreams)}"
    if name.count("*") > 1 or target.count("*") > 1:
        return "a pattern has one *"
    if "*" in target and "*" not in name:
        return "a * in a target needs one in the name, which it carries over"
    return None
