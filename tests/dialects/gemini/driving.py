"""Drives the decoder and the encoder of the dialect, and reads what they made."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, TypeVar

from dragoman.canonical import events as e
from dragoman.canonical.request import Request
from dragoman.crossing import cross
from dragoman.dialects.contract import Facts, UpstreamRequest
from dragoman.dialects.gemini import DIALECT
from dragoman.streaming.accumulate import Accumulator
from dragoman.streaming.answer import AnswerAssembler, DecodeContext
from dragoman.streaming.encoder import EncodeContext
from dragoman.streaming.ids import Ids
from dragoman.streaming.sse import ServerSentEvent

JSON = dict[str, Any]
Event = TypeVar("Event")


class Upstream:
    """A decoder with its assembler."""

    def __init__(self, choices: int = 1) -> None:
        self.assembler = AnswerAssembler(DecodeContext(origin="gemini", ids=Ids("test"), choices=choices))
        self.decoder = DIALECT.decoder(self.assembler)

    def says(self, *chunks: Any) -> list[e.Event]:
        """The events so far unread, after these chunks (values, or bytes as they are)."""
        for chunk in chunks:
            data = chunk if isinstance(chunk, bytes) else json.dumps(chunk).encode()
            self.decoder.decode(ServerSentEvent("", data))
        return self.assembler.take()

    def ends(self) -> list[e.Event]:
        """The rest of the events, at the end of the bytes."""
        self.decoder.finish()
        self.assembler.close()
        return self.assembler.take()


def answer(*chunks: Any, choices: int = 1) -> list[e.Event]:
    """All events of a stream."""
    upstream = Upstream(choices)
    return [*upstream.says(*chunks), *upstream.ends()]


def whole(body: Any) -> list[e.Event]:
    """All events of a whole body."""
    upstream = Upstream()
    upstream.decoder.decode_body(body)
    return upstream.ends()


def chunk(*parts: JSON, **members: Any) -> JSON:
    """A chunk of one candidate; ``members`` are the candidate's."""
    return {"candidates": [{"content": {"parts": list(parts), "role": "model"}, "index": 0, **members}]}


def call(name: str, args: Any = None, **members: Any) -> JSON:
    """A part with a whole call."""
    return {"functionCall": {"name": name, "args": args if args is not None else {}, **members}}


def of(events: Iterable[e.Event], kind: type[Event]) -> list[Event]:
    """The events of one kind."""
    return [event for event in events if isinstance(event, kind)]


def text(events: Iterable[e.Event]) -> str:
    return "".join(event.text for event in of(events, e.TextDelta))


def reasoning(events: Iterable[e.Event]) -> str:
    return "".join(event.text for event in of(events, e.ReasoningDelta))


def calls(events: Iterable[e.Event]) -> list[tuple[str, str]]:
    """Name and argument text of each call."""
    found: list[tuple[str, str]] = []
    for event in events:
        if isinstance(event, e.ToolCallStart):
            found.append((event.name, ""))
        elif isinstance(event, e.ToolCallDelta):
            name, before = found[-1]
            found[-1] = (name, before + event.text)
    return found


def end(events: list[e.Event]) -> e.ResponseEnd:
    assert isinstance(events[-1], e.ResponseEnd), events[-1]
    return events[-1]


def error(events: list[e.Event]) -> e.ResponseError:
    assert isinstance(events[-1], e.ResponseError), events[-1]
    return events[-1]


def asked(request: Request, facts: Facts | None = None) -> UpstreamRequest:
    """What a request from another dialect becomes."""
    facts = facts or Facts()
    crossing, _ = cross(request, DIALECT, facts)
    return DIALECT.render_request(crossing, facts)


def context(array: bool = False, request: Request | None = None) -> EncodeContext:
    return EncodeContext(model="a-model", ids=Ids("client"), now=0, array=array, request=request)


def written(*events: e.Event, array: bool = False) -> bytes:
    """The bytes for a client, written event by event."""
    encoder = DIALECT.encoder(context(array))
    return b"".join(encoder.encode([event]) for event in events)


def frames(data: bytes) -> list[JSON]:
    """The chunks in a stream, which must hold ``data: `` frames and nothing else."""
    assert data.endswith(b"\n\n")
    lines = data.decode().split("\n\n")[:-1]
    assert all(line.startswith("data: ") and "\n" not in line for line in lines)
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def parts(chunks: Iterable[JSON]) -> list[JSON]:
    """The parts of all chunks, except the empty one of the last."""
    found = [part for item in chunks for one in item.get("candidates", []) for part in one["content"]["parts"]]
    return [part for part in found if part != {"text": ""}]


START = e.ResponseStart(id="r1", model="m1", origin="chat")
STOP = e.ResponseEnd(finish=e.FinishReason.STOP)


def one_answer(*events: e.Event, finish: e.ResponseEnd = STOP) -> list[JSON]:
    """The chunks of a stream with these events between start and end, which the checker accepts."""
    data = written(START, *events, finish)
    assert DIALECT.check(data) == []
    return frames(data)


def whole_answer(*events: e.Event, finish: e.ResponseEnd = STOP, start: e.ResponseStart = START) -> JSON:
    """The same as a whole body."""
    accumulator = Accumulator()
    accumulator.add([start, *events, finish])
    assert accumulator.response is not None
    body = DIALECT.render_response(accumulator.response, context())
    assert DIALECT.check(json.dumps(body).encode()) == []
    return body
