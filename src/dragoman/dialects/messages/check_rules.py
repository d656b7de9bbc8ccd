"""What strict clients demand of the values in an answer, streamed or whole.

Source: protocols/anthropic-google.md, 1.4 to 1.7: what the official SDKs, the AI SDK and Claude Code
reject, lose or mangle.
"""

from __future__ import annotations

from typing import Any, TypeGuard

from dragoman.canonical.events import FinishReason
from dragoman.dialects.contract import Violation
from dragoman.dialects.messages import wire

JSON = dict[str, Any]

CALLS = wire.SERVER_CALLS | {"tool_use"}

_TEXTS = {"text": ("text",), "thinking": ("thinking",), "redacted_thinking": ("data",)}
_CACHE_COUNTS = ("cache_creation_input_tokens", "cache_read_input_tokens")


RULES: dict[str, str] = {
    "messages.frame.encoding": "bodies are UTF-8",
    "messages.frame.data": "an event has data",
    "messages.frame.field": "an event has the fields event and data, and no other",
    "messages.frame.unfinished": "a conforming reader drops an event that no blank line ends",
    "messages.event.done": "this dialect has no [DONE]",
    "messages.event.json": "data is one JSON object",
    "messages.event.unnamed": "the official SDKs skip an event without an event field",
    "messages.event.misnamed": "the event field says the type of the data",
    "messages.event.type": "the type is one of the dialect's events",
    "messages.order": "events come in the order that the dialect gives them",
    "messages.end": "an answer ends with message_stop or an error, else it looks cut",
    "messages.message.shape": "a message has id, model, type, role and content",
    "messages.message-delta.shape": "a message_delta has a delta",
    "messages.start.content": "content is an empty list at the start",
    "messages.start.stop-reason": "an answer has not stopped when it starts",
    "messages.block.index": "blocks are numbered from 0 without a gap, or JS clients lose the input",
    "messages.block.shape": "a block has the members of its type",
    "messages.block.type": "some clients refuse a block of a type that they do not know",
    "messages.block.not-empty": "clients drop text in the start of a block",
    "messages.delta.index": "a delta names the block that is open",
    "messages.delta.type": "a delta fits its block",
    "messages.delta.shape": "a delta has the member of its type",
    "messages.signature": "a signature comes once, is not empty, and ends its block",
    "messages.text.empty": "a text block without text is refused on replay",
    "messages.tool.id": "ids of calls differ, and are of letters, digits, dashes and underscores, or they are refused on replay",
    "messages.tool.name": "a tool's name is one that the API takes",
    "messages.tool.input": "the input of a call comes in deltas, or as an object in a whole body",
    "messages.tool.json": "the deltas of an input join to one JSON object",
    "messages.stop-reason.word": "stop_reason is one of the dialect's words",
    "messages.stop-reason.changed": "a stop reason stays what it was",
    "messages.stop-reason.calls": "agents go by the stop reason: tool_use if and only if there are calls of the client's tools",
    "messages.stop-sequence": "stop_sequence is there with the stop reason of that name, and with no other",
    "messages.usage.shape": "counts are whole numbers; null makes the AI SDK throw",
    "messages.usage.decreasing": "output_tokens never falls",
    "messages.error.shape": "an error has type error, and in it a type and a message",
    "messages.error.type": "the type of an error is a documented one",
    "messages.body.json": "a whole body is one JSON object",
}
"""Each rule, and what happens where it is broken."""


class Report:
    """The violations found so far."""

    def __init__(self) -> None:
        self.found: list[Violation] = []

    def add(self, rule: str, where: str, message: str) -> None:
        name = f"messages.{rule}"
        if name not in RULES:
            raise KeyError(name)
        self.found.append(Violation(name, where, message))

    def need(self, holds: bool, rule: str, where: str, message: str) -> None:
        if not holds:
            self.add(rule, where, message)


