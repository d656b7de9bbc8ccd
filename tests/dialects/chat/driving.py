"""Short ways to feed the decoder and to read what the encoder wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from dragoman.canonical import events as e
from dragoman.canonical.request import Request
from dragoman.dialects.chat.decode import ChatDecoder
from dragoman.dialects.chat.encode import ChatEncoder
from dragoman.names import ToolIdentity
from dragoman.streaming.answer import AnswerAssembler, DecodeContext
from dragoman.streaming.encoder import EncodeContext
from dragoman.streaming.ids import Ids
from dragoman.streaming.sse import ServerSentEvent

JSON = dict[str, Any]
DONE = b"[DONE]"


def chunk(delta: JSON | None = None, finish: str | None = None, index: int = 0, **members: Any) -> JSON:
    """One well-formed chunk; ``members`` replace or extend its envelope."""
    choices = [{"index": index, "delta": delta or {}, "finish_reason": finish}]
    envelope = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 17, "model": "m-1"}
    return {**envelope, "choices": choices, **members}


def calls(*entries: Any) -> JSON:
    return chunk({"tool_calls": list(entries)})


class Upstream:
    """A decoder with its assembler. ``say`` feeds events in their JSON form, or raw bytes."""

    def __init__(self, choices: int = 1, tools: Iterable[str] = ("get_weather", "run")) -> None:
        context = DecodeContext(
            origin="chat", ids=Ids("upstream"), choices=choices, tools={name: ToolIdentity(name) for name in tools}
        )
        self.assembler = AnswerAssembler(context)
        self.decoder = ChatDecoder(self.assembler)

    def say(self, *values: Any, event: str = "") -> Upstream:
        for value in values:
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.decoder.decode(ServerSentEvent(event, data))
        return self

    def end(self) -> list[e.Event]:
        self.decoder.finish()
        self.assembler.close()
        return self.assembler.take()


def events_of(*values: Any, choices: int = 1) -> list[e.Event]:
    """The events of a stream of these chunks, with ``[DONE]``."""
    return Upstream(choices).say(*values, DONE).end()


def events_of_body(body: Any) -> list[e.Event]:
    upstream = Upstream()
    upstream.decoder.decode_body(body)
    return upstream.end()


def whole(message: JSON, finish: str | None = "stop", **members: Any) -> JSON:
    """A body whose only choice has this message."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 17,
        "model": "m-1",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        **members,
    }


def text_of(events: Iterable[e.Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, e.TextDelta))


def thoughts_of(events: Iterable[e.Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, e.ReasoningDelta))


def calls_of(events: Iterable[e.Event]) -> list[tuple[str, str, str]]:
    """Id, name and arguments of each call."""
    found: list[tuple[str, str, str]] = []
    for event in events:
        if isinstance(event, e.ToolCallStart):
            found.append((event.id, event.name, ""))
        elif isinstance(event, e.ToolCallDelta):
            id, name, text = found[-1]
            found[-1] = (id, name, text + event.text)
    return found


def of_type(kind: type, events: Iterable[e.Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def context(request: Request | None = None, *, stream_usage: bool = True) -> EncodeContext:
    return EncodeContext(model="asked-model", ids=Ids("client"), now=1700, request=request, stream_usage=stream_usage)


def encoded(*events: e.Event, request: Request | None = None, stream_usage: bool = True) -> bytes:
    return ChatEncoder(context(request, stream_usage=stream_usage)).encode(events)


def chunks_in(data: bytes) -> list[Any]:
    """The chunks of a stream, in JSON; ``[DONE]`` as text."""
    assert data.endswith(b"\n\n")
    frames = data.removesuffix(b"\n\n").split(b"\n\n")
    assert all(frame.startswith(b"data: ") for frame in frames)
    return ["[DONE]" if frame == b"data: [DONE]" else json.loads(frame[6:]) for frame in frames]


def deltas_in(data: bytes) -> list[JSON]:
    """The deltas of all choices, the heads left out."""
    found = [choice["delta"] for item in chunks_in(data) if isinstance(item, dict) for choice in item["choices"]]
    return [delta for delta in found if delta and "role" not in delta]
