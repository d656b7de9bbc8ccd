"""A canonical request as a body for Google.

Field by field: protocols/anthropic-google.md, 2.2 and 3; the rules: design/requests.md.
"""

from __future__ import annotations

from typing import Any

from dragoman.canonical import request as q
from dragoman.canonical.errors import invalid_request
from dragoman.dialects.contract import Crossing, Facts, UpstreamRequest
from dragoman.dialects.gemini.endpoints import generate_path
from dragoman.dialects.gemini.subset import parameters_subset, value_subset
from dragoman.dialects.gemini.thinking import render_thinking
from dragoman.dialects.gemini.turns import TurnWriter
from dragoman.dialects.gemini.wire import JSON, NAME
from dragoman.exceptions import InvalidRequest
from dragoman.structured import instruction

_MOST_STOPS = 5
_SEEDS = range(-(1 << 31), 1 << 31)
_TIERS = {
    "default": "standard",
    "standard_only": "standard",
    "standard": "standard",
    "flex": "flex",
    "priority": "priority",
}
"""What other dialects call the tiers; ``auto`` is what no word means, too."""
_FORMLESS = ("verbosity", "user", "metadata", "cache_key")
"""Members of the canonical request for which this API has nothing."""


def render_request(crossing: Crossing, facts: Facts) -> UpstreamRequest:
    """The request for an upstream of this dialect. Raises ``InvalidRequest`` where its meaning would change."""
    request, losses = crossing.request, list(crossing.losses)
    writer = TurnWriter(facts, losses)
    system = writer.system(crossing.history)
    body: JSON = {"contents": writer.contents(crossing.history)}
    body |= _tools(request, facts, losses)
    config = _config(request, facts, losses)
    if request.output is not None:
        config |= _output(request.output, facts, system, losses)
    if config:
        body["generationConfig"] = config
    if system:
        body["systemInstruction"] = {"parts": system}
    if tier := _TIERS.get(request.service_tier or ""):
        body["serviceTier"] = tier
    elif request.service_tier is not None:
        losses.append(q.Loss("service_tier", f"there is no tier {request.service_tier} here"))
    losses += (q.Loss(name, "it has no form here") for name in _FORMLESS if getattr(request, name) not in (None, {}))
    path = generate_path(request.model, stream=request.stream)
    return UpstreamRequest(path=path, body=body, losses=tuple(losses))


# ---- tools


def _tools(request: q.Request, facts: Facts, losses: list[q.Loss]) -> JSON:
    """``tools`` and ``toolConfig``. Raises ``InvalidRequest`` for a hosted tool that may not be left out."""
    choice = request.tool_choice
    allowed = choice.names if choice is not None and choice.mode == "auto" else ()
    functions: dict[str, JSON] = {}
    for number, tool in enumerate(request.tools):
        if tool.name in functions:
            losses.append(q.Loss(f"tools[{number}]", "a tool of this name came before"))
        elif not allowed or tool.name in allowed:  # there is no list of names in the mode AUTO
            functions[tool.name] = _function(tool, f"tools[{number}]", facts, losses)
    tools: list[JSON] = [{"functionDeclarations": list(functions.values())}] if functions else []
    tools += _hosted(request, facts, losses)
    if request.parallel_tool_calls is False and functions:
        losses.append(q.Loss("parallel_tool_calls", "parallel calls cannot be forbidden here"))
    body: JSON = {"tools": tools} if tools else {}
    if choice is not None and (calling := _choice(choice, functions, losses)):
        body["toolConfig"] = {"functionCallingConfig": calling}
    return body


def _hosted(request: q.Request, facts: Facts, losses: list[q.Loss]) -> list[JSON]:
    """The tools that Google's servers run; other vendors' cannot be served."""
    own: list[JSON] = []
    for number, tool in enumerate(request.hosted_tools):
        reason = f"the tool {tool.type} is run by another API's servers"
        if tool.origin == NAME:
            own.append(tool.value)
        elif facts.on_server_tool == "refuse":
            raise InvalidRequest(invalid_request(f"tools: {reason}, and cannot be served here", "tools"))
        else:
            losses.append(q.Loss(f"hosted_tools[{number}]", reason))
    return own


