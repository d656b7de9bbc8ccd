"""Where the Responses API is found, on both sides."""

from __future__ import annotations

from dragoman.dialects.contract import Operation, Route

BASE_PATH = "/v1"
ROUTES = (
    Route(path="/v1/responses"),
    Route(path="/v1/responses/input_tokens", operation=Operation.COUNT_TOKENS),
    Route(path="/v1/responses/{id}", operation=Operation.GET_ANSWER, method="GET"),
    Route(path="/v1/responses/{id}", operation=Operation.DELETE_ANSWER, method="DELETE"),
    Route(path="/v1/responses/{id}/input_items", operation=Operation.LIST_ITEMS, method="GET"),
)
UPSTREAM_PATH = "/responses"
COUNT_PATH = "/responses/input_tokens"
HEARTBEAT = b": keep-alive\n\n"
"""A comment: OpenAI's own ``keepalive`` event would need a place in the sequence numbers."""
FORWARD_HEADERS = ("openai-beta",)
"""Beta features of the API; organization and project belong to the client's own account."""
