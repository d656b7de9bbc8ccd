"""The rules that a strict client of this dialect goes by, and those about the shape of its objects.

Source: protocols/openai.md, part 2.
"""

from __future__ import annotations

import json
from typing import Any

from dragoman.dialects.contract import Violation
from dragoman.dialects.responses.wire import CLIENT_CALLS, JSON
from dragoman.jsontext import shown

RULES: dict[str, str] = {
    "responses.framing": "an event is two lines, event and data, and a blank line; comments stand alone",
    "responses.json": "data is one JSON object, and so is a whole body",
    "responses.event.name": "the event field says the type of the data",
    "responses.event.type": "the type is known to all official accumulators",
    "responses.event.members": "the members of the type are there, with the right types",
    "responses.sequence": "sequence_number counts all events from 0",
    "responses.stream.opening": "created comes first, then in_progress, once each, with empty output",
    "responses.stream.end": "one terminal event ends the stream",
    "responses.stream.identity": "id, created_at and model of the response stay what they were",
    "responses.stream.error": "after an error event comes response.failed and nothing else",
    "responses.response.members": "a response object has all required members",
    "responses.response.status": "the status is that of the event; error and incomplete_details go with it",
    "responses.response.output": "the final output repeats the done items",
    "responses.usage": "usage has whole numbers, a true total and both details",
    "responses.item.place": "items are added at 0, 1, 2, …, one open at a time",
    "responses.item.id": "every item has an id of its own, and keeps it",
    "responses.item.shape": "an item has the members of its type",
    "responses.item.empty": "an item is added without content",
    "responses.item.status": "messages and calls are in_progress when added, completed or incomplete when done",
    "responses.item.whole": "a done item holds what was streamed",
    "responses.item.unfinished": "every item is done before the response ends well",
    "responses.call.identity": "a call has a name and a call_id of its own, from the start",
    "responses.call.arguments": "the arguments of a completed function call are a JSON object",
    "responses.part.place": "parts are added at 0, 1, 2, …, one open at a time, in an item that has such parts",
    "responses.part.shape": "a part has the members of its type",
    "responses.part.empty": "a part is added without content",
    "responses.part.whole": "a done part holds what was streamed",
    "responses.text.place": "an event is about the open item, by id and index, and about its open part",
    "responses.text.whole": "a text ends once, with the text of its deltas",
    "responses.annotation": "annotations count from 0 and stand in the done part",
    "responses.error": "an error has a message and a type; code and param are strings or null",
}

REQUIRED = (
    *("id", "object", "created_at", "model", "status", "output", "tools", "tool_choice", "parallel_tool_calls"),
    *("error", "incomplete_details", "instructions", "metadata", "temperature", "top_p", "usage"),
)

BUILTIN_CALLS = ("local_shell_call", "shell_call", "apply_patch_call")
"""Calls of tools that the vendor defines: they have no arguments, but an action or an operation."""
WITH_STATUS = ("message", *CLIENT_CALLS, *BUILTIN_CALLS)

PART_TEXT = {"output_text": "text", "refusal": "refusal", "reasoning_text": "text", "summary_text": "text"}


class Report:
    """Collects violations; ``where`` is the place that is being looked at."""

    def __init__(self) -> None:
        self.found: list[Violation] = []
        self.where = "body"

    def need(self, holds: bool, rule: str, message: str) -> bool:
        """Notes a violation unless the condition holds; tells whether it does."""
        if not holds:
            if rule not in RULES:
                raise LookupError(rule)
            self.found.append(Violation(rule, self.where, message))
        return holds


