"""What somebody may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: object, known: Iterable[str]) -> str:
    """``; did you mean …?`` with the nearest known word, or nothing if none is near."""
    found = near(word, known, 1)
    return f"; did you mean {found[0]}?" if found else ""


def near(word: object, known: Iterable[str], most: int) -> list[str]:
    """The known words that are near, the nearest first."""
    return difflib.get_close_matches(str(word), list(known), n=most, cutoff=0.5)
