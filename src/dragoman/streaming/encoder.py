"""The base of all encoders: legal order in, bytes of one dialect out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from dragoman.canonical import events as e
from dragoman.canonical.request import Request
from dragoman.streaming.ids import Ids
from dragoman.streaming.order import LegalOrder


class EncodeContext(msgspec.Struct, frozen=True, kw_only=True):
    """What an encoder has to know of the exchange.

    ``now`` is a Unix time in seconds, used where the upstream gave none. ``request`` is the
    client's, where a dialect repeats parts of it in its answer (responses). ``array``: the client
    wants a JSON array instead of an event stream (gemini without ``alt=sse``). ``echo``: members that
    the answer repeats, in a dialect whose answers are kept (``Dialect.state``).
    """

    model: str
    ids: Ids
    now: int
    request: Request | None = None
    stream_usage: bool = True
    array: bool = False
    echo: Mapping[str, Any] = {}


class StreamEncoder:
    """Turns canonical events into a client's bytes.

    A dialect subclasses this and has one method for each kind of event, named as in ``_NAMES``;
    each appends bytes to ``self.out``. What it gets is already named, ordered and one block at a
    time (``streaming.sequence``), so no rule about upstreams belongs here. Raises
    ``LocalProtocolError`` for an illegal order.
    """

    def __init__(self, context: EncodeContext) -> None:
        self.context = context
        self.out: list[bytes] = []
        self.choice = 0
        """The choice that the event being written belongs to; 0 unless the client asked for several."""
        self.whole: dict[str, Any] | None = None
        """The whole answer at its end, in a dialect whose stream repeats it there."""
        self._order = LegalOrder()

    def encode(self, events: Iterable[e.Event]) -> bytes:
        """The bytes for these events; may be empty."""
        self.write(events)
        data = b"".join(self.out)
        self.out.clear()
        return data

    def write(self, events: Iterable[e.Event]) -> None:
        """Puts the bytes for these events into ``out``."""
        order = self._order
        for event in events:
            kind = type(event)
            if order.legal.get(kind) is not order.state:  # a delta changes nothing
                order.advance(event)
            if type(event) is e.InChoice:
                self.choice = event.index
                getattr(self, _NAMES[type(event.event)])(event.event)
                self.choice = 0
            else:
                getattr(self, _NAMES[kind])(event)

    def response_start(self, event: e.ResponseStart) -> None:
        raise NotImplementedError

    def text_start(self, event: e.TextStart) -> None:
        raise NotImplementedError

    def text_delta(self, event: e.TextDelta) -> None:
        self.text(event.text)

    def text(self, text: str) -> None:
        """More of the open text, with nothing beside it."""
        raise NotImplementedError

    def citation_added(self, event: e.CitationAdded) -> None:
        raise NotImplementedError

    def text_end(self, event: e.TextEnd) -> None:
        raise NotImplementedError

    def reasoning_start(self, event: e.ReasoningStart) -> None:
        raise NotImplementedError

    def reasoning_delta(self, event: e.ReasoningDelta) -> None:
        raise NotImplementedError

    def reasoning_end(self, event: e.ReasoningEnd) -> None:
        raise NotImplementedError

    def tool_call_start(self, event: e.ToolCallStart) -> None:
        raise NotImplementedError

    def tool_call_delta(self, event: e.ToolCallDelta) -> None:
        raise NotImplementedError

    def tool_call_end(self, event: e.ToolCallEnd) -> None:
        raise NotImplementedError

    def server_tool(self, event: e.ServerTool) -> None:
        raise NotImplementedError

    def tool_run(self, event: e.ToolRun) -> None:
        """A tool that the gateway ran: hidden, unless the dialect has a form for it."""

    def media(self, event: e.Media) -> None:
        raise NotImplementedError

    def usage_update(self, event: e.UsageUpdate) -> None:
        raise NotImplementedError

    def response_end(self, event: e.ResponseEnd) -> None:
        raise NotImplementedError

    def response_error(self, event: e.ResponseError) -> None:
        """The answer failed after it began, or nothing was said and the head is out already."""
        raise NotImplementedError


_NAMES: dict[type, str] = {
    e.ResponseStart: "response_start",
    e.TextStart: "text_start",
    e.TextDelta: "text_delta",
    e.CitationAdded: "citation_added",
    e.TextEnd: "text_end",
    e.ReasoningStart: "reasoning_start",
    e.ReasoningDelta: "reasoning_delta",
    e.ReasoningEnd: "reasoning_end",
    e.ToolCallStart: "tool_call_start",
    e.ToolCallDelta: "tool_call_delta",
    e.ToolCallEnd: "tool_call_end",
    e.ServerTool: "server_tool",
    e.ToolRun: "tool_run",
    e.Media: "media",
    e.UsageUpdate: "usage_update",
    e.ResponseEnd: "response_end",
    e.ResponseError: "response_error",
}
