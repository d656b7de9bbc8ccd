"""Short ways to feed the decoder and to read what the encoder wrote."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from dragoman.canonical import events as e
from dragoman.dialects.messages.decode import MessagesDecoder
from dragoman.dialects.messages.encode import MessagesEncoder
from dragoman.streaming.answer import AnswerAssembler, DecodeContext
from dragoman.streaming.encoder import EncodeContext
from dragoman.streaming.ids import Ids
from dragoman.streaming.sse import ServerSentEvent

JSON = dict[str, Any]

CONTEXT = EncodeContext(model="asked-model", ids=Ids("client"), now=0)


def context() -> EncodeContext:
    return EncodeContext(model="asked-model", ids=Ids("client"), now=0)


class Upstream:
    """A decoder with its assembler; ``say`` feeds events in their JSON form."""

    def __init__(self, legal_id: str | None = None) -> None:
        pattern = re.compile(legal_id) if legal_id else None
        self.assembler = AnswerAssembler(DecodeContext(origin="messages", ids=Ids("upstream"), legal_id=pattern))
        self.decoder = MessagesDecoder(self.assembler)

    def say(self, *values: Any, name: str | None = None) -> Upstream:
        for value in values:
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            kind = value.get("type") if isinstance(value, dict) else ""
            own = kind if isinstance(kind, str) else ""
            self.decoder.decode(ServerSentEvent(own if name is None else name, data))
        return self

    def end(self) -> list[e.Event]:
        """All events of the answer, after the end of its bytes."""
        self.decoder.finish()
        self.assembler.close()
        return self.assembler.take()


def answer(*values: Any) -> list[e.Event]:
    """The canonical events of a stream that holds ``message_start`` and these events."""
    return Upstream().say(start(), *values).end()


def whole(body: Any) -> list[e.Event]:
    """The canonical events of a body in one piece."""
    upstream = Upstream()
    upstream.decoder.decode_body(body)
    return upstream.end()


def start(**members: Any) -> JSON:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 25, "output_tokens": 1},
        **members,
    }
    return {"type": "message_start", "message": message}


def begin(index: Any, kind: str, **members: Any) -> JSON:
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **members}}


def delta(index: Any, kind: str, **members: Any) -> JSON:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **members}}


def stop(index: Any) -> JSON:
    return {"type": "content_block_stop", "index": index}


def tool(index: Any, id: str, name: str, **members: Any) -> JSON:
    return begin(index, "tool_use", **{"id": id, "name": name, "input": {}, **members})


def ending(reason: str | None, usage: JSON | None = None, **members: Any) -> JSON:
    delta = {"stop_reason": reason, "stop_sequence": None, **members}
    return {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 15} if usage is None else usage}


OVER = {"type": "message_stop"}


def of(events: Iterable[e.Event], kind: type) -> list[Any]:
    return [event for event in events if type(event) is kind]


def arguments(events: Iterable[e.Event]) -> list[str]:
    """The argument texts of the calls, in order."""
    found: list[str] = []
    for event in events:
        if isinstance(event, e.ToolCallStart):
            found.append("")
        elif isinstance(event, e.ToolCallDelta):
            found[-1] += event.text
    return found


def end_of(events: list[e.Event]) -> e.ResponseEnd:
    assert isinstance(events[-1], e.ResponseEnd)
    return events[-1]


def error_of(events: list[e.Event]) -> e.ResponseError:
    assert isinstance(events[-1], e.ResponseError)
    return events[-1]


def said(events: list[e.Event]) -> str:
    return "".join(event.text for event in of(events, e.TextDelta))


def thought(events: list[e.Event]) -> str:
    return "".join(event.text for event in of(events, e.ReasoningDelta))


def encode(*events: e.Event, context: EncodeContext = CONTEXT) -> bytes:
    return MessagesEncoder(context).encode(events)


def frames(data: bytes) -> list[JSON]:
    """The events in the bytes; each has its name and ends with a blank line."""
    assert data.endswith(b"\n\n")
    found = []
    for frame in data.removesuffix(b"\n\n").split(b"\n\n"):
        name, _, line = frame.partition(b"\n")
        value = json.loads(line.removeprefix(b"data: "))
        assert name == b"event: " + value["type"].encode()
        found.append(value)
    return found


def answered(*blocks: e.Event, finish: e.FinishReason = e.FinishReason.STOP, **members: Any) -> list[JSON]:
    """The frames of a finished answer, without start and stop of the message."""
    data = encode(e.ResponseStart(), *blocks, e.ResponseEnd(finish=finish, **members))
    found = frames(data)
    assert found[0]["type"] == "message_start"
    assert found[-1] == OVER
    return found[1:-1]
