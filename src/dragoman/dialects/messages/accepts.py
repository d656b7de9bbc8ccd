"""What an upstream takes of a body in this dialect, whoever wrote it: the facts of design/requests.md, 7.

``fit`` changes a body that was made here, or the copy of a client's. A loss is named by the body's own
member; ``render`` gives it the canonical path.
"""

from __future__ import annotations

from typing import Any

from dragoman import jsontext
from dragoman.canonical.request import Loss
from dragoman.dialects.contract import Facts
from dragoman.effort import budget_of, effort_of

JSON = dict[str, Any]

DEFAULT_MAX_TOKENS = 4096
LEAST_BUDGET = 1024
"""Tokens: what this API demands of a thinking budget, which is below ``max_tokens`` too."""
INSTRUCTION = "Answer with one JSON value that fits this JSON Schema, and nothing else:\n{schema}"
THINKING_BLOCKS = ("thinking", "redacted_thinking")

_FORCED = ("any", "tool")
_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_LEAST_TOP_P = 0.95  # beside thinking


def limit_tokens(body: JSON, facts: Facts, losses: list[Loss]) -> None:
    """``max_tokens``, which this API demands: the client's, never raised, at most what the upstream can."""
    wanted = body.get("max_tokens")
    if wanted is None:
        body["max_tokens"] = facts.max_output_tokens or DEFAULT_MAX_TOKENS
    elif facts.max_output_tokens is not None and wanted > facts.max_output_tokens:
        body["max_tokens"] = facts.max_output_tokens
        losses.append(Loss("max_tokens", f"the upstream's limit is {facts.max_output_tokens}"))


def fit(body: JSON, facts: Facts, *, own: bool, forgotten: bool) -> list[Loss]:
    """Takes out of the body, or turns into what the upstream knows, what it would refuse.

    ``own``: the body is the client's. ``forgotten``: thinking may be missing in the history.
    """
    losses: list[Loss] = []
    _fit_thinking(body, facts, own, forgotten, losses)
    _fit_sampling(body, facts, own, losses)
    if not facts.structured_output:
        _instruct_format(body, losses)
    return losses


def instruct(body: JSON, schema: Any) -> None:
    """Tells the model the form of its answer, where it cannot be demanded."""
    text = INSTRUCTION.format(schema=jsontext.render(schema).decode())
    system = body.get("system")
    if isinstance(system, list):
        body["system"] = [*system, {"type": "text", "text": text}]
    else:
        body["system"] = f"{system}\n\n{text}" if isinstance(system, str) and system else text


def _set_config(body: JSON, name: str, value: Any) -> None:
    """Sets a member of ``output_config``, or takes it out (``None``)."""
    held = body.get("output_config")
    config = {**held} if isinstance(held, dict) else {}
    config.pop(name, None)
    if value is not None:
        config[name] = value
    if config:
        body["output_config"] = config
    else:
        body.pop("output_config", None)


def _instruct_format(body: JSON, losses: list[Loss]) -> None:
    config = body.get("output_config")
    form = (config.get("format") if isinstance(config, dict) else None) or body.get("output_format")
    if isinstance(form, dict) and form.get("type") == "json_schema":
        _set_config(body, "format", None)
        body.pop("output_format", None)
        instruct(body, form.get("schema"))
        losses.append(Loss("output_config.format", "the schema is an instruction: nothing enforces it"))


# ---- thinking


def _enabled(body: JSON) -> bool:
    thinking = body.get("thinking")
    return isinstance(thinking, dict) and thinking.get("type") == "enabled"


def _thinks(body: JSON) -> bool:
    thinking = body.get("thinking")
    return isinstance(thinking, dict) and thinking.get("type") not in (None, "disabled")


def _drop_thinking(body: JSON, reason: str, losses: list[Loss]) -> None:
    del body["thinking"]
    losses.append(Loss("thinking", reason))


def _fit_thinking(body: JSON, facts: Facts, own: bool, forgotten: bool, losses: list[Loss]) -> None:
    config = body.get("output_config")
    effort = config.get("effort") if isinstance(config, dict) else None
    knows_effort = facts.thinking not in ("budget", False)
    if not knows_effort:
        _set_config(body, "effort", None)
    if not _thinks(body):
        if facts.thinking is False:
            body.pop("thinking", None)
        if effort is not None and not knows_effort:
            losses.append(Loss("output_config.effort", "the upstream knows no effort"))
    elif reason := _against_thinking(body, facts, own, forgotten):
        _drop_thinking(body, reason, losses)
    elif _enabled(body):
        _fit_enabled(body, effort, facts, own, losses)
    elif facts.thinking == "budget":
        _to_budget(body, effort)
        _fit_budget(body, facts, own)
    budget = body["thinking"].get("budget_tokens") if _enabled(body) else None
    if isinstance(budget, int) and budget < LEAST_BUDGET:
        _drop_thinking(body, f"there is no room for {LEAST_BUDGET} tokens of thinking", losses)


