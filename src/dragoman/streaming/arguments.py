"""What argument text of one call goes out: the repair of one stream of fragments.

Rules (design/streams.md, 4), in the order in which they are asked for each fragment:

1. Nothing is sent yet, and the text so far may still be a placeholder (``{}``, ``null``) or a JSON
   text inside a JSON string: it is held. A placeholder gives way to real arguments.
2. The JSON is whole: what repeats it is an echo, and dropped when it is all there.
3. Only *text so far + fragment* can become JSON: append. Only the fragment by itself can, and it
   extends all the text so far: the server sends snapshots, only what is new goes out from now on.
   Both can: the fragment is held until the next one, or the end, decides.
4. Neither can: passed on as it is, and everything after it too. Visibly wrong beats silently wrong.

Text that went out is never taken back, and no bracket is ever added.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from dragoman import jsontext
from dragoman.canonical.events import ToolCallDelta
from dragoman.streaming.json_prefix import JSONPrefix
from dragoman.streaming.text import SurrogateJoiner

_MAYBE_PLACEHOLDER = re.compile(r"\s*(?:\{\s*\}?|n(?:u(?:ll?)?)?)?\s*")
_NOTHING = re.compile(r"\s*(?:\{\s*\}|null|\"\")?\s*")
_BLANKS = " \t\n\r"

Note = Callable[[str], None]


def _maybe_object(text: str) -> bool:
    return text.lstrip(_BLANKS).startswith("{")


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
        self.sound = True
        """Whether the text so far can still become a JSON object."""
        self._note = note
        self._join = SurrogateJoiner()
        self._parts: list[str] = []  # the text so far, as the upstream wrote it
        self._size = 0
        self._state = JSONPrefix()
        self._broken = False
        self._holding = True  # nothing was sent yet, and the text may be a placeholder or double-encoded
        self._quoted = False
        self._snapshots = False
        self._fork: _Fork | None = None
        self._echo = 0  # characters of the whole text that were repeated so far
        self._whole_text: str | None = None

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
        return self._holding and (not self._quoted or self._state.whole)

    @property
    def whole(self) -> bool:
        """The text is a whole JSON value, and no placeholder."""
        if self._fork is not None:
            return self._fork.appended.whole or self._fork.snapshot_state.whole
        return not self._broken and self._state.whole and not self.placeholder

    @property
    def settled(self) -> bool:
        """The text is whole, and nothing is held that could still change what goes out."""
        return self._fork is None and self._echo == 0 and self.whole

    @property
    def open(self) -> bool:
        """The text is the beginning of a JSON value, neither empty nor whole."""
        return not self._broken and self._state.begun and not self._state.whole and not self.whole

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
        if self._fork is not None:
            self._settle(self._fork, self._fork.is_snapshot)
        if not self._size:
            self.feed(snapshot)
        elif not self._broken and not self._state.whole and snapshot.startswith(self.text):
            self.feed(snapshot[self._size :])
        elif self.placeholder and not _NOTHING.fullmatch(snapshot):
            self._feed(snapshot)

    def finish(self, *, normal: bool) -> bool:
        """The end. ``normal``: the answer ended by itself, so "nothing" means ``{}``.

        Returns whether the arguments are whole: a sound text that stops midway is not.
        """
        if rest := self._join.finish():
            self._feed(rest)
        if self._fork is not None:
            self._settle(self._fork, self._fork.is_snapshot)
        if self._echo and normal:
            self._release((self._whole_text or "")[: self._echo], sound=False)
        if self._holding:
            return self._finish_held(normal)
        return self._state.whole and not self._broken if self.sound else normal

    def _finish_held(self, normal: bool) -> bool:
        text = self.text
        if self._quoted and self._state.whole:
            text = jsontext.parse(text)
        if _NOTHING.fullmatch(text) and not _maybe_object(text):
            if normal:
                self._let_go("{}", sound=True)
            return normal
        self._let_go(text, sound=_maybe_object(text))
        return self._state.whole

    # ---- the rules

    def _feed(self, text: str) -> None:
        if self._broken:
            self._pass_on(text)
        elif self._fork is not None:
            self._decide(self._fork, text)
        elif self._state.whole:
            self._after_whole(text)
        elif self._snapshots:
            self._suffix(text)
        else:
            self._continue(text)

    def _continue(self, text: str) -> None:
        appended = self._state.copy()
        fits = appended.advance(text)
        snapshot = None
        if self._size and len(text) >= self._size and text.startswith(self.text):
            snapshot = _readable(text)
        if fits and snapshot is not None:
            self._fork = _Fork(text, appended, snapshot)
        elif fits:
            self._append(text, appended)
        elif snapshot is not None:
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

    def _decide(self, fork: _Fork, text: str) -> None:
        """A second fragment after one that could be read in two ways."""
        appended = fork.appended.copy()
        as_append = appended.advance(text)
        state = _readable(text) if text.startswith(fork.snapshot) else None
        if as_append and state is not None:
            fork.pieces.append(text)
            fork.appended, fork.snapshot, fork.snapshot_state = appended, text, state
            return
        self._settle(fork, state is not None or (not as_append and fork.is_snapshot))
        self._feed(text)

    def _settle(self, fork: _Fork, is_snapshot: bool) -> None:
        self._fork = None
        if is_snapshot:
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
        self._size += len(text)
        self._state = state
        if not self._holding:
            self._release(text, sound=self.sound)
        else:
            self._maybe_release()

    def _maybe_release(self) -> None:
        """Lets go what was held, once it is neither a placeholder nor inside a JSON string."""
        if self._quoted and not self._state.whole:
            return
        text = self.text
        if self._quoted or text.lstrip(_BLANKS).startswith('"'):
            self._quoted = True
            if self._state.whole:
                self._unquote(text)
        elif not _MAYBE_PLACEHOLDER.fullmatch(text):
            self._let_go(text, sound=_maybe_object(text))

    def _unquote(self, text: str) -> None:
        """One level of double encoding is undone, for an object only."""
        inner = jsontext.parse(text)
        if _NOTHING.fullmatch(inner):
            return  # a placeholder in quotes: the end, or what follows, decides
        try:
            doubled = isinstance(jsontext.parse(inner), dict)
        except ValueError:
            doubled = False
        if doubled:
            self._note("args-double-encoded")
        self._let_go(inner if doubled else text, sound=doubled)

    def _after_whole(self, text: str) -> None:
        if self._holding:
            self._after_placeholder(text)
            return
        if self._whole_text is None:
            self._whole_text = self.text.strip(_BLANKS)
        whole = self._whole_text
        while text:
            if self._echo == 0:
                blank = text[: len(text) - len(text.lstrip(_BLANKS))]
                self._release(blank, sound=self.sound)
                text = text[len(blank) :]
            rest = whole[self._echo :]
            if rest.startswith(text):
                self._echo += len(text)
                text = ""
            elif text.startswith(rest):
                text = text[len(rest) :]
                self._echo = len(whole)
            else:
                repeated, self._echo = whole[: self._echo], 0
                self._pass_on(repeated + text)
                return
            if self._echo == len(whole):
                self._note("args-echo")
                self._echo = 0

    def _after_placeholder(self, text: str) -> None:
        if not text.strip(_BLANKS):
            return
        state = _readable(text)
        if state is None:
            self._pass_on(text)
            return
        self._note("args-placeholder")
        self._parts, self._size, self._quoted = [], 0, False
        self._append(text, state)

    # ---- out

    def _pass_on(self, text: str) -> None:
        held = self.text if self._holding else ""
        if not self._broken:
            self._note("args-not-json")
        self._broken = True
        self._parts.append(text)
        self._size += len(text)
        self._let_go(held + text, sound=False)

    def _let_go(self, text: str, *, sound: bool) -> None:
        """Nothing is held back from here on."""
        self._holding, self.sound = False, sound
        self._release(text, sound=sound)

    def _release(self, text: str, *, sound: bool) -> None:
        if text:
            self.out.append(ToolCallDelta(text, sound))


class FreeformArguments:
    """The input of a custom tool: any text, passed on as it comes."""

    def __init__(self, note: Note) -> None:
        self.out: list[ToolCallDelta] = []
        self.sound = True
        self.placeholder = self.whole = self.settled = False
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
