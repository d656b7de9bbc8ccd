"""The strict checker of this dialect: what at least one official client would reject, lose or mangle.

    START ──message_start──▶ OPEN ──content_block_start──▶ BLOCK ──content_block_delta──▶ BLOCK
                              ▲ ╰──message_delta──▶ CLOSING ──message_stop──▶ ENDED   │
                              ╰────────────────content_block_stop─────────────────────╯

``ping`` is legal everywhere before the end, ``error`` anywhere, and nothing after it.
Source: protocols/anthropic-google.md, 1.5 and 1.7.
"""

from __future__ import annotations

import json
from enum import Enum
from typing import Any

from dragoman.dialects.contract import Violation
from dragoman.dialects.messages.check_rules import (
    CALLS,
    RULES,
    Report,
    check_block,
    check_envelope,
    check_error,
    check_stop,
    check_usage,
    is_count,
    is_direct,
)
from dragoman.jsontext import shown

__all__ = ["RULES", "check"]

JSON = dict[str, Any]


class _State(Enum):
    START = "start"
    OPEN = "open"
    BLOCK = "block"
    CLOSING = "closing"
    ENDED = "ended"
    DEAD = "dead"


_S = _State

_TRANSITIONS: dict[tuple[_State, str], _State] = {
    (_S.START, "message_start"): _S.OPEN,
    (_S.OPEN, "content_block_start"): _S.BLOCK,
    (_S.BLOCK, "content_block_delta"): _S.BLOCK,
    (_S.BLOCK, "content_block_stop"): _S.OPEN,
    (_S.OPEN, "message_delta"): _S.CLOSING,
    (_S.CLOSING, "message_delta"): _S.CLOSING,
    (_S.CLOSING, "message_stop"): _S.ENDED,
    **{(state, "ping"): state for state in (_S.START, _S.OPEN, _S.BLOCK, _S.CLOSING)},
    **{(state, "error"): _S.DEAD for state in (_S.START, _S.OPEN, _S.BLOCK, _S.CLOSING)},
}
_AFTER = {kind: state for (_, kind), state in _TRANSITIONS.items() if kind != "ping"}
_EVENTS = frozenset(kind for _, kind in _TRANSITIONS)

_DELTAS: dict[str, dict[str, tuple[str, type]]] = {
    "text": {"text_delta": ("text", str), "citations_delta": ("citation", dict)},
    "thinking": {"thinking_delta": ("thinking", str), "signature_delta": ("signature", str)},
    "compaction": {"compaction_delta": ("type", str)},
    **{kind: {"input_json_delta": ("partial_json", str)} for kind in CALLS},
}
"""Block type → its delta types, each with the member that it must have."""

_CUT = ("max_tokens", "refusal", "model_context_window_exceeded")
"""With these the last input may be half written."""


def check(body: bytes) -> list[Violation]:
    """Violations of a streamed body, or of a whole one (its first visible character is ``{``)."""
    report = Report()
    if body.lstrip()[:1] == b"{":
        _check_body(report, body)
    else:
        stream = _Stream(report)
        for number, (name, data) in enumerate(_events(report, body)):
            stream.feed(f"event {number}", name, data)
        stream.finish()
    return report.found


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def _parsed(text: str) -> Any:
    """The value, by the letter of JSON; ``None`` for what is none."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None


def _events(report: Report, body: bytes) -> list[tuple[str, str]]:
    """Pairs of event name ("" if there is none) and data, by the letter of the standard."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        report.add("frame.encoding", f"byte {error.start}", "not UTF-8")
        text = body.decode("utf-8", "replace")
    events: list[tuple[str, str]] = []
    name, data = "", list[str]()
    lines = text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")
    for number, line in enumerate(lines):
        if not line:
            if data:
                events.append((name, "\n".join(data)))
            elif name:
                report.add("frame.data", f"line {number}", "an event without data")
            name, data = "", []
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "data":
            data.append(value)
        elif field:
            report.add("frame.field", f"line {number}", f"field {field!r}")
    if data:
        report.add("frame.unfinished", "end", "the last event has no blank line after it, and is lost")
    return events


