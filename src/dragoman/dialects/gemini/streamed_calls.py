"""Calls whose arguments come in pieces: which piece belongs to which call, and when a call ends.

    {name, willContinue} → {partialArgs, willContinue} … → {} (or a piece that will not continue)

Pieces carry neither name nor id, and one such call is open at a time
(protocols/anthropic-google.md, 0.5).
"""

from __future__ import annotations

from typing import Any

from dragoman.canonical.opaque import Opaque
from dragoman.dialects.gemini.partial import ArgumentWriter
from dragoman.dialects.gemini.wire import JSON, as_list, as_text
from dragoman.streaming.answer import AnswerAssembler
from dragoman.streaming.fragments import CallFragment, read_fragment

_STRIDE = 1 << 20
"""Keys of different candidates never meet."""


class _Open:
    """The call that is open."""

    __slots__ = ("id", "index", "last", "name", "writer")

    def __init__(self, index: int, call: JSON) -> None:
        self.index = index
        self.id = call.get("id")
        self.name = as_text(call.get("name"))
        self.writer = ArgumentWriter()
        self.last = False  # the latest piece did not say that others follow


class StreamedCalls:
    """The streamed calls of one candidate."""

    def __init__(self, assembler: AnswerAssembler, first: int) -> None:
        self._assembler = assembler
        self._next = first * _STRIDE
        self._open: _Open | None = None
        self._any = False

    def take(self, call: JSON, proof: Opaque | None) -> bool:
        """Whether this ``functionCall`` is (a piece of) a streamed call; if so, it has been told."""
        if self._open is not None and self._continues(self._open, call):
            self._continue(self._open, call, proof)
            return True
        self._end()
        if call.get("partialArgs") or call.get("willContinue") is True:
            self._begin(call, proof)
            return True
        return self._any and not any(call.values())  # the closing part of a call that is closed

    def turn_ended(self, *, normal: bool) -> None:
        """A last word came. Its turn being over by itself, a call whose values are whole is over, too."""
        call = self._open
        if call is not None and (call.last or (normal and call.writer.settled)):
            self._end()

    def finish(self) -> None:
        """Nothing follows: a call that waits for more pieces stays half."""
        if self._open is not None and self._open.last:
            self._end()

    def _continues(self, open: _Open, call: JSON) -> bool:
        name = as_text(call.get("name"))
        if not name:
            return True
        same_id = not call.get("id") or not open.id or call["id"] == open.id
        return name == open.name and same_id and not open.last and bool(call.get("partialArgs"))

    def _begin(self, call: JSON, proof: Opaque | None) -> None:
        self._any = True
        self._assembler.quirk("gemini-partial-args")
        open = self._open = _Open(self._next, call)
        self._next += 1
        text = self._write(open, call.get("partialArgs"))
        self._assembler.call(
            read_fragment(index=open.index, id=open.id, name=call.get("name"), arguments=text, signature=proof)
        )
        open.last = call.get("willContinue") is not True

    def _continue(self, open: _Open, call: JSON, proof: Opaque | None) -> None:
        args = call.get("args")
        if args and not open.writer.written:
            self._assembler.end_call(read_fragment(index=open.index, arguments=args, signature=proof))
            self._open = None
            return
        text = self._write(open, call.get("partialArgs"))
        if text or proof is not None:
            self._assembler.call(CallFragment(index=open.index, arguments=text or None, signature=proof))
        open.last = call.get("willContinue") is not True
        if open.last and not as_list(call.get("partialArgs")):
            self._end()

    def _write(self, open: _Open, pieces: Any) -> str:
        broken = open.writer.broken
        text = open.writer.write(pieces)
        if open.writer.broken and not broken:
            self._assembler.lose("pieces of a call's arguments that do not fit what came before")
        return text

    def _end(self) -> None:
        call, self._open = self._open, None
        if call is None:
            return
        if rest := call.writer.close():
            self._assembler.call(CallFragment(index=call.index, arguments=rest))
        self._assembler.end_call(CallFragment(index=call.index))
