"""The canonical stream to events that the strictest client reads."""

from __future__ import annotations

import json

import pytest

from dragoman.canonical import events as e
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.canonical.opaque import Opaque, seal, unseal
from dragoman.canonical.request import Message, OutputFormat, ReasoningRequest, Request, Role, Text, Tool, ToolChoice
from dragoman.dialects.responses.check import check

from .driving import DIALECT, JSON, context, encoded, read, whole

START = e.ResponseStart(id="chatcmpl-1", model="m", created=5, origin="chat")
OWN = e.ResponseStart(id="resp_1", model="m", created=5, origin="responses")
END = e.ResponseEnd(finish=e.FinishReason.STOP, origin="chat")
TEXT = [e.TextStart(), e.TextDelta("Hel"), e.TextDelta("lo"), e.TextEnd()]
CALL = [
    e.ToolCallStart(id="call_1", name="run"),
    e.ToolCallDelta('{"a"'),
    e.ToolCallDelta(": 1}"),
    e.ToolCallEnd(),
]


def checked(*events: e.Event, request: Request | None = None) -> list[JSON]:
    """The data of the events of a stream, which must break no rule."""
    stream = encoded(events, request)
    assert check(stream) == []
    return read(stream)


def output(*events: e.Event, request: Request | None = None, start: e.ResponseStart = START) -> list[JSON]:
    """The final output of a stream; the whole body must hold the same."""
    told = [start, *events, END]
    final: JSON = checked(*told, request=request)[-1]["response"]
    body = whole(told, request)
    assert check(json.dumps(body).encode()) == []
    assert body == final
    return list(final["output"])


def asking(*tools: Tool) -> Request:
    return Request(model="m", messages=(), origin="responses", tools=tools)


# ---- the stream


def test_text_is_told_in_the_order_of_the_api() -> None:
    events = checked(START, *TEXT, END)
    assert [event["type"] for event in events] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event["sequence_number"] for event in events] == list(range(10))
    assert events[2]["item"]["content"] == []
    assert events[4] == {
        "type": "response.output_text.delta",
        "sequence_number": 4,
        "item_id": events[2]["item"]["id"],
        "output_index": 0,
        "content_index": 0,
        "delta": "Hel",
        "logprobs": [],
    }
    assert events[-1]["response"]["output"] == [events[-2]["item"]]


def test_each_event_has_two_lines() -> None:
    stream = encoded([START, *TEXT, END])
    for block in stream.removesuffix(b"\n\n").split(b"\n\n"):
        name, data = block.split(b"\n")
        assert name.startswith(b"event: response.")
        assert data.startswith(b'data: {"type":"response.')


def test_several_blocks_are_items_one_after_another() -> None:
    items = output(e.ReasoningStart(), e.ReasoningDelta("Hm."), e.ReasoningEnd(), *TEXT, *CALL)
    assert [item["type"] for item in items] == ["reasoning", "message", "function_call"]
    assert items[2] | {"id": ""} == {
        "id": "",
        "type": "function_call",
        "status": "completed",
        "call_id": "call_1",
        "name": "run",
        "arguments": '{"a": 1}',
    }
    assert [item["id"].split("_")[0] for item in items] == ["rs", "msg", "fc"]


def test_empty_blocks_open_nothing() -> None:
    assert output(e.TextStart(), e.TextDelta(""), e.TextEnd(), e.ReasoningStart(), e.ReasoningEnd()) == []


def test_text_with_line_ends_and_odd_characters_stays_one_line() -> None:
    text = 'a\n\n"b"\\ \u2028\x00\U0001f600'
    events = checked(START, e.TextStart(), e.TextDelta(text), e.TextEnd(), END)
    assert events[-1]["response"]["output"][0]["content"][0]["text"] == text


def test_a_refusal() -> None:
    (item,) = output(e.TextStart(refusal=True), e.TextDelta("No."), e.TextEnd())
    assert item["content"] == [{"type": "refusal", "refusal": "No."}]


