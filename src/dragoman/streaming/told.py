"""What was told, beside a snapshot of it: what the snapshot adds, and whether both can be the same.

Deltas win, snapshots supply the missing rest (design/streams.md, 4).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dragoman import jsontext


class Told:
    """A text as far as it was told, in pieces. ``add`` takes the next one."""

    __slots__ = ("add", "pieces")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.add: Callable[[str], None] = self.pieces.append

    def rest(self, whole: str) -> str | None:
        """What a snapshot has beyond this text; "" if it is as old or older, ``None`` if it is another text.

        The work is bounded by the length of the snapshot.
        """
        position = 0
        for piece in self.pieces:
            if position >= len(whole):
                return ""
            end = position + len(piece)
            if not (whole.startswith(piece, position) or piece.startswith(whole[position:])):
                halves = any("\ud800" <= edge <= "\udfff" for edge in (piece[:1], piece[-1:]))
                return _units_beyond("".join(self.pieces), whole) if halves else None
            position = end
        return whole[position:]


def _units_beyond(told: str, whole: str) -> str | None:
    """As ``rest``, of texts compared in UTF-16 units: a piece may have ended inside of a pair."""
    before, after = (text.encode("utf-16-le", "surrogatepass") for text in (told, whole))
    return after[len(before) :].decode("utf-16-le", "surrogatepass") if after.startswith(before) else None


def agree(told: str, whole: str) -> bool:
    """Whether these can be the same arguments: one continues the other, or both have one value."""
    told, whole = told.strip(), whole.strip()
    return whole.startswith(told) or told.startswith(whole) or _value(told) == _value(whole)


def _value(text: str) -> Any:
    """The value of arguments, also of those inside a JSON string; what is no JSON is the same as itself only."""
    try:
        value = jsontext.parse(text)
        return jsontext.parse(value) if isinstance(value, str) else value
    except ValueError:
        return [text]
