"""A request of another dialect's client, built for a chat upstream.

Only members that servers of this dialect commonly take are written: many refuse a body for one they do
not know. Sources: protocols/openai.md, part 1; design/requests.md.
"""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.canonical.errors import invalid_request
from dragoman.canonical.request import Loss, OutputFormat, ReasoningRequest, Request
from dragoman.dialects.chat.endpoints import UPSTREAM_PATH
from dragoman.dialects.chat.parts import JSON
from dragoman.dialects.chat.tools import render_tools
from dragoman.dialects.chat.turns import TurnWriter
from dragoman.dialects.contract import Crossing, Facts, UpstreamRequest
from dragoman.dialects.openai_schema import closed, describes_object, fits_strict
from dragoman.dialects.openai_shapes import ORIGINS, marker_losses
from dragoman.effort import effort_of
from dragoman.exceptions import InvalidRequest
from dragoman.structured import JSON_ONLY, instruction

_SAMPLING = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs")
REFUSED = (*_SAMPLING, "logit_bias", "stop")
"""What OpenAI's reasoning models refuse (protocols/openai.md)."""
_FORMLESS = {
    "top_k": "no parameter of chat completions",
    "metadata": "chat completions take it for stored answers only",
}
"""Members of the canonical request that are not written, and why."""


def render_request(crossing: Crossing, facts: Facts) -> UpstreamRequest:
    """The request in this dialect. Raises ``InvalidRequest`` where the meaning would change."""
    request, losses = crossing.request, list(crossing.losses)
    writer = TurnWriter(losses, developer=facts.reasoning_model, reasoning_text=facts.wants_reasoning)
    body: JSON = {"model": request.model, "messages": writer.write(crossing.history)}
    if not body["messages"]:
        raise InvalidRequest(invalid_request("nothing of the conversation has a form in chat completions", "messages"))
    if request.stream:
        body["stream"] = True
        if facts.stream_usage:
            body["stream_options"] = {"include_usage": True}
    body |= render_tools(request, facts, losses)
    _render_limit(body, request, facts, losses)
    _render_sampling(body, request, facts, losses)
    _render_options(body, request, facts, losses)
    if effort := _effort(request.reasoning, facts):
        body["reasoning_effort"] = effort
    if request.output is not None:
        _render_output(body, request.output, request.origin, facts, losses)
    losses += marker_losses(crossing.history, request.tools)
    return UpstreamRequest(path=UPSTREAM_PATH, body=body, losses=tuple(losses))


def tell(messages: list[Any], text: str) -> list[Any]:
    """The messages with an instruction at the end of the system's first: many servers take but one of those."""
    first = messages[0] if messages and isinstance(messages[0], dict) else {}
    content = first.get("content")
    if first.get("role") in ("system", "developer"):
        if isinstance(content, list):
            return [{**first, "content": [*content, {"type": "text", "text": text}]}, *messages[1:]]
        told = f"{content}\n\n{text}" if isinstance(content, str) and content else text
        return [{**first, "content": told}, *messages[1:]]
    return [{"role": "system", "content": text}, *messages]


def _render_limit(body: JSON, request: Request, facts: Facts, losses: list[Loss]) -> None:
    asked = request.max_output_tokens
    limits = [limit for limit in (asked, facts.max_output_tokens) if limit is not None]
    if not limits:
        return
    limit = body["max_completion_tokens" if facts.reasoning_model else "max_tokens"] = max(min(limits), 1)
    if asked is not None and limit < asked:
        losses.append(Loss("max_output_tokens", f"the upstream's limit is {limit}"))
    elif asked is not None and limit > asked:
        losses.append(Loss("max_output_tokens", "1 is the least that this upstream takes"))


def _render_sampling(body: JSON, request: Request, facts: Facts, losses: list[Loss]) -> None:
    for name in _SAMPLING:
        value = getattr(request, name)
        if value is None:
            continue
        if facts.reasoning_model:
            losses.append(Loss(name, "refused by reasoning models"))
        elif name == "top_p" and facts.exclusive_sampling and "temperature" in body:
            losses.append(Loss(name, "refused beside temperature"))
        else:
            body[name] = value


def _render_options(body: JSON, request: Request, facts: Facts, losses: list[Loss]) -> None:
    if request.choices > 1:
        body["n"] = request.choices
    if request.stop and facts.reasoning_model:
        losses.append(Loss("stop", "refused by reasoning models"))
    elif request.stop:
        body["stop"] = list(request.stop)
    for name in ("seed", "verbosity", "user"):
        if (value := getattr(request, name)) is not None:
            body[name] = value
    if request.service_tier is not None:
        if request.origin in ORIGINS:  # the same vendor's words
            body["service_tier"] = request.service_tier
        else:
            losses.append(Loss("service_tier", "another vendor's tiers"))
    if request.cache_key is not None:
        if facts.reasoning_model:  # OpenAI's own; Groq, Cerebras and others refuse it (zed-industries/zed#36215)
            body["prompt_cache_key"] = request.cache_key
        else:
            losses.append(Loss("cache_key", "many servers refuse it"))
    losses += [Loss(name, reason) for name, reason in _FORMLESS.items() if getattr(request, name) not in (None, {})]


def _effort(asked: ReasoningRequest | None, facts: Facts) -> str | None:
    """The effort, which a budget of tokens becomes; ``None`` leaves it to the model."""
    if asked is None or asked.effort is not None or asked.budget is None:
        return asked.effort if asked is not None else None
    most = facts.max_thinking_budget
    return effort_of(asked.budget if most is None else min(asked.budget, most))


# ------------------------------------------------------------------ the form of the answer


def _render_output(body: JSON, output: OutputFormat, origin: str, facts: Facts, losses: list[Loss]) -> None:
    schema = output.schema if output.type == "schema" else None
    if schema is None:
        body["response_format"] = {"type": "json_object"}
        if not _speaks_of_json(body["messages"]):
            body["messages"] = tell(body["messages"], JSON_ONLY)
    elif facts.structured_output and describes_object(schema):
        body["response_format"] = {"type": "json_schema", "json_schema": _schema(output, schema, origin, losses)}
    else:
        losses.append(Loss("output", "the schema is an instruction only: nothing enforces it"))
        body["messages"] = tell(body["messages"], instruction(schema))


def _schema(output: OutputFormat, schema: JSON, origin: str, losses: list[Loss]) -> JSON:
    """The demand of a schema. Other vendors' APIs enforce one always, but know more of them."""
    if origin not in ORIGINS and output.strict is not False:
        fits = fits_strict(strict := closed(schema))
        output = msgspec.structs.replace(output, strict=fits or None)
        if fits:
            schema = strict
        else:
            losses.append(Loss("output.strict", "the schema has what strict mode does not take"))
    written: JSON = {"name": output.name or "answer", "schema": schema}
    if output.description is not None:
        written["description"] = output.description
    if output.strict is not None:
        written["strict"] = output.strict
    return written


def _speaks_of_json(messages: list[JSON]) -> bool:
    """Whether some message says "JSON", without which OpenAI and DeepSeek refuse ``json_object``."""
    for message in messages:
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"text": content}]
        if any("json" in str(part.get("text") or "").lower() for part in parts):
            return True
    return False
