"""How much the model shall think: ``thinkingConfig``, by a level or by a budget of tokens.

The two exclude each other (ax-llm/ax#624), and models know one of them: ``gemini_thinking`` says which
(design/requests.md, 5 and 7). A level cannot be nothing; a budget is 0 for none and -1 for the model's own choice.
"""

from __future__ import annotations

from dragoman.canonical import request as q
from dragoman.dialects.contract import Facts
from dragoman.dialects.gemini.wire import JSON, LEVELS
from dragoman.effort import budget_of, effort_of

_MOST = 24_576
"""Tokens: the budget that every model with budgets takes, where its own is not known."""
_ROOM = 1_024
"""Tokens: with less than this there is no use in thinking."""

_RENDERED: dict[q.Effort, str] = {
    **{effort: level for level, effort in LEVELS.items()},
    "none": "MINIMAL",
    "max": "XHIGH",
}


def render_thinking(asked: q.ReasoningRequest, facts: Facts, limit: int | None, losses: list[q.Loss]) -> JSON:
    """The ``thinkingConfig``; ``limit`` is the answer's (tokens), in which the thinking counts."""
    if facts.gemini_thinking == "level":
        config = _level(asked, losses)
    else:
        config = _budget(asked, facts, limit, losses)
    visible = asked.visible
    if visible is None and asked.summary not in (None, "none"):
        visible = True
    if visible is not None and config.get("thinkingBudget") != 0:  # refused where there are no thoughts
        config["includeThoughts"] = visible
    return config


def _level(asked: q.ReasoningRequest, losses: list[q.Loss]) -> JSON:
    effort = effort_of(asked.budget) if asked.effort is None and asked.budget is not None else asked.effort
    if effort is None:
        return {}  # the model's own choice, as adaptive thinking is
    if effort == "none":
        losses.append(q.Loss("reasoning.effort", "thinking by levels cannot be switched off: the lowest"))
    return {"thinkingLevel": _RENDERED[effort]}


def _budget(asked: q.ReasoningRequest, facts: Facts, limit: int | None, losses: list[q.Loss]) -> JSON:
    if asked.effort is not None:
        budget = capped(budget_of(asked.effort), facts)
    elif asked.budget is not None:
        budget = capped(asked.budget, facts, asked.budget)
    else:
        return {"thinkingBudget": -1} if asked.adaptive else {}
    if limit is None or budget < limit:
        return {"thinkingBudget": budget}
    if limit // 2 < _ROOM:
        losses.append(q.Loss("reasoning", "max_output_tokens leaves no room for it: the model's own choice"))
        return {}
    return {"thinkingBudget": limit // 2}


def capped(budget: int, facts: Facts, most: int = _MOST) -> int:
    """A budget that the model takes: ``most`` stands for its greatest where that is not known."""
    return min(budget, most if facts.max_thinking_budget is None else facts.max_thinking_budget)