def test_a_client_that_is_named_twice_gets_the_first_choice_only() -> None:
    extra = [e.InChoice(1, event) for event in (*TEXT, END)]
    events = checked(START, *TEXT, *extra, END)
    assert len(events[-1]["response"]["output"]) == 1


# ---- citations, logprobs, phase


def test_citations_become_annotations() -> None:
    known = e.Citation(url="https://a.example", title="A", start=1, end=3)
    vague = e.Citation(url="https://b.example")
    nowhere = e.Citation(title="a book", quote="...")
    (item,) = output(e.TextStart(), e.TextDelta("Hello"), *map(e.CitationAdded, (known, vague, nowhere)), e.TextEnd())
    assert item["content"][0]["annotations"] == [
        {"type": "url_citation", "url": "https://a.example", "title": "A", "start_index": 1, "end_index": 3},
        {
            "type": "url_citation",
            "url": "https://b.example",
            "title": "https://b.example",
            "start_index": 0,
            "end_index": 5,
        },
    ]


def test_a_citation_before_its_text_waits_for_it() -> None:
    cited = e.CitationAdded(e.Citation(url="https://a.example", start=0, end=2))
    (item,) = output(e.TextStart(), cited, e.TextDelta("Hi"), e.TextEnd())
    assert len(item["content"][0]["annotations"]) == 1
    assert output(e.TextStart(), cited, e.TextEnd()) == []


def test_own_annotations_logprobs_and_phase_are_kept_as_they_were() -> None:
    native = {"type": "file_citation", "file_id": "file_1", "filename": "a.txt", "index": 3}
    cited = e.CitationAdded(e.Citation(title="a.txt", origin="responses", native=native))
    scores = [{"token": "Hi", "logprob": -0.1}]
    delta = e.TextDelta("Hi", {"logprobs": scores, "phase": "commentary"})
    (item,) = output(e.TextStart(), delta, cited, e.TextEnd(), start=OWN)
    assert item["phase"] == "commentary"
    assert item["content"][0]["annotations"] == [native]
    assert item["content"][0]["logprobs"] == scores
    (foreign,) = output(e.TextStart(), delta, e.TextEnd(), start=START)
    assert foreign["content"][0]["logprobs"] == []
    assert "phase" not in foreign


# ---- reasoning


def test_reasoning_of_other_dialects_is_shown_as_a_summary() -> None:
    events = checked(START, e.ReasoningStart(), e.ReasoningDelta("Hm."), e.ReasoningEnd(), END)
    assert [event["type"] for event in events[2:-1]] == [
        "response.output_item.added",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done",
        "response.output_item.done",
    ]
    assert events[-2]["item"]["summary"] == [{"type": "summary_text", "text": "Hm."}]


def test_raw_reasoning_of_this_dialect_stays_raw() -> None:
    (raw,) = output(e.ReasoningStart(), e.ReasoningDelta("Hm."), e.ReasoningEnd(), start=OWN)
    assert (raw["summary"], raw["content"]) == ([], [{"type": "reasoning_text", "text": "Hm."}])
    (summary,) = output(e.ReasoningStart(summary=True), e.ReasoningDelta("Hm."), e.ReasoningEnd(), start=OWN)
    assert "content" not in summary


def test_own_proofs_stay_byte_for_byte_with_their_id() -> None:
    proof = Opaque("responses", "encrypted", "RU5D+/==", "rs_9")
    (alone,) = output(e.ReasoningStart(), e.ReasoningEnd((proof,)), start=OWN)
    assert alone == {"id": "rs_9", "type": "reasoning", "summary": [], "encrypted_content": "RU5D+/=="}
    (with_text,) = output(e.ReasoningStart(summary=True), e.ReasoningDelta("Hm."), e.ReasoningEnd((proof,)), start=OWN)
    assert with_text["encrypted_content"] == "RU5D+/=="
    assert with_text["id"] != "rs_9"  # it was not known when the item began


