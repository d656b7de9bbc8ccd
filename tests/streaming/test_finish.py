"""How an answer ended: design/streams.md, 6."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.canonical.events import FinishReason as F
from dragoman.canonical.events import ResponseEnd
from dragoman.streaming.finish import FinishRecord


def ended(*reasons: F | tuple[F, str], calls: bool = False, incomplete: bool = False) -> ResponseEnd:
    record = FinishRecord()
    for reason in reasons:
        named, raw = reason if isinstance(reason, tuple) else (reason, None)
        record.record(named, raw, None, None)
    return record.end(calls=calls, incomplete=incomplete, origin="chat")


STRENGTH = (F.STOP, F.TOOL_CALLS, F.PAUSED, F.LENGTH, F.CONTENT_FILTER)


@pytest.mark.parametrize("weak", STRENGTH)
@pytest.mark.parametrize("strong", STRENGTH)
def test_the_strongest_reason_counts_in_any_order(weak: F, strong: F) -> None:
    """finish-double-tool-calls-then-stop, finish-double-length-then-stop."""
    if STRENGTH.index(weak) <= STRENGTH.index(strong):
        for calls in (False, True):
            assert ended(weak, strong, calls=calls) == ended(strong, weak, calls=calls) == ended(strong, calls=calls)


@pytest.mark.parametrize(
    ("reason", "calls", "incomplete", "finish"),
    [
        (None, False, False, F.STOP),
        (None, True, False, F.TOOL_CALLS),  # finish-missing-with-done-tool
        (F.STOP, False, False, F.STOP),
        (F.STOP, True, False, F.TOOL_CALLS),  # finish-stop-with-tool-calls
        (F.TOOL_CALLS, True, False, F.TOOL_CALLS),
        (F.TOOL_CALLS, False, False, F.STOP),  # finish-tool-calls-without-calls
        (F.STOP, True, True, F.LENGTH),  # unterminated arguments
        (F.TOOL_CALLS, True, True, F.LENGTH),
        # never overridden
        (F.LENGTH, True, False, F.LENGTH),
        (F.LENGTH, False, False, F.LENGTH),
        (F.CONTENT_FILTER, True, True, F.CONTENT_FILTER),
        (F.PAUSED, True, False, F.PAUSED),
    ],
)
def test_a_reason_is_as_true_as_the_content(reason: F | None, calls: bool, incomplete: bool, finish: F) -> None:
    end = ended(*([] if reason is None else [(reason, "word")]), calls=calls, incomplete=incomplete)
    assert end.finish is finish
    assert end.raw == ("word" if finish is reason else None)  # a word that is no longer true is not passed on


@pytest.mark.parametrize(
    ("reasons", "raw"),
    [
        ([(F.STOP, "eos"), (F.STOP, "stop")], "eos"),  # of equals the first
        ([(F.STOP, "eos"), (F.LENGTH, "max_tokens")], "max_tokens"),
        ([(F.LENGTH, "max_tokens"), (F.STOP, "stop")], "max_tokens"),
    ],
)
def test_the_word_is_that_of_the_reason_that_counts(reasons: list[tuple[F, str]], raw: str) -> None:
    assert ended(*reasons).raw == raw


def test_what_comes_with_a_reason() -> None:
    record = FinishRecord()
    record.record(F.STOP, "stop_sequence", "END", {"a": 1, "b": 1})
    record.record(F.STOP, None, None, {"b": 2})
    end = record.end(calls=False, incomplete=False, origin="messages")
    expected: dict[str, Any] = {"raw": "stop_sequence", "stop_sequence": "END", "native": {"a": 1, "b": 2}}
    assert end == ResponseEnd(finish=F.STOP, origin="messages", **expected)
    changed = record.end(calls=True, incomplete=False, origin="messages")
    assert (changed.raw, changed.stop_sequence) == (None, None)


@pytest.mark.parametrize(
    ("reason", "normal"),
    [(None, True), (F.STOP, True), (F.TOOL_CALLS, True), (F.LENGTH, False), (F.CONTENT_FILTER, False), (F.PAUSED, False)],
)  # fmt: skip
def test_normal_is_the_end_that_the_model_chose(reason: F | None, normal: bool) -> None:
    record = FinishRecord()
    if reason is not None:
        record.record(reason, None, None, None)
    assert record.normal is normal
