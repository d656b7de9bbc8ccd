"""The answer to one client, without IO: canonical events to a head and bytes.

The head is held back until something real was said, so that an early failure gets a true HTTP status
(design/streams.md, 7). A client that does not stream gets the same answer in one piece.
"""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman import jsontext
from dragoman.canonical import events as e
from dragoman.canonical.errors import Error
from dragoman.dialects.contract import Dialect
from dragoman.exceptions import LocalProtocolError
from dragoman.streaming.accumulate import Accumulator
from dragoman.streaming.encoder import EncodeContext


class AnswerHead(msgspec.Struct, frozen=True):
    """The status and the headers with which the client's answer begins (names in lower case)."""

    status: int
    headers: dict[str, str]


_ENDS = frozenset({e.UsageUpdate, e.ResponseEnd, e.ResponseError})
_MAY_BE_LOST = frozenset({e.ServerTool, e.Media, e.CitationAdded})


class ClientAnswer:
    """Events in, bytes out. ``request_id`` goes into error bodies where the dialect has a place for it."""

    def __init__(self, client: Dialect, context: EncodeContext, *, streaming: bool, request_id: str = "") -> None:
        self.streaming = streaming
        self.head: AnswerHead | None = None
        """``None`` while it is held back."""
        self.finished = False
        self.error: Error | None = None
        """What the client was told of a failure."""
        self.finish: str | None = None
        self.usage: e.Usage | None = None
        self.losses: dict[str, int] = {}
        """What the answer held and the client's dialect has no form for, and how often."""
        self._client = client
        self._context = context
        self._request_id = request_id
        self._encoder = client.encoder(context)
        self._collected = Accumulator()
        self._body: dict[str, Any] | None = None
        self._out = self._encoder.out
        self.text = self._encoder.text
        """More of the text of a stream, right after some: as ``add`` with a ``TextDelta``, without the event."""

    @property
    def body(self) -> dict[str, Any] | None:
        """The whole answer as the client got it; known at its end, of a stream only where the dialect repeats it."""
        return self._body or self._encoder.whole

    def add(self, events: list[e.Event]) -> None:
        """More of the answer. Raises ``LocalProtocolError`` for an illegal order."""
        if not events:
            return
        for said in events:
            event = said.event if type(said) is e.InChoice else said
            if type(event) in _MAY_BE_LOST and (what := self._lost(event)):
                self.losses[what] = self.losses.get(what, 0) + 1
        last = events[-1]
        if self.head is None and type(last) is e.ResponseError and (len(events) == 1 or not self.streaming):
            self.refuse(last.error)
            return
        if self.streaming:
            if self.head is None:
                kind = "application/json" if self._context.array else "text/event-stream"
                self.head = AnswerHead(200, {"content-type": kind, "cache-control": "no-cache"})
            self._encoder.write(events)
        else:
            self._collected.add(events)
            if type(last) is e.ResponseEnd:
                self._send_whole()
        if type(last) in _ENDS:
            self._note(events)

    def _lost(self, event: e.Event) -> str | None:
        """What of an event the client's dialect leaves out, in words."""
        client = self._client
        match event:
            case e.ServerTool(origin) if origin != client.name:
                return "a tool that the upstream ran"
            case e.Media(media_type=kind) if not kind.startswith(client.traits.media):
                return f"{kind} that the model made"
            case e.CitationAdded(citation) if citation.url is None and citation.origin != client.name:
                return "a citation without an address"
        return None

    def refuse(self, error: Error) -> None:
        """Nothing went out yet: the client gets an HTTP status and an error body."""
        self.error, self.finished = error, True
        headers = {"content-type": "application/json", **self._client.error_headers(error)}
        self.head = AnswerHead(self._client.status_of(error), headers)
        self._out.append(jsontext.render(self._client.render_error(error, self._request_id)))

    def data_to_send(self) -> bytes:
        """The bytes for the client since the last call."""
        data = b"".join(self._out)
        self._out.clear()
        return data

    def _send_whole(self) -> None:
        response = self._collected.response
        if response is None:
            raise LocalProtocolError("a stream ended without a whole response")
        self.head = AnswerHead(200, {"content-type": "application/json"})
        self._body = self._client.render_response(response, self._context)
        self._out.append(jsontext.render(self._body))

    def _note(self, events: list[e.Event]) -> None:
        for event in events[-2:]:
            match event:
                case e.UsageUpdate(usage):
                    self.usage = usage
                case e.ResponseEnd(finish=finish):
                    self.finish, self.finished = finish.value, True
                case e.ResponseError(error):
                    self.error, self.finished = error, True
