"""Patterns of names: of models, of tools, of hosts."""

from __future__ import annotations

import re
from functools import cache


def matches(pattern: str, name: str) -> re.Match[str] | None:
    """Whether the whole name fits a pattern, in which each ``*`` stands for anything: that is its group."""
    return _compiled(pattern).fullmatch(name)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile("(.*)".join(map(re.escape, pattern.split("*"))), re.DOTALL)
