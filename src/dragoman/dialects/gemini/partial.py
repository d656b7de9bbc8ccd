"""Call arguments that Gemini streams in pieces, as one growing JSON text.

A piece names a value by a JSONPath (``$.recipe.steps[0]``) and brings it, or a part of it if it is
a string. The pieces come in the order of the text, so most of the JSON can be written at once; only
what a later piece may still change is held: the closing quote of a string, and closing brackets.
Source: protocols/anthropic-google.md, 0.5.
"""

from __future__ import annotations

import re
from typing import Any

from dragoman import jsontext
from dragoman.dialects.gemini.wire import JSON, as_list, as_text

Step = str | int
"""A member's name, or an index of a list."""

_STEP = re.compile(
    r"""\.(?P<name>[^.\[\]'"]+) | \[(?P<index>\d{1,9})\] | \[(?P<quote>['"])(?P<quoted>(?:\\.|(?!(?P=quote)).)*)(?P=quote)\]""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def parse_path(path: str) -> tuple[Step, ...] | None:
    """The steps of a JSONPath below ``$``; ``None`` for one that does not name a single value."""
    rest = path.removeprefix("$")
    if not rest.startswith((".", "[")):
        rest = "." + rest
    steps: list[Step] = []
    position = 0
    while position < len(rest):
        found = _STEP.match(rest, position)
        if found is None:
            return None
        position = found.end()
        if found["name"] is not None:
            steps.append(found["name"])
        elif found["index"] is not None:
            steps.append(int(found["index"]))
        else:
            steps.append(_ESCAPED.sub(r"\1", found["quoted"]))
    return tuple(steps) or None


class _Container:
    """An open object or list of the text."""

    __slots__ = ("is_list", "seen", "size", "step")

    def __init__(self, step: Step | None, is_list: bool) -> None:
        self.step = step
        self.is_list = is_list
        self.size = 0
        self.seen: set[Step] = set()


class ArgumentWriter:
    """Pieces in, JSON text out.

    ``broken``: a piece does not fit what was written (it goes back into something that is closed,
    or names no place). Nothing is written any more then, and the text is never closed: half of the
    arguments must not look whole.
    """

    def __init__(self) -> None:
        self.broken = False
        self.settled = True
        """No string waits for its rest."""
        self._open: list[_Container] = []
        self._string: tuple[Step, ...] | None = None  # the path of a string whose quote is not closed
        self._high = ""  # a half of a surrogate pair that waits for the other one
        self._written = False

    def write(self, pieces: Any) -> str:
        """The text that these pieces (the wire's ``partialArgs``) add."""
        out: list[str] = []
        for piece in as_list(pieces):
            if not self.broken and isinstance(piece, dict):
                self._piece(piece, out)
        return "".join(out)

    def close(self) -> str:
        """The rest of the text: ``{}`` if no piece came, nothing if the text is broken."""
        if self.broken:
            return ""
        if not self._written:
            self._written = True
            return "{}"
        out: list[str] = []
        self._end_string(out)
        while self._open:
            self._leave(out)
        return "".join(out)

    @property
    def written(self) -> bool:
        """Whether any text was written."""
        return self._written

    def _piece(self, piece: JSON, out: list[str]) -> None:
        value = _value(piece)
        if value is _NOTHING:
            return
        path = parse_path(as_text(piece.get("jsonPath")))
        if path is None:
            self.broken = True
            return
        more = piece.get("willContinue") is True
        if path == self._string:
            if isinstance(value, str):
                self._text(value, out)
                self.settled = not more
            else:
                self.broken = True
            return
        self._end_string(out)
        if not self._enter(path, out):
            self.broken = True
            return
        if isinstance(value, str):
            out.append('"')
            self._string = path
            self._text(value, out)
            self.settled = not more
        else:
            out.append(jsontext.render(value).decode())

    def _text(self, text: str, out: list[str]) -> None:
        text = self._high + text
        self._high = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._high, text = text[-1], text[:-1]
        joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        out.append(jsontext.quoted(joined).decode()[1:-1])

    def _end_string(self, out: list[str]) -> None:
        if self._string is None:
            return
        if self._high:
            self._high = ""
            out.append("\ufffd")
        out.append('"')
        self._string = None
        self.settled = True

    def _enter(self, path: tuple[Step, ...], out: list[str]) -> bool:
        """Writes what stands before the value at this path: brackets, commas, names."""
        if not self._open:
            if isinstance(path[0], int):
                return False
            out.append("{")
            self._written = True
            self._open.append(_Container(None, is_list=False))
        shared = 0
        limit = min(len(self._open), len(path)) - 1
        while shared < limit and self._open[shared + 1].step == path[shared]:
            shared += 1
        while len(self._open) > shared + 1:
            self._leave(out)
        for depth in range(shared, len(path)):
            if not self._name(path[depth], out):
                return False
            if depth + 1 < len(path):
                is_list = isinstance(path[depth + 1], int)
                out.append("[" if is_list else "{")
                self._open.append(_Container(path[depth], is_list))
        return True

    def _name(self, step: Step, out: list[str]) -> bool:
        container = self._open[-1]
        if container.is_list:
            if step != container.size:
                return False
        elif not isinstance(step, str) or step in container.seen:
            return False
        if container.size:
            out.append(",")
        if isinstance(step, str):
            out.append(jsontext.quoted(step).decode() + ":")
            container.seen.add(step)
        container.size += 1
        return True

    def _leave(self, out: list[str]) -> None:
        out.append("]" if self._open.pop().is_list else "}")


_NOTHING = object()


def _value(piece: JSON) -> Any:
    for name in ("stringValue", "numberValue", "boolValue"):
        if piece.get(name) is not None:
            return piece[name]
    return None if "nullValue" in piece else _NOTHING
