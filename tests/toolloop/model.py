"""A model behind a server on loopback that speaks all four dialects: it says what it is told, and keeps what it was asked.

The wires are written down here by a few plain lines, apart from the project's encoders; the requests are
judged as the strictest servers would (``dragoman.testing``).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from dragoman.testing import validate
from tests.gateway.sockets import Connection, RawUpstream
from tests.roundtrips.flat import Entry, flat

JSON = dict[str, Any]

DIALECTS = ("chat", "responses", "messages", "gemini")
_PATHS = {"/chat/completions": "chat", "/responses": "responses", "/messages": "messages"}


class Says(msgspec.Struct, frozen=True, kw_only=True):
    """One answer. ``calls``: name and arguments, an object or a text that is none. ``finish``: of ``length``, else the usual."""

    text: str = ""
    calls: tuple[tuple[str, JSON | str], ...] = ()
    reasoning: str = ""
    usage: tuple[int, int] = (10, 5)
    finish: str = ""
    ids: tuple[str, ...] = ()
    """Of the calls, instead of such as differ from answer to answer."""
    status: int = 200
    """Of an error, with ``text`` as its message."""
    until: asyncio.Event | None = None
    """It begins to answer when this is set."""


class Seen(msgspec.Struct, frozen=True):
    """A request that reached the model."""

    dialect: str
    body: JSON
    stream: bool
    counts: bool

    @property
    def history(self) -> list[Entry]:
        return flat(self.dialect, self.body)

    @property
    def calls(self) -> list[tuple[str, Any, str]]:
        """Name, arguments and result of each call, in order. Every call has its result, under the same id."""
        entries = self.history
        results = [entry for entry in entries if entry.kind == "result"]
        calls = [entry for entry in entries if entry.kind == "call"]
        assert [entry.id for entry in results] == [entry.id for entry in calls]
        return [(call.name, json.loads(call.value), it.value) for call, it in zip(calls, results, strict=True)]

    @property
    def texts(self) -> list[tuple[str, str]]:
        """Role and words of each text, blanks taken off."""
        return [(entry.role, entry.value.strip()) for entry in self.history if entry.kind == "text"]

    @property
    def tools(self) -> dict[str, JSON]:
        """The tools that are offered, by name, in the dialect's own words."""
        found: dict[str, JSON] = {}
        for tool in self.body.get("tools") or []:
            for one in tool.get("functionDeclarations") or [tool.get("function") or tool]:
                assert one["name"] not in found
                found[one["name"]] = one
        return found

    @property
    def choice(self) -> str:
        """``auto``, ``required`` or ``none``; a forced tool is required."""
        value: Any = self.body.get("tool_choice")
        if self.dialect == "gemini":
            value = (self.body.get("toolConfig") or {}).get("functionCallingConfig", {}).get("mode")
        if isinstance(value, dict):
            value = value["type"]
        words = {"any": "required", "ANY": "required", "tool": "required", "function": "required", "AUTO": "auto"}
        return str(words.get(value, value or "auto"))


Line = Says | Callable[[Seen], Says]


class Model:
    """The server. ``script`` is what it says, one line for each request; ``seen`` what it was asked.

    ``faults``: what a strict server would have refused.
    """

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.script: list[Line] = []
        self.seen: list[Seen] = []
        self.server = RawUpstream(self._play)

    def play(self, *lines: Line) -> None:
        """A new script; what was asked before is forgotten."""
        self.script, self.seen = list(lines), []

    async def _play(self, connection: Connection) -> bool:
        seen = _read(self.server.heads[-1], self.server.bodies[-1])
        self.seen.append(seen)
        if seen.counts:
            await connection.send(_whole_answer(200, {"input_tokens": 7, "totalTokens": 7}))
            return True
        self.faults += validate(seen.dialect, seen.body)
        if len(self.seen) > len(self.script):
            self.faults.append(f"asked {len(self.seen)} times")
            return False
        line = self.script[len(self.seen) - 1]
        says = line if isinstance(line, Says) else line(seen)
        if says.until is not None:
            await says.until.wait()
        if says.status != 200:
            await connection.send(
                _whole_answer(says.status, {"error": {"message": says.text, "type": "odd", "code": says.status}})
            )
        elif seen.stream:
            body = b"".join(stream(seen.dialect, says, len(self.seen)))
            head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % len(body)
            await connection.send(head + body)
        else:
            await connection.send(_whole_answer(200, whole(seen.dialect, says, len(self.seen))))
        return True


def _read(head: bytes, raw: bytes) -> Seen:
    path, _, query = head.split(b" ", 2)[1].decode().partition("?")
    body = json.loads(raw)
    counts = path.endswith(("count_tokens", "input_tokens", ":countTokens"))
    for end, dialect in _PATHS.items():
        if path.removesuffix("/count_tokens").removesuffix("/input_tokens").endswith(end):
            return Seen(dialect, body, body.get("stream") is True, counts)
    return Seen("gemini", body, "alt=sse" in query, counts)


