"""The response around the items: envelope, ends, usage, failures."""

from __future__ import annotations

import pytest

from dragoman.canonical import events as e
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.canonical.request import Message, OutputFormat, ReasoningRequest, Request, Role, Text, Tool, ToolChoice
from dragoman.dialects.responses.check import check

from .driving import DIALECT, JSON, checked, context, encoded

START = e.ResponseStart(id="chatcmpl-1", model="m", created=5, origin="chat")
OWN = e.ResponseStart(id="resp_1", model="m", created=5, origin="responses")
END = e.ResponseEnd(finish=e.FinishReason.STOP, origin="chat")
TEXT: list[e.Event] = [e.TextStart(), e.TextDelta("Hel"), e.TextDelta("lo"), e.TextEnd()]
CALL: list[e.Event] = [
    e.ToolCallStart(id="call_1", name="run"),
    e.ToolCallDelta('{"a": 1}'),
    e.ToolCallEnd(),
]


# ---- envelope


def test_the_id_is_kept_within_the_dialect_only() -> None:
    assert checked(OWN, *TEXT, END)[0]["response"]["id"] == "resp_1"
    foreign = checked(START, *TEXT, END)[0]["response"]
    assert foreign["id"].startswith("resp_")
    assert (foreign["created_at"], foreign["model"]) == (5, "m")
    bare = checked(e.ResponseStart(origin="gemini"), *TEXT, END)[0]["response"]
    assert (bare["created_at"], bare["model"]) == (11, "asked")


def test_the_response_repeats_its_request() -> None:
    schema = {"type": "object", "properties": {}}
    request = Request(
        model="m",
        messages=(Message(Role.SYSTEM, (Text(text="Be brief."),)),),
        origin="responses",
        tools=(Tool(name="run", description="Runs.", schema=schema), Tool(name="patch", kind="custom")),
        tool_choice=ToolChoice("required", ("patch",)),
        parallel_tool_calls=False,
        temperature=0.5,
        top_p=0.9,
        metadata={"a": "b"},
        max_output_tokens=99,
        reasoning=ReasoningRequest(effort="low"),
        output=OutputFormat(type="json"),
    )
    response = checked(START, *TEXT, END, request=request)[0]["response"]
    assert response["tools"] == [
        {"type": "function", "name": "run", "description": "Runs.", "parameters": schema, "strict": False},
        {"type": "custom", "name": "patch"},
    ]
    assert response["tool_choice"] == {"type": "custom", "name": "patch"}
    assert response["text"] == {"format": {"type": "json_object"}}
    assert response["reasoning"] == {"effort": "low", "summary": None}
    for name, value in {
        "instructions": "Be brief.",
        "parallel_tool_calls": False,
        "temperature": 0.5,
        "top_p": 0.9,
        "metadata": {"a": "b"},
        "max_output_tokens": 99,
    }.items():
        assert response[name] == value


def test_the_upstreams_own_envelope_is_kept_within_the_dialect() -> None:
    native = {"service_tier": "auto", "tools": None, "temperature": 1.0}
    start = e.ResponseStart(id="resp_1", model="m", origin="responses", native=native)
    end = e.ResponseEnd(finish=e.FinishReason.STOP, origin="responses", native={"service_tier": "default", "x": None})
    events = checked(start, *TEXT, end)
    first, last = events[0]["response"], events[-1]["response"]
    assert (first["service_tier"], first["temperature"], first["tools"]) == ("auto", 1.0, [])
    assert (last["service_tier"], "x" in last) == ("default", False)
    foreign = e.ResponseStart(id="c", model="m", origin="chat", native=native)
    assert "service_tier" not in checked(foreign, *TEXT, END)[0]["response"]


# ---- ends


def ended(finish: e.FinishReason, raw: str | None = None, origin: str = "chat") -> JSON:
    event = checked(START, *TEXT, e.ResponseEnd(finish=finish, raw=raw, origin=origin))[-1]
    return {"type": event["type"], **{name: event["response"][name] for name in ("status", "incomplete_details")}}


