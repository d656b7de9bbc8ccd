"""Freeform (custom) tools where only JSON arguments exist: ``{"input": text}``, both ways, live.

A custom tool takes any text. An upstream without such tools gets it declared as a function with one
text argument, so its calls hold the text inside JSON, and it is read out again while it streams
(``InputReader``). A client without such tools gets a custom call wrapped in the same way
(``InputWriter``). Source: design/requests.md, 4.
"""

from __future__ import annotations

import json
import re
from typing import Any

from dragoman import jsontext

INPUT = "input"

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {INPUT: {"type": "string"}},
    "required": [INPUT],
    "additionalProperties": False,
}
"""The JSON Schema of the function that stands for a custom tool."""

_OPENING = re.compile(r'\s*\{\s*"input"\s*:\s*"')
_PLAIN = re.compile(r'[^"\\]*')
_ESCAPE = re.compile(r'\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])')
_SURROGATE = re.compile("[\ud800-\udfff]")
_HIGH_AT_END = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\Z")
_MAYBE_LOW = re.compile(r"(?:\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?)?")
_EMPTY = re.compile(r"\s*(?:\{\s*\})?\s*")
_MAYBE_OPENING = re.compile(r'\s*(?:\{\s*(?:\}\s*|"(?:i(?:n(?:p(?:u(?:t(?:"\s*(?::\s*)?)?)?)?)?)?)?)?)?')


def wrapped(text: str) -> str:
    """The arguments of a function call that stand for this input."""
    return jsontext.render({INPUT: text}).decode()


def unwrapped(arguments: str) -> str:
    """The input in such arguments; any other text as it is."""
    reader = InputReader()
    return reader.feed(arguments) + reader.finish()


class InputReader:
    """Reads the text out of ``{"input": "…"}`` that comes in fragments.

    Arguments of another shape are no wrapper: they are the input, as they stand. Bare texts are what
    models write that know the tool by heart.
    """

    __slots__ = ("_held", "_state")

    def __init__(self) -> None:
        self._state = "opening"
        self._held = ""

    def feed(self, text: str) -> str:
        """The input that these fragments of the arguments bring."""
        if self._state == "plain":
            return text
        if self._state == "after":
            return ""
        self._held += text
        if self._state == "opening":
            match = _OPENING.match(self._held)
            if match is None:
                if _MAYBE_OPENING.fullmatch(self._held):
                    return ""
                self._state = "plain"
                return self._take()
            self._state, self._held = "inside", self._held[match.end() :]
        return self._inside()

    def finish(self) -> str:
        """What was still held: the beginning of a wrapper that never came is input too."""
        if self._state != "opening":
            return ""
        held = self._take()
        return "" if _EMPTY.fullmatch(held) else held

    def _take(self) -> str:
        held, self._held = self._held, ""
        return held

    def _inside(self) -> str:
        out: list[str] = []
        position = 0
        text = self._held
        while position < len(text):
            plain = _PLAIN.match(text, position)
            end = plain.end() if plain else position
            out.append(text[position:end])
            position = end
            if position == len(text):
                break
            if text[position] == '"':
                self._state, self._held = "after", ""
                return "".join(out)
            taken = self._escapes(text, position)
            if taken is None:
                break
            decoded, position = taken
            out.append(decoded)
        self._held = text[position:]
        return "".join(out)

    @staticmethod
    def _escapes(text: str, position: int) -> tuple[str, int] | None:
        """A run of escapes, decoded together so that surrogate pairs meet; ``None`` while it may go on."""
        end = position
        while (match := _ESCAPE.match(text, end)) is not None:
            end = match.end()
        if end == position:
            if len(text) - position < 6 and text[position + 1 : position + 2] in ("", "u"):
                return None
            return text[position], position + 1  # no escape of JSON's: passed on as it is
        run = text[position:end]
        if _MAYBE_LOW.fullmatch(text, end) and _HIGH_AT_END.search(run):
            run, end = run[:-6], end - 6
            if not run:
                return None
        decoded: str = json.loads(f'"{run}"')
        return _SURROGATE.sub("\ufffd", decoded), end


class InputWriter:
    """Writes input that comes in fragments as ``{"input": "…"}``."""

    __slots__ = ("_begun",)

    def __init__(self) -> None:
        self._begun = False

    def feed(self, text: str) -> str:
        """The arguments for more of the input."""
        opening = "" if self._begun else '{"input":"'
        self._begun = True
        return opening + jsontext.quoted(text).decode()[1:-1]

    def finish(self) -> str:
        """The end of the arguments."""
        return '"}' if self._begun else '{"input":""}'
