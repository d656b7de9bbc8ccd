"""What a strict client of this dialect would reject, mangle or lose in an answer.

The official SDKs, the Vercel AI SDK and opencode each forgive something else; a rule stands here if
one of them does not. Each rule says what goes wrong. Source: protocols/openai.md, parts 0 and 1.
"""

from __future__ import annotations

import re
from typing import Any

from dragoman import jsontext
from dragoman.dialects.chat.check_body import BODY_RULES, BodyRules
from dragoman.dialects.chat.check_report import Report, check_error
from dragoman.dialects.chat.check_stream import STREAM_RULES, StreamRules
from dragoman.dialects.contract import Violation

__all__ = ["RULES", "check"]

RULES: dict[str, str] = {
    "chat.frame.utf8": "bytes that are no UTF-8 become other characters; a byte order mark hides the first event",
    "chat.frame.field": "id and retry make the Python SDK stumble over blank lines; events here have no name",
    "chat.frame.no-data": "a block of fields without data ends the stream in the Python SDK",
    "chat.frame.unfinished": "a conforming reader drops an event that no blank line ends",
    "chat.frame.json": "data that is no JSON object is an exception, or a lost chunk",
    "chat.frame.empty": "a stream without any chunk is no answer",
    "chat.done.missing": "without [DONE] a client cannot tell the end from a cut",
    "chat.done.exact": "the AI SDK compares [DONE] exactly",
    "chat.done.last": "what follows [DONE] is lost",
    "chat.error.shape": "clients show error.message, and read type, param and code as strings or null",
    "chat.error.last": "what follows an error but [DONE] is taken for an answer",
    **STREAM_RULES,
    **BODY_RULES,
}
"""Each rule, and what happens where it is broken."""

_LINE_END = re.compile(rb"\r\n|\r|\n")


def check(body: bytes) -> list[Violation]:
    """The violations in a body: an event stream, or one whole answer."""
    report = Report(RULES)
    if body.startswith(b"\xef\xbb\xbf"):
        report.add("chat.frame.utf8", "byte 0", "a byte order mark")
        body = body[3:]
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        report.add("chat.frame.utf8", f"byte {error.start}", error.reason)
    if body.lstrip()[:1] == b"{":
        _check_whole(body, report)
    else:
        _check_stream(_events(body, report), report)
    return report.found


def _check_whole(body: bytes, report: Report) -> None:
    value = _object(body, "body", report)
    if value is None:
        return
    if value.get("error"):
        check_error(value["error"], "body.error", report)
    else:
        BodyRules(report).check(value)


def _check_stream(events: list[bytes], report: Report) -> None:
    rules = StreamRules(report)
    done = failed = False
    for number, data in enumerate(events):
        where = f"event {number}"
        if done:
            report.add("chat.done.last", where, "an event after [DONE]")
            return
        if data.strip().startswith(b"[DONE]"):
            report.need(data == b"[DONE]", "chat.done.exact", where, f"{data!r}")
            done = True
            continue
        if failed:
            report.add("chat.error.last", where, "an event after an error")
            return
        value = _object(data, where, report)
        if value is not None and value.get("error"):
            failed = True
            check_error(value["error"], where, report)
        elif value is not None:
            rules.chunk(value, where)
    if not failed:
        report.need(bool(rules.chunks), "chat.frame.empty", "end", "no chunk came")
        report.need(done, "chat.done.missing", "end", "the stream just ends")
        rules.end()


def _object(data: bytes, where: str, report: Report) -> dict[str, Any] | None:
    try:
        value = jsontext.parse(data)
    except ValueError:
        report.add("chat.frame.json", where, "not JSON")
        return None
    if isinstance(value, dict):
        return value
    report.add("chat.frame.json", where, f"a JSON {type(value).__name__} where an object belongs")
    return None


def _events(body: bytes, report: Report) -> list[bytes]:
    """The data of each event; reports what a lenient reader would read over."""
    events: list[bytes] = []
    data: list[bytes] = []
    fields = 0
    *lines, rest = _LINE_END.split(body)
    for number, line in enumerate(lines, 1):
        where = f"line {number}"
        if not line:
            if data:
                events.append(b"\n".join(data))
            elif fields:
                report.add("chat.frame.no-data", where, "a block without data")
            data, fields = [], 0
        elif not line.startswith(b":"):
            name, _, value = line.partition(b":")
            fields += 1
            if name == b"data":
                data.append(value.removeprefix(b" "))
            else:
                report.add("chat.frame.field", where, f"the field {name[:20]!r}")
    if rest or data or fields:
        report.add("chat.frame.unfinished", "end", "the last event has no blank line after it")
    return events
