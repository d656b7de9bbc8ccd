"""A client's own body for an upstream of the same dialect: new members pass on the day they appear.

What changes: the model, what this gateway put into the history (ids of its own, sealed proofs,
aliases), what no upstream can parse, and what the facts say that this one does not take.
"""

from __future__ import annotations

from typing import Any

from dragoman.canonical.aliases import original
from dragoman.canonical.opaque import unseal
from dragoman.canonical.request import Loss, Request
from dragoman.dialects.contract import Facts, UpstreamRequest
from dragoman.dialects.responses import compaction
from dragoman.dialects.responses.endpoints import UPSTREAM_PATH
from dragoman.dialects.responses.errors import refused
from dragoman.dialects.responses.wire import (
    BOUND,
    JSON,
    LEAST_OUTPUT,
    LOGPROBS,
    RESPONSE_PREFIX,
    is_minted,
    object_of,
    text_of,
)
from dragoman.history import CONTINUE, SYSTEM, mended_arguments
from dragoman.streaming.arguments import argument_text
from dragoman.structured import instruction

_ELSEWHERE = "cannot be resolved here; send the full conversation in input"
_OWN_ROLES = ("system", "developer")
_LOOSE = ("message", "function_call", "custom_tool_call", "function_call_output", "custom_tool_call_output", None)
"""Items that stand for themselves: their ids only tie them to what is stored."""


def adapt_request(body: JSON, request: Request, facts: Facts) -> UpstreamRequest:
    """The client's body as this upstream takes it.

    Raises ``InvalidRequest`` for an answer or an item that only another place knows by its id.
    """
    out = {**body, "model": request.model}
    losses: list[Loss] = []
    previous = text_of(body.get("previous_response_id"))
    if previous is not None and previous.startswith(RESPONSE_PREFIX):
        raise refused(_ELSEWHERE, "previous_response_id")
    if facts.stateless_upstream:
        for name in BOUND:
            if body.get(name):
                raise refused(_ELSEWHERE, name)
        out["store"] = False
    if isinstance(body.get("input"), list):
        items = _Items(facts, losses, stored=out.get("store") is not False)
        out["input"] = items.adapted(body["input"])
    _fit_limit(out, facts, losses)
    _fit_sampling(out, facts, losses)
    _fit_output(out, facts, losses)
    return UpstreamRequest(path=UPSTREAM_PATH, body=out, losses=tuple(losses))


