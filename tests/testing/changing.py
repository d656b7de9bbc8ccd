"""A body with one member changed, by its path."""

from __future__ import annotations

import copy
import re
from typing import Any

GONE = object()
"""Takes the member away."""

_STEP = re.compile(r"[^.\[\]]+")


def changed(body: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The body with this value at ``a.b[0].c``; a list grows by an entry at its end."""
    made, value = copy.deepcopy(body), value if value is GONE else copy.deepcopy(value)
    holder: Any = made
    *steps, last = [int(step) if step.isdigit() else step for step in _STEP.findall(path)]
    for step in steps:
        holder = holder[step]
    if value is GONE:
        del holder[last]
    elif isinstance(holder, list) and last == len(holder):
        holder.append(value)
    else:
        holder[last] = value
    return made