def parse_strict(data: bytes | str) -> Any:
    """The JSON value; ``None`` if it is none, NaN and infinities included."""

    def refuse(word: str) -> Any:
        raise ValueError(word)

    try:
        return json.loads(data, parse_constant=refuse)
    except (ValueError, RecursionError):
        return None


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_visible(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def check_response(response: JSON, report: Report, statuses: tuple[str, ...]) -> None:
    """A response object, whose status must be one of these."""
    need = report.need
    missing = [name for name in REQUIRED if name not in response]
    need(not missing, "responses.response.members", f"missing: {', '.join(missing)}")
    need(is_visible(response.get("id")), "responses.response.members", "id is empty")
    need(is_visible(response.get("model")), "responses.response.members", "model is empty")
    need(response.get("object") == "response", "responses.response.members", "object is not response")
    created = response.get("created_at")
    number = isinstance(created, (int, float)) and not isinstance(created, bool)
    need(number, "responses.response.members", "created_at is no number")
    for name in ("output", "tools"):
        need(isinstance(response.get(name), list), "responses.response.members", f"{name} is no list")
    status = response.get("status")
    need(status in statuses, "responses.response.status", f"status is {status!r}, not {' or '.join(statuses)}")
    _check_outcome(response, status, report)


def _check_outcome(response: JSON, status: Any, report: Report) -> None:
    error, details = response.get("error"), response.get("incomplete_details")
    if status == "failed":
        told = isinstance(error, dict) and is_visible(error.get("code")) and is_visible(error.get("message"))
        report.need(told, "responses.response.status", "a failed response tells no code and message")
    else:
        report.need(error is None, "responses.response.status", "error is set in a response that did not fail")
    if status == "incomplete":
        told = isinstance(details, dict) and is_visible(details.get("reason"))
        report.need(told, "responses.response.status", "an incomplete response tells no reason")
    else:
        report.need(details is None, "responses.response.status", "incomplete_details of a whole response")


def check_item(item: Any, report: Report) -> bool:
    """The shape of an item; whether it can be looked at further."""
    need = report.need
    if not need(
        isinstance(item, dict) and is_visible(item.get("type")), "responses.item.shape", "an item without type"
    ):
        return False
    if not need(is_visible(item.get("id")), "responses.item.id", "an item without id"):
        return False
    kind = item["type"]
    if kind == "message":
        need(item.get("role") == "assistant", "responses.item.shape", "the message is not the assistant's")
        need(isinstance(item.get("content"), list), "responses.item.shape", "the message has no list of content")
    elif kind == "reasoning":
        need(isinstance(item.get("summary"), list), "responses.item.shape", "the reasoning has no list of summary")
    elif kind in CLIENT_CALLS:
        member = CLIENT_CALLS[kind]
        need(isinstance(item.get(member), str), "responses.item.shape", f"{member} of the call is no string")
        named = is_visible(item.get("name")) and is_visible(item.get("call_id"))
        need(named, "responses.call.identity", "a call without name or call_id")
    elif kind in BUILTIN_CALLS:
        need(is_visible(item.get("call_id")), "responses.call.identity", "a call without call_id")
        need(_tells_what_to_do(item), "responses.item.shape", "what the call is to do has not the form of its type")
    for member in ("content", "summary") if kind in ("message", "reasoning") else ():
        parts = item.get(member)
        for part in parts if isinstance(parts, list) else []:
            check_part(part, report)
    return True


def _tells_what_to_do(item: JSON) -> bool:
    held = item.get("operation" if item["type"] == "apply_patch_call" else "action")
    if not isinstance(held, dict):
        return False
    match item["type"]:
        case "local_shell_call":
            env = held.get("env")
            pairs = isinstance(env, dict) and all(isinstance(value, str) for value in env.values())
            return pairs and held.get("type") == "exec" and _are_texts(held.get("command"))
        case "shell_call":
            return _are_texts(held.get("commands"))
    with_diff = held.get("type") in ("create_file", "update_file") and isinstance(held.get("diff"), str)
    return isinstance(held.get("path"), str) and (with_diff or held.get("type") == "delete_file")


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def written_at_length(item: JSON) -> Any:
    """The part of such a call that is empty when the item is added: the command, the commands, or the diff."""
    held = item.get("operation" if item["type"] == "apply_patch_call" else "action")
    names = {"local_shell_call": "command", "shell_call": "commands", "apply_patch_call": "diff"}
    return held.get(names[item["type"]]) if isinstance(held, dict) else None


def check_part(part: Any, report: Report) -> None:
    """The shape of a content or summary part."""
    if not report.need(isinstance(part, dict), "responses.part.shape", "a part is no object"):
        return
    kind = part.get("type")
    if report.need(kind in PART_TEXT, "responses.part.shape", f"a part of type {kind!r}"):
        member = PART_TEXT[kind]
        report.need(isinstance(part.get(member), str), "responses.part.shape", f"{member} of the part is no string")
    if kind == "output_text":
        for member in ("annotations", "logprobs"):
            report.need(isinstance(part.get(member), list), "responses.part.shape", f"{member} is no list")


def check_call_id(item: JSON, seen: set[str], report: Report) -> None:
    """Two calls may not share a call_id."""
    call_id = item.get("call_id")
    if item["type"] in (*CLIENT_CALLS, *BUILTIN_CALLS) and isinstance(call_id, str):
        report.need(call_id not in seen, "responses.call.identity", f"call_id {call_id} is another call's")
        seen.add(call_id)


def check_done_status(item: JSON, report: Report) -> None:
    if item["type"] in WITH_STATUS:
        status = item.get("status")
        over = status == "completed" or (status == "incomplete" and item["type"] != "apply_patch_call")
        report.need(over, "responses.item.status", f"a done {item['type']} has status {status!r}")


def check_arguments(item: JSON, report: Report) -> None:
    if item["type"] == "function_call" and item.get("status") == "completed":
        sound = isinstance(parse_strict(str(item.get("arguments"))), dict)
        report.need(sound, "responses.call.arguments", f"arguments are {shown(item.get('arguments'))}")


def check_usage(usage: Any, report: Report) -> None:
    """Counts of a finished response."""
    if not report.need(isinstance(usage, dict), "responses.usage", "usage is missing"):
        return
    counts = [usage.get(name) for name in ("input_tokens", "output_tokens", "total_tokens")]
    if report.need(all(map(is_count, counts)), "responses.usage", f"the counts are {counts}"):
        report.need(counts[0] + counts[1] == counts[2], "responses.usage", f"{counts[2]} is not the total")
    for name, member in (("input_tokens_details", "cached_tokens"), ("output_tokens_details", "reasoning_tokens")):
        details = usage.get(name)
        if report.need(isinstance(details, dict), "responses.usage", f"{name} is missing"):
            report.need(is_count(details.get(member)), "responses.usage", f"{name}.{member} is no count")


def check_error(error: Any, report: Report) -> None:
    """The ``error`` object of an error body."""
    need = report.need
    if not need(isinstance(error, dict), "responses.error", "error is no object"):
        return
    for name in ("message", "type"):
        need(is_visible(error.get(name)), "responses.error", f"error.{name} is empty")
    for name in ("code", "param"):
        value = error.get(name)
        fits = name in error and (value is None or isinstance(value, str))
        need(fits, "responses.error", f"error.{name} is {value!r}")
