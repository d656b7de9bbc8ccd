"""A request of another dialect's client, built for an upstream of this one.

It is stateless: nothing is stored, and reasoning comes back as a ciphertext that the client can give
back.
"""

from __future__ import annotations

from hashlib import blake2b

import msgspec

from dragoman.canonical.request import Loss, OutputFormat, ReasoningRequest, Request, Text
from dragoman.dialects.contract import Crossing, Facts, UpstreamRequest
from dragoman.dialects.openai_schema import closed, describes_object, fits_strict
from dragoman.dialects.openai_shapes import ORIGINS, known_choice, marker_losses
from dragoman.dialects.responses.endpoints import UPSTREAM_PATH
from dragoman.dialects.responses.errors import refused
from dragoman.dialects.responses.response import render_format
from dragoman.dialects.responses.tools import render_choice, render_tools
from dragoman.dialects.responses.turns import TurnWriter
from dragoman.dialects.responses.wire import ENCRYPTED, JSON, LEAST_OUTPUT, LOGPROBS
from dragoman.effort import effort_of
from dragoman.history import History
from dragoman.structured import JSON_ONLY, instruction

_LONGEST_NAME = 64
"""Characters that OpenAI takes as ``safety_identifier`` and ``prompt_cache_key``."""

_TIERS = frozenset({"auto", "default", "flex", "scale", "priority", "fast", "ultrafast"})

_WITHOUT_FORM = ("top_k", "seed", "presence_penalty", "frequency_penalty")

_PAIRS, _LONGEST_KEY, _LONGEST_VALUE = 16, 64, 512
"""What OpenAI takes as ``metadata``: pairs, and characters of each side."""


def render_request(crossing: Crossing, facts: Facts) -> UpstreamRequest:
    """The request in this dialect. Raises ``InvalidRequest`` where the meaning would change."""
    request, losses = crossing.request, list(crossing.losses)
    if request.choices > 1:
        raise refused("this upstream gives one answer only", "n")
    turns = TurnWriter(losses)
    instructions = turns.write(crossing.history)
    if not turns.items:
        raise refused("nothing of the conversation has a form in responses", "input")
    text, told = _text(request, facts, losses)
    if told is not None:
        instructions = f"{instructions}\n\n{told}" if instructions else told
    if text.get("format") == {"type": "json_object"} and not _speaks_of_json(crossing.history):
        role = "user" if facts.mid_conversation_system is False else "developer"
        turns.items.append({"type": "message", "role": role, "content": [{"type": "input_text", "text": JSON_ONLY}]})
    body: JSON = {"model": request.model, "input": turns.items}
    if instructions is not None:
        body["instructions"] = instructions
    body["store"] = False
    if request.stream:
        body["stream"] = True
    _tools(request, facts, body, losses)
    _limit(request, facts, body, losses)
    _sampling(request, facts, body, losses)
    if reasoning := _reasoning(request.reasoning, facts):
        body["reasoning"] = reasoning
    if text:
        body["text"] = text
    if include := _include(request, facts, proofs=turns.proofs):
        body["include"] = include
    _account(request, body, losses)
    losses += marker_losses(crossing.history, request.tools)
    return UpstreamRequest(path=UPSTREAM_PATH, body=body, losses=tuple(losses))


# ---- tools, limits, sampling


def _tools(request: Request, facts: Facts, body: JSON, losses: list[Loss]) -> None:
    choice = known_choice(request, losses)
    if not (tools := render_tools(request, facts, losses)):
        return
    body["tools"] = tools
    if choice is not None:
        body["tool_choice"] = render_choice(msgspec.structs.replace(request, tool_choice=choice))
    if request.parallel_tool_calls is not None:
        body["parallel_tool_calls"] = request.parallel_tool_calls


def _limit(request: Request, facts: Facts, body: JSON, losses: list[Loss]) -> None:
    asked = request.max_output_tokens
    limits = [limit for limit in (asked, facts.max_output_tokens) if limit is not None]
    if not limits:
        return
    limit = body["max_output_tokens"] = max(min(limits), LEAST_OUTPUT)
    if asked is not None and limit < asked:
        losses.append(Loss("max_output_tokens", f"the upstream's limit is {limit}"))
    elif asked is not None and limit > asked:
        losses.append(Loss("max_output_tokens", f"{LEAST_OUTPUT} is the least that this upstream takes"))