def is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_filled(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def check_envelope(report: Report, where: str, message: JSON) -> None:
    """``id``, ``model``, ``type`` and ``role`` of a message."""
    for name in ("id", "model"):
        report.need(
            is_filled(message.get(name)), "message.shape", where, f"{name} must be a text, not {message.get(name)!r}"
        )
    for name, word in (("type", "message"), ("role", "assistant")):
        report.need(
            message.get(name) == word, "message.shape", where, f"{name} must be {word!r}, not {message.get(name)!r}"
        )


def check_usage(report: Report, where: str, usage: Any, *, input_required: bool) -> None:
    """The counts: ``null`` where a number is demanded makes the AI SDK throw."""
    if not isinstance(usage, dict):
        report.add("usage.shape", where, "usage is missing: clients read its members unasked")
        return
    report.need(is_count(usage.get("output_tokens")), "usage.shape", where, "output_tokens must be a count")
    given = usage.get("input_tokens")
    report.need(
        is_count(given) or (given is None and not input_required), "usage.shape", where, "input_tokens must be a count"
    )
    details = usage.get("output_tokens_details")
    thinking = details.get("thinking_tokens") if isinstance(details, dict) else details
    for name, value in (*((name, usage.get(name)) for name in _CACHE_COUNTS), ("thinking_tokens", thinking)):
        report.need(value is None or is_count(value), "usage.shape", where, f"{name} must be a count, not {value!r}")


def check_block(report: Report, where: str, block: Any) -> str:
    """A content block, as it stands in a body or in ``content_block_start``; gives its type, "" if it has none."""
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str):
        report.add("block.shape", where, "a content block needs a type")
        return ""
    if kind not in _TEXTS and kind not in CALLS and kind not in wire.SERVER_BLOCKS:
        report.add("block.type", where, f"no client knows all of the block types, and some refuse {kind!r}")
    for name in _TEXTS.get(kind, ()):
        report.need(isinstance(block.get(name), str), "block.shape", where, f"{name} must be a text")
    if kind == "redacted_thinking":
        report.need(block.get("data") != "", "block.shape", where, "data must not be empty")
    if kind == "thinking":
        report.need(isinstance(block.get("signature", ""), str), "block.shape", where, "signature must be a text")
    if kind == "text":
        report.need(isinstance(block.get("citations"), list | None), "block.shape", where, "citations must be a list")
    if kind in CALLS:
        _check_call(report, where, block)
    elif kind in wire.SERVER_RESULTS:
        report.need(wire.sound_server_block(block), "block.shape", where, f"{kind} needs tool_use_id and content")
    return kind


def _check_call(report: Report, where: str, block: JSON) -> None:
    id, name = block.get("id"), block.get("name")
    report.need(
        isinstance(id, str) and wire.CALL_ID.fullmatch(id) is not None, "tool.id", where, f"{id!r} is refused on replay"
    )
    sound = isinstance(name, str) and wire.TOOL_NAME.fullmatch(name) is not None
    report.need(sound, "tool.name", where, f"{name!r} is no tool name")
    report.need(
        isinstance(block.get("input"), dict), "tool.input", where, "input must be an object: the AI SDK loses the call"
    )
    if block["type"] == "mcp_tool_use":
        report.need(is_filled(block.get("server_name")), "block.shape", where, "mcp_tool_use needs server_name")


def is_direct(block: JSON) -> bool:
    """Whether the model itself made the call; what its code called arrives whole and ends no turn."""
    caller = block.get("caller")
    return not isinstance(caller, dict) or caller.get("type") == "direct"


def check_stop(report: Report, where: str, reason: Any, sequence: Any, calls: list[JSON]) -> None:
    """The stop reason, and whether it agrees with the client calls of the answer."""
    if not isinstance(reason, str) or reason not in wire.STOP_REASONS:
        report.add("stop-reason.word", where, f"{reason!r} is no stop reason")
        return
    if reason == "tool_use":
        report.need(bool(calls), "stop-reason.calls", where, "tool_use without a call: agents ask again or stall")
    elif wire.STOP_REASONS[reason] is FinishReason.STOP:
        report.need(
            not any(map(is_direct, calls)), "stop-reason.calls", where, f"a call with {reason}: agents never run it"
        )
    if reason == "stop_sequence":
        report.need(is_filled(sequence), "stop-sequence", where, "the sequence is missing")
    else:
        report.need(sequence is None, "stop-sequence", where, f"a stop sequence does not go with {reason}")


def check_error(report: Report, where: str, value: JSON) -> None:
    """An error event, or the body of a failed request."""
    error = value.get("error")
    if not isinstance(error, dict) or not is_filled(error.get("type")) or not isinstance(error.get("message"), str):
        report.add("error.shape", where, "error needs a type and a message")
    elif error["type"] not in wire.ERROR_KINDS:
        report.add("error.type", where, f"{error['type']!r} is no documented error type")
    report.need(
        value.get("type") == "error", "error.shape", where, "type must be 'error', or the AI SDK shows only the status"
    )
