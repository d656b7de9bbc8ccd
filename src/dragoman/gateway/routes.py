"""Which route of which dialect does a path mean? From the dialects' tables alone."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import msgspec

from dragoman import dialects
from dragoman.dialects.contract import Dialect, Route

MODEL_LISTS = ("/v1/models", "/v1beta/models")
_DEFAULT = "chat"
"""The dialect of a client that shows none (design/product.md, routes)."""


class Match(msgspec.Struct, frozen=True):
    """A route that a path fits, and what the path holds where the route has it there: a model, an id."""

    dialect: Dialect
    route: Route
    model: str | None = None
    id: str | None = None


class RouteTable:
    """The routes of all dialects, and the guess for paths that are none."""

    def __init__(self) -> None:
        self._dialects = [dialects.get(name) for name in dialects.names()]
        self._routes = [
            (_pattern(route.path), dialect, route) for dialect in self._dialects for route in dialect.routes
        ]
        self._fixed = {route.path: Match(d, route) for _, d, route in self._routes if "{" not in route.path}

    def find(self, method: str, path: str) -> Match | None:
        """The route of this (unescaped) path; where the path has others only, one of these."""
        if found := self._fixed.get(path):
            return found
        others: Match | None = None
        for pattern, dialect, route in self._routes:
            if match := pattern.fullmatch(path):
                found = Match(dialect, route, **match.groupdict())
                if route.method == method:
                    return found
                others = others or found
        return others

    def methods(self, match: Match) -> tuple[str, ...]:
        """The methods that the path of this route takes."""
        return tuple(route.method for _, _, route in self._routes if route.path == match.route.path)

    def guess(self, path: str, headers: Mapping[str, str], parameters: Collection[str]) -> Dialect:
        """The dialect of a client that asks for a list of models, or for nothing that exists.

        The path decides where it begins like a route of one dialect only (``/v1/messages/…``),
        else the headers that only one dialect's clients send, else the default.
        """
        prefixes = {
            dialect.name: max(_shared(path, route.path) for route in dialect.routes) for dialect in self._dialects
        }
        longest = max(prefixes.values(), default=0)
        nearest = [dialect for dialect in self._dialects if prefixes[dialect.name] == longest]
        if longest and len(nearest) == 1 and not path.startswith(MODEL_LISTS[0]):
            return nearest[0]
        shown = {*headers, *(("x-goog-api-key",) if "key" in parameters else ())}
        for dialect in self._dialects:
            if shown & set(dialect.model_headers):
                return dialect
        return next((dialect for dialect in self._dialects if dialect.name == _DEFAULT), self._dialects[0])


_MODEL = "(?P<model>.+)"
_HOLES = {"models/{model}": f"(?:models/)?{_MODEL}", "{model}": _MODEL, "{id}": "(?P<id>[^/]+)"}
"""Vercel's AI SDK leaves the collection out before a name that holds a slash."""


def _pattern(path: str) -> re.Pattern[str]:
    text = re.escape(path)
    for hole, pattern in _HOLES.items():
        text = text.replace(re.escape(hole), pattern)
    return re.compile(text, re.DOTALL)


def _shared(path: str, route: str) -> int:
    """How many leading segments a path and a route have in common."""
    count = 0
    for one, other in zip(path.split("/")[1:], route.split("/")[1:], strict=False):
        if one != other:
            break
        count += 1
    return count
