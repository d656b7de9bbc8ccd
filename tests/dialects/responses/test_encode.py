"""The canonical stream to events that the strictest client reads."""

from __future__ import annotations

import json

from dragoman.canonical import events as e
from dragoman.canonical.opaque import Opaque, seal, unseal
from dragoman.canonical.request import Request
from dragoman.dialects.responses.check import check

from .driving import JSON, checked, encoded, read, whole

START = e.ResponseStart(id="chatcmpl-1", model="m", created=5, origin="chat")
OWN = e.ResponseStart(id="resp_1", model="m", created=5, origin="responses")
END = e.ResponseEnd(finish=e.FinishReason.STOP, origin="chat")
TEXT: list[e.Event] = [e.TextStart(), e.TextDelta("Hel"), e.TextDelta("lo"), e.TextEnd()]
CALL: list[e.Event] = [
    e.ToolCallStart(id="call_1", name="run"),
    e.ToolCallDelta('{"a"'),
    e.ToolCallDelta(": 1}"),
    e.ToolCallEnd(),
]


def output(*events: e.Event, request: Request | None = None, start: e.ResponseStart = START) -> list[JSON]:
    """The final output of a stream; the whole body must hold the same."""
    told = [start, *events, END]
    final: JSON = checked(*told, request=request)[-1]["response"]
    body = whole(told, request)
    assert check(json.dumps(body).encode()) == []
    assert body == final
    return list(final["output"])


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


FREEFORM: list[e.Event] = [
    e.ToolCallStart(id="call_1", name="apply_patch", kind="custom"),
    e.ToolCallDelta('*** "Begin"\n'),
    e.ToolCallDelta("*** End"),
    e.ToolCallEnd(),
]


def test_a_freeform_call_is_a_custom_tool_call() -> None:
    (item,) = output(*FREEFORM)
    assert (item["type"], item["input"]) == ("custom_tool_call", '*** "Begin"\n*** End')
    assert item["id"].startswith("ctc_")


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
