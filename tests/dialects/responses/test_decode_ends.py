"""How answers begin and end upstream: envelope, usage, finishes, failures, whole bodies, odd values."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.canonical import events as e
from dragoman.canonical.errors import ErrorKind

from .driving import CREATED, JSON, added, call_item, completed, decoded, decoded_body, delta, done, text_item

TEXT = "output_text"
ARGUMENTS = "function_call_arguments"
WHOLE = call_item('{"a": 1}', status="completed")
WIRE = [CREATED, added(call_item()), delta(ARGUMENTS, '{"a": 1}', item_id="fc_1", output_index=0), done(WHOLE)]


# ---- envelope and ends


def test_the_envelope() -> None:
    response = {"id": "resp_9", "model": "gpt-x", "created_at": 1700000000.0, "service_tier": "auto", "output": []}
    answer = decoded(
        {"type": "response.created", "response": response},
        completed(text_item("Hi"), id="resp_other", service_tier="default"),
    )
    start = answer.events[0]
    assert isinstance(start, e.ResponseStart)
    assert (start.id, start.model, start.created, start.origin) == ("resp_9", "gpt-x", 1700000000, "responses")
    assert start.native == {"service_tier": "auto"}
    assert answer.end.native == {"service_tier": "default"}


def test_usage_with_details() -> None:
    usage = {
        "input_tokens": 40,
        "input_tokens_details": {"cached_tokens": 30, "cache_write_tokens": 5},
        "output_tokens": 12,
        "output_tokens_details": {"reasoning_tokens": 2},
        "total_tokens": 52,
    }
    answer = decoded(completed(text_item("Hi"), usage=usage))
    assert answer.response is not None
    assert answer.response.usage == e.Usage(input=40, output=12, cached=30, cache_write=5, reasoning=2)
    assert answer.response.usage_native == usage


def test_usage_in_the_words_of_chat_and_broken_usage() -> None:
    answer = decoded(
        completed(text_item("Hi"), usage={"prompt_tokens": 4, "completion_tokens": "3", "total_tokens": None})
    )
    assert answer.response is not None
    assert answer.response.usage == e.Usage(input=4, output=3)
    assert decoded(completed(text_item("Hi"), usage="many")).response.usage is None  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("details", "finish"),
    [
        ({"reason": "max_output_tokens"}, e.FinishReason.LENGTH),
        ({"reason": "content_filter"}, e.FinishReason.CONTENT_FILTER),
        ({"reason": "steered"}, e.FinishReason.LENGTH),
        ("content_filter", e.FinishReason.CONTENT_FILTER),
        (None, e.FinishReason.LENGTH),
    ],
)
def test_incomplete_reasons(details: Any, finish: e.FinishReason) -> None:
    event = {"type": "response.incomplete", "response": {"incomplete_details": details, "output": [text_item("Hi")]}}
    assert decoded(event).end.finish is finish


def test_an_incomplete_answer_may_be_empty() -> None:
    answer = decoded(CREATED, {"type": "response.incomplete", "response": {"output": []}})
    assert answer.end.finish is e.FinishReason.LENGTH


def test_the_status_of_the_response_is_stronger_than_the_event() -> None:
    answer = decoded({"type": "response.completed", "response": {"status": "incomplete", "output": [text_item("Hi")]}})
    assert answer.end.finish is e.FinishReason.LENGTH


FLAT = {"type": "error", "code": "rate_limit_exceeded", "message": "Slow down.", "param": None}
NESTED = {"type": "error", "error": {"type": "rate_limit_error", "message": "Slow down.", "code": None}}
FAILED = {"type": "response.failed", "response": {"error": {"code": "rate_limit_exceeded", "message": "Slow down."}}}
BARE = {"error": {"message": "Slow down.", "code": "rate_limit_exceeded"}}


@pytest.mark.parametrize("failure", [FLAT, NESTED, FAILED, BARE, {"response": FAILED["response"], **FAILED}])
@pytest.mark.parametrize("before", [[], [CREATED], [delta(TEXT, "Par")]])
def test_failures(failure: JSON, before: list[JSON]) -> None:
    answer = decoded(*before, failure)
    assert answer.error is not None
    assert (answer.error.kind, answer.error.message) == (ErrorKind.RATE_LIMIT, "Slow down.")
    assert answer.text == ("Par" if before and before[0] is not CREATED else "")


def test_an_error_event_counts_before_the_failed_response() -> None:
    error = decoded({**NESTED, "error": {**NESTED["error"], "param": "input"}}, FAILED).error  # type: ignore[dict-item]
    assert error is not None
    assert (error.type, error.param) == ("rate_limit_error", "input")


def test_what_a_failed_response_holds_is_delivered() -> None:
    failed = {**FAILED, "response": {"error": {"code": "server_error", "message": "x"}, "output": [text_item("Part")]}}
    answer = decoded(CREATED, failed)
    assert (answer.text, answer.error is not None) == ("Part", True)


@pytest.mark.parametrize(
    "records",
    [
        [added(text_item()), delta(TEXT, "Hi", item_id="msg_1")],
        [done(WHOLE)],
        [delta(TEXT, "Hi"), {"type": "response.cancelled", "response": {"status": "cancelled"}}],
        [delta(TEXT, "Hi"), b"{broken"],
        [delta(TEXT, "Hi"), b"7"],
    ],
)
def test_answers_that_do_not_come_to_their_end(records: list[Any]) -> None:
    assert decoded(CREATED, *records).error is not None


def test_done_sentinel_after_and_instead_of_the_end() -> None:
    assert decoded(completed(text_item("Hi")), b"[DONE]").response is not None
    assert decoded(done(text_item("Hi")), b"[DONE]").response is not None


def test_unnamed_events_and_events_without_a_type() -> None:
    records = [added(text_item()), delta(TEXT, "Hi", item_id="msg_1"), completed()]
    assert decoded(*records, named=False).text == "Hi"
    assert decoded([*records]).text == "Hi"


def variants(rubbish: Any) -> list[JSON]:
    """Every member of every event, replaced by something else."""
    out: list[JSON] = []
    for record in [*WIRE, FLAT, NESTED, FAILED, completed(WHOLE, usage={})]:
        out += [{**record, name: rubbish} for name in record]
        for name in ("item", "response", "error"):
            inner = record.get(name)
            members = inner if isinstance(inner, dict) else {}
            out += [{**record, name: {**members, member: rubbish}} for member in members]
    return out


ODD: list[Any] = [None, 0, "x", [], [[]], {}, {"type": []}, True, -1, 1.5]


@pytest.mark.parametrize("rubbish", ODD)
def test_odd_values_in_events_never_raise(rubbish: Any) -> None:
    for record in variants(rubbish):
        answer = decoded(record, completed(text_item("Hi")))
        assert sum(isinstance(event, (e.ResponseEnd, e.ResponseError)) for event in answer.events) == 1, record


@pytest.mark.parametrize("rubbish", ODD)
def test_odd_values_in_bodies_never_raise(rubbish: Any) -> None:
    assert decoded_body(rubbish).error is not None
    for name in ("output", "status", "error", "usage", "incomplete_details", "id", "created_at"):
        raw = {"object": "response", "status": "completed", "output": [WHOLE], name: rubbish}
        assert isinstance(decoded_body(raw).end, (e.ResponseEnd, e.ResponseError)), name


# ---- whole bodies


def body(*output: JSON, **members: Any) -> JSON:
    return {
        "id": "resp_1",
        "object": "response",
        "model": "m",
        "status": "completed",
        "output": list(output),
        **members,
    }


def test_a_whole_body_is_read_like_a_stream() -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [{"text": "Plan."}], "encrypted_content": "RU5D"}
    items = [thought, text_item("Hi"), WHOLE]
    answer = decoded_body(body(*items))
    streamed = decoded(completed(*items, id="resp_1", model="m"))
    assert answer.response is not None
    assert answer.response == streamed.response
    assert answer.end.finish is e.FinishReason.TOOL_CALLS


def test_whole_bodies_that_failed() -> None:
    error = decoded_body(body(status="failed", error={"code": "server_error", "message": "Broken."})).error
    assert error is not None
    assert (error.kind, error.message) == (ErrorKind.SERVER, "Broken.")
    assert decoded_body({"error": {"message": "No."}}).error.message == "No."  # type: ignore[union-attr]
    assert decoded_body({"hello": 1}).error.kind is ErrorKind.BAD_UPSTREAM  # type: ignore[union-attr]
    assert decoded_body([body(text_item("Hi"))]).response is not None


@pytest.mark.parametrize("status", ["queued", "in_progress", "cancelled"])
def test_whole_bodies_without_an_end(status: str) -> None:
    assert decoded_body(body(text_item("Hi"), status=status)).error is not None