def _whole_answer(status: int, value: JSON) -> bytes:
    raw = json.dumps(value).encode()
    return b"HTTP/1.1 %d X\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (status, len(raw), raw)


# ---- what it says, in each dialect


def stream(dialect: str, says: Says, number: int) -> Iterator[bytes]:
    """The events of an answer. ``number`` makes its ids."""
    return _STREAMS[dialect](says, number)


def whole(dialect: str, says: Says, number: int) -> JSON:
    """The same in one piece."""
    return _BODIES[dialect](says, number)


def _calls(says: Says, number: int) -> list[tuple[str, str, str]]:
    """Id, name and argument text of each call."""
    ids = says.ids or [f"call_{number}_{place}" for place in range(len(says.calls))]
    texts = [given if isinstance(given, str) else json.dumps(given) for _, given in says.calls]
    return [(id, name, text) for id, (name, _), text in zip(ids, says.calls, texts, strict=True)]


def _halves(text: str) -> Sequence[str]:
    return [part for part in (text[: len(text) // 2], text[len(text) // 2 :]) if part]


def _event(value: JSON) -> bytes:
    name = f"event: {value['type']}\n" if "type" in value else ""
    return f"{name}data: {json.dumps(value)}\n\n".encode()


def _finish(says: Says, words: dict[str, str]) -> str:
    return words[says.finish or ("tool_calls" if says.calls else "stop")]


_CHAT = {"stop": "stop", "tool_calls": "tool_calls", "length": "length"}
_MESSAGES = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}
_GEMINI = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS"}


def _chat_stream(says: Says, number: int) -> Iterator[bytes]:
    def chunk(delta: JSON, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _event(
            {"id": f"c{number}", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        )

    yield chunk({"role": "assistant", "content": ""})
    if says.reasoning:
        yield chunk({"reasoning_content": says.reasoning})
    for part in _halves(says.text):
        yield chunk({"content": part})
    for index, (id, name, text) in enumerate(_calls(says, number)):
        yield chunk(
            {
                "tool_calls": [
                    {"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}
                ]
            }
        )
        for part in _halves(text):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
    yield chunk({}, _finish(says, _CHAT))
    base = {"id": f"c{number}", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []}
    yield _event({**base, "usage": _chat_usage(says)})
    yield b"data: [DONE]\n\n"


def _chat_usage(says: Says) -> JSON:
    read, made = says.usage
    return {"prompt_tokens": read, "completion_tokens": made, "total_tokens": read + made, "queue_time": 0.25}


def _chat_body(says: Says, number: int) -> JSON:
    message: JSON = {"role": "assistant", "content": says.text or None}
    if says.reasoning:
        message["reasoning_content"] = says.reasoning
    if says.calls:
        message["tool_calls"] = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": text}}
            for id, name, text in _calls(says, number)
        ]
    choice = {"index": 0, "message": message, "finish_reason": _finish(says, _CHAT)}
    base = {"id": f"c{number}", "object": "chat.completion", "created": 1, "model": "m"}
    return {**base, "choices": [choice], "usage": _chat_usage(says)}


def _messages_blocks(says: Says, number: int) -> list[tuple[JSON, str, str]]:
    """Each block, the kind of its deltas and their text."""
    blocks: list[tuple[JSON, str, str]] = []
    if says.reasoning:
        blocks.append(
            ({"type": "thinking", "thinking": says.reasoning, "signature": "c2ln"}, "thinking", says.reasoning)
        )
    if says.text:
        blocks.append(({"type": "text", "text": says.text}, "text", says.text))
    for id, name, text in _calls(says, number):
        blocks.append(({"type": "tool_use", "id": id, "name": name, "input": _object(text)}, "partial_json", text))
    return blocks


def _object(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {}


_DELTAS = {"thinking": "thinking_delta", "text": "text_delta", "partial_json": "input_json_delta"}


def _messages_stream(says: Says, number: int) -> Iterator[bytes]:
    base = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "m", "content": []}
    usage = {"input_tokens": says.usage[0], "output_tokens": 1}
    yield _event(
        {"type": "message_start", "message": {**base, "stop_reason": None, "stop_sequence": None, "usage": usage}}
    )
    for index, (block, member, text) in enumerate(_messages_blocks(says, number)):
        blanks: JSON = {"thinking": "", "text": "", "signature": "", "input": {}}
        begun = {**block, **{name: blank for name, blank in blanks.items() if name in block}}
        yield _event({"type": "content_block_start", "index": index, "content_block": begun})
        for part in _halves(text):
            delta = {"type": _DELTAS[member], member: part}
            yield _event({"type": "content_block_delta", "index": index, "delta": delta})
        if "signature" in block:
            delta = {"type": "signature_delta", "signature": block["signature"]}
            yield _event({"type": "content_block_delta", "index": index, "delta": delta})
        yield _event({"type": "content_block_stop", "index": index})
    end = {"stop_reason": _finish(says, _MESSAGES), "stop_sequence": None}
    yield _event({"type": "message_delta", "delta": end, "usage": {"output_tokens": says.usage[1]}})
    yield _event({"type": "message_stop"})


def _messages_body(says: Says, number: int) -> JSON:
    base = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "m"}
    content = [block for block, _, _ in _messages_blocks(says, number)]
    usage = {"input_tokens": says.usage[0], "output_tokens": says.usage[1]}
    return {**base, "content": content, "stop_reason": _finish(says, _MESSAGES), "stop_sequence": None, "usage": usage}


def _gemini_chunk(number: int, parts: list[JSON], says: Says | None) -> JSON:
    candidate: JSON = {"content": {"role": "model", "parts": parts}, "index": 0}
    body: JSON = {"candidates": [candidate], "modelVersion": "m", "responseId": f"r{number}"}
    if says is not None:
        candidate["finishReason"] = _finish(says, _GEMINI)
        read, made = says.usage
        body["usageMetadata"] = {"promptTokenCount": read, "candidatesTokenCount": made, "totalTokenCount": read + made}
    return body


def _gemini_parts(says: Says, number: int) -> list[JSON]:
    parts: list[JSON] = [{"text": says.reasoning, "thought": True}] if says.reasoning else []
    parts += [{"text": part} for part in _halves(says.text)]
    for id, name, text in _calls(says, number):
        given = {"id": id} if says.ids else {}
        parts.append({"functionCall": {**given, "name": name, "args": _object(text)}, "thoughtSignature": "c2ln"})
    return parts


def _gemini_stream(says: Says, number: int) -> Iterator[bytes]:
    for part in _gemini_parts(says, number):
        yield _event(_gemini_chunk(number, [part], None))
    yield _event(_gemini_chunk(number, [{"text": ""}], says))


def _gemini_body(says: Says, number: int) -> JSON:
    return _gemini_chunk(number, _gemini_parts(says, number), says)


def _items(says: Says, number: int) -> list[JSON]:
    items: list[JSON] = []
    if says.reasoning:
        summary = [{"type": "summary_text", "text": says.reasoning}]
        items.append({"id": f"rs_{number}", "type": "reasoning", "summary": summary, "encrypted_content": "c2ln"})
    if says.text:
        part = {"type": "output_text", "text": says.text, "annotations": [], "logprobs": []}
        items.append(
            {"id": f"msg_{number}", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
        )
    for id, name, text in _calls(says, number):
        call = {"type": "function_call", "status": "completed", "call_id": id, "name": name, "arguments": text}
        items.append({"id": f"fc_{number}_{id}", **call})
    return items


def _responses_body(says: Says, number: int, status: str = "", output: list[JSON] | None = None) -> JSON:
    cut = says.finish == "length"
    read, made = says.usage
    details: JSON = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    return {
        **{"id": f"resp_{number}", "object": "response", "created_at": 1, "model": "m", "error": None},
        **{"instructions": None, "metadata": {}, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []},
        "status": status or ("incomplete" if cut else "completed"),
        "incomplete_details": {"reason": "max_output_tokens"} if cut and not status else None,
        "output": _items(says, number) if output is None else output,
        "usage": None
        if status
        else {"input_tokens": read, "output_tokens": made, "total_tokens": read + made, **details},
    }


def _responses_stream(says: Says, number: int) -> Iterator[bytes]:
    events: list[JSON] = [{"type": "response.created", "response": _responses_body(says, number, "in_progress", [])}]
    for index, item in enumerate(_items(says, number)):
        at = {"item_id": item["id"], "output_index": index}
        blanks = {"content": [], "summary": [], "arguments": ""}
        begun = {**item, **{name: blank for name, blank in blanks.items() if name in item}}
        events.append({"type": "response.output_item.added", "output_index": index, "item": begun})
        if item["type"] == "function_call":
            events += [
                {"type": "response.function_call_arguments.delta", **at, "delta": part}
                for part in _halves(item["arguments"])
            ]
        if item["type"] == "message":
            for part in _halves(says.text):
                events.append(
                    {"type": "response.output_text.delta", **at, "content_index": 0, "delta": part, "logprobs": []}
                )
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    body = _responses_body(says, number)
    events.append({"type": f"response.{body['status']}", "response": body})
    for place, event in enumerate(events):
        yield _event({**event, "sequence_number": place})


_STREAMS = {
    "chat": _chat_stream,
    "responses": _responses_stream,
    "messages": _messages_stream,
    "gemini": _gemini_stream,
}
_BODIES: dict[str, Callable[[Says, int], JSON]] = {
    "chat": _chat_body,
    "responses": _responses_body,
    "messages": _messages_body,
    "gemini": _gemini_body,
}
