"""How an answer ends: finish, errors, whole bodies; and the quirks that are noted."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.canonical import events as e
from dragoman.canonical.errors import ErrorKind
from dragoman.canonical.events import FinishReason
from dragoman.canonical.opaque import Opaque
from dragoman.dialects.chat.wire import QUIRKS

from .driving import (
    DONE,
    Upstream,
    calls_of,
    chunk,
    events_of,
    events_of_body,
    of_type,
    text_of,
    thoughts_of,
    whole,
)

# ------------------------------------------------------------------ finish


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("stop", FinishReason.STOP),
        ("end_turn", FinishReason.STOP),
        ("STOP", FinishReason.STOP),
        ("no_such_word", FinishReason.STOP),
        ("MAX_TOKENS", FinishReason.LENGTH),
        ("length", FinishReason.LENGTH),
        ("sensitive", FinishReason.CONTENT_FILTER),
        ("SAFETY", FinishReason.CONTENT_FILTER),
        ("truncated", FinishReason.LENGTH),
        ("context_length", FinishReason.LENGTH),
        ("blocked", FinishReason.CONTENT_FILTER),
        ("refused", FinishReason.CONTENT_FILTER),
    ],
)
def test_words_for_the_end(word: str, reason: FinishReason) -> None:
    end = events_of(chunk({"content": "x"}, word))[-1]
    assert end == e.ResponseEnd(finish=reason, raw=word, origin="chat")


@pytest.mark.parametrize(
    "word",
    [
        "insufficient_system_resource",
        "network_error",
        "ABORT",
        "failed",
        "internal_error",
        "engine_overloaded",
        "preempted",
    ],
)
def test_words_of_an_interruption_are_a_cut(word: str) -> None:
    end = events_of(chunk({"content": "x"}, word))[-1]
    assert isinstance(end, e.ResponseError)
    assert word in end.error.message


@pytest.mark.parametrize("word", ["error", "MALFORMED_FUNCTION_CALL"])
def test_words_of_a_failure_are_an_error(word: str) -> None:
    end = events_of(chunk({"content": "x"}, word))[-1]
    assert isinstance(end, e.ResponseError)
    assert end.error.kind is ErrorKind.BAD_UPSTREAM


def test_the_finish_in_camel_case() -> None:
    last = chunk({"content": "x"})
    last["choices"][0]["finishReason"] = "length"
    assert events_of(last)[-1] == e.ResponseEnd(finish=FinishReason.LENGTH, raw="length", origin="chat")


@pytest.mark.parametrize(
    "last",
    [
        chunk({"finish_reason": "length"}),
        chunk({}, finish_reason="length"),
        {"choices": [], "finish_reason": "length"},
        chunk(choices=[{"index": 0, "message": {"content": "x", "finish_reason": "length"}}]),
    ],
)
def test_the_finish_elsewhere_than_in_the_choice(last: Any) -> None:
    upstream = Upstream().say(chunk({"content": "x"}), last, DONE)
    assert upstream.end()[-1] == e.ResponseEnd(finish=FinishReason.LENGTH, raw="length", origin="chat")
    assert upstream.assembler.quirks["member-misplaced"] == 1


def test_a_stream_without_finish_and_done_is_cut() -> None:
    events = Upstream().say(chunk({"content": "Hel"})).end()
    assert text_of(events) == "Hel"
    assert isinstance(events[-1], e.ResponseError)


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("value", "event"),
    [
        ({"error": {"message": "it broke", "code": 502}}, ""),
        ({"error": "it broke"}, ""),
        ({"error": {"message": "it broke"}, "choices": []}, ""),
        ([{"error": {"message": "it broke"}}], ""),
        ({"message": "it broke", "type": "server_error"}, "error"),
        ("it broke", "error"),
        (b"it broke", "error"),
        ({"object": "error", "message": "it broke", "code": 500}, ""),
        ({"type": "error", "message": "it broke"}, ""),
        ({"choices": [{"delta": {}, "finish_reason": "error", "error": {"message": "it broke"}}]}, ""),
        ({"choices": None, "base_resp": {"status_code": 1008, "status_msg": "it broke"}}, ""),
        ({"detail": "it broke"}, ""),
        ({"detail": [{"loc": ["body"], "msg": "it broke"}]}, ""),
        ({"detail": {"error": {"message": "it broke"}}}, ""),
        ({"errors": [{"message": "it broke"}]}, ""),
        ({"errors": ["it broke"], "success": False}, ""),
        ({"code": 400, "message": "it broke"}, ""),
        ({"code": 500, "msg": "it broke"}, ""),
        ({"code": "InvalidApiKey", "message": "it broke"}, ""),
        ({"status": "error", "message": "it broke"}, ""),
        ({"status": 500, "message": "it broke", "choices": [], "usage": None}, ""),
        ({"message": "it broke", "__type": "com.amazon#ThrottlingException"}, ""),
        ({"error": {"message": {"text": "it broke"}}}, ""),
        ({"choices": [{"delta": {"error": {"message": "it broke"}}}]}, ""),
        ({"choices": [{"message": {"error": "it broke"}}]}, ""),
        (b"error: it broke", ""),
        (b"[ERROR] it broke", ""),
        (b'error: {"message": "it broke"}', ""),
    ],
)
def test_errors_wherever_they_stand(value: Any, event: str) -> None:
    events = Upstream().say(value, event=event).say(DONE).end()
    assert len(events) == 1
    assert isinstance(events[0], e.ResponseError)
    assert events[0].error.message == "it broke"


@pytest.mark.parametrize("empty", [None, "", {}, False, {"message": None}, []])
def test_empty_errors_are_none(empty: Any) -> None:
    value = chunk({"content": "x"}, "stop", error=empty, base_resp={"status_code": 0, "status_msg": "success"})
    assert text_of(events_of(value)) == "x"


@pytest.mark.parametrize(
    "value",
    [
        {"code": 0, "message": "success"},
        {"code": 200, "msg": "ok", "choices": []},
        {"status": "running", "message": "searching"},
        chunk({"content": "x"}, code=500, message="of another thing"),
        {"message": {"role": "assistant", "content": "x"}, "detail": None},
    ],
)
def test_what_only_looks_like_an_error_is_none(value: Any) -> None:
    assert isinstance(events_of(value, chunk({"content": "x"}, "stop"))[-1], e.ResponseEnd)


@pytest.mark.parametrize("values", [(), ({"id": "x", "object": "chat.completion.chunk"},), ({"choices": []}, {"a": 1})])
def test_an_end_after_nothing_is_no_answer(values: tuple[Any, ...]) -> None:
    (end,) = events_of(*values)
    assert isinstance(end, e.ResponseError)
    assert "empty" in end.error.message


def test_an_error_after_the_finish_does_not_undo_the_answer() -> None:
    events = events_of(chunk({"content": "x"}, "stop"), {"error": {"message": "too late"}})
    assert isinstance(events[-1], e.ResponseEnd)


def test_corrupt_json_is_an_error_but_events_of_another_kind_are_not() -> None:
    assert isinstance(events_of(chunk({"content": "x"}), b'{"choices": [')[-1], e.ResponseError)
    upstream = Upstream().say(chunk({"content": "x"}, "stop")).say(b"tick", event="ping")
    upstream.say({"tool": "web", "status": "running"}, event="tool.progress").say(DONE)
    assert isinstance(upstream.end()[-1], e.ResponseEnd)


# ------------------------------------------------------------------ whole answers


def test_a_whole_answer() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "run", "arguments": '{"a":1}'}}
    message = {
        "role": "assistant",
        "content": "Look.",
        "reasoning_content": "Hm.",
        "tool_calls": [call],
        "refusal": None,
    }
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    events = events_of_body(whole(message, "tool_calls", usage=usage))
    assert (text_of(events), thoughts_of(events)) == ("Look.", "Hm.")
    assert calls_of(events) == [("c", "run", '{"a":1}')]
    assert events[-1] == e.ResponseEnd(finish=FinishReason.TOOL_CALLS, raw="tool_calls", origin="chat")


def test_a_whole_answer_is_complete_by_itself() -> None:
    assert events_of_body(whole({"content": "x"}, None))[-1] == e.ResponseEnd(finish=FinishReason.STOP, origin="chat")


@pytest.mark.parametrize("name", ["data", "result"])
def test_a_known_envelope_is_opened(name: str) -> None:
    assert text_of(events_of_body({name: whole({"content": "x"}), "success": True})) == "x"


@pytest.mark.parametrize("body", [{"choices": []}, {"id": "x"}, {}, [], "text", None, {"choices": None}])
def test_no_choice_is_no_answer(body: Any) -> None:
    events = events_of_body(body)
    assert len(events) == 1
    assert isinstance(events[0], e.ResponseError)
    assert events[0].error.kind is ErrorKind.BAD_UPSTREAM


@pytest.mark.parametrize("body", [{"message": "it broke"}, {"detail": "it broke"}, {"code": 7, "msg": "it broke"}])
def test_an_error_of_another_form_as_a_whole_answer(body: Any) -> None:
    (event,) = events_of_body(body)
    assert isinstance(event, e.ResponseError)
    assert event.error.message == "it broke"


def test_an_error_as_a_whole_answer() -> None:
    (event,) = events_of_body({"error": {"message": "no quota", "type": "insufficient_quota"}})
    assert isinstance(event, e.ResponseError)
    assert event.error.kind is ErrorKind.BILLING


# ------------------------------------------------------------------ quirks


def _choice(**members: Any) -> dict[str, Any]:
    return chunk(choices=[{"index": 0, "delta": {"content": "x"}, "finish_reason": None, **members}])


QUIRKY: dict[str, Any] = {
    "answer-wrapped": {"data": chunk({"content": "x"})},
    "args-in-other-member": _choice(
        delta={"tool_calls": [{"id": "a", "function": {"name": "run", "parameters": {"x": 1}}}]}
    ),
    "chunk-in-array": [chunk({"content": "x"})],
    "content-cumulative": [chunk({"content": "a long text" + "x" * n}) for n in range(4)],
    "content-parts": chunk({"content": [{"type": "text", "text": "x"}]}),
    "finish-camel-case-key": _choice(finishReason="stop"),
    "finish-foreign-word": _choice(finish_reason="end_turn"),
    "finish-unknown-word": _choice(finish_reason="weird"),
    "legacy-function-call": chunk({"function_call": {"name": "run", "arguments": "{}"}}),
    "member-misplaced": _choice(delta=None, text="x"),
    "message-instead-of-delta": _choice(delta=None, message={"content": "x"}),
    "thought-mark": chunk({"content": "x", "extra_content": {"google": {"thought": True}}}),
    "usage-in-choice": _choice(usage={"prompt_tokens": 1, "completion_tokens": 1}),
}


@pytest.mark.parametrize("slug", QUIRKS)
def test_each_quirk_is_noted(slug: str) -> None:
    value = QUIRKY[slug]
    upstream = Upstream().say(*(value if slug == "content-cumulative" else [value]), DONE)
    upstream.end()
    assert slug in upstream.assembler.quirks


def test_a_well_formed_stream_has_no_quirk() -> None:
    upstream = Upstream().say(
        chunk({"role": "assistant", "content": ""}), chunk({"content": "x"}), chunk({}, "stop"), DONE
    )
    upstream.end()
    assert upstream.assembler.quirks == {}


def test_plain_reasoning_after_a_proof_is_another_block() -> None:
    signed = {"type": "reasoning.text", "text": "A", "signature": "1", "format": "anthropic-claude-v1"}
    events = events_of(
        chunk({"reasoning_details": [signed]}), chunk({"reasoning_content": "B"}), chunk({"content": "x"}, "stop")
    )
    proof = Opaque("messages", "signature", "1", via="chat")
    assert [end.opaque for end in of_type(e.ReasoningEnd, events)] == [(proof,), ()]