class _Items:
    """Adapts the items of one ``input``. ``stored``: the upstream keeps what it gave."""

    def __init__(self, facts: Facts, losses: list[Loss], *, stored: bool) -> None:
        self._facts = facts
        self._losses = losses
        self._stored = stored
        self._text = facts.signing_upstream is False or facts.wants_reasoning
        """Reasoning may go back as text."""
        self._calls: dict[str, str] = {}
        """The ids of calls of a local shell, by ids of their items that were made here."""
        self._begun = False
        """Whether the system text at the beginning is over."""
        self._parted = False
        """Whether the reasoning that came before lost its id or is gone: what it led to has to lose its own
        (NousResearch/hermes-agent#97445)."""

    def adapted(self, items: list[Any]) -> list[Any]:
        out = [
            adapted
            for number, item in enumerate(items)
            if (adapted := self._item(item, f"input[{number}]")) is not None
        ]
        last = object_of(out[-1]) if out else {}
        if not self._facts.assistant_prefill and last.get("role") == "assistant":
            self._losses.append(Loss("input", "the last turn is the assistant's: the user asks to continue"))
            out.append({"role": "user", "content": CONTINUE})
        return out

    def _item(self, item: Any, path: str) -> Any:
        """One item; ``None`` if it has to go."""
        if not isinstance(item, dict):
            self._begun = True
            return item
        kind, role = item.get("type"), item.get("role")
        if kind == "item_reference" or (kind is None and "role" not in item and "id" in item):
            return self._reference(item, path)
        if kind == "reasoning":
            return self._reasoning(item, path)
        if kind in compaction.ITEMS and (told := compaction.read_summary(item)):
            item = {"type": "message", "role": "user", "content": told}
        if role != "assistant" and kind not in ("function_call", "custom_tool_call"):
            self._parted = False
        item = self._named(item, keep=False)
        if role in _OWN_ROLES:
            return self._system(item, path)
        self._begun = True
        call_id = item.get("call_id")
        if isinstance(call_id, str) and original(call_id) != call_id:
            item = {**item, "call_id": original(call_id)}
        if kind == "function_call":
            arguments = mended_arguments(argument_text(item.get("arguments")) or "")
            item = item if arguments == item.get("arguments") else {**item, "arguments": arguments}
        return item

    def _named(self, item: JSON, *, keep: bool) -> JSON:
        """The item without an id that the upstream cannot know, or may not look up."""
        if "id" not in item:
            return item
        id = item["id"]
        if is_minted(id) and item.get("type") == "local_shell_call":
            self._calls[id] = original(text_of(item.get("call_id")) or id)
        elif is_minted(id) and item.get("type") == "local_shell_call_output":
            return {**item, "id": self._calls.get(id, id)}  # it names the call that the output is of
        loose = item.get("type") in _LOOSE and (self._parted or self._facts.stateless_upstream)
        if text_of(id) is not None and not is_minted(id) and (keep or not loose):
            return item
        return {name: value for name, value in item.items() if name != "id"}

    def _reference(self, item: JSON, path: str) -> JSON | None:
        """An item that the upstream has stored, if it stores any; reasoning can be missed."""
        if not self._facts.stateless_upstream and not is_minted(item.get("id")):
            return item
        if str(item.get("id")).startswith("rs_"):
            self._losses.append(Loss(path, "nothing is stored at this upstream"))
            self._parted = True
            return None
        raise refused(f"the item is not stored; {_ELSEWHERE}", f"{path}.id")

    def _reasoning(self, item: JSON, path: str) -> JSON | None:
        """Reasoning that can stand: what holds nothing but its id cannot be found again where nothing is
        stored (Kilo-Org/kilocode#10197). ``summary`` is demanded (newo-ether/Agora#141)."""
        self._begun = True
        made_here = is_minted(item.get("id"))
        item = self._named(item, keep=True)
        self._parted = "id" not in item
        proof = text_of(item.get("encrypted_content"))
        sealed = proof is not None and unseal(proof) is not None
        said = bool(item.get("summary") or item.get("content"))
        known = not made_here and (self._stored or said)
        if sealed and said and self._text:
            item = {name: value for name, value in item.items() if name != "encrypted_content"}
            self._losses.append(Loss(f"{path}.encrypted_content", "a proof of reasoning goes back to its origin only"))
        elif sealed or (proof is None and not known and not (said and self._text)):
            self._losses.append(Loss(path, "reasoning goes back only to the upstream that made it"))
            self._parted = True
            return None
        return item if isinstance(item.get("summary"), list) else {**item, "summary": []}

    def _system(self, item: JSON, path: str) -> JSON:
        if not self._begun or self._facts.mid_conversation_system is not False:
            return item
        self._losses.append(Loss(path, "there are no system turns in mid-conversation: marked text of a user's turn"))
        content = item.get("content")
        if isinstance(content, str):
            return {**item, "role": "user", "content": SYSTEM.format(text=content)}
        parts = content if isinstance(content, list) else []
        return {**item, "role": "user", "content": [_marked(part) for part in parts]}


def _marked(part: Any) -> Any:
    text = object_of(part).get("text")
    return {**part, "text": SYSTEM.format(text=text)} if isinstance(text, str) else part


# ---- what the upstream does not take


def _fit_limit(body: JSON, facts: Facts, losses: list[Loss]) -> None:
    limit, given = facts.max_output_tokens, body.get("max_output_tokens")
    if limit is not None and isinstance(given, int) and given > limit:
        body["max_output_tokens"] = max(limit, LEAST_OUTPUT)
        losses.append(Loss("max_output_tokens", f"the upstream's limit is {limit}"))


def _fit_sampling(body: JSON, facts: Facts, losses: list[Loss]) -> None:
    gone: tuple[str, ...] = ()
    if facts.reasoning_model:
        gone = ("temperature", "top_p", "top_logprobs")
        include = body.get("include")
        if isinstance(include, list) and LOGPROBS in include:
            body["include"] = [word for word in include if word != LOGPROBS]
            losses.append(Loss("include", "a reasoning model has no logprobs"))
    elif facts.exclusive_sampling and body.get("temperature") is not None:
        gone = ("top_p",)
    for name in gone:
        if body.pop(name, None) is not None:
            losses.append(Loss(name, "the upstream does not take it"))


def _fit_output(body: JSON, facts: Facts, losses: list[Loss]) -> None:
    text = object_of(body.get("text"))
    form = object_of(text.get("format"))
    if facts.structured_output or form.get("type") != "json_schema":
        return
    body["text"] = {name: value for name, value in text.items() if name != "format"}
    told = instruction(object_of(form.get("schema")))
    given = body.get("instructions")
    body["instructions"] = f"{given}\n\n{told}" if isinstance(given, str) and given else told
    losses.append(Loss("text.format", "the schema is an instruction only: nothing enforces it"))
