"""``POST /v1/responses/input_tokens``: how many tokens a request would have."""

from __future__ import annotations

from dragoman.canonical.request import Request
from dragoman.dialects.contract import Facts, UpstreamRequest
from dragoman.dialects.responses.adapt import adapt_request
from dragoman.dialects.responses.endpoints import COUNT_PATH
from dragoman.dialects.responses.wire import JSON

_ONLY_ANSWERS = ("stream", "stream_options", "store", "max_output_tokens", "include", "background", "metadata")
"""Members that shape an answer; the counter refuses what it does not know."""


def adapt_count(body: JSON, request: Request, facts: Facts) -> UpstreamRequest:
    """A client's own body for an upstream of this dialect that counts. Raises ``InvalidRequest``."""
    made = adapt_request(body, request, facts)
    asked = {name: value for name, value in made.body.items() if name not in _ONLY_ANSWERS}
    return UpstreamRequest(path=COUNT_PATH, body=asked, headers=made.headers, losses=made.losses)


def render_count(tokens: int) -> JSON:
    """The answer of the counter."""
    return {"object": "response.input_tokens", "input_tokens": tokens}
