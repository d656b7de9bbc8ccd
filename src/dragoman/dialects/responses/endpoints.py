"""Where the Responses API is found, on both sides."""

from __future__ import annotations

from dragoman.dialects.contract import Route

BASE_PATH = "/v1"
ROUTES = (Route(path="/v1/responses"),)
UPSTREAM_PATH = "/responses"
HEARTBEAT = b": keep-alive\n\n"
"""A comment: OpenAI's own ``keepalive`` event would need a place in the sequence numbers."""
FORWARD_HEADERS = ("openai-beta",)
"""Beta features of the API; organization and project belong to the client's own account."""