def _function(tool: q.Tool, path: str, facts: Facts, losses: list[q.Loss]) -> JSON:
    declared: JSON = {"name": tool.name}
    if tool.description:
        declared["description"] = tool.description
    if tool.schema and facts.gemini_schema == "json-schema":
        declared["parametersJsonSchema"] = tool.schema
    elif tool.schema and (subset := parameters_subset(tool.schema, f"{path}.schema", losses)):
        declared["parameters"] = subset
    if tool.strict:
        losses.append(q.Loss(f"{path}.strict", "it cannot be demanded of single tools here"))
    if tool.cache:
        losses.append(q.Loss(f"{path}.cache", "it has no form here"))
    return declared


def _choice(choice: q.ToolChoice, functions: JSON, losses: list[q.Loss]) -> JSON | None:
    names = [name for name in choice.names if name in functions]
    if not functions or len(names) < len(choice.names):
        if choice.mode == "required" or choice.names:
            losses.append(
                q.Loss("tool_choice", "it names tools that are not there" if functions else "there are no tools")
            )
        if not functions or (choice.mode == "required" and not names):
            return None
    if choice.mode != "required":
        return {"mode": choice.mode.upper()}
    return {"mode": "ANY", "allowedFunctionNames": names} if names else {"mode": "ANY"}


# ---- generationConfig


def _config(request: q.Request, facts: Facts, losses: list[q.Loss]) -> JSON:
    limits = [limit for limit in (request.max_output_tokens, facts.max_output_tokens) if limit is not None]
    limit = max(min(limits), 1) if limits else None
    if limit is not None and request.max_output_tokens is not None and limit != request.max_output_tokens:
        most = limit < request.max_output_tokens
        why = f"the upstream's limit is {limit}" if most else "1 is the least that this upstream takes"
        losses.append(q.Loss("max_output_tokens", why))
    said: dict[str, Any] = {
        "temperature": request.temperature,
        "topP": request.top_p,
        "topK": request.top_k,
        "maxOutputTokens": limit,
        "stopSequences": _stops(request, losses),
        "candidateCount": request.choices if request.choices > 1 else None,
        "seed": request.seed,
        "presencePenalty": request.presence_penalty,
        "frequencyPenalty": request.frequency_penalty,
        "responseLogprobs": request.logprobs or None,
        "logprobs": request.top_logprobs if request.logprobs else None,
    }
    if request.seed is not None and request.seed not in _SEEDS:
        losses.append(q.Loss("seed", "a seed has 32 bits here"))
        said["seed"] = None
    if facts.exclusive_sampling and None not in (request.temperature, request.top_p):
        losses.append(q.Loss("top_p", "refused beside temperature"))
        said["topP"] = None
    if request.reasoning is not None:
        said["thinkingConfig"] = render_thinking(request.reasoning, facts, limit, losses) or None
    return {name: value for name, value in said.items() if value is not None}


def _stops(request: q.Request, losses: list[q.Loss]) -> list[str] | None:
    stops = [text for text in request.stop if text.strip()]
    if len(stops) < len(request.stop):
        losses.append(q.Loss("stop", "blank ones are refused"))
    if len(stops) > _MOST_STOPS:
        losses.append(q.Loss("stop", f"only {_MOST_STOPS} are possible"))
    return stops[:_MOST_STOPS] or None


def _output(output: q.OutputFormat, facts: Facts, system: list[JSON], losses: list[q.Loss]) -> JSON:
    """The members that demand JSON, or an instruction among those of the system."""
    if output.schema is None:
        return {"responseMimeType": "application/json"}
    schema = {"description": output.description, **output.schema} if output.description else output.schema
    if not facts.structured_output:
        losses.append(q.Loss("output", "the schema is an instruction only: nothing enforces it"))
        system.append({"text": instruction(schema)})
        return {}
    if facts.gemini_schema == "json-schema":
        return {"responseMimeType": "application/json", "responseJsonSchema": schema}
    return {
        "responseMimeType": "application/json",
        "responseSchema": value_subset(schema, "output.schema", losses),
    }
