"""A ``ToolCallAssembler`` with all that it tells, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dragoman.canonical.events import ToolCallDelta, ToolCallEnd, ToolCallStart
from dragoman.streaming.fragments import Call, read_fragment
from dragoman.streaming.ids import Ids
from dragoman.streaming.toolcalls import ToolCallAssembler
from tests.streaming.building import TOOLS, Notes

Wire = dict[str, Any]
PARIS, ROME = '{"city":"Paris"}', '{"city":"Rome"}'


def at(index: Any = None, id: Any = None, name: Any = None, arguments: Any = None) -> Wire:
    """A fragment as a server sends it."""
    return {"index": index, "id": id, "name": name, "arguments": arguments}


class Recorder:
    """A sink that writes down what comes, and that it comes in order."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.starts: list[ToolCallStart] = []
        self.ends: list[ToolCallEnd] = []
        self.texts: dict[int, str] = {}
        self.state: dict[int, str] = {}

    def open(self, block: Call, start: ToolCallStart) -> None:
        assert id(block) not in self.state, "announced once"
        self.state[id(block)] = "open"
        self.texts[id(block)] = ""
        self.starts.append(start)
        self.seen.append(f"{start.id}:{start.name}")

    def feed(self, call: Call, deltas: Sequence[ToolCallDelta]) -> None:
        assert self.state[id(call)] == "open"
        if text := "".join(delta.text for delta in deltas):
            self.texts[id(call)] += text
            self.seen.append(text)

    def close(self, block: Call, ending: ToolCallEnd) -> None:
        assert self.state[id(block)] == "open"
        self.state[id(block)] = "ended"
        self.ends.append(ending)
        self.seen.append("." if ending.complete else "?")

    def take(self) -> list[str]:
        seen, self.seen = self.seen, []
        return seen


class Bench:
    """A ``ToolCallAssembler`` and all that it tells."""

    def __init__(self, **context: Any) -> None:
        self.sink, self.notes, self.losses = Recorder(), Notes(), Notes()
        known: dict[str, Any] = {"tools": TOOLS, "ids": Ids("seed"), **context}
        self.calls = ToolCallAssembler(sink=self.sink, note=self.notes, lose=self.losses, **known)

    def feed(self, *wire: Wire) -> list[str]:
        for fragment in wire:
            self.calls.feed(read_fragment(**fragment))
        return self.sink.take()

    def end(self, wire: Wire) -> list[str]:
        self.calls.end(read_fragment(**wire))
        return self.sink.take()

    def whole(self, wire: Wire) -> list[str]:
        self.calls.whole(read_fragment(**wire))
        return self.sink.take()

    def finish(self, *, normal: bool = True) -> list[str]:
        self.calls.finish(normal=normal)
        return self.sink.take()
