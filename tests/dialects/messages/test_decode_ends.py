"""The decoder: counts, endings, failures and bodies in one piece."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.canonical import events as e
from dragoman.canonical.errors import ErrorKind

from .driving import (
    Upstream,
    answer,
    arguments,
    begin,
    delta,
    end_of,
    ending,
    error_of,
    of,
    said,
    start,
    stop,
    thought,
    tool,
    whole,
)

# ---- counts


def usage_of(*usages: dict[str, Any], first: dict[str, Any]) -> e.UsageUpdate:
    upstream = Upstream().say(start(usage=first), begin(0, "text", text="Hi"))
    upstream.say(*(ending(None, usage) for usage in usages[:-1]), ending("end_turn", usages[-1]))
    update: e.UsageUpdate = of(upstream.end(), e.UsageUpdate)[0]
    return update


def test_counts_are_totals_and_input_gets_its_cache() -> None:
    counted = {"input_tokens": 9, "cache_creation_input_tokens": 4, "cache_read_input_tokens": 1}
    usage = usage_of({**counted, "output_tokens": 16}, first={**counted, "output_tokens": 2}).usage
    assert usage == e.Usage(input=14, output=16, cached=1, cache_write=4)


def test_the_last_object_with_an_input_count_gives_all_of_them() -> None:
    split = {
        "input_tokens": 18,
        "output_tokens": 426,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 8816,
    }
    usage = usage_of(split, first={"input_tokens": 8834, "output_tokens": 0}).usage
    assert usage == e.Usage(input=8834, output=426, cached=8816, cache_write=0)


def test_cache_counts_do_not_outlive_another_input_count() -> None:
    first = {"input_tokens": 5, "cache_read_input_tokens": 90, "output_tokens": 1}
    assert usage_of({"input_tokens": 95, "output_tokens": 3}, first=first).usage == e.Usage(
        input=95, output=3, cached=0
    )


def test_cache_counts_survive_an_equal_input_count() -> None:
    first = {"input_tokens": 5, "cache_read_input_tokens": 90, "output_tokens": 1}
    assert usage_of({"input_tokens": 5, "output_tokens": 3}, first=first).usage == e.Usage(
        input=95, output=3, cached=90
    )


@pytest.mark.parametrize(
    "nothing", [{}, {"input_tokens": None}, {"input_tokens": 0}, {"input_tokens": -1}, {"input_tokens": "9"}]
)
def test_an_input_that_is_not_counted_keeps_the_first_count(nothing: dict[str, Any]) -> None:
    usage = usage_of({**nothing, "output_tokens": 3}, first={"input_tokens": 25, "output_tokens": 1}).usage
    assert usage == e.Usage(input=25, output=3)


def test_cache_counts_alone_are_added() -> None:
    usage = usage_of({"cache_read_input_tokens": 4, "output_tokens": 3}, first={"input_tokens": 5, "output_tokens": 1})
    assert usage.usage == e.Usage(input=9, output=3, cached=4)


def test_zeros_at_the_start_are_unknown() -> None:
    assert usage_of({"output_tokens": 7}, first={"input_tokens": 0, "output_tokens": 0}).usage == e.Usage(output=7)


def test_a_refusal_takes_its_output_back() -> None:
    assert usage_of({"output_tokens": 0}, first={"input_tokens": 5, "output_tokens": 1}).usage == e.Usage(
        input=5, output=0
    )


def test_thinking_tokens_and_own_members() -> None:
    last = {
        "output_tokens": 9,
        "output_tokens_details": {"thinking_tokens": 4},
        "server_tool_use": {"web_search_requests": 1},
    }
    update = usage_of(
        last, first={"input_tokens": 5, "output_tokens": 1, "service_tier": "standard", "iterations": None}
    )
    assert update.usage.reasoning == 4
    assert update.native == {"service_tier": "standard", "server_tool_use": {"web_search_requests": 1}}


# ---- endings


@pytest.mark.parametrize(
    ("word", "finish", "raw"),
    [
        ("end_turn", e.FinishReason.STOP, "end_turn"),
        ("max_tokens", e.FinishReason.LENGTH, "max_tokens"),
        ("model_context_window_exceeded", e.FinishReason.LENGTH, "model_context_window_exceeded"),
        ("refusal", e.FinishReason.CONTENT_FILTER, "refusal"),
        ("pause_turn", e.FinishReason.PAUSED, "pause_turn"),
        ("END_TURN", e.FinishReason.STOP, "end_turn"),
        ("length", e.FinishReason.LENGTH, None),
        ("content_filter", e.FinishReason.CONTENT_FILTER, None),
        ("never_heard_of", e.FinishReason.STOP, None),
    ],
)
def test_stop_reasons(word: str, finish: e.FinishReason, raw: str | None) -> None:
    end = end_of(answer(begin(0, "text", text="Hi"), ending(word)))
    assert (end.finish, end.raw, end.origin) == (finish, raw, "messages")


def test_a_stop_sequence_is_named() -> None:
    end = end_of(answer(begin(0, "text", text="Hi"), ending("stop_sequence", stop_sequence="END")))
    assert (end.finish, end.stop_sequence) == (e.FinishReason.STOP, "END")


def test_stop_details_go_along() -> None:
    details = {"type": "refusal", "category": "bio", "explanation": None}
    end = end_of(answer(begin(0, "text", text="I can"), ending("refusal", stop_details=details)))
    assert end.native == {"stop_details": details}


def test_a_null_reason_is_none() -> None:
    events = answer(begin(0, "text", text="Hi"), ending("end_turn"), ending(None))
    assert end_of(events).finish is e.FinishReason.STOP


def test_a_broken_off_answer_is_cut() -> None:
    assert "network_error" in error_of(answer(begin(0, "text", text="Hi"), ending("network_error"))).error.message


def test_calls_and_end_turn() -> None:
    events = answer(tool(0, "a", "list"), stop(0), ending("end_turn"))
    assert end_of(events).finish is e.FinishReason.TOOL_CALLS


# ---- failures


def test_an_error_event_in_the_middle_of_a_call() -> None:
    failure = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    events = answer(tool(0, "a", "get_weather"), delta(0, "input_json_delta", partial_json='{"city": "Pa'), failure)
    error = error_of(events).error
    assert (error.kind, error.type, error.message) == (ErrorKind.OVERLOADED, "overloaded_error", "Overloaded")
    assert of(events, e.ToolCallEnd) == []


@pytest.mark.parametrize(
    "value", [{"error": {"message": "no room"}}, {"error": "no room"}, {"type": "odd", "error": {"message": "no room"}}]
)
def test_errors_without_their_type(value: dict[str, Any]) -> None:
    assert error_of(Upstream().say(value).end()).error.message == "no room"


def test_an_error_event_whose_data_is_no_json() -> None:
    assert error_of(Upstream().say(b"upstream is gone", name="error").end()).error.message == "upstream is gone"


def test_corrupt_json_is_an_error() -> None:
    events = answer(begin(0, "text", text="Hi"), b'{"type":"content_bl')
    assert "malformed" in error_of(events).error.message


def test_a_ping_says_nothing() -> None:
    assert "empty" in error_of(Upstream().say(start(), {"type": "ping"}, b"nothing", name="ping").end()).error.message


# ---- whole bodies


def test_a_whole_body() -> None:
    body = {
        **start()["message"],
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "U0lH"},
            {"type": "text", "text": "Hi."},
            {"type": "tool_use", "id": "toolu_a", "name": "get_weather", "input": {"city": "Paris"}},
            {"type": "tool_use", "id": "toolu_b", "name": "list", "input": {}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 0, "output_tokens": 9},
    }
    events = whole(body)
    assert (thought(events), said(events)) == ("Hm.", "Hi.")
    assert arguments(events) == ['{"city":"Paris"}', "{}"]
    assert of(events, e.UsageUpdate)[0].usage == e.Usage(input=0, output=9)
    assert end_of(events).finish is e.FinishReason.TOOL_CALLS


def test_a_whole_body_without_a_reason_has_ended() -> None:
    assert end_of(whole({"type": "message", "content": "Hi"})).finish is e.FinishReason.STOP


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"type": "error", "error": {"type": "api_error", "message": "broken"}}, "broken"),
        ({"detail": "Not Found"}, "Not Found"),
        ({}, "not a message"),
        ([], "not a message"),
        (None, "not a message"),
        ([{"error": {"message": "wrapped"}}], "wrapped"),
    ],
)
def test_bodies_that_are_no_message(body: Any, message: str) -> None:
    assert message in error_of(whole(body)).error.message
