"""What a strict client of this dialect would reject, mangle or lose in an answer.

Readers of Google's streams are stricter about the frames than the format asks for, and their chat
helpers drop turns that lack small things; each rule says what goes wrong. Source:
protocols/anthropic-google.md, 2.3 to 2.6.
"""

from __future__ import annotations

import re
from typing import Any

from dragoman import jsontext
from dragoman.dialects.contract import Violation
from dragoman.dialects.gemini.check_rules import RULES, AnswerRules, Report
from dragoman.streaming.body import JSONObjectReader

__all__ = ["RULES", "check"]

_LINE_END = re.compile(rb"\r\n|\r|\n")


def check(body: bytes) -> list[Violation]:
    """The violations in a body: an event stream, a streamed array, or one whole answer."""
    report = Report()
    visible = body.lstrip()
    if not visible:
        report.add("gemini.body.empty", "body", "there is nothing in it")
        return report.found
    _utf8(body, report)
    if visible[:1] == b"{":
        chunks = [("body", visible)]
    elif visible[:1] == b"[":
        chunks = _array(visible, report)
    else:
        chunks = _events(body, report)
    answer = AnswerRules(report)
    for where, data in chunks:
        value = _parsed(data, where, report)
        if value is not None:
            answer.chunk(value, where)
    answer.end()
    return report.found


def _utf8(body: bytes, report: Report) -> None:
    if body.startswith(b"\xef\xbb\xbf"):
        report.add("gemini.frame.utf8", "byte 0", "a byte order mark")
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        report.add("gemini.frame.utf8", f"byte {error.start}", error.reason)


def _parsed(data: bytes, where: str, report: Report) -> dict[str, Any] | None:
    if data.strip() == b"[DONE]":
        report.add("gemini.frame.done", where, "the end marker of another dialect")
        return None
    try:
        value = jsontext.parse(data)
    except ValueError:
        report.add("gemini.frame.json", where, "not JSON")
        return None
    if isinstance(value, dict):
        return value
    report.add("gemini.frame.json", where, f"a JSON {type(value).__name__} where an object belongs")
    return None


def _array(body: bytes, report: Report) -> list[tuple[str, bytes]]:
    """The elements of a streamed array. Its brackets and commas must be right once it is whole."""
    try:
        whole = jsontext.parse(body)
    except ValueError:
        report.add("gemini.frame.array", "body", "the array is not one JSON value: cut, or badly joined")
        found = JSONObjectReader().feed(body)
        return [(f"element {number}", data) for number, data in enumerate(found)]
    return [(f"element {number}", jsontext.render(value)) for number, value in enumerate(whole)]


def _events(body: bytes, report: Report) -> list[tuple[str, bytes]]:
    """The data of each event; only ``data: …`` lines and blank ones may be there."""
    lines = _LINE_END.split(body)
    if not lines[-1]:
        lines.pop()  # what follows the last line end is no line
    found: list[tuple[str, bytes]] = []
    event: list[bytes] = []
    for number, line in enumerate(lines, 1):
        where = f"line {number}"
        if not line:
            if event:
                found.append((f"event {len(found)}", b"\n".join(event)))
            event = []
        elif line.startswith(b"data:"):
            if event:
                report.add("gemini.frame.lines", where, "a second data line in one event")
            if not line.startswith(b"data: "):
                report.add("gemini.frame.space", where, "no space after the colon")
            event.append(line[5:].removeprefix(b" "))
        else:
            report.add("gemini.frame.field", where, f"neither data nor blank: {line[:40]!r}")
    if event:
        report.add("gemini.frame.end", f"line {len(lines)}", "the last event has no blank line after it")
        found.append((f"event {len(found)}", b"\n".join(event)))
    return found
