"""Answers of this dialect for a client of this dialect: the upstream's items come out as they were."""

from __future__ import annotations

import pytest

from dragoman import dialects
from dragoman.canonical import events as e
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.canonical.opaque import Opaque
from dragoman.dialects.responses.wire import is_minted
from dragoman.streaming.accumulate import Accumulator

from .driving import (
    CREATED,
    JSON,
    Answer,
    added,
    call_item,
    checked,
    completed,
    context,
    decoded,
    decoded_body,
    delta,
    done,
    text_item,
    whole,
)

START = e.ResponseStart(id="resp_1", model="m", created=7, origin="responses")
STOP = e.ResponseEnd(finish=e.FinishReason.STOP, origin="responses")


def thought(*texts: str, **members: object) -> JSON:
    summary = [{"type": "summary_text", "text": text} for text in texts]
    return {"id": "rs_1", "type": "reasoning", "summary": summary, **members}


def given(answer: Answer) -> list[JSON]:
    """The final items that a client gets: of the stream, and the same of a whole body."""
    streamed = checked(*answer.events)[-1]["response"]
    assert whole(answer.events) == streamed
    return list(streamed["output"])


def plain(items: list[JSON]) -> list[JSON]:
    """Items without what this gateway always sends."""
    out = []
    for item in items:
        content = [
            {name: value for name, value in part.items() if name != "logprobs"} for part in item.get("content") or []
        ]
        out.append({**item, "content": content} if "content" in item else item)
    return out


ITEMS = [
    thought("**Plan** first", "**Then** act\n\nnow", encrypted_content="RU5D"),
    text_item("Checking.", phase="commentary"),
    call_item('{"a":1}', status="completed", caller={"type": "direct"}),
    {
        "id": "ctc_1",
        "type": "custom_tool_call",
        "call_id": "call_2",
        "name": "patch",
        "input": "***",
        "status": "completed",
    },
    {"id": "rs_2", "type": "reasoning", "summary": []},
    text_item("Done.", "Really.", id="msg_2"),
]


def test_whole_items_come_out_as_they_were() -> None:
    body = completed(*ITEMS)["response"]
    assert plain(given(decoded_body({"object": "response", **body}))) == ITEMS
    streamed = decoded(CREATED, *(done(item, n) for n, item in enumerate(ITEMS)), completed(*ITEMS))
    assert plain(given(streamed)) == ITEMS


def test_parts_of_a_summary_come_out_as_parts() -> None:
    answer = decoded(
        CREATED,
        added(thought()),
        delta("reasoning_summary_text", "Pl", summary_index=0, output_index=0, item_id="rs_1"),
        delta("reasoning_summary_text", "an.", summary_index=0, output_index=0, item_id="rs_1"),
        delta("reasoning_summary_text", "Act.", summary_index=1, output_index=0, item_id="rs_1"),
        done(thought("Plan.", "Act.")),
        completed(thought("Plan.", "Act."), text_item("x")),
    )
    assert answer.reasoning == "Plan.\n\nAct."  # one text for the other dialects
    assert given(answer)[0] == thought("Plan.", "Act.")
    parts = [
        (event["type"].rpartition(".")[2], event["summary_index"])
        for event in checked(*answer.events)
        if event["type"].startswith("response.reasoning_summary_part")
    ]
    assert parts == [("added", 0), ("done", 0), ("added", 1), ("done", 1)]


def test_a_summary_and_the_raw_reasoning_are_one_item() -> None:
    both = thought("Plan.", content=[{"type": "reasoning_text", "text": "Hm."}], encrypted_content="RU5D")
    assert given(decoded(CREATED, done(both), completed(both))) == [both]


def test_a_text_and_a_refusal_are_one_item() -> None:
    item = text_item("Well.")
    item["content"].append({"type": "refusal", "refusal": "No."})
    assert plain(given(decoded(CREATED, done(item), completed(item)))) == [item]


def test_an_item_ends_before_the_next_one_begins() -> None:
    events = checked(*decoded(CREATED, done(text_item("a")), done(call_item("{}"), 1), completed()).events)
    kinds = [event["type"] for event in events if event["type"].startswith("response.output_item")]
    assert kinds == ["response.output_item.added", "response.output_item.done"] * 2


