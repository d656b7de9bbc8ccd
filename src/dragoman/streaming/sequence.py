"""One block at a time (design/streams.md, 5).

Upstreams interleave: two calls by index, text between the fragments of a call. Encoders get blocks one
after another: the first of the queue is open and live, the others wait. Text and reasoning end when
anything follows them. A call ends by its upstream's word, or, when a block waits behind it, once
its arguments are whole; text between its fragments does not split it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from dragoman.canonical import events as e
from dragoman.canonical.opaque import Opaque
from dragoman.streaming.toolcalls import Call


class Block:
    """A block in the queue: its events wait in ``pending`` until it is the first."""

    __slots__ = ("call", "closed", "end", "key", "kind", "pending", "proofs")

    def __init__(self, kind: type, key: object, call: Call | None = None) -> None:
        self.kind = kind
        self.key = key
        self.call = call
        self.pending: list[e.Event] = []
        self.proofs: list[Opaque] = []
        self.closed = False

    def closing(self) -> e.Event:
        """The event that ends a text or reasoning block."""
        if self.kind is e.TextStart:
            return e.TextEnd(self.proofs[-1] if self.proofs else None)
        return e.ReasoningEnd(tuple(self.proofs))


class Sequencer:
    """Blocks in any order, events in the legal one. ``out`` collects the events; its user empties it."""

    def __init__(self, finish_call: Callable[[Call], None]) -> None:
        self.out: list[e.Event] = []
        self._finish_call = finish_call
        self._queue: deque[Block] = deque()
        self._calls: dict[int, Block] = {}
        self._ending = False

    @property
    def last(self) -> Block | None:
        """The block that was opened last, if it is still open."""
        return self._queue[-1] if self._queue else None

    def find(self, kind: type, key: object) -> Block | None:
        """The open block of this kind and key."""
        return next(
            (block for block in self._queue if block.kind is kind and block.key == key and not block.closed), None
        )

    def open(self, block: Block, start: e.Event) -> None:
        """A block begins, at the end of the queue."""
        self._queue.append(block)
        block.pending.append(start)
        self._advance()

    def push(self, block: Block, event: e.Event) -> None:
        """More of an open block: live if it is the first."""
        if self._queue and self._queue[0] is block:
            self.out.append(event)
        else:
            block.pending.append(event)

    def close(self, block: Block, end: e.Event | None = None) -> None:
        """A block ends."""
        if not block.closed:
            self.push(block, end if end is not None else block.closing())
            block.closed = True
            if not self._ending:
                self._advance()

    def add(self, event: e.Event) -> None:
        """A whole block in one event."""
        block = Block(type(event), None)
        block.closed = True
        self.open(block, event)

    # ---- announced calls (toolcalls.Sink)

    def open_call(self, call: Call, start: e.ToolCallStart) -> None:
        block = self._calls[id(call)] = Block(e.ToolCallStart, None, call)
        self.open(block, start)

    def feed_call(self, call: Call, deltas: list[e.ToolCallDelta]) -> None:
        block = self._calls[id(call)]
        for delta in deltas:
            self.push(block, delta)
        if len(self._queue) > 1 and not self._ending:
            self._advance()

    def end_call(self, call: Call, end: e.ToolCallEnd) -> None:
        self.close(self._calls[id(call)], end)

    # ---- the end

    def drain(self) -> None:
        """The answer is over: the last text or reasoning ends."""
        if self._queue and self._queue[-1].call is None:
            self.close(self._queue[-1])

    @property
    def stuck(self) -> int:
        """How many blocks wait behind one that never ended."""
        return max(0, len(self._queue) - 1)

    def _advance(self) -> None:
        queue = self._queue
        while queue:
            first = queue[0]
            if first.pending:
                self.out += first.pending
                first.pending = []
            if not first.closed and (len(queue) == 1 or not self._end(first)):
                return
            queue.popleft()

    def _end(self, block: Block) -> bool:
        """Ends the first block because another one waits, if it may end."""
        if block.call is None:
            self.out.append(block.closing())
            block.closed = True
        elif block.call.arguments.settled:
            self._ending = True
            self._finish_call(block.call)  # comes back as ``end_call``
            self._ending = False
        return block.closed
