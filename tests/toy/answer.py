"""The toy's answers, both ways, and its errors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dragoman import jsontext
from dragoman.canonical import events as e
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.canonical.response import ReasoningBlock, Response, TextBlock, ToolCallBlock
from dragoman.dialects.contract import Plain, Violation
from dragoman.streaming.answer import AnswerAssembler
from dragoman.streaming.encoder import EncodeContext, StreamEncoder
from dragoman.streaming.fragments import read_fragment
from dragoman.streaming.sse import ServerSentEvent

JSON = dict[str, Any]


class ToyDecoder:
    varying: Mapping[str, bool] = {}
    plain: Plain | None = None

    def __init__(self, assembler: AnswerAssembler) -> None:
        self._answer = assembler
        self._calls = 0

    def decode(self, record: ServerSentEvent) -> None:
        try:
            piece = jsontext.parse(record.data)
        except ValueError:
            piece = None
        self._read(piece if isinstance(piece, dict) else {})

    def decode_body(self, body: Any) -> None:
        for piece in body.get("all") or [body]:
            self._read(piece)

    def finish(self) -> None:
        pass

    def _read(self, piece: JSON) -> None:
        answer, value = self._answer, str(piece.get("v") or "")
        answer.envelope()
        match piece.get("t"):
            case "x":
                answer.text(value)
            case "r":
                answer.reasoning(value)
            case "c":
                self._calls += 1
                answer.call(read_fragment(index=self._calls, id=piece.get("i"), name=piece.get("n")))
            case "a":
                answer.call(read_fragment(index=self._calls, arguments=value))
            case "/":
                answer.end_call(read_fragment(index=self._calls))
            case "u":
                answer.usage(e.Usage(input=piece.get("i"), output=piece.get("o")))
            case ".":
                answer.finish(e.FinishReason(piece["f"]))
                answer.terminate()
            case "!":
                answer.fail(parse_error(0, piece))


class ToyEncoder(StreamEncoder):
    def _piece(self, **members: Any) -> None:
        self.out.append(b"data: " + jsontext.render(members) + b"\n\n")

    def response_start(self, event: e.ResponseStart) -> None:
        pass

    def text_start(self, event: e.TextStart) -> None:
        pass

    def text_delta(self, event: e.TextDelta) -> None:
        self._piece(t="x", v=event.text)

    def citation_added(self, event: e.CitationAdded) -> None:
        pass

    def text_end(self, event: e.TextEnd) -> None:
        pass

    def reasoning_start(self, event: e.ReasoningStart) -> None:
        pass

    def reasoning_delta(self, event: e.ReasoningDelta) -> None:
        self._piece(t="r", v=event.text)

    def reasoning_end(self, event: e.ReasoningEnd) -> None:
        pass

    def tool_call_start(self, event: e.ToolCallStart) -> None:
        self._piece(t="c", i=event.id, n=event.name)

    def tool_call_delta(self, event: e.ToolCallDelta) -> None:
        self._piece(t="a", v=event.text)

    def tool_call_end(self, event: e.ToolCallEnd) -> None:
        self._piece(t="/")

    def server_tool(self, event: e.ServerTool) -> None:
        pass

    def media(self, event: e.Media) -> None:
        pass

    def usage_update(self, event: e.UsageUpdate) -> None:
        self._piece(t="u", i=event.usage.input, o=event.usage.output)

    def response_end(self, event: e.ResponseEnd) -> None:
        self._piece(t=".", f=event.finish.value)

    def response_error(self, event: e.ResponseError) -> None:
        self._piece(**render_error(event.error, ""))


def render_response(response: Response, context: EncodeContext) -> JSON:
    pieces: list[JSON] = []
    for block in response.choices[0].blocks:
        match block:
            case TextBlock():
                pieces.append({"t": "x", "v": block.text})
            case ReasoningBlock():
                pieces.append({"t": "r", "v": block.text})
            case ToolCallBlock():
                pieces += [{"t": "c", "i": block.id, "n": block.name}, {"t": "a", "v": block.arguments}, {"t": "/"}]
    if response.usage is not None:
        pieces.append({"t": "u", "i": response.usage.input, "o": response.usage.output})
    return {"all": [*pieces, {"t": ".", "f": response.choices[0].finish.value}]}


def parse_error(status: int, body: Any) -> Error:
    members = body if isinstance(body, dict) else {}
    known = members.get("k") in set(ErrorKind)
    kind = ErrorKind(members["k"]) if known else ErrorKind.SERVER
    return Error(kind=kind, message=str(members.get("v") or body), status=status, origin="toy")


def render_error(error: Error, request_id: str) -> JSON:
    return {"t": "!", "k": error.kind.value, "v": error.message}


def pieces_in(body: bytes) -> list[JSON]:
    """The pieces of an answer, streamed or whole."""
    if body.startswith(b"{"):
        value = json.loads(body)
        return list(value.get("all") or [value])
    return [json.loads(event.removeprefix(b"data: ")) for event in body.removesuffix(b"\n\n").split(b"\n\n")]


def check(body: bytes) -> list[Violation]:
    """A stream's last piece says that it is the last."""
    ends = [piece["t"] in ".!" for piece in pieces_in(body)]
    if ends == [False] * (len(ends) - 1) + [True]:
        return []
    return [Violation("toy.end", "end", "the end is missing, or not at the end")]