def test_foreign_proofs_travel_sealed_each_in_an_item() -> None:
    proofs = (Opaque("messages", "signature", "c2ln"), Opaque("messages", "redacted", "cmVk"))
    items = output(e.ReasoningStart(), e.ReasoningDelta("Hm."), e.ReasoningEnd(proofs))
    assert [item["encrypted_content"] for item in items] == [seal(proof) for proof in proofs]
    assert [unseal(item["encrypted_content"]) for item in items] == list(proofs)
    assert [len(item["summary"]) for item in items] == [1, 0]


# ---- calls


def test_half_a_call_is_incomplete() -> None:
    start, first, *_ = CALL
    (item,) = output(start, first, e.ToolCallEnd(complete=False))
    assert (item["status"], item["arguments"]) == ("incomplete", '{"a"')


def test_arguments_that_are_no_json_go_out_as_they_are() -> None:
    stream = encoded([START, CALL[0], e.ToolCallDelta("{city:1}", sound=False), e.ToolCallEnd(), END])
    assert read(stream)[-1]["response"]["output"][0]["arguments"] == "{city:1}"
    assert [violation.rule for violation in check(stream)] == ["responses.call.arguments"]


FREEFORM = [
    e.ToolCallStart(id="call_1", name="apply_patch", kind="custom"),
    e.ToolCallDelta('*** "Begin"\n'),
    e.ToolCallDelta("*** End"),
    e.ToolCallEnd(),
]


@pytest.mark.parametrize("request_", [None, asking(), asking(Tool(name="apply_patch", kind="custom"))])
def test_a_freeform_call_is_a_custom_tool_call(request_: Request | None) -> None:
    (item,) = output(*FREEFORM, request=request_)
    assert (item["type"], item["input"]) == ("custom_tool_call", '*** "Begin"\n*** End')
    assert item["id"].startswith("ctc_")


def test_a_freeform_call_of_a_declared_function_is_wrapped() -> None:
    (item,) = output(*FREEFORM, request=asking(Tool(name="apply_patch")))
    assert item["type"] == "function_call"
    assert json.loads(item["arguments"]) == {"input": '*** "Begin"\n*** End'}
    *begun, _ = FREEFORM
    (half,) = output(*begun, e.ToolCallEnd(complete=False), request=asking(Tool(name="apply_patch")))
    assert half["arguments"] == '{"input":"*** \\"Begin\\"\\n*** End'


def test_a_namespace_stays_with_its_call() -> None:
    start = e.ToolCallStart(id="call_1", name="run", namespace="mcp__a")
    (item,) = output(start, *CALL[1:])
    assert item["namespace"] == "mcp__a"


# ---- whole blocks


def test_hosted_items_of_this_dialect_are_added_empty_and_done_whole() -> None:
    item = {"type": "mcp_call", "id": "mcp_1", "status": "completed", "arguments": "{}", "output": "x", "name": "a"}
    events = checked(OWN, e.ServerTool("responses", (item,)), END)
    assert events[2]["item"] == {**item, "status": "in_progress", "arguments": "", "output": None}
    assert events[3]["item"] == item
    assert output(e.ServerTool("messages", ({"type": "server_tool_use"},))) == []


def test_hosted_items_without_or_with_the_same_id_get_one() -> None:
    item = {"type": "web_search_call", "status": "completed"}
    first, second, third = output(
        e.ServerTool("responses", (item, {**item, "id": "ws_1"})),
        e.ServerTool("responses", ({**item, "id": "ws_1"},)),
        start=OWN,
    )
    assert second["id"] == "ws_1"
    assert len({first["id"], second["id"], third["id"]}) == 3


def test_images_are_calls_of_the_image_tool() -> None:
    (item,) = output(e.Media(media_type="image/png", data="aGk="))
    assert (item["type"], item["result"], item["output_format"]) == ("image_generation_call", "aGk=", "png")
    assert output(e.Media(media_type="audio/wav", data="aGk="), e.Media(media_type="image/png", url="https://a")) == []


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
    events = [START, *TEXT, *CALL, END]
    assert encoded(events) == encoded(events)
    encoder = DIALECT.encoder(context())
    assert encoder.encode(events) == encoded(events)
