"""Where the dialect lives: routes, paths and headers."""

from __future__ import annotations

from dragoman.dialects.contract import Route

ROUTES = (Route(path="/v1/chat/completions"),)
BASE_PATH = "/v1"
UPSTREAM_PATH = "/chat/completions"
HEARTBEAT = b": keep-alive\n\n"
"""A comment: the only bytes that every client of this dialect reads over."""
