"""A client's own messages body for an upstream of this very dialect, changed as little as can be.

Everything passes as it came, so that new members work on the day they appear; only what the upstream
would refuse is taken out of it: thinking that it did not sign, values that this gateway sealed for
another vendor, markers that this gateway made, blank text, which models write and the API does not take
back, and what the upstream's facts rule out.
"""

from __future__ import annotations

from typing import Any

from dragoman.canonical.opaque import unseal
from dragoman.canonical.request import Loss, Request
from dragoman.dialects.contract import Facts, UpstreamRequest
from dragoman.dialects.messages import endpoints, wire
from dragoman.dialects.messages.accepts import THINKING_BLOCKS, fit, limit_tokens
from dragoman.dialects.messages.betas import fit_members
from dragoman.dialects.messages.members import is_over
from dragoman.dialects.messages.turns import NOTHING
from dragoman.history import CONTINUE, SYSTEM

JSON = dict[str, Any]


def adapt_request(body: JSON, request: Request, facts: Facts) -> UpstreamRequest:
    """The body with the upstream's model, within its limit, and without what it would refuse."""
    losses: list[Loss] = []
    adapted = {**body, "max_tokens": request.max_output_tokens}
    limit_tokens(adapted, facts, losses)
    if request.stream:
        adapted["stream"] = True
    else:
        adapted.pop("stream", None)
    return _adapted(wire.PATH, adapted, request, facts, losses)


def adapt_count(body: JSON, request: Request, facts: Facts) -> UpstreamRequest:
    """The body of a request to count tokens, which has neither a limit nor a stream."""
    adapted = {name: value for name, value in body.items() if name not in ("max_tokens", "stream")}
    return _adapted(wire.COUNT_PATH, adapted, request, facts, [])


def _adapted(path: str, body: JSON, request: Request, facts: Facts, losses: list[Loss]) -> UpstreamRequest:
    body["model"] = request.model
    if isinstance(facts.betas, list):
        body = fit_members(body, facts.betas, losses)
    thought = False
    if isinstance(messages := body.get("messages"), list):
        history = _History(facts, losses)
        body["messages"] = history.adapted(messages)
        thought = history.forgotten
    losses += fit(body, facts, own=True, forgotten=thought)
    return UpstreamRequest(path=path, body=body, headers=endpoints.request_headers(body), losses=tuple(losses))


class _History:
    """``forgotten``: thinking was taken out."""

    def __init__(self, facts: Facts, losses: list[Loss]) -> None:
        self.forgotten = False
        self._facts = facts
        self._losses = losses

    def _lose(self, path: str, reason: str) -> None:
        self._losses.append(Loss(path, reason))

    def adapted(self, messages: list[Any]) -> list[Any]:
        kept = [self._message(message, f"messages[{number}]") for number, message in enumerate(messages)]
        if not self._facts.mid_conversation_system:
            kept = self._without_system(kept)
        return self._ended(kept)

    # ---- blocks

    def _message(self, message: Any, path: str) -> Any:
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(content, list):
            return message
        blocks = [self._block(block, f"{path}.content[{place}]") for place, block in enumerate(content)]
        left = [block for block in blocks if block is not None]
        if _role(message) == "assistant":
            left = [block for block in left if not _is_blank(block)]
        if content and not left:
            left = [{"type": "text", "text": NOTHING}]
        return {**message, "content": left} if left != content else message

    def _block(self, block: Any, path: str) -> Any:
        """The block as it may go upstream; ``None``: not at all."""
        kind = block.get("type") if isinstance(block, dict) else None
        if kind in THINKING_BLOCKS:
            return self._thinking(block, path)
        if kind == "text" and isinstance(block.get("citations"), list):
            return _without_made_citations(block)
        return block

    def _thinking(self, block: JSON, path: str) -> JSON | None:
        if "cache_control" in block:  # refused on thinking; the rest must stay as it is
            block = {name: value for name, value in block.items() if name != "cache_control"}
        name = "signature" if block["type"] == "thinking" else "data"
        proof = block.get(name)
        foreign = isinstance(proof, str) and unseal(proof) is not None
        if isinstance(proof, str) and proof and not foreign:
            return block
        signed = self._facts.signing_upstream is not False
        if signed or name == "data" or not block.get("thinking"):
            self.forgotten = True
            self._lose(path, "a proof of another API's reasoning" if foreign else "thinking without a signature")
            return None
        if foreign:
            self._lose(f"{path}.signature", "a proof of another API's reasoning")
            return {**block, "signature": ""}
        return block

    # ---- turns

    def _without_system(self, messages: list[Any]) -> list[Any]:
        """System turns in the middle become marked text of the user's turn before them, else of the one after."""
        kept: list[Any] = []
        waiting: list[JSON] = []
        for number, message in enumerate(messages):
            role = _role(message)
            if role == "system":
                texts = [] if is_over(messages, number) else self._marked(message, f"messages[{number}]")
                if kept and _role(kept[-1]) == "user":
                    kept[-1] = {**kept[-1], "content": _blocks(kept[-1]) + texts}
                else:
                    waiting += texts
                continue
            if waiting and role == "user":
                blocks = _blocks(message)
                results = [block for block in blocks if _is_result(block)]
                rest = [block for block in blocks if not _is_result(block)]
                message = {**message, "content": [*results, *waiting, *rest]}
                waiting = []
            elif waiting:
                kept.append({"role": "user", "content": waiting})
                waiting = []
            kept.append(message)
        return [*kept, {"role": "user", "content": waiting}] if waiting else kept

    def _marked(self, message: JSON, path: str) -> list[JSON]:
        texts: list[JSON] = []
        for block in _blocks(message):
            if isinstance(block, dict) and isinstance(block.get("text"), str):
                texts.append({**block, "text": SYSTEM.format(text=block["text"])})
        self._lose(path, "the upstream takes no system turns in mid-conversation: marked text of the user's turn")
        return texts

    def _ended(self, messages: list[Any]) -> list[Any]:
        """A final turn of the assistant that ends in text: without blanks at its end, or the user asks to go on."""
        if not messages or _role(messages[-1]) != "assistant":
            return messages
        last = messages[-1]
        blocks = _blocks(last)
        end = blocks[-1] if blocks else None
        if not isinstance(end, dict) or end.get("type") != "text" or not isinstance(end.get("text"), str):
            return messages
        if not self._facts.assistant_prefill:
            self._lose("messages", "the last turn is the assistant's: the user asks to continue")
            return [*messages, {"role": "user", "content": CONTINUE}]
        text = end["text"].rstrip()
        if text in ("", end["text"]):
            return messages
        content = text if isinstance(last["content"], str) else [*blocks[:-1], {**end, "text": text}]
        return [*messages[:-1], {**last, "content": content}]


def _role(message: Any) -> Any:
    return message.get("role") if isinstance(message, dict) else None


def _blocks(message: JSON) -> list[Any]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def _is_blank(block: Any) -> bool:
    text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None
    return isinstance(text, str) and not text.strip()


def _is_result(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_result"


def _without_made_citations(block: JSON) -> JSON:
    """Without the citations of other vendors, which ``response.render_citation`` made for the client."""
    citations = [
        item for item in block["citations"] if not (isinstance(item, dict) and item.get("encrypted_index") == "")
    ]
    if len(citations) == len(block["citations"]):
        return block
    rest = {name: value for name, value in block.items() if name != "citations"}
    return {**rest, "citations": citations} if citations else rest
