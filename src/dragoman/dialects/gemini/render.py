"""A canonical request as a body for Google, and a client's own body for Google.

Field by field: protocols/anthropic-google.md, 2.2 and 3; the rules: design/requests.md.
"""

from __future__ import annotations

from typing import Any

from dragoman.canonical import request as q
from dragoman.canonical.aliases import original
from dragoman.dialects.contract import Facts, UpstreamRequest
from dragoman.dialects.gemini.endpoints import generate_path
from dragoman.dialects.gemini.parts import parse_proof
from dragoman.dialects.gemini.turns import Turns
from dragoman.dialects.gemini.wire import JSON, NAME

_LEVELS: dict[str, str] = {
    "none": "MINIMAL",  # thinking by levels cannot be switched off
    "minimal": "MINIMAL",
    "low": "LOW",
    "medium": "MEDIUM",
    "high": "HIGH",
    "xhigh": "XHIGH",
    "max": "XHIGH",
}
_MOST_STOPS = 5

_FREEFORM: JSON = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
"""The schema under which a tool that takes any text is offered."""


def render_request(request: q.Request, facts: Facts) -> UpstreamRequest:
    """The request for an upstream of this dialect. Raises ``InvalidRequest`` where its meaning would change."""
    turns = Turns(request.messages)
    body: JSON = {"contents": turns.render()}
    losses = turns.losses
    if turns.system:
        body["systemInstruction"] = {"parts": turns.system}
    if tools := _tools(request, losses):
        body["tools"] = tools
        if choice := _tool_config(request):
            body["toolConfig"] = choice
    if config := _config(request, facts, losses):
        body["generationConfig"] = config
    losses += _unsaid(request)
    path = generate_path(request.model, stream=request.stream)
    return UpstreamRequest(path=path, body=body, losses=tuple(losses))


def _tools(request: q.Request, losses: list[q.Loss]) -> list[JSON]:
    wanted = request.tools
    choice = request.tool_choice
    if choice is not None and choice.mode == "auto" and choice.names:
        # there is no list of allowed names in the mode AUTO: only these are declared
        wanted = tuple(tool for tool in wanted if tool.name in choice.names)
    functions = [_function(tool) for tool in wanted]
    losses += (q.Loss(f"tools.{tool.name}.strict", "cannot be said here") for tool in wanted if tool.strict)
    tools: list[JSON] = [{"functionDeclarations": functions}] if functions else []
    for tool in request.hosted_tools:
        if tool.origin == NAME:
            tools.append(tool.value)
        else:
            losses.append(q.Loss(f"tools.{tool.type}", f"a tool that only {tool.origin} servers run"))
    return tools


def _function(tool: q.Tool) -> JSON:
    declared: JSON = {"name": tool.name}
    if tool.description:
        declared["description"] = tool.description
    schema = _FREEFORM if tool.kind == "custom" else tool.schema
    if schema:
        declared["parametersJsonSchema"] = schema
    return declared


def _tool_config(request: q.Request) -> JSON | None:
    choice = request.tool_choice
    if choice is None or not request.tools:
        return None
    calling: JSON = {"mode": {"none": "NONE", "auto": "AUTO", "required": "ANY"}[choice.mode]}
    if choice.mode == "required" and choice.names:
        calling["allowedFunctionNames"] = list(choice.names)
    return {"functionCallingConfig": calling}


def _config(request: q.Request, facts: Facts, losses: list[q.Loss]) -> JSON:
    limit = request.max_output_tokens
    if facts.max_output_tokens is not None:
        limit = min(limit or facts.max_output_tokens, facts.max_output_tokens)
    stops = [text for text in request.stop if text.strip()]
    if len(stops) > _MOST_STOPS:
        losses.append(q.Loss("stop", f"only {_MOST_STOPS} stop sequences are possible"))
    said: JSON = {
        "temperature": request.temperature,
        "topP": request.top_p,
        "topK": request.top_k,
        "maxOutputTokens": limit,
        "stopSequences": stops[:_MOST_STOPS] or None,
        "candidateCount": request.choices if request.choices > 1 else None,
        "seed": request.seed,
        "presencePenalty": request.presence_penalty,
        "frequencyPenalty": request.frequency_penalty,
        "responseLogprobs": request.logprobs or None,
        "logprobs": request.top_logprobs or None,
        "thinkingConfig": _thinking(request.reasoning),
        **_output(request.output),
    }
    return {name: value for name, value in said.items() if value is not None}


