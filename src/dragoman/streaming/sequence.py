"""One block at a time (design/streams.md, 5).

Upstreams interleave: two calls by index, text between the fragments of a call. Encoders get blocks one
after another: the first of the queue is open and live, the others wait. Text and reasoning end when
anything follows them. A call ends by its upstream's word, or, when a block waits behind it, once
its arguments are whole; text between its fragments does not split it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence

from dragoman.canonical import events as e
from dragoman.streaming.blocks import Block, Passage, PassageKind
from dragoman.streaming.fragments import Call
from dragoman.streaming.text import SurrogateJoiner


class Tap:
    """Takes more text of a passage that is open and live, for as long as nothing else happens.

    ``push`` is where the text goes: into an event, unless the reader of the events wants it without (``Exchange``).
    """

    __slots__ = ("push",)

    def __init__(self, push: Callable[[str], object]) -> None:
        self.push = push

    def __call__(self, text: str) -> None:
        self.push(text)


class Sequencer:
    """Blocks in any order, events in the legal one. ``out`` collects the events; its user empties it.

    ``finish_call`` ends a call whose arguments are whole: it comes back to ``close``.
    """

    def __init__(self, finish_call: Callable[[Call], None]) -> None:
        self.out: list[e.Event] = []
        self.last: Passage | None = None
        """The passage that was opened last, closed or not, if no other block was opened after it."""
        self._finish_call = finish_call
        self._queue: deque[Block] = deque()
        self._passages: dict[tuple[PassageKind, Hashable], Passage] = {}
        self._joins: dict[PassageKind, SurrogateJoiner] = {}
        self._finishing = False  # a call, from within: the queue goes on afterwards, in a loop

    def latest(self, kind: PassageKind, key: Hashable) -> Passage | None:
        """The passage of this kind and key (``None``: of any key) that was opened last, closed or not."""
        return self._passages.get((kind, key))

    def find(self, kind: PassageKind, key: Hashable) -> Passage | None:
        """The same, if it is still open."""
        passage = self._passages.get((kind, key))
        return None if passage is None or passage.closed else passage

    def begin(self, kind: PassageKind, key: Hashable, start: e.Event) -> Passage:
        """A passage begins."""
        passage = Passage(kind, key, self._joins.setdefault(kind, SurrogateJoiner()))
        self._passages[kind, key] = self._passages[kind, None] = passage
        self.open(passage, start)
        self.last = passage
        return passage

    def open(self, block: Block, start: e.Event) -> None:
        """A block begins, at the end of the queue."""
        self.last = None
        self._queue.append(block)
        block.pending.append(start)
        self._advance()

    def push(self, block: Block, event: e.Event) -> None:
        """More of an open block: live if it is the first."""
        if self._queue[0] is block:
            self.out.append(event)
        else:
            block.pending.append(event)

    def tap(self, kind: PassageKind, key: Hashable) -> Tap | None:
        """What takes more text of this passage, if it was opened last and is live."""
        last = self.last
        if last is None or last.kind != kind or last.key != key or last.closed:
            return None
        if self._queue[0] is not last or last.join.waits:
            return None
        delta = e.ReasoningDelta if kind == "reasoning" else e.TextDelta
        return Tap(lambda text: self.out.append(delta(text)))

    def feed(self, call: Call, deltas: Sequence[e.ToolCallDelta]) -> None:
        """More of an open call; also nothing, for an echo that is over may let the next block out."""
        for delta in deltas:
            self.push(call, delta)
        if len(self._queue) > 1 and not self._finishing:
            self._advance()

    def slip_in(self, passage: Passage, event: e.Event) -> bool:
        """One more event of a passage that may have ended; false if its end went out."""
        if not passage.closed:
            self.push(passage, event)
        elif passage.pending:
            passage.pending.insert(-1, event)
        else:
            return False
        return True

    def close(self, block: Block, ending: e.Event) -> None:
        """A block ends, with this event."""
        self.push(block, ending)
        block.closed = True
        if not self._finishing:
            self._advance()

    def end(self, passage: Passage) -> None:
        """A passage ends, unless it has, and with it the wait for the other half of a character."""
        if passage.closed:
            return
        if rest := passage.join.finish():
            self.push(passage, passage.delta(rest))
        self.close(passage, passage.ending())

    def add(self, event: e.Event) -> None:
        """A whole block in one event."""
        block = Block()
        block.closed = True
        self.open(block, event)

    def drain(self) -> None:
        """The answer is over: the last passage ends."""
        if self.last is not None:
            self.end(self.last)

    @property
    def stuck(self) -> int:
        """How many blocks wait behind one that never ended."""
        return max(0, len(self._queue) - 1)

    @property
    def halves(self) -> int:
        """How many characters never got their other half."""
        return sum(join.waits for join in self._joins.values())

    def _advance(self) -> None:
        queue = self._queue
        while queue:
            first = queue[0]
            if first.pending:
                self.out += first.pending
                first.pending.clear()
            if not first.closed and (len(queue) == 1 or not self._make_way(first)):
                return
            queue.popleft()

    def _make_way(self, first: Block) -> bool:
        """Ends the first block because another one waits; false if it may not end."""
        if isinstance(first, Passage):
            self.out.append(first.ending())
            first.closed = True
        elif isinstance(first, Call) and first.arguments.settled:
            self._finishing = True
            self._finish_call(first)
            self._finishing = False
        return first.closed
