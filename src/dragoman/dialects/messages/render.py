"""A request that crosses over, as the body for an upstream of this dialect.

Source: design/requests.md and protocols/anthropic-google.md, 1.3.
"""

from __future__ import annotations

from typing import Any

from dragoman.canonical import request as q
from dragoman.canonical.errors import invalid_request
from dragoman.dialects.contract import Crossing, Facts, UpstreamRequest
from dragoman.dialects.messages import endpoints, wire
from dragoman.dialects.messages.accepts import fit, instruct, limit_tokens
from dragoman.dialects.messages.schema import Subset
from dragoman.dialects.messages.tools import Lose, render_tools
from dragoman.dialects.messages.turns import Marker, TurnWriter
from dragoman.exceptions import InvalidRequest

JSON = dict[str, Any]

_FORMLESS = (
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "logprobs",
    "top_logprobs",
    "verbosity",
    "metadata",
    "cache_key",
)
"""Members of the canonical request for which this API has nothing."""

_CANONICAL = {
    "max_tokens": "max_output_tokens",
    "thinking": "reasoning",
    "thinking.budget_tokens": "reasoning.budget",
    "output_config.effort": "reasoning.effort",
    "output_config.format": "output",
}
"""This dialect's members, by the names that losses have in a crossing."""

_TIERS = {"standard_only": "standard_only", "default": "standard_only", "standard": "standard_only"}
_LONGEST_USER = 256  # characters


def render_request(crossing: Crossing, facts: Facts) -> UpstreamRequest:
    """The request in this dialect.

    Raises ``InvalidRequest`` for several choices, a file that another API keeps, and a refused hosted tool.
    """
    request = crossing.request
    if request.choices > 1:
        message = f"n: this upstream gives one answer, {request.choices} were asked for"
        raise InvalidRequest(invalid_request(message, "n"))
    marker = Marker()
    writer = TurnWriter(marker)
    body: JSON = {"model": request.model, "max_tokens": request.max_output_tokens}
    tools = render_tools(request, facts, marker, writer.lose)
    if system := writer.system(crossing.history):
        body["system"] = system
    body |= {"messages": writer.messages(crossing.history), **tools}
    body |= _sampling(request, writer.lose)
    body |= _rest(request, writer.lose)
    if request.reasoning is not None:
        body |= _reasoning(request.reasoning)
    if request.output is not None:
        _output(body, request.output, writer.lose)
    if request.stream:
        body["stream"] = True
    fitted: list[q.Loss] = []
    limit_tokens(body, facts, fitted)
    fitted += fit(body, facts, own=False, forgotten=True)
    losses = (*crossing.losses, *writer.losses, *map(_canonical, fitted), *marker.drop_excess())
    return UpstreamRequest(path=wire.PATH, body=body, headers=endpoints.request_headers(body), losses=losses)


def _canonical(loss: q.Loss) -> q.Loss:
    return q.Loss(_CANONICAL.get(loss.path, loss.path), loss.reason)


def _reasoning(wanted: q.ReasoningRequest) -> JSON:
    """An explicit budget as such, else adaptive thinking with an effort; ``accepts`` turns one into the other."""
    if wanted.effort == "none" or wanted.budget == 0:
        return {"thinking": {"type": "disabled"}}
    thinking: JSON = {"type": "adaptive"}
    body: JSON = {"thinking": thinking}
    if wanted.effort is not None:
        body["output_config"] = {"effort": "low" if wanted.effort == "minimal" else wanted.effort}
    elif wanted.budget is not None and wanted.budget > 0:
        thinking |= {"type": "enabled", "budget_tokens": wanted.budget}
    if wanted.visible is not None:
        thinking["display"] = "summarized" if wanted.visible else "omitted"
    return body


def _output(body: JSON, output: q.OutputFormat, lose: Lose) -> None:
    """A schema that this API can enforce; else, and for any JSON, an instruction."""
    schema = output.schema if output.type == "schema" else None
    if schema is None:
        lose("output", "there is no JSON mode without a schema: an instruction")
        instruct(body, {"type": "object"})
        return
    subset = Subset(schema)
    if not subset.possible:
        lose("output", "this API cannot enforce the schema: an instruction")
        instruct(body, schema)
        return
    if subset.told:
        lose("output.schema", f"not enforced, but told to the model: {', '.join(subset.told)}")
    about = {"description": output.description} if output.description else {}
    form = {"type": "json_schema", "schema": {**about, **subset.schema}}
    body["output_config"] = {**body.get("output_config", {}), "format": form}


def _sampling(request: q.Request, lose: Lose) -> JSON:
    given = {name: value for name in wire.SAMPLING if (value := getattr(request, name)) is not None}
    temperature = given.get("temperature")
    if temperature is not None and not 0 <= temperature <= 1:
        lose("temperature", "messages takes 0 to 1")
        given["temperature"] = min(1, max(0, temperature))
    return given


def _rest(request: q.Request, lose: Lose) -> JSON:
    body: JSON = {}
    if stop := [text for text in request.stop if text.strip()]:
        body["stop_sequences"] = stop
    if len(stop) < len(request.stop):
        lose("stop", "messages refuses blank stop sequences")
    if request.user is not None and len(request.user) <= _LONGEST_USER:
        body["metadata"] = {"user_id": request.user}
    elif request.user is not None:
        lose("user", f"messages takes {_LONGEST_USER} characters")
    if request.service_tier in _TIERS:
        body["service_tier"] = _TIERS[request.service_tier]
    elif request.service_tier is not None:
        lose("service_tier", f"messages has no tier {request.service_tier}")
    for name in _FORMLESS:
        if (value := getattr(request, name)) is not None and value is not False:
            lose(name, "messages has no such member")
    return body
