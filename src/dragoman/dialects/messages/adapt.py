"""A client's own messages body for an upstream of this very dialect, changed as little as can be.

Everything passes as it came, so that new members work on the day they appear; only what the upstream
would refuse is taken out of the history: thinking that it did not sign, values that this gateway
sealed for another vendor, and markers that this gateway made.
"""

from __future__ import annotations

from typing import Any

from dragoman.canonical.opaque import unseal
from dragoman.canonical.request import Loss, Request
from dragoman.dialects.contract import Facts, UpstreamRequest
from dragoman.dialects.messages import endpoints, wire
from dragoman.dialects.messages.render import max_tokens

JSON = dict[str, Any]

_THINKING = ("thinking", "redacted_thinking")
_LEAST_BUDGET = 1024


def adapt_request(body: JSON, request: Request, facts: Facts) -> UpstreamRequest:
    """The body with the upstream's model, within its limit, and without what it would refuse."""
    losses: list[Loss] = []
    adapted = {**body, "model": request.model, "max_tokens": max_tokens(request.max_output_tokens, facts)}
    if request.stream:
        adapted["stream"] = True
    else:
        adapted.pop("stream", None)
    if adapted["max_tokens"] != body.get("max_tokens"):
        adapted |= _thinking_below(adapted["max_tokens"], body.get("thinking"), losses)
    messages = body.get("messages")
    if isinstance(messages, list):
        adapted["messages"] = _history(messages, losses)
    headers = endpoints.request_headers()
    return UpstreamRequest(path=wire.PATH, body=adapted, headers=headers, losses=tuple(losses))


def _thinking_below(limit: int, thinking: Any, losses: list[Loss]) -> JSON:
    """A budget must stay below ``max_tokens``; where the least one does not, thinking is off."""
    if not isinstance(thinking, dict) or not isinstance(thinking.get("budget_tokens"), int):
        return {}
    budget = thinking["budget_tokens"]
    if budget < limit:
        return {}
    if limit <= _LEAST_BUDGET:
        losses.append(Loss("thinking", f"max_tokens leaves no room for {_LEAST_BUDGET} tokens of thinking"))
        return {"thinking": {"type": "disabled"}}
    losses.append(Loss("thinking.budget_tokens", "lowered below max_tokens"))
    return {"thinking": {**thinking, "budget_tokens": limit - 1}}


def _history(messages: list[Any], losses: list[Loss]) -> list[Any]:
    kept: list[Any] = []
    for number, message in enumerate(messages):
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(content, list):
            kept.append(message)
            continue
        blocks = [_block(block, f"messages.{number}.content.{place}", losses) for place, block in enumerate(content)]
        left = [block for block in blocks if block is not None]
        if left or not content:
            kept.append({**message, "content": left} if left != content else message)
    return kept


def _block(block: Any, path: str, losses: list[Loss]) -> Any:
    """The block as it may go upstream; ``None``: not at all."""
    kind = block.get("type") if isinstance(block, dict) else None
    if kind in _THINKING:
        return _thinking(block, path, losses)
    if kind == "text" and isinstance(block.get("citations"), list):
        return _without_made_citations(block)
    return block


def _thinking(block: JSON, path: str, losses: list[Loss]) -> JSON | None:
    proof = block.get("signature") if block["type"] == "thinking" else block.get("data")
    if not isinstance(proof, str) or not proof:
        losses.append(Loss(path, "thinking without a signature"))
        return None
    if unseal(proof) is not None:
        losses.append(Loss(path, "a proof of another API's reasoning"))
        return None
    if "cache_control" in block:  # refused on thinking; the rest must stay as it is
        return {name: value for name, value in block.items() if name != "cache_control"}
    return block


def _without_made_citations(block: JSON) -> JSON:
    """Without the citations of other vendors, which ``response.render_citation`` made for the client."""
    citations = [
        item for item in block["citations"] if not (isinstance(item, dict) and item.get("encrypted_index") == "")
    ]
    if len(citations) == len(block["citations"]):
        return block
    rest = {name: value for name, value in block.items() if name != "citations"}
    return {**rest, "citations": citations} if citations else rest
