"""What the tests of this dialect share: wires in short, answers driven through decoder and encoder."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from dragoman import dialects
from dragoman.canonical import events as e
from dragoman.canonical.request import Message, Request, Role, Text
from dragoman.crossing import cross
from dragoman.dialects.contract import Facts, UpstreamRequest
from dragoman.dialects.responses.check import check
from dragoman.streaming.accumulate import Accumulator
from dragoman.streaming.answer import AnswerAssembler, DecodeContext
from dragoman.streaming.encoder import EncodeContext
from dragoman.streaming.ids import Ids
from dragoman.streaming.sse import ServerSentEvent

DIALECT = dialects.get("responses")

JSON = dict[str, Any]

HI = Message(Role.USER, (Text(text="Hi"),))

CREATED: JSON = {"type": "response.created", "response": {"id": "resp_1", "model": "m", "created_at": 7}}


def completed(*output: JSON, **members: Any) -> JSON:
    return {"type": "response.completed", "response": {"status": "completed", "output": list(output), **members}}


def call_item(text: str = "", **members: Any) -> JSON:
    return {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "run", "arguments": text, **members}


def text_item(*texts: str, **members: Any) -> JSON:
    content = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content, **members}


def added(item: JSON, index: int | None = 0) -> JSON:
    return {"type": "response.output_item.added", "item": item, **({} if index is None else {"output_index": index})}


def done(item: JSON, index: int | None = 0) -> JSON:
    return {"type": "response.output_item.done", "item": item, **({} if index is None else {"output_index": index})}


def delta(stem: str, text: str, **members: Any) -> JSON:
    return {"type": f"response.{stem}.delta", "delta": text, **members}


class Answer:
    """What a decoder made of records: events, the assembler's notes, and the whole answer."""

    def __init__(self, assembler: AnswerAssembler) -> None:
        self.events = assembler.take()
        self.quirks = assembler.quirks
        self.losses = assembler.losses
        whole = Accumulator()
        whole.add(self.events)
        self.response = whole.response
        self.error = whole.error

    @property
    def blocks(self) -> list[Any]:
        return list(self.response.choices[0].blocks) if self.response else []

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, e.TextDelta))

    @property
    def reasoning(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, e.ReasoningDelta))

    @property
    def calls(self) -> list[tuple[str, str, str]]:
        """Id, name and arguments of each call, also of a failed answer."""
        found: list[list[str]] = []
        for event in self.events:
            if isinstance(event, e.ToolCallStart):
                found.append([event.id, event.name, ""])
            elif isinstance(event, e.ToolCallDelta):
                found[-1][2] += event.text
        return [(id, name, text) for id, name, text in found]

    @property
    def end(self) -> Any:
        return self.events[-1]


def assembler() -> AnswerAssembler:
    return AnswerAssembler(DecodeContext(origin="responses", ids=Ids("up")))


def decoded(*records: JSON | bytes | list[Any], named: bool = True) -> Answer:
    """The answer in a stream of these events."""
    answer = assembler()
    decoder = DIALECT.decoder(answer)
    for record in records:
        kind = record.get("type") if named and isinstance(record, dict) else ""
        name = kind if isinstance(kind, str) else ""
        data = record if isinstance(record, bytes) else json.dumps(record).encode()
        decoder.decode(ServerSentEvent(name, data))
    decoder.finish()
    answer.close()
    return Answer(answer)


def decoded_body(body: Any) -> Answer:
    """The answer in a whole body."""
    answer = assembler()
    decoder = DIALECT.decoder(answer)
    decoder.decode_body(body)
    decoder.finish()
    answer.close()
    return Answer(answer)


def context(request: Request | None = None) -> EncodeContext:
    return EncodeContext(model="asked", ids=Ids("down"), now=11, request=request)


def encoded(events: Iterable[e.Event], request: Request | None = None) -> bytes:
    """The bytes of a stream, event by event."""
    encoder = DIALECT.encoder(context(request))
    return b"".join(encoder.encode([event]) for event in events)


def read(stream: bytes) -> list[JSON]:
    """The data of every event of a stream."""
    lines = [line for line in stream.split(b"\n") if line.startswith(b"data: ")]
    return [json.loads(line[6:]) for line in lines]


def checked(*events: e.Event, request: Request | None = None) -> list[JSON]:
    """The data of the events of a stream, which must break no rule."""
    stream = encoded(events, request)
    assert check(stream) == []
    return read(stream)


def whole(events: Iterable[e.Event], request: Request | None = None) -> JSON:
    """The same events as a whole body."""
    accumulator = Accumulator()
    accumulator.add(events)
    assert accumulator.response is not None
    return DIALECT.render_response(accumulator.response, context(request))


def rendered(*messages: Message, facts: Facts | None = None, origin: str = "chat", **members: Any) -> UpstreamRequest:
    """A request of another dialect's client, for an upstream of this one."""
    request = Request(model="m", origin=origin, messages=messages or (HI,), **members)
    crossing, _ = cross(request, DIALECT, facts or Facts())
    return DIALECT.render_request(crossing, facts or Facts())
