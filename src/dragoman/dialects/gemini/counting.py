"""``:countTokens``: how many tokens a request would have (protocols/anthropic-google.md, 2.1).

The body is ``{contents}``, or ``{generateContentRequest}`` with all of a request in it, its model too.
"""

from __future__ import annotations

from dragoman.canonical.request import Loss, Request
from dragoman.dialects.contract import Facts, UpstreamRequest
from dragoman.dialects.gemini.adapt import adapt_conversation
from dragoman.dialects.gemini.endpoints import count_path, resource
from dragoman.dialects.gemini.wire import JSON, spelled


def adapt_count(body: JSON, request: Request, facts: Facts) -> UpstreamRequest:
    """A client's own body for an upstream of this dialect, in the form that it came in. Raises ``InvalidRequest``."""
    losses: list[Loss] = []
    wrapper = spelled(body, "generateContentRequest")
    if isinstance(inner := body.get(wrapper), dict):
        whole = adapt_conversation(inner, f"{wrapper}.", facts, losses)
        adapted = {**body, wrapper: {**whole, "model": resource(request.model)}}
    else:
        adapted = adapt_conversation(body, "", facts, losses)
    if "model" in adapted:
        adapted["model"] = resource(request.model)
    return UpstreamRequest(path=count_path(request.model), body=adapted, losses=tuple(losses))


def render_count(tokens: int) -> JSON:
    """The answer of the counter."""
    return {"totalTokens": tokens}
