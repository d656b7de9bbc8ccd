"""An upstream's Responses stream (or whole body) to what the assembler is told.

Which item an event is about is decided in ``items``, what of it is news in ``contents``; this file knows
the events. Nothing is ordered or dropped by ``sequence_number``: relays splice streams.
Source: protocols/openai.md, part 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

from dragoman import jsontext
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.canonical.events import FinishReason, Usage
from dragoman.dialects.contract import Plain
from dragoman.dialects.error_shapes import error_said, is_bare_error
from dragoman.dialects.responses import wire
from dragoman.dialects.responses.contents import RAW, REFUSAL, SUMMARY, TEXT, Contents
from dragoman.dialects.responses.errors import parse_error
from dragoman.dialects.responses.items import Item, Items
from dragoman.dialects.responses.wire import (
    CALL,
    JSON,
    MESSAGE,
    REASONING,
    delta_of,
    index_of,
    list_of,
    object_of,
    text_of,
)
from dragoman.streaming.answer import AnswerAssembler
from dragoman.streaming.sse import DONE, ServerSentEvent

_COMPUTED = frozenset(
    {"id", "object", "created_at", "model", "status", "output", "usage", "error", "incomplete_details"}
)
"""Members of a response object that every answer makes anew; the rest is the upstream's own envelope."""

_PROGRESS = tuple(
    f"response.{name}."
    for name in (
        *wire.HOSTED,
        "mcp_call_arguments",
        "code_interpreter_call_code",
        "shell_call_command",
        "shell_call_output_content",
        "apply_patch_call_operation_diff",
    )
)
"""Events inside hosted items: they tell in pieces what the done item tells whole."""


def read_usage(raw: JSON) -> Usage:
    """Counts; servers that wrap a chat server use its names."""
    inputs = object_of(raw.get("input_tokens_details") or raw.get("prompt_tokens_details"))
    outputs = object_of(raw.get("output_tokens_details") or raw.get("completion_tokens_details"))
    return Usage(
        input=wire.count_of(raw.get("input_tokens"), raw.get("prompt_tokens")),
        output=wire.count_of(raw.get("output_tokens"), raw.get("completion_tokens")),
        cached=wire.count_of(inputs.get("cached_tokens")),
        cache_write=wire.count_of(inputs.get("cache_write_tokens")),
        reasoning=wire.count_of(outputs.get("reasoning_tokens")),
    )


