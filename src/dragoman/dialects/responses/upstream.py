"""A request for an upstream of this dialect: built from a canonical one, or a client's own body adapted.

Built ones are stateless: nothing is stored, and reasoning comes back as a ciphertext that the
client can give back.
"""

from __future__ import annotations

from typing import Any

from dragoman.canonical.aliases import original
from dragoman.canonical.opaque import unseal
from dragoman.canonical.request import Loss, ReasoningRequest, Request
from dragoman.dialects.contract import Facts, UpstreamRequest
from dragoman.dialects.responses.endpoints import UPSTREAM_PATH
from dragoman.dialects.responses.errors import refused
from dragoman.dialects.responses.history import history_arguments
from dragoman.dialects.responses.response import render_text
from dragoman.dialects.responses.tools import render_choice, render_tools
from dragoman.dialects.responses.turns import TurnWriter
from dragoman.dialects.responses.wire import JSON, NAME, RESPONSE_PREFIX, is_minted, text_of

_LEAST_OUTPUT = 16
"""The least ``max_output_tokens`` that OpenAI takes; clients probe with 1 (farion1231/cc-switch#7287)."""

_LONGEST_NAME = 64
"""Characters that OpenAI takes as ``safety_identifier`` and ``prompt_cache_key``."""

_TIERS = frozenset({"auto", "default", "flex", "scale", "priority", "fast", "ultrafast"})

_ENCRYPTED = "reasoning.encrypted_content"

_WITHOUT_FORM = ("top_k", "seed", "presence_penalty", "frequency_penalty")


def render_request(request: Request, facts: Facts) -> UpstreamRequest:
    """The request in this dialect. Raises ``InvalidRequest`` where the meaning would change."""
    if request.bound and request.origin != NAME:
        raise refused(f"{request.bound[0]} can be served by its own provider only", request.bound[0])
    if request.choices > 1:
        raise refused("this upstream gives one answer only", "n")
    turns = TurnWriter()
    turns.write(request.messages)
    losses = turns.losses
    body: JSON = {"model": request.model, "input": turns.items}
    if turns.instructions is not None:
        body["instructions"] = turns.instructions
    body["store"] = False
    if request.stream:
        body["stream"] = True
    _tools(request, body, losses)
    _sampling(request, facts, body, losses)
    if (reasoning := _reasoning(request.reasoning)) is not None:
        body["reasoning"] = reasoning
    if text := render_text(request):
        body["text"] = text
    if include := _include(request, facts, proofs=turns.proofs):
        body["include"] = include
    _account(request, body, losses)
    losses += [Loss(name, "no other dialect has it") for name in request.unknown]
    return UpstreamRequest(path=UPSTREAM_PATH, body=body, losses=tuple(losses))


def _tools(request: Request, body: JSON, losses: list[Loss]) -> None:
    tools, lost = render_tools(request)
    losses += lost
    if tools:
        body["tools"] = tools
        if (choice := render_choice(request)) is not None:
            body["tool_choice"] = choice
        if request.parallel_tool_calls is not None:
            body["parallel_tool_calls"] = request.parallel_tool_calls


def _sampling(request: Request, facts: Facts, body: JSON, losses: list[Loss]) -> None:
    limit = request.max_output_tokens
    if limit is not None:
        if facts.max_output_tokens is not None:
            limit = min(limit, facts.max_output_tokens)
        if limit < _LEAST_OUTPUT:
            limit = _LEAST_OUTPUT
            losses.append(Loss("max_output_tokens", f"{_LEAST_OUTPUT} is the least that this upstream takes"))
        body["max_output_tokens"] = limit
    for name in ("temperature", "top_p"):
        value = getattr(request, name)
        if value is None:
            continue
        if facts.reasoning_model:
            losses.append(Loss(name, "a reasoning model has no sampling parameters"))
        else:
            body[name] = value
    losses += [
        Loss(name, "the responses dialect has no such parameter")
        for name in _WITHOUT_FORM
        if getattr(request, name) is not None
    ]
    if request.stop:
        losses.append(Loss("stop", "the responses dialect has no stop sequences"))
    if request.top_logprobs is not None:
        body["top_logprobs"] = request.top_logprobs