def _sampling(request: Request, facts: Facts, body: JSON, losses: list[Loss]) -> None:
    for name in ("temperature", "top_p", "top_logprobs"):
        value = getattr(request, name)
        if value is None:
            continue
        if facts.reasoning_model:
            losses.append(Loss(name, "a reasoning model has no sampling parameters"))
        elif name == "top_p" and facts.exclusive_sampling and "temperature" in body:
            losses.append(Loss(name, "refused beside temperature"))
        else:
            body[name] = value
    losses += [
        Loss(name, "the responses dialect has no such parameter")
        for name in _WITHOUT_FORM
        if getattr(request, name) is not None
    ]
    if request.stop:
        losses.append(Loss("stop", "the responses dialect has no stop sequences"))


# ---- reasoning


def _reasoning(asked: ReasoningRequest | None, facts: Facts) -> JSON:
    """Effort and summary. A budget of tokens becomes an effort.

    A summary is asked for where the client wants to see the thoughts: it said so, or it gave a budget
    or left it to the model, as dialects do that show thoughts by default.
    """
    if asked is None:
        return {}
    out: JSON = {}
    effort = asked.effort
    if effort is None and asked.budget is not None:
        most = facts.max_thinking_budget
        effort = effort_of(asked.budget if most is None else min(asked.budget, most))
    if effort is not None:
        out["effort"] = effort
    shown = asked.visible or (asked.visible is None and (asked.budget is not None or asked.adaptive))
    if asked.summary is not None and asked.summary != "none":
        out["summary"] = asked.summary
    elif shown and effort != "none":
        out["summary"] = "auto"
    return out


def _include(request: Request, facts: Facts, *, proofs: bool) -> list[str]:
    """A model that does not reason refuses to include its ciphertext, so it is asked for only of those that may."""
    out = []
    if request.reasoning is not None or facts.reasoning_model or proofs:
        out.append(ENCRYPTED)
    if (request.logprobs or request.top_logprobs) and not facts.reasoning_model:
        out.append(LOGPROBS)
    return out


# ---- the form of the answer


def _text(request: Request, facts: Facts, losses: list[Loss]) -> tuple[JSON, str | None]:
    """The ``text`` member, and an instruction for a form that cannot be demanded here."""
    out: JSON = {} if request.verbosity is None else {"verbosity": request.verbosity}
    form = request.output
    if form is None:
        return out, None
    if form.type == "json" or form.schema is None:
        return {"format": {"type": "json_object"}, **out}, None
    if not facts.structured_output or not describes_object(form.schema):
        losses.append(Loss("output", "the schema is an instruction only: nothing enforces it"))
        return out, instruction(form.schema)
    return {"format": _format(form, request, losses), **out}, None


def _format(form: OutputFormat, request: Request, losses: list[Loss]) -> JSON:
    """The demand of a schema. Other vendors' APIs enforce one always, but know more of them."""
    if request.origin in ORIGINS or form.strict is False:
        return render_format(form, strict=bool(form.strict))
    strict = closed(form.schema)
    if fits_strict(strict):
        return render_format(msgspec.structs.replace(form, schema=strict), strict=True)
    losses.append(Loss("output.strict", "the schema has what strict mode does not take"))
    return render_format(form, strict=False)


def _speaks_of_json(history: History) -> bool:
    """Whether the input says "JSON", without which OpenAI refuses ``json_object``; instructions do not count."""
    texts = (placed.part.text for turn in history.turns for placed in turn.parts if isinstance(placed.part, Text))
    return any("json" in text.lower() for text in texts)


# ---- the rest


def _account(request: Request, body: JSON, losses: list[Loss]) -> None:
    pairs = list((request.metadata or {}).items())
    kept = dict([pair for pair in pairs if len(pair[0]) <= _LONGEST_KEY and len(pair[1]) <= _LONGEST_VALUE][:_PAIRS])
    losses += [Loss(f"metadata.{name}", "too much for this API") for name, _ in pairs if name not in kept]
    if kept:
        body["metadata"] = kept
    for member, field, value in (
        ("safety_identifier", "user", request.user),
        ("prompt_cache_key", "cache_key", request.cache_key),
    ):
        if value is None:
            continue
        if len(value) > _LONGEST_NAME:
            losses.append(Loss(field, f"longer than {_LONGEST_NAME} characters: a digest stands for it"))
            value = blake2b(value.encode("utf-8", "replace"), digest_size=_LONGEST_NAME // 2).hexdigest()
        body[member] = value
    if request.service_tier in _TIERS:
        body["service_tier"] = request.service_tier
    elif request.service_tier is not None:
        losses.append(Loss("service_tier", f"there is no tier {request.service_tier} here"))