def _thinking(reasoning: q.ReasoningRequest | None) -> JSON | None:
    """Level and budget exclude each other (ax-llm/ax#624)."""
    if reasoning is None:
        return None
    config: JSON = {}
    if reasoning.effort is not None:
        config["thinkingLevel"] = _LEVELS[reasoning.effort]
    elif reasoning.budget is not None:
        config["thinkingBudget"] = reasoning.budget
    elif reasoning.adaptive:
        config["thinkingBudget"] = -1
    visible = reasoning.visible
    if visible is None and reasoning.summary is not None:
        visible = True
    if visible is not None:
        config["includeThoughts"] = visible
    return config or None


def _output(output: q.OutputFormat | None) -> JSON:
    if output is None:
        return {}
    config: JSON = {"responseMimeType": "application/json"}
    if output.schema is not None:
        config["responseJsonSchema"] = output.schema
    return config


def _unsaid(request: q.Request) -> list[q.Loss]:
    """What the client said and this dialect has no word for."""
    losses = [q.Loss(path, "has no form here") for path in request.unknown]
    named: dict[str, Any] = {
        "verbosity": request.verbosity,
        "service_tier": request.service_tier,
        "user": request.user,
        "metadata": request.metadata,
        "prompt_cache_key": request.cache_key,
    }
    losses += (q.Loss(name, "has no form here") for name, value in named.items() if value is not None)
    if request.parallel_tool_calls is False:
        losses.append(q.Loss("parallel_tool_calls", "parallel calls cannot be forbidden here"))
    return losses


def adapt_request(body: JSON, request: q.Request, facts: Facts) -> UpstreamRequest:
    """A client's own body, changed as little as possible.

    The model is in the path. Proofs and ids of calls that were made for this client come back as
    what they stand for: Google's own byte for byte, another vendor's not at all.
    """
    losses: list[q.Loss] = []
    adapted = {name: value for name, value in body.items() if name not in ("model", "stream")}
    contents = adapted.get("contents")
    if isinstance(contents, list):
        adapted["contents"] = [_content(item, f"contents[{n}]", losses) for n, item in enumerate(contents)]
    return UpstreamRequest(path=generate_path(request.model, stream=request.stream), body=adapted, losses=tuple(losses))


def _content(content: Any, path: str, losses: list[q.Loss]) -> Any:
    parts = content.get("parts") if isinstance(content, dict) else None
    if not isinstance(parts, list):
        return content
    adapted = [_part(part, f"{path}.parts[{n}]", losses) for n, part in enumerate(parts)]
    return {**content, "parts": [part for part in adapted if part is not None]}


def _part(part: Any, path: str, losses: list[q.Loss]) -> Any:
    """The part; ``None`` if it held a foreign proof and nothing else."""
    if not isinstance(part, dict):
        return part
    out = dict(part)
    for name in ("thoughtSignature", "thought_signature"):
        proof = parse_proof(out.get(name))
        if proof is None:
            continue
        if proof.origin == NAME:
            out[name] = proof.data
        else:
            del out[name]
            losses.append(q.Loss(f"{path}.{name}", f"a proof of reasoning made by {proof.origin}"))
            if not any(value for key, value in out.items() if key != "thought"):
                return None
    for name in ("functionCall", "function_call", "functionResponse", "function_response"):
        call = out.get(name)
        if isinstance(call, dict) and isinstance(call.get("id"), str) and original(call["id"]) != call["id"]:
            out[name] = {**call, "id": original(call["id"])}
    return out
