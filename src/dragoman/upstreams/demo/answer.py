"""The demo's answer to a request: which recording, with what in it, and its bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, repeat
from typing import Any

import msgspec

from dragoman import jsontext
from dragoman.upstreams.demo.arguments import arguments_for
from dragoman.upstreams.demo.recording import MODELS, RECORDINGS, RESULTS, Recording
from dragoman.upstreams.demo.request import BadRequestError, Question, Tool, read_question

JSON = dict[str, Any]

QUOTED = 400
"""How much is quoted of what the user said or a tool gave (characters)."""
_CHARACTERS_PER_TOKEN = 4
_CITY = {"type": "object", "properties": {"city": {"enum": ["Tromsø"]}}, "required": ["city"]}
_ZONE = {"type": "object", "properties": {"zone": {"enum": ["Europe/Oslo"]}}, "required": ["zone"]}
_TOOLS = (Tool("get_weather", _CITY), Tool("get_time", _ZONE))
"""What is called where the client declared nothing."""


class Answer(msgspec.Struct, frozen=True):
    """Status, content type, and the body in the pieces in which it is sent."""

    status: int
    content_type: str
    pieces: list[bytes]


def answer(body: Mapping[str, Any], *, token: str, now: int) -> Answer:
    """Answers the body of a request.

    ``token`` makes the ids of this answer unique; ``now`` is a Unix time in seconds.
    """
    try:
        question = read_question(body)
        if question.model not in RECORDINGS:
            known = ", ".join(MODELS)
            message = f"the demo has no model {question.model!r}; it has {known}"
            raise BadRequestError(message, param="model", status=404, code="model_not_found")
    except BadRequestError as refusal:
        return Answer(refusal.status, "application/json", [jsontext.render(refusal.body)])
    recording = _choose(question)
    play = _Play(question, recording, token, now)
    if question.stream:
        return Answer(200, "text/event-stream", list(play.stream()))
    return Answer(200, "application/json", [play.whole()])


def _choose(question: Question) -> Recording:
    """The recording of the model, unless it calls and there is nothing to call, or it was called already."""
    recording = RECORDINGS[question.model]
    if not recording.calls:
        return recording
    if question.results and not question.must_call:
        return RESULTS
    if not question.may_call or (question.model == "agent" and not question.tools):
        return RECORDINGS["chat"]
    return RECORDINGS["agent"] if recording.calls > 1 and question.one_call else recording


class _Play:
    """One recording, played for one request."""

    def __init__(self, question: Question, recording: Recording, token: str, now: int) -> None:
        self._question = question
        self._recording = recording
        tools = question.tools or _TOOLS
        self._calls = [
            _call(f"call_{token}_{number}", tool, question.said)
            for number, tool in zip((1, 2), chain(tools, repeat(tools[0])), strict=False)
        ]
        self._chunks = list(recording.chunks(self._values()))
        self._token = token
        self._now = now

    def _values(self) -> dict[str, str]:
        """What stands for each ``$word`` of a recording."""
        values = {
            "words": _shortened(self._question.said),
            "results": "\n\n".join("> " + _shortened(one).replace("\n", "\n> ") for one in self._question.results),
        }
        for number, call in enumerate(self._calls, 1):
            text = call["function"]["arguments"]
            one, two = len(text) // 3, 2 * len(text) // 3
            values |= {f"id{number}": call["id"], f"tool{number}": call["function"]["name"], f"args{number}": text}
            for letter, piece in (("a", text[:one]), ("b", text[one:two]), ("c", text[two:])):
                values[f"args{number}{letter}"] = piece
        return values

    def _envelope(self, kind: str) -> JSON:
        return {
            "id": f"chatcmpl-{self._token}",
            "object": kind,
            "created": self._now,
            "model": self._question.model,
        }

    # ---- streamed

    def stream(self) -> Iterator[bytes]:
        """The events of the stream, one by one."""
        for chunk in self._chunks:
            if "error" in chunk:
                yield _event(chunk)
                continue
            choice = {"index": 0, "delta": chunk["delta"], "finish_reason": chunk["finish_reason"]}
            usage = {"usage": chunk["usage"]} if "usage" in chunk else {}
            yield self._chunk([choice], **usage)
        if self._recording.steps[-1].end:
            if self._question.stream_usage:
                yield self._chunk([], usage=self._usage())
            yield b"data: [DONE]\n\n"

    def _chunk(self, choices: list[JSON], **more: Any) -> bytes:
        return _event({**self._envelope("chat.completion.chunk"), "choices": choices, **more})

    # ---- whole

    def whole(self) -> bytes:
        """The body of the answer that does not stream. A cut answer's JSON breaks off as its stream does."""
        last = self._chunks[-1]
        if "error" in last:
            return jsontext.render(last)
        message: JSON = {"role": "assistant", "content": self._joined("content") or None}
        if reasoning := self._joined("reasoning_content"):
            message["reasoning_content"] = reasoning
        if calls := self._calls[: self._recording.calls]:
            message["tool_calls"] = calls
        finish = "tool_calls" if calls else "stop"
        body = {
            **self._envelope("chat.completion"),
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": last.get("usage") or self._usage(),
        }
        rendered = jsontext.render(body)
        return rendered[: len(rendered) // 2] if self._recording.cut else rendered

    def _joined(self, name: str) -> str:
        return "".join(chunk["delta"].get(name) or "" for chunk in self._chunks if "delta" in chunk)

    def _usage(self) -> dict[str, int]:
        """An estimate: what has no tokens can only count characters."""
        called = sum(len(call["function"]["arguments"]) for call in self._calls[: self._recording.calls])
        written = len(self._joined("content")) + len(self._joined("reasoning_content")) + called
        prompt, completion = (1 + size // _CHARACTERS_PER_TOKEN for size in (self._question.size, written))
        return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _event(data: JSON) -> bytes:
    return b"data: " + jsontext.render(data) + b"\n\n"


def _call(id: str, tool: Tool, said: str) -> JSON:
    arguments = jsontext.render(arguments_for(tool.parameters, said[:QUOTED])).decode()
    return {"id": id, "type": "function", "function": {"name": tool.name, "arguments": arguments}}


def _shortened(text: str) -> str:
    text = text.strip() or "(no text)"
    return text if len(text) <= QUOTED else text[:QUOTED].rstrip() + " …"