# ---- reasoning that only has an id


def test_reasoning_that_holds_nothing_leads_what_it_led_to() -> None:
    bare = thought()
    answer = decoded(CREATED, added(bare), done(bare), added(call_item(), 1), done(call_item("{}"), 1), completed())
    assert [item["id"] for item in given(answer)] == ["rs_1", "fc_1"]


def test_reasoning_that_holds_nothing_is_no_answer() -> None:
    answer = decoded(CREATED, done(thought()), {"type": "error", "code": "server_error", "message": "no"})
    assert [type(event) for event in answer.events] == [e.ResponseError]


@pytest.mark.parametrize("name", [name for name in dialects.names() if name != "responses"])
def test_clients_of_other_dialects_see_nothing_of_it(name: str) -> None:
    client = dialects.get(name)

    def shown(*items: JSON) -> JSON:
        whole = Accumulator()
        whole.add(decoded_body({"object": "response", "id": "r", "output": list(items)}).events)
        assert whole.response is not None
        return client.render_response(whole.response, context())

    assert shown(thought(), text_item("x")) == shown(text_item("x"))


# ---- ids that are not the upstream's to know again


def test_ids_that_change_from_event_to_event_are_not_given_on() -> None:
    answer = decoded(
        CREATED,
        added(text_item(id="a")),
        delta("output_text", "x", output_index=0, item_id="b"),
        done(text_item("x", id="c")),
        completed(text_item("x", id="d")),
    )
    (item,) = given(answer)
    assert is_minted(item["id"])


def test_ids_of_other_dialects_are_not_given_on() -> None:
    events = (
        e.ResponseStart(id="x", model="m", origin="messages"),
        e.ReasoningStart(item_id="rs_1"),
        e.ReasoningDelta("a"),
        e.ReasoningDelta("\n\nb", part=True),
        e.ReasoningEnd((Opaque("messages", "signature", "c2ln"),)),
        e.TextStart(item_id="msg_1"),
        e.TextDelta("x"),
        e.TextEnd(),
        e.ToolCallStart(id="c", name="run", native={"id": "fc_1", "caller": 1}),
        e.ToolCallDelta("{}"),
        e.ToolCallEnd(),
        e.ResponseEnd(finish=e.FinishReason.TOOL_CALLS, origin="messages"),
    )
    final = checked(*events)[-1]["response"]
    assert [is_minted(item["id"]) for item in final["output"]] == [True, True, True]
    assert [part["text"] for part in final["output"][0]["summary"]] == ["a\n\nb"]
    assert "caller" not in final["output"][2]
    assert whole(events)["output"][1:] == final["output"][1:]


def test_an_id_that_two_items_have_is_given_once() -> None:
    events: list[e.Event] = [
        *(START, e.TextStart(item_id="msg_1"), e.TextDelta("a"), e.TextEnd()),
        *(e.ReasoningStart(item_id="rs_1"), e.ReasoningDelta("b"), e.ReasoningEnd()),
        *(e.TextStart(item_id="msg_1"), e.TextDelta("c"), e.TextEnd(), STOP),
    ]
    ids = [item["id"] for item in checked(*events)[-1]["response"]["output"]]
    assert ids[:2] == ["msg_1", "rs_1"]
    assert is_minted(ids[2])


# ---- ends


def test_a_finished_item_is_done_before_the_answer_fails() -> None:
    error = Error(kind=ErrorKind.SERVER, message="no")
    events = checked(START, e.TextStart(item_id="msg_1"), e.TextDelta("a"), e.TextEnd(), e.ResponseError(error))
    assert [event["type"] for event in events[-3:]] == ["response.output_item.done", "error", "response.failed"]


def test_a_second_part_that_is_cut_leaves_the_item_incomplete() -> None:
    error = Error(kind=ErrorKind.SERVER, message="no")
    parts = (e.TextStart(item_id="msg_1"), e.TextDelta("a"), e.TextEnd(), e.TextStart(item_id="msg_1"))
    events = checked(START, *parts, e.TextDelta("b"), e.ResponseError(error))
    (item,) = events[-1]["response"]["output"]
    assert (item["status"], [part["text"] for part in item["content"]]) == ("incomplete", ["a", "b"])