class ResponsesDecoder:
    """Implements ``contract.Decoder`` for one answer."""

    varying: Mapping[str, bool] = {"sequence_number": False, "obfuscation": False}

    def __init__(self, assembler: AnswerAssembler) -> None:
        self.plain: Plain | None = None
        self._answer = assembler
        self._items = Items()
        self._contents = Contents(assembler)
        self._over = False
        self._sentinel = False

    def decode(self, record: ServerSentEvent) -> None:
        """One event; its type is in the data, or at least in the name."""
        self.plain = None
        if record.data == DONE:
            self._sentinel = True
            return
        try:
            data = jsontext.parse(record.data)
        except ValueError:
            if not self._over:
                said = error_said(record.event, record.data)
                self._answer.fail(_malformed("an event that is no JSON") if said is None else parse_error(0, said))
            return
        for event in data if isinstance(data, list) else [data]:
            if isinstance(event, dict):
                self._event(record.event, event)
            elif record.event == "error":
                self._answer.fail(parse_error(0, event))
            elif event is not None:
                self._answer.fail(_malformed(f"an event that is no object: {event}"))
        if isinstance(data, list):
            self.plain = None

    def decode_body(self, body: Any) -> None:
        """The whole answer. A body that was streamed as one JSON value is the same."""
        raw = next((item for item in body if isinstance(item, dict)), None) if isinstance(body, list) else body
        if not isinstance(raw, dict):
            self._answer.fail(_malformed("a body that is no object"))
        elif isinstance(raw.get("output"), list) or raw.get("object") == "response":
            self._terminal({"response": raw, "type": ""})
        elif text_of(raw.get("type")) in self._HANDLERS:
            self._event("", raw)
            return
        else:
            self._answer.fail(parse_error(0, raw) if is_bare_error(raw) else _malformed("a body that is no response"))
        self._answer.terminate()

    def finish(self) -> None:
        """The bytes are over: items that never ended are told as far as they are known."""
        if not self._over:
            self._leave_items()
            if self._sentinel:
                self._answer.terminate()

    # ---- events

    def _event(self, name: str, data: JSON) -> None:
        kind = data.get("type")
        if not isinstance(kind, str) or not kind:
            kind = name
        handler = self._HANDLERS.get(kind)
        if handler is not None:
            handler(self, data if data.get("type") == kind else {**data, "type": kind})
        elif data.get("object") == "response":
            self._terminal({"response": data, "type": ""})
        elif name == "error" or is_bare_error(data):
            self._failure(data)
        elif not kind.startswith(_PROGRESS):
            self._answer.lose(f"event of type {kind or 'unknown'}")

    def _text_delta(self, kind: str, data: JSON) -> None:
        item = self._items.of_event(MESSAGE, data)
        number = index_of(data.get("content_index"))
        text, logprobs = delta_of(data.get("delta")), data.get("logprobs")
        self._contents.text(item, kind, number, text, logprobs)
        if text and text == data.get("delta") and not logprobs:
            self.plain = (text, self._contents.more(item, kind, number))

    def _text_done(self, kind: str, member: str, data: JSON) -> None:
        item = self._items.of_event(MESSAGE, data)
        number = index_of(data.get("content_index"))
        self._contents.supply(item, kind, number, delta_of(data.get(member)), data.get("logprobs"))

    def _thought_delta(self, kind: str, place: str, data: JSON) -> None:
        item = self._items.of_event(REASONING, data)
        self._tell(partial(self._contents.thought, item, kind, index_of(data.get(place))), data.get("delta"))

    def _thought_done(self, kind: str, place: str, data: JSON) -> None:
        item = self._items.of_event(REASONING, data)
        self._contents.supply(item, kind, index_of(data.get(place)), delta_of(data.get("text")))

    def _arguments_delta(self, data: JSON) -> None:
        item = self._call_item(data)
        self._tell(partial(self._contents.call_delta, item), data.get("delta"))

    def _tell(self, more: Callable[[str], None], delta: Any) -> None:
        more(delta_of(delta))
        if isinstance(delta, str) and delta:
            self.plain = (delta, more)

    def _arguments_done(self, member: str, data: JSON) -> None:
        """A snapshot. The call is over with its item: a limit ends the arguments of half a call too."""
        item = self._call_item(data)
        item.arguments = delta_of(data.get(member)) or item.arguments

    def _call_item(self, data: JSON) -> Item:
        item = self._items.of_event(CALL, data)
        if not item.kind:
            item.kind = "custom_tool_call" if "custom" in str(data["type"]) else "function_call"
        item.name = item.name or text_of(data.get("name"))
        return item

    def _summary_part(self, data: JSON, *, done: bool) -> None:
        self._part(self._items.of_event(REASONING, data), SUMMARY, index_of(data.get("summary_index")), data, done=done)

    def _content_part(self, data: JSON, *, done: bool) -> None:
        """A part that begins may not know its kind yet; vLLM has parts of messages in reasoning items."""
        part = object_of(data.get("part"))
        family = REASONING if part.get("type") in ("reasoning_text", "summary_text") else MESSAGE
        if family == MESSAGE and self._items.is_reasoning(data):
            family = REASONING
        item = self._items.of_event(family, data)
        kind = self._contents.part_kind(item, part)
        if kind is not None:
            self._part(item, kind, index_of(data.get("content_index")), data, done=done)
        elif done:
            self._answer.lose(f"content part of type {part.get('type')}")

    def _part(self, item: Item, kind: str, number: int | None, data: JSON, *, done: bool) -> None:
        raw = object_of(data.get("part"))
        if done:
            self._contents.part_done(item, number, raw)
            return
        if number is None and item.newest.get(kind) is not None:
            number = item.newest[kind] + 1
        item.part(kind, number)  # it is the newest one, also while it is empty
        self._contents.part_begins(item, kind, number, raw)

    def _annotation(self, data: JSON) -> None:
        item = self._items.of_event(MESSAGE, data)
        self._contents.cite(item, index_of(data.get("content_index")), data.get("annotation"))

    def _item_added(self, data: JSON) -> None:
        raw = object_of(data.get("item"))
        self._contents.added(self._items.of_item(raw, data, done=False), raw)

    def _item_done(self, data: JSON) -> None:
        raw = object_of(data.get("item"))
        self._contents.done(self._items.of_item(raw, data, done=True), raw)

    # ---- the envelope and the end

    def _envelope(self, data: JSON) -> None:
        response = object_of(data.get("response"))
        self._answer.envelope(
            id=text_of(response.get("id")),
            model=text_of(response.get("model")),
            created=index_of(response.get("created_at")),
            native=_own(response),
        )

    def _failure(self, data: JSON) -> None:
        self._answer.fail(parse_error(0, data))

    def _terminal(self, data: JSON) -> None:
        self._envelope(data)
        response = object_of(data.get("response"))
        for item, raw in self._items.of_output(list_of(response.get("output"))):
            self._contents.done(item, raw)
        for member in ("output", "output_text"):
            self._text_for_items(member, response.get(member))
        self._leave_items()
        self._over = True
        usage = object_of(response.get("usage"))
        if usage:
            self._answer.usage(read_usage(usage), usage)
        self._end(_status(data["type"], response.get("status")), response)

    def _text_for_items(self, member: str, held: Any) -> None:
        """A text in place of items, or beside them: a snapshot of all their texts, which supplies the rest."""
        if not held or (member == "output" and isinstance(held, list)):
            return
        text, told = text_of(held), self._contents.said(self._items.all)
        if text is None:
            self._answer.lose(f"{member} that is no text")
        elif not text.startswith(told):
            if text not in told:
                self._answer.quirk("snapshot-differs")
        elif rest := text.removeprefix(told):
            self._answer.quirk("output-is-text")
            self._contents.text(self._items.of_event(MESSAGE, {}), TEXT, None, rest)

    def _end(self, status: str, response: JSON) -> None:
        native = _own(response)
        match status:
            case "completed":
                self._answer.finish(FinishReason.STOP, status, native=native)
            case "incomplete":
                details = response.get("incomplete_details")
                reason = text_of(details.get("reason") if isinstance(details, dict) else details)
                finish = wire.INCOMPLETE.get(reason or "", FinishReason.LENGTH)
                self._answer.finish(finish, reason, native=native)
            case "failed":
                self._answer.fail(parse_error(0, response.get("error") or {"message": "the response failed"}))
            case "cancelled":
                self._answer.interrupt("the upstream cancelled the response")
            case _:
                self._answer.interrupt("the upstream's response is not finished: it runs in the background there")

    def _leave_items(self) -> None:
        for item in self._items.all:
            self._contents.leave(item)

    _HANDLERS: ClassVar[dict[str, Callable[[Any, JSON], None]]] = {
        "response.output_text.delta": lambda self, data: self._text_delta(TEXT, data),
        "response.refusal.delta": lambda self, data: self._text_delta(REFUSAL, data),
        "response.function_call_arguments.delta": _arguments_delta,
        "response.custom_tool_call_input.delta": _arguments_delta,
        "response.reasoning_text.delta": lambda self, data: self._thought_delta(RAW, "content_index", data),
        "response.reasoning_summary_text.delta": lambda self, data: self._thought_delta(SUMMARY, "summary_index", data),
        "response.output_text.done": lambda self, data: self._text_done(TEXT, "text", data),
        "response.refusal.done": lambda self, data: self._text_done(REFUSAL, "refusal", data),
        "response.function_call_arguments.done": lambda self, data: self._arguments_done("arguments", data),
        "response.custom_tool_call_input.done": lambda self, data: self._arguments_done("input", data),
        "response.reasoning_text.done": lambda self, data: self._thought_done(RAW, "content_index", data),
        "response.reasoning_summary_text.done": lambda self, data: self._thought_done(SUMMARY, "summary_index", data),
        "response.reasoning_summary_part.added": lambda self, data: self._summary_part(data, done=False),
        "response.reasoning_summary_part.done": lambda self, data: self._summary_part(data, done=True),
        "response.content_part.added": lambda self, data: self._content_part(data, done=False),
        "response.content_part.done": lambda self, data: self._content_part(data, done=True),
        "response.output_text.annotation.added": _annotation,
        "response.output_item.added": _item_added,
        "response.output_item.done": _item_done,
        "response.created": _envelope,
        "response.queued": _envelope,
        "response.in_progress": _envelope,
        "error": _failure,
        "response.error": _failure,
        "keepalive": lambda self, data: None,
        "ping": lambda self, data: None,
        **dict.fromkeys(wire.TERMINAL, _terminal),
    }


def _status(event: str, told: Any) -> str:
    """How the response ends, by the terminal event or by its status: the stronger word counts (design/streams.md, 6)."""
    words = [word for word in (wire.TERMINAL.get(event), told) if word in wire.STATUSES]
    return max(words, key=wire.STATUSES.index, default="" if told in ("queued", "in_progress") else "completed")


def _own(response: JSON) -> JSON:
    return {name: value for name, value in response.items() if name not in _COMPUTED}


def _malformed(what: str) -> Error:
    return Error(kind=ErrorKind.BAD_UPSTREAM, message=f"the upstream sent {what}")