def _reasoning(asked: ReasoningRequest | None) -> JSON | None:
    """Effort and summary. A budget of tokens becomes the nearest effort.

    A summary is asked for where the client wants to see the thoughts: it said so, or it gave a budget
    or left it to the model, as dialects do that show thoughts by default.
    """
    if asked is None:
        return None
    out: JSON = {}
    effort = asked.effort
    if effort is None and asked.budget is not None:
        effort = _effort(asked.budget)
    if effort is not None:
        out["effort"] = effort
    shown = asked.visible or (asked.visible is None and (asked.budget is not None or asked.adaptive))
    if asked.summary is not None and asked.summary != "none":
        out["summary"] = asked.summary
    elif shown and effort != "none":
        out["summary"] = "auto"
    return out or None


def _effort(budget: int) -> Any:
    if budget <= 0:
        return "none"
    if budget <= 4_096:
        return "low"
    return "medium" if budget <= 16_384 else "high"


def _include(request: Request, facts: Facts, *, proofs: bool) -> list[str]:
    """A model that does not reason refuses to include its ciphertext, so it is asked for only of those that may."""
    out = []
    if request.reasoning is not None or facts.reasoning_model or proofs:
        out.append(_ENCRYPTED)
    if request.logprobs or request.top_logprobs:
        out.append("message.output_text.logprobs")
    return out


def _account(request: Request, body: JSON, losses: list[Loss]) -> None:
    if request.metadata:
        body["metadata"] = request.metadata
    for name, value in (("safety_identifier", request.user), ("prompt_cache_key", request.cache_key)):
        if value is None:
            continue
        if len(value) <= _LONGEST_NAME:
            body[name] = value
        else:
            losses.append(Loss(name, f"it is longer than {_LONGEST_NAME} characters"))
    if request.service_tier in _TIERS:
        body["service_tier"] = request.service_tier
    elif request.service_tier is not None:
        losses.append(Loss("service_tier", f"there is no tier {request.service_tier} here"))


# ---- within the dialect


def adapt_request(body: JSON, request: Request, facts: Facts) -> UpstreamRequest:
    """The client's own body: new members pass on the day they appear.

    What changes: the model, what this gateway put into the history (ids of its own, sealed proofs,
    aliases), and arguments that an upstream cannot parse. Raises ``InvalidRequest`` for an answer or
    an item that only this gateway knows by its id.
    """
    out = {**body, "model": request.model}
    previous = text_of(body.get("previous_response_id"))
    if previous is not None and (facts.stateless_upstream or previous.startswith(RESPONSE_PREFIX)):
        message = "previous_response_id cannot be resolved here; send the full conversation in input"
        raise refused(message, "previous_response_id")
    if facts.stateless_upstream:
        out["store"] = False
    stored = out.get("store") is not False
    losses: list[Loss] = []
    if isinstance(body.get("input"), list):
        out["input"] = [
            adapted
            for number, item in enumerate(body["input"])
            if (adapted := _adapt_item(item, f"input[{number}]", losses, stored=stored)) is not None
        ]
    limit = facts.max_output_tokens
    if limit is not None and isinstance(body.get("max_output_tokens"), int) and body["max_output_tokens"] > limit:
        out["max_output_tokens"] = limit
    return UpstreamRequest(path=UPSTREAM_PATH, body=out, losses=tuple(losses))


def _adapt_item(item: Any, path: str, losses: list[Loss], *, stored: bool) -> Any:
    """One item of the history; ``None`` if it has to go.

    Where nothing is stored, reasoning that holds nothing but its id cannot be found again
    (Kilo-Org/kilocode#10197).
    """
    if not isinstance(item, dict):
        return item
    kind = item.get("type")
    minted = is_minted(item.get("id"))
    if minted:
        if kind in ("item_reference", None) and "role" not in item:
            raise refused("the item is not stored; send it whole", f"{path}.id")
        item = {name: value for name, value in item.items() if name != "id"}
    if kind == "reasoning":
        proof = text_of(item.get("encrypted_content"))
        empty = not stored and not item.get("summary") and not item.get("content")
        if (proof is None and (minted or empty)) or (proof is not None and unseal(proof) is not None):
            losses.append(Loss(path, "reasoning goes back only to the upstream that made it"))
            return None
        return item
    call_id = item.get("call_id")
    if isinstance(call_id, str) and original(call_id) != call_id:
        item = {**item, "call_id": original(call_id)}
    if kind == "function_call" and history_arguments(item.get("arguments")) != item.get("arguments"):
        item = {**item, "arguments": history_arguments(item.get("arguments"))}
    return item
