"""What argument text of one call goes out: the repair of one stream of fragments.

How a fragment is read depends on what the text before it is (``_Mode``; design/streams.md, 4):

- The JSON is not whole (``HELD``, ``QUOTED``, ``OPEN``): only *text so far + fragment* can become JSON: append.
  Only the fragment by itself can, and it extends all the text so far: the server sends snapshots, and
  only what is new counts from now on. Both can: the fragment is held until the next one, or the end,
  decides (``_Fork``). Neither can: it is ``RAW``.
- Nothing goes out while the text may be a placeholder (``HELD``) or JSON inside a JSON string (``QUOTED``).
  A whole ``PLACEHOLDER`` gives way to JSON that follows.
- The JSON is ``WHOLE``: blanks pass, and what repeats it is an echo, dropped when it is all there.
- ``RAW`` text is passed on as it is, and everything after it too. Visibly wrong beats silently wrong.

Text that went out is never taken back, and no bracket is ever added.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from typing import Any

from dragoman import jsontext
from dragoman.canonical.events import ToolCallDelta
from dragoman.streaming.json_prefix import JSONPrefix
from dragoman.streaming.text import SurrogateJoiner

_MAYBE_PLACEHOLDER = re.compile(r"\s*(?:\{\s*\}?|n(?:u(?:ll?)?)?)?\s*")
_NOTHING = re.compile(r"\s*(?:\{\s*\}|null|\"\")?\s*")
_BLANKS = " \t\n\r"

Note = Callable[[str], None]


class _Mode(Enum):
    """What the text so far is. Nothing has gone out in the first three."""

    HELD = "nothing, or the beginning of a placeholder"
    QUOTED = "the beginning of a JSON string, which may hold the JSON"
    PLACEHOLDER = "a whole placeholder"
    OPEN = "the beginning of a JSON value"
    WHOLE = "a JSON value"
    RAW = "no JSON"


_M = _Mode
_UNSENT = (_M.HELD, _M.QUOTED, _M.PLACEHOLDER)
_OVER = (_M.PLACEHOLDER, _M.WHOLE, _M.RAW)


def _starts(text: str, char: str) -> bool:
    return text.lstrip(_BLANKS).startswith(char)


def _readable(text: str) -> JSONPrefix | None:
    """The state after this text, ``None`` if it is no beginning of JSON."""
    state = JSONPrefix()
    return state if state.advance(text) else None


class _Fork:
    """A fragment that reads both as a continuation and as a snapshot."""

    __slots__ = ("appended", "pieces", "snapshot", "snapshot_state")

    def __init__(self, piece: str, appended: JSONPrefix, snapshot_state: JSONPrefix) -> None:
        self.pieces = [piece]
        self.appended = appended
        self.snapshot = piece
        self.snapshot_state = snapshot_state

    @property
    def is_snapshot(self) -> bool:
        """The decision at the end: a reading that is whole beats one that is not; else append."""
        return self.snapshot_state.whole and not self.appended.whole


class JSONArguments:
    """The arguments of a function call. ``out`` collects what may be sent; its user empties it."""

    def __init__(self, note: Note) -> None:
        self.out: list[ToolCallDelta] = []
        self._note = note
        self._join = SurrogateJoiner()
        self._mode = _M.HELD
        self._state = JSONPrefix()
        self._fork: _Fork | None = None
        self._snapshots = False
        self._parts: list[str] = []  # the text so far, as the upstream wrote it
        self.size = 0
        """Characters of the text so far."""
        self._sound = True  # what went out can still become a JSON object
        self._whole = ""  # the whole text, once something has followed it
        self._echo = 0  # characters of it that were repeated so far

    # ---- what the matching of fragments asks

    @property
    def text(self) -> str:
        """All of the text so far as the upstream wrote it, echoes aside."""
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]
        return self._parts[0] if self._parts else ""

    @property
    def placeholder(self) -> bool:
        """Nothing was said, or only what may stand for nothing."""
        return self._mode in (_M.HELD, _M.PLACEHOLDER)

    @property
    def whole(self) -> bool:
        """The text is a whole JSON value, and no placeholder."""
        if self._fork is not None:
            return self._fork.appended.whole or self._fork.snapshot_state.whole
        return self._mode is _M.WHOLE

    @property
    def settled(self) -> bool:
        """The text is whole, and nothing is held that could still change what goes out."""
        return self._mode is _M.WHOLE and self._echo == 0

    @property
    def open(self) -> bool:
        """The text is the beginning of a JSON value, neither empty nor whole."""
        return self._mode not in _OVER and self._state.begun and not self.whole

    def repeats(self, text: str) -> bool:
        """Whether this text could be (the beginning of) an echo of the whole arguments."""
        text = text.strip(_BLANKS)
        if self._fork is not None and self._fork.snapshot.strip(_BLANKS).startswith(text):
            return True
        return self.text.strip(_BLANKS).startswith(text)

    # ---- in

    def feed(self, text: str) -> None:
        """One fragment of the arguments."""
        text = self._join.feed(text)
        if text:
            self._feed(text)

    def supply(self, snapshot: str) -> None:
        """All of the arguments as the upstream has them: gives what the fragments did not bring."""
        self._settle()
        if self._mode not in _OVER and snapshot.startswith(self.text):
            self.feed(snapshot[self.size :])
        elif self.placeholder and not _NOTHING.fullmatch(snapshot):
            self._feed(snapshot)

    def finish(self, *, normal: bool) -> bool:
        """The end. ``normal``: the answer ended by itself, so "nothing" means ``{}``.

        Returns whether the arguments are whole: text that is, or was to become, JSON and stops midway is not.
        """
        if rest := self._join.finish():
            self._feed(rest)
        self._settle()
        if self._echo and normal:
            self._pass_on(self._whole[: self._echo])
        if self._mode in _UNSENT:
            return self._finish_held(normal)
        if self._mode is _M.RAW:
            return normal
        return self._state.complete if normal else self._state.whole

    def _finish_held(self, normal: bool) -> bool:
        text = self.text
        if self._mode is _M.PLACEHOLDER and _starts(text, '"'):
            text = jsontext.parse(text)
        if _NOTHING.fullmatch(text) and not _starts(text, "{"):
            if normal:
                self._let_go("{}", sound=True)
            return normal
        self._let_go(text, sound=_starts(text, "{"))
        return self._state.whole

    # ---- the rules

    def _feed(self, text: str) -> None:
        if self._fork is not None and not self._decide(self._fork, text):
            return
        match self._mode:
            case _M.OPEN | _M.HELD | _M.QUOTED:
                if self._snapshots:
                    self._suffix(text)
                else:
                    self._continue(text)
            case _M.PLACEHOLDER:
                self._replace(text)
            case _M.WHOLE:
                self._repeat(text)
            case _M.RAW:
                self._pass_on(text)

    def _continue(self, text: str) -> None:
        again = _readable(text) if 0 < self.size <= len(text) and text.startswith(self.text) else None
        appended = self._state if again is None else self._state.copy()
        fits = appended.advance(text)
        if fits and again is not None:
            self._fork = _Fork(text, appended, again)
        elif fits:
            self._append(text, appended)
        elif again is not None:
            self._latch(text)
        elif appended.whole and self._holds_two(text, appended.read):
            self._append(text[: appended.read], appended)
            self._feed(text[appended.read :])
        else:
            self._pass_on(text)

    def _holds_two(self, text: str, end: int) -> bool:
        """Whether a whole value ends inside the fragment, and is a placeholder or repeated by what follows."""
        first, rest = (self.text + text[:end]).strip(_BLANKS), text[end:]
        return bool(_NOTHING.fullmatch(first)) or first.startswith(rest) or rest.startswith(first)

    def _decide(self, fork: _Fork, text: str) -> bool:
        """A further fragment after one that reads in two ways; false if this one does so, too."""
        appended = fork.appended.copy()
        fits = appended.advance(text)
        again = _readable(text) if text.startswith(fork.snapshot) else None
        if fits and again is not None:
            fork.pieces.append(text)
            fork.appended, fork.snapshot, fork.snapshot_state = appended, text, again
            return False
        self._settle(again is not None or (not fits and fork.is_snapshot))
        return True

    def _settle(self, is_snapshot: bool | None = None) -> None:
        """Nothing more decides how the fork is read: the given reading counts, or the better one."""
        fork, self._fork = self._fork, None
        if fork is None:
            return
        if fork.is_snapshot if is_snapshot is None else is_snapshot:
            self._latch(fork.snapshot)
        else:
            self._append("".join(fork.pieces), fork.appended)

    def _latch(self, text: str) -> None:
        self._note("args-cumulative")
        self._snapshots = True
        self._suffix(text)

    def _suffix(self, text: str) -> None:
        whole = self.text
        if whole.startswith(text):
            return
        new = text[len(whole) :] if text.startswith(whole) else text
        state = self._state.copy()
        if state.advance(new):
            self._append(new, state)
        else:
            self._pass_on(new)

    def _append(self, text: str, state: JSONPrefix) -> None:
        self._parts.append(text)
        self.size += len(text)
        self._state = state
        if self._mode is not _M.OPEN:
            if state.whole or text.strip(_BLANKS):  # blanks decide nothing, and some models never end them
                self._consider()
            return
        self._release(text)
        if state.whole:
            self._mode = _M.WHOLE

    def _consider(self) -> None:
        """Lets go what is held, once it is neither a placeholder nor inside a JSON string."""
        whole = self._state.whole
        if self._mode is _M.QUOTED and not whole:
            return
        text = self.text
        if _starts(text, '"'):
            self._mode = _M.QUOTED
            if whole:
                self._unquote(text)
        elif not _MAYBE_PLACEHOLDER.fullmatch(text):
            self._let_go(text, sound=_starts(text, "{"))
        elif whole:
            self._mode = _M.PLACEHOLDER

    def _unquote(self, text: str) -> None:
        """One level of double encoding is undone, for an object only."""
        inner = jsontext.parse(text)
        if _NOTHING.fullmatch(inner):
            self._mode = _M.PLACEHOLDER
            return
        doubled = jsontext.is_object(inner)
        if doubled:
            self._note("args-double-encoded")
        self._let_go(inner if doubled else text, sound=doubled)

    def _replace(self, text: str) -> None:
        """What follows a placeholder."""
        if not text.strip(_BLANKS):
            return
        state = _readable(text)
        if state is None:
            self._pass_on(text)
            return
        self._note("args-placeholder")
        self._mode, self._parts, self.size = _M.HELD, [], 0
        self._append(text, state)

    def _repeat(self, text: str) -> None:
        """What follows the whole JSON."""
        self._whole = whole = self._whole or self.text.strip(_BLANKS)
        while text:
            if self._echo == 0:
                bare = text.lstrip(_BLANKS)
                self._release(text[: len(text) - len(bare)])
                text = bare
            size = min(len(text), len(whole) - self._echo)
            if not whole.startswith(text[:size], self._echo):
                repeated, self._echo = whole[: self._echo], 0
                self._pass_on(repeated + text)
                return
            text = text[size:]
            self._echo += size
            if self._echo == len(whole):
                self._note("args-echo")
                self._echo = 0

    # ---- out

    def _pass_on(self, text: str) -> None:
        held = self.text if self._mode in _UNSENT else ""
        if self._mode is not _M.RAW:
            self._note("args-not-json")
        self._mode, self._sound = _M.RAW, False
        self._parts.append(text)
        self.size += len(text)
        self._release(held + text)

    def _let_go(self, text: str, *, sound: bool) -> None:
        """Nothing is held back from here on."""
        self._mode, self._sound = _M.WHOLE if self._state.whole else _M.OPEN, sound
        self._release(text)

    def _release(self, text: str) -> None:
        if text:
            self.out.append(ToolCallDelta(text, self._sound))


class FreeformArguments:
    """The input of a custom tool: any text, passed on as it comes."""

    def __init__(self, note: Note) -> None:
        self.out: list[ToolCallDelta] = []
        self.placeholder = self.whole = self.settled = False
        self.size = 0
        self._join = SurrogateJoiner()
        self._parts: list[str] = []

    @property
    def text(self) -> str:
        return "".join(self._parts)

    @property
    def open(self) -> bool:
        return bool(self._parts)

    def repeats(self, text: str) -> bool:
        return False

    def feed(self, text: str) -> None:
        if text := self._join.feed(text):
            self._parts.append(text)
            self.size += len(text)
            self.out.append(ToolCallDelta(text))

    def supply(self, snapshot: str) -> None:
        text = self.text
        if snapshot.startswith(text):
            self.feed(snapshot[len(text) :])

    def finish(self, *, normal: bool) -> bool:
        if rest := self._join.finish():
            self._parts.append(rest)
            self.out.append(ToolCallDelta(rest))
        return normal


def argument_text(value: Any) -> str | None:
    """Argument text from a wire value: a string as it is, an object as JSON, nothing as ``None``."""
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else jsontext.render(value).decode()
