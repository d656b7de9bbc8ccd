"""Could this text still become a JSON value? Decided incrementally and strictly (RFC 8259).

Each character is looked at once, whatever the cut, and a copy costs nothing, so that two readings
of a fragment can be tried side by side (design/streams.md, 4).
"""

from __future__ import annotations

import re
from enum import Enum

_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_BLANKS = " \t\n\r"
_HEX = frozenset("0123456789abcdefABCDEF")
_LITERALS = {"t": "rue", "f": "alse", "n": "ull"}
_OBJECT, _ARRAY = "{", "["


class _Mode(Enum):
    VALUE = "a value"
    VALUE_OR_CLOSE = "a value or ]"
    KEY_OR_CLOSE = "a key or }"
    KEY = "a key"
    COLON = ":"
    AFTER = "what follows a value"
    STRING = "inside a string"
    ESCAPE = "after a backslash"
    HEX = "inside a \\u escape"
    LITERAL = "inside true, false or null"
    MINUS = "after a minus sign"
    ZERO = "after a leading zero"
    INTEGER = "inside an integer"
    POINT = "after a decimal point"
    FRACTION = "inside a fraction"
    EXPONENT = "after e"
    SIGN = "after the sign of an exponent"
    DIGITS = "inside an exponent"


_M = _Mode
_DIGITS = "0123456789"
_NUMBER: dict[_Mode, dict[str, _Mode]] = {
    _M.MINUS: {"0": _M.ZERO, **dict.fromkeys("123456789", _M.INTEGER)},
    _M.ZERO: {".": _M.POINT, "e": _M.EXPONENT, "E": _M.EXPONENT},
    _M.INTEGER: {".": _M.POINT, "e": _M.EXPONENT, "E": _M.EXPONENT, **dict.fromkeys(_DIGITS, _M.INTEGER)},
    _M.POINT: dict.fromkeys(_DIGITS, _M.FRACTION),
    _M.FRACTION: {"e": _M.EXPONENT, "E": _M.EXPONENT, **dict.fromkeys(_DIGITS, _M.FRACTION)},
    _M.EXPONENT: {"+": _M.SIGN, "-": _M.SIGN, **dict.fromkeys(_DIGITS, _M.DIGITS)},
    _M.SIGN: dict.fromkeys(_DIGITS, _M.DIGITS),
    _M.DIGITS: dict.fromkeys(_DIGITS, _M.DIGITS),
}
_NUMBER_MAY_END = frozenset({_M.ZERO, _M.INTEGER, _M.FRACTION, _M.DIGITS})
_NUMBER_STARTS = {"-": _M.MINUS, "0": _M.ZERO, **dict.fromkeys("123456789", _M.INTEGER)}
_STRING, _ESCAPE, _HEX_DIGIT, _LITERAL, _AFTER = _M.STRING, _M.ESCAPE, _M.HEX, _M.LITERAL, _M.AFTER

_Stack = tuple[str, "_Stack"] | None


class JSONPrefix:
    """The state of a text that has been the beginning of a JSON value so far."""

    __slots__ = ("_count", "_key", "_mode", "_rest", "_stack", "read")

    def __init__(self) -> None:
        self.read = 0
        """Characters of the last text that were read: all, or those before the one that was refused."""
        self._mode = _M.VALUE
        self._stack: _Stack = None
        self._key = False  # the string is a member's name
        self._rest = ""  # of a literal
        self._count = 0  # hex digits still to come

    def copy(self) -> JSONPrefix:
        other = JSONPrefix()
        other._mode, other._stack, other._key = self._mode, self._stack, self._key
        other._rest, other._count = self._rest, self._count
        return other

    @property
    def begun(self) -> bool:
        """Whether anything but blanks was read."""
        return self._mode is not _M.VALUE or self._stack is not None

    @property
    def whole(self) -> bool:
        """Whether the text is a whole value; a number at the top never is: a digit may follow."""
        return self._mode is _AFTER and self._stack is None

    @property
    def complete(self) -> bool:
        """Whether the text is a whole value if nothing follows: here a number at the top may be one."""
        return self._stack is None and (self._mode is _M.AFTER or self._mode in _NUMBER_MAY_END)

    def advance(self, text: str) -> bool:
        """Reads on; ``False`` at a character that no value can have there. Then the reading is over.

        ``whole`` tells whether a value had ended before that character.
        """
        position, size = 0, len(text)
        while position < size:
            if self._mode is _STRING:
                match = _PLAIN.match(text, position)
                position = match.end() if match else position
                if position == size:
                    break
            if not self._step(text[position]):
                self.read = position
                return False
            position += 1
        self.read = size
        return True

    def _step(self, char: str) -> bool:
        mode = self._mode
        if mode is _STRING or mode is _ESCAPE or mode is _HEX_DIGIT:
            return self._in_string(char)
        if mode is _LITERAL:
            return self._in_literal(char)
        if mode in _NUMBER:
            following = _NUMBER[mode].get(char)
            if following is not None:
                self._mode = following
                return True
            if mode not in _NUMBER_MAY_END:
                return False
            self._mode = mode = _M.AFTER
        return char in _BLANKS or self._structure(mode, char)

    def _in_string(self, char: str) -> bool:
        match self._mode:
            case _M.STRING if char == '"':
                self._mode = _M.COLON if self._key else _M.AFTER
            case _M.STRING if char == "\\":
                self._mode = _M.ESCAPE
            case _M.ESCAPE if char == "u":
                self._mode, self._count = _M.HEX, 4
            case _M.ESCAPE if char in '"\\/bfnrt':
                self._mode = _M.STRING
            case _M.HEX if char in _HEX:
                self._count -= 1
                self._mode = _M.HEX if self._count else _M.STRING
            case _:
                return False
        return True

    def _in_literal(self, char: str) -> bool:
        if self._rest[0] != char:
            return False
        self._rest = self._rest[1:]
        if not self._rest:
            self._mode = _M.AFTER
        return True

    def _structure(self, mode: _Mode, char: str) -> bool:
        match mode:
            case _M.VALUE:
                return self._value(char)
            case _M.VALUE_OR_CLOSE:
                return self._close(_ARRAY) if char == "]" else self._value(char)
            case _M.KEY_OR_CLOSE if char == "}":
                return self._close(_OBJECT)
            case _M.KEY_OR_CLOSE | _M.KEY if char == '"':
                self._mode, self._key = _M.STRING, True
                return True
            case _M.COLON if char == ":":
                self._mode = _M.VALUE
                return True
            case _M.AFTER if self._stack is not None:
                if char == ",":
                    self._mode = _M.KEY if self._stack[0] == _OBJECT else _M.VALUE
                    return True
                return char in "}]" and self._close(_OBJECT if char == "}" else _ARRAY)
        return False

    def _value(self, char: str) -> bool:
        if char == '"':
            self._mode, self._key = _M.STRING, False
        elif char == "{":
            self._mode, self._stack = _M.KEY_OR_CLOSE, (_OBJECT, self._stack)
        elif char == "[":
            self._mode, self._stack = _M.VALUE_OR_CLOSE, (_ARRAY, self._stack)
        elif char in _LITERALS:
            self._mode, self._rest = _M.LITERAL, _LITERALS[char]
        elif char in _NUMBER_STARTS:
            self._mode = _NUMBER_STARTS[char]
        else:
            return False
        return True

    def _close(self, container: str) -> bool:
        if self._stack is None or self._stack[0] != container:
            return False
        self._mode, self._stack = _M.AFTER, self._stack[1]
        return True