@pytest.mark.parametrize(
    ("finish", "raw", "origin", "reason"),
    [
        (e.FinishReason.LENGTH, "max_tokens", "messages", "max_output_tokens"),
        (e.FinishReason.CONTENT_FILTER, "SAFETY", "gemini", "content_filter"),
        (e.FinishReason.PAUSED, "pause_turn", "messages", "max_output_tokens"),
        (e.FinishReason.LENGTH, "steered", "responses", "steered"),
    ],
)
def test_incomplete_answers_say_why(finish: e.FinishReason, raw: str, origin: str, reason: str) -> None:
    assert ended(finish, raw, origin) == {
        "type": "response.incomplete",
        "status": "incomplete",
        "incomplete_details": {"reason": reason},
    }


@pytest.mark.parametrize("finish", [e.FinishReason.STOP, e.FinishReason.TOOL_CALLS])
def test_whole_answers_are_completed(finish: e.FinishReason) -> None:
    assert ended(finish) == {"type": "response.completed", "status": "completed", "incomplete_details": None}


def test_usage_is_whole_and_zero_where_unknown() -> None:
    usage = e.UsageUpdate(e.Usage(input=40, output=12, cached=30, reasoning=2))
    assert checked(START, *TEXT, usage, END)[-1]["response"]["usage"] == {
        "input_tokens": 40,
        "input_tokens_details": {"cached_tokens": 30, "cache_write_tokens": 0},
        "output_tokens": 12,
        "output_tokens_details": {"reasoning_tokens": 2},
        "total_tokens": 52,
    }
    assert checked(START, *TEXT, END)[-1]["response"]["usage"]["total_tokens"] == 0


def test_further_details_of_own_usage_are_kept() -> None:
    native = {"output_tokens_details": {"reasoning_tokens": 9, "text_tokens": 3, "x": None}}
    usage = e.UsageUpdate(e.Usage(input=1, output=5, reasoning=2), native, "responses")
    told = checked(OWN, *TEXT, usage, END)[-1]["response"]["usage"]
    assert told["output_tokens_details"] == {"reasoning_tokens": 2, "text_tokens": 3}


# ---- failures

BROKEN = e.ResponseError(Error(kind=ErrorKind.RATE_LIMIT, message="Slow down.", param="input"))


def test_a_failure_is_told_in_both_shapes_and_then_as_a_response() -> None:
    *_, error, failed = checked(START, BROKEN)
    assert {name: error[name] for name in ("type", "code", "message", "param", "error")} == {
        "type": "error",
        "code": "rate_limit_exceeded",
        "message": "Slow down.",
        "param": "input",
        "error": {
            "type": "rate_limit_exceeded",
            "code": "rate_limit_exceeded",
            "message": "Slow down.",
            "param": "input",
        },
    }
    assert failed["type"] == "response.failed"
    assert failed["response"]["error"] == {"code": "rate_limit_exceeded", "message": "Slow down."}
    assert failed["response"]["status"] == "failed"


def test_a_failure_before_anything_was_said_begins_the_stream() -> None:
    events = checked(BROKEN)
    assert [event["type"] for event in events] == [
        "response.created",
        "response.in_progress",
        "error",
        "response.failed",
    ]


def test_a_failure_inside_of_text_keeps_what_was_said() -> None:
    *_, failed = checked(START, *CALL, *TEXT[:2], BROKEN)
    call, message = failed["response"]["output"]
    assert call["status"] == "completed"
    assert (message["status"], message["content"][0]["text"]) == ("incomplete", "Hel")


def test_a_failure_inside_of_a_call_never_closes_it() -> None:
    events = checked(START, *CALL[:2], BROKEN)
    assert "response.output_item.done" not in [event["type"] for event in events]
    assert events[-1]["response"]["output"] == []


def test_the_code_of_a_failed_response_is_never_null() -> None:
    error = e.ResponseError(Error(kind=ErrorKind.INVALID_REQUEST, message="No."))
    *_, told, failed = checked(START, error)
    assert told["code"] is None
    assert failed["response"]["error"]["code"] == "invalid_request_error"


def test_the_heartbeat_is_read_over() -> None:
    head, rest = encoded([START]), encoded([START, *TEXT, END])[len(encoded([START])) :]
    assert check(head + DIALECT.heartbeat + rest) == []


def test_the_same_answer_gives_the_same_bytes() -> None:
    events: list[e.Event] = [START, *TEXT, *CALL, END]
    assert encoded(events) == encoded(events)
    encoder = DIALECT.encoder(context())
    assert encoder.encode(events) == encoded(events)