class _Block:
    def __init__(self, where: str, kind: str, index: Any, value: JSON) -> None:
        self.where = where
        self.kind = kind
        self.index = index
        self.value = value
        self.said = ""
        self.signed = False


class _Stream:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._state = _S.START
        self._blocks: list[_Block] = []
        self._ids: set[str] = set()
        self._ending = ("end", None, None)  # where, stop reason, stop sequence
        self._output = 0
        self._excused: list[tuple[str, str, str]] = []  # unless a refusal took text and counts back

    def feed(self, where: str, name: str, data: str) -> None:
        if data.strip() == "[DONE]":
            self._report.add("event.done", where, "this dialect has no [DONE]")
            return
        value = _parsed(data)
        if not isinstance(value, dict):
            self._report.add("event.json", where, f"data is no JSON object: {shown(data)}")
            return
        kind = value.get("type")
        if not name:
            self._report.add("event.unnamed", where, "without an event field the official SDKs skip the event")
        elif name != kind:
            self._report.add("event.misnamed", where, f"the event field says {name!r}, the data {kind!r}")
        if not isinstance(kind, str) or kind not in _EVENTS:
            self._report.add("event.type", where, f"{kind!r} is no event of this dialect")
            return
        self._advance(where, kind)
        if kind != "ping":
            getattr(self, f"_{kind}")(where, value)

    def finish(self) -> None:
        report = self._report
        if self._state not in (_S.ENDED, _S.DEAD):
            report.add("end", "end", "neither message_stop nor an error: the answer looks cut")
        where, reason, sequence = self._ending
        if self._state in (_S.ENDED, _S.CLOSING):
            check_stop(
                report, where, reason, sequence, [block.value for block in self._blocks if block.kind == "tool_use"]
            )
        if reason != "refusal":
            for excused in self._excused:
                report.add(*excused)
        for block in self._blocks:
            half = block is self._blocks[-1] and (self._state is _S.DEAD or reason in _CUT)
            if block.kind in CALLS and block.said and not half:
                sound = isinstance(_parsed(block.said), dict)
                report.need(sound, "tool.json", block.where, f"the input is no JSON object: {shown(block.said)}")

    def _advance(self, where: str, kind: str) -> None:
        following = _TRANSITIONS.get((self._state, kind))
        if following is None:
            self._report.add("order", where, f"{kind} in state {self._state.value}")
            following = _AFTER.get(kind, self._state)  # go on as if it had been legal
        self._state = following

    # ---- events

    def _message_start(self, where: str, value: JSON) -> None:
        message = value.get("message")
        if not isinstance(message, dict):
            self._report.add("message.shape", where, "no message")
            return
        check_envelope(self._report, where, message)
        self._report.need(message.get("content") == [], "start.content", where, "content must be an empty list")
        ended = message.get("stop_reason") is not None or message.get("stop_sequence") is not None
        self._report.need(not ended, "start.stop-reason", where, "the answer has not stopped yet")
        self._usage(where, message.get("usage"), input_required=True)

    def _usage(self, where: str, usage: Any, *, input_required: bool) -> None:
        check_usage(self._report, where, usage, input_required=input_required)
        output = usage.get("output_tokens") if isinstance(usage, dict) else None
        if is_count(output):
            if output < self._output:
                self._excused.append(("usage.decreasing", where, f"output_tokens goes from {self._output} to {output}"))
            self._output = output

    def _content_block_start(self, where: str, value: JSON) -> None:
        report, index, block = self._report, value.get("index"), value.get("content_block")
        expected = len(self._blocks)
        sound = index == expected and not isinstance(index, bool)
        report.need(sound, "block.index", where, f"index {index!r} where {expected} comes: JS clients lose the input")
        kind = check_block(report, where, block)
        opened = _Block(where, kind, index, block if isinstance(block, dict) else {})
        self._blocks.append(opened)
        for name in ("text", "thinking", "signature"):
            if kind in ("text", "thinking") and opened.value.get(name):
                report.add("block.not-empty", where, f"{name} in the start of a block is dropped by clients")
        if kind == "tool_use" and is_direct(opened.value) and opened.value.get("input"):
            report.add("tool.input", where, "input in the start is ignored, or joined to the deltas")
        if kind in CALLS and isinstance(id := opened.value.get("id"), str):
            report.need(id not in self._ids, "tool.id", where, f"{id!r} is another call's id")
            self._ids.add(id)

    def _content_block_delta(self, where: str, value: JSON) -> None:
        report, block, delta = self._report, self._at(where, value), value.get("delta")
        if block is None:
            return
        kind = delta.get("type") if isinstance(delta, dict) else None
        fitting = _DELTAS.get(block.kind, {})
        if not isinstance(delta, dict) or not isinstance(kind, str) or kind not in fitting:
            report.add("delta.type", where, f"{kind!r} does not fit a {block.kind} block")
            return
        name, member = fitting[kind]
        piece = delta.get(name)
        if not isinstance(piece, member):
            report.add("delta.shape", where, f"{name} must be {'a text' if member is str else 'an object'}")
        elif kind == "signature_delta":
            report.need(
                piece != "" and not block.signed, "signature", where, "a signature comes once, and is not empty"
            )
            block.signed = True
        elif isinstance(piece, str):
            report.need(not block.signed, "signature", where, "the signature is the last delta of its block")
            block.said += piece

    def _content_block_stop(self, where: str, value: JSON) -> None:
        block = self._at(where, value)
        if block is not None and block.kind == "text" and not block.said:
            self._excused.append(("text.empty", block.where, "a text block without text is refused on replay"))
        if block is not None and block.kind in CALLS and block.said and block.value.get("input"):
            self._report.add("tool.input", block.where, "input in the start and in deltas: some clients join both")

    def _at(self, where: str, value: JSON) -> _Block | None:
        """The latest block, if the event names it."""
        index, block = value.get("index"), self._blocks[-1] if self._blocks else None
        if block is None or isinstance(index, bool) or index != block.index:
            self._report.add("delta.index", where, f"index {index!r} is not the open block's")
            return None
        return block

    def _message_delta(self, where: str, value: JSON) -> None:
        delta = value.get("delta")
        if not isinstance(delta, dict):
            self._report.add("message-delta.shape", where, "no delta")
            delta = {}
        reason, before = delta.get("stop_reason"), self._ending[1]
        if before is not None and reason != before:
            self._report.add("stop-reason.changed", where, f"{before!r} becomes {reason!r}")
        self._ending = (where, reason, delta.get("stop_sequence"))
        self._usage(where, value.get("usage"), input_required=False)

    def _message_stop(self, where: str, value: JSON) -> None:
        """Its place in the order is all there is to check."""

    def _error(self, where: str, value: JSON) -> None:
        check_error(self._report, where, value)


def _check_body(report: Report, body: bytes) -> None:
    value = _parsed(body.decode("utf-8", "replace"))
    if not isinstance(value, dict):
        report.add("body.json", "body", "not a JSON object")
        return
    if value.get("type") == "error" or ("error" in value and "content" not in value):
        check_error(report, "body", value)
        return
    check_envelope(report, "body", value)
    content = value.get("content")
    if not isinstance(content, list):
        report.add("message.shape", "body", "content must be a list")
        content = []
    ids: set[str] = set()
    for number, block in enumerate(content):
        where = f"content {number}"
        kind = check_block(report, where, block)
        if kind == "text":
            report.need(block.get("text") != "", "text.empty", where, "a text block without text is refused on replay")
        if kind in CALLS and isinstance(id := block.get("id"), str):
            report.need(id not in ids, "tool.id", where, f"{id!r} is another call's id")
            ids.add(id)
    calls = [block for block in content if isinstance(block, dict) and block.get("type") == "tool_use"]
    check_stop(report, "body", value.get("stop_reason"), value.get("stop_sequence"), calls)
    check_usage(report, "body", value.get("usage"), input_required=True)
