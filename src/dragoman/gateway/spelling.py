"""What somebody may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: object, known: Iterable[str]) -> str:
    """``; did you mean …?`` with the nearest known word, or nothing if none is near."""
    found = difflib.get_close_matches(str(word), list(known), n=1, cutoff=0.5)
    return f"; did you mean {found[0]}?" if found else ""