def _against_thinking(body: JSON, facts: Facts, own: bool, forgotten: bool) -> str | None:
    """Why the upstream cannot think about this request."""
    if facts.thinking is False:
        return "the upstream does not think"
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") in _FORCED:
        return "thinking does not go with a forced tool choice"
    with_budget = facts.thinking == "budget" or (facts.thinking is None and own and _enabled(body))
    if forgotten and with_budget and not _may_think(body.get("messages")):
        return "the turn that goes on has no thinking to go on from"
    return None


def _fit_enabled(body: JSON, effort: Any, facts: Facts, own: bool, losses: list[Loss]) -> None:
    """Thinking with a budget that the client chose."""
    if facts.thinking == "budget" and effort is not None:
        losses.append(Loss("output_config.effort", "the upstream knows no effort"))
    if facts.thinking == "adaptive" or (facts.thinking is None and not own):
        _to_adaptive(body, effort)
    elif (lowered := _fit_budget(body, facts, own)) is not None and lowered >= LEAST_BUDGET:
        losses.append(Loss("thinking.budget_tokens", f"lowered to {lowered}"))


def _to_budget(body: JSON, effort: Any) -> None:
    budget = budget_of(effort if effort in _EFFORTS else "high")
    display = body["thinking"].get("display")
    body["thinking"] = {"type": "enabled", "budget_tokens": budget}
    if display not in (None, "summarized"):  # which is what such models do by themselves
        body["thinking"]["display"] = display


def _to_adaptive(body: JSON, effort: Any) -> None:
    thinking = {name: value for name, value in body["thinking"].items() if name != "budget_tokens"}
    budget = body["thinking"].get("budget_tokens")
    body["thinking"] = {**thinking, "type": "adaptive"}
    if effort is None and isinstance(budget, int):
        _set_config(body, "effort", effort_of(budget))


def _fit_budget(body: JSON, facts: Facts, own: bool) -> int | None:
    """The budget, if it had to be lowered: a token below ``max_tokens`` where the client chose both, else a fifth."""
    wanted, limit = body["thinking"].get("budget_tokens"), body.get("max_tokens")
    if not isinstance(wanted, int):
        return None
    budget = wanted
    if isinstance(limit, int):
        budget = min(budget, limit - 1 if own else max(limit * 4 // 5, min(LEAST_BUDGET, limit - 1)))
    if facts.max_thinking_budget is not None:
        budget = min(budget, facts.max_thinking_budget)
    if budget == wanted:
        return None
    body["thinking"] = {**body["thinking"], "budget_tokens": budget}
    return budget


def _may_think(messages: Any) -> bool:
    """Whether the turn of the assistant that goes on, if one does, has thinking (pydantic/pydantic-ai#2075).

    It goes on after results, and where the last turn is its own. With a budget the API refuses to
    think in the middle of a turn that began without.
    """
    goes_on = False
    for message in reversed(messages if isinstance(messages, list) else []):
        content = message.get("content") if isinstance(message, dict) else None
        blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
        kinds = [block.get("type") for block in blocks]
        role = message.get("role") if isinstance(message, dict) else None
        if role == "assistant" and kinds and kinds[0] in THINKING_BLOCKS:
            return True
        if role == "user" and "tool_result" not in kinds:
            break
        goes_on = goes_on or role in ("user", "assistant")
    return not goes_on


# ---- sampling


def _fit_sampling(body: JSON, facts: Facts, own: bool, losses: list[Loss]) -> None:
    if _thinks(body):
        _drop_sampling(body, own, losses)
    if facts.exclusive_sampling and body.get("temperature") is not None and body.get("top_p") is not None:
        del body["top_p"]
        losses.append(Loss("top_p", "refused beside temperature"))


def _drop_sampling(body: JSON, own: bool, losses: list[Loss]) -> None:
    """Thinking has its own temperature, 1, and leaves little to ``top_p``."""
    for name, least in (("temperature", 1), ("top_p", _LEAST_TOP_P), ("top_k", None)):
        value = body.get(name)
        if not isinstance(value, int | float):
            continue
        fits = least is not None and least <= value <= 1
        if not fits:
            losses.append(Loss(name, "thinking does not go with it"))
        if not fits or (value == 1 and not own):
            del body[name]
