"""What a strict client would reject, mangle or lose in a body of this dialect.

Whole bodies are judged here, streams in ``check_stream``; ``check_shapes`` has the rules.
"""

from __future__ import annotations

from dragoman.dialects.contract import Violation
from dragoman.dialects.responses.check_shapes import (
    RULES,
    Report,
    check_arguments,
    check_call_id,
    check_done_status,
    check_error,
    check_item,
    check_response,
    check_usage,
    parse_strict,
)
from dragoman.dialects.responses.check_stream import check_stream
from dragoman.dialects.responses.wire import JSON

__all__ = ["RULES", "check"]


def check(data: bytes) -> list[Violation]:
    """Violations of a body: a JSON object by its first visible character, else an event stream."""
    if data.lstrip()[:1] != b"{":
        return check_stream(data)
    report = Report()
    body = parse_strict(data)
    if report.need(isinstance(body, dict), "responses.json", "the body is no JSON object"):
        if body.get("object") is None and body.get("error"):
            check_error(body["error"], report)
        else:
            _check_body(body, report)
    return report.found


def _check_body(body: JSON, report: Report) -> None:
    check_response(body, report, ("completed", "incomplete", "failed"))
    output = body.get("output")
    ids: set[str] = set()
    calls: set[str] = set()
    for number, item in enumerate(output if isinstance(output, list) else []):
        report.where = f"output[{number}]"
        if not check_item(item, report):
            continue
        report.need(item["id"] not in ids, "responses.item.id", "the id is another item's")
        ids.add(item["id"])
        check_call_id(item, calls, report)
        check_done_status(item, report)
        check_arguments(item, report)
    report.where = "body"
    if body.get("status") in ("completed", "incomplete"):
        check_usage(body.get("usage"), report)
