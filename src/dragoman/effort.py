"""How many tokens of thinking an effort stands for, and back: one table for every crossing.

Some APIs are told an effort, others a budget (design/requests.md, 5). The budgets of ``low``, ``medium``
and ``high`` are of the size that vendors document for models which know both.
"""

from __future__ import annotations

from dragoman.canonical.request import Effort

_BUDGETS: dict[Effort, int] = {
    "none": 0,
    "minimal": 1_024,
    "low": 2_048,
    "medium": 8_192,
    "high": 24_576,
    "xhigh": 32_768,
    "max": 65_536,
}


def budget_of(effort: Effort) -> int:
    """The tokens that a model may think with this effort."""
    return _BUDGETS[effort]


def effort_of(budget: int) -> Effort:
    """The effort that a budget of tokens stands for: one that every API knows."""
    if budget <= 0:
        return "none"
    if budget <= _BUDGETS["low"]:
        return "low"
    return "medium" if budget <= _BUDGETS["medium"] else "high"
