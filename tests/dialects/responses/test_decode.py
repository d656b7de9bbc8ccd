"""Upstream events to the canonical stream, with the oddities of real servers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.canonical import events as e
from dragoman.canonical.errors import ErrorKind
from dragoman.canonical.opaque import Opaque

from .driving import CREATED, JSON, added, call_item, completed, decoded, decoded_body, delta, done, text_item

ARGUMENTS = "function_call_arguments"
CALL = ("call_1", "run", '{"a": 1}')


def pieces(**keys: Any) -> list[JSON]:
    return [delta(ARGUMENTS, '{"a"', **keys), delta(ARGUMENTS, ": 1}", **keys)]


WHOLE = call_item('{"a": 1}', status="completed")
PLACES: dict[str, list[JSON]] = {
    "deltas by item_id and index": [added(call_item()), *pieces(item_id="fc_1", output_index=0), done(WHOLE)],
    "deltas by index only": [added(call_item()), *pieces(output_index=0), done(WHOLE)],
    "deltas by call_id": [added(call_item()), *pieces(call_id="call_1"), done(WHOLE)],
    "deltas by nothing": [added(call_item()), *pieces(), done(WHOLE)],
    "deltas by nothing, no index": [added(call_item(), None), *pieces(), done(WHOLE, None)],
    "ids rotate": [
        added(call_item(id="a")),
        delta(ARGUMENTS, '{"a"', item_id="b", output_index=0),
        delta(ARGUMENTS, ": 1}", item_id="c", output_index=0),
        done({**WHOLE, "id": "d"}),
    ],
    "ids rotate, no index": [
        added(call_item(id="a"), None),
        *pieces(item_id="b"),
        done({**WHOLE, "id": "c"}, None),
    ],
    "deltas before added": [*pieces(item_id="fc_1", output_index=0), added(call_item()), done(WHOLE)],
    "deltas before added, without keys": [*pieces(), added(call_item()), done(WHOLE)],
    "added in the middle": [
        pieces(output_index=0)[0],
        added(call_item()),
        pieces(output_index=0)[1],
        done(WHOLE),
    ],
    "added missing": [*pieces(item_id="fc_1", output_index=0), done(WHOLE)],
    "added twice": [added(call_item()), added(call_item()), *pieces(item_id="fc_1"), done(WHOLE)],
    "done twice": [added(call_item()), *pieces(item_id="fc_1"), done(WHOLE), done(WHOLE)],
    "arguments in added": [added(WHOLE), done(call_item())],
    "arguments in added only, never done": [added(WHOLE)],
    "arguments in added and deltas": [added(WHOLE), *pieces(item_id="fc_1"), done(WHOLE)],
    "arguments in their done event": [
        added(call_item()),
        {"type": f"response.{ARGUMENTS}.done", "item_id": "fc_1", "arguments": '{"a": 1}'},
        done(call_item()),
    ],
    "arguments in the done item": [added(call_item()), done(WHOLE)],
    "arguments as an object": [added(call_item()), done(call_item() | {"arguments": {"a": 1}})],
    "only the done item": [done(WHOLE)],
    "no item id": [done({name: value for name, value in WHOLE.items() if name != "id"})],
    "empty item ids": [added(call_item(id="")), *pieces(item_id="", output_index=0), done({**WHOLE, "id": ""})],
    "never done": [added(call_item()), *pieces(item_id="fc_1")],
}


@pytest.mark.parametrize("final", ["repeated", "empty"])
@pytest.mark.parametrize("place", PLACES)
def test_a_call_is_one_call_wherever_it_is_told(place: str, final: str) -> None:
    answer = decoded(CREATED, *PLACES[place], completed(*([WHOLE] if final == "repeated" else [])))
    assert [(id, name, json.loads(text)) for id, name, text in answer.calls] == [("call_1", "run", {"a": 1})]
    assert answer.end.finish is e.FinishReason.TOOL_CALLS


def test_a_call_that_is_only_in_the_final_output() -> None:
    assert decoded(CREATED, completed(WHOLE)).calls == [CALL]


def test_two_calls_interleaved_keep_their_arguments() -> None:
    second = {"id": "fc_2", "call_id": "call_2", "name": "read"}
    answer = decoded(
        added(call_item()),
        added(call_item(**second), 1),
        delta(ARGUMENTS, '{"b"', item_id="fc_2"),
        delta(ARGUMENTS, '{"a"', item_id="fc_1"),
        delta(ARGUMENTS, ": 2}", item_id="fc_2"),
        delta(ARGUMENTS, ": 1}", item_id="fc_1"),
        done(call_item('{"a": 1}')),
        done(call_item('{"b": 2}', **second), 1),
        completed(),
    )
    assert answer.calls == [CALL, ("call_2", "read", '{"b": 2}')]


def test_calls_that_share_an_index_are_told_apart_by_call_id() -> None:
    """Servers that send output_index 0 for every item."""
    second = {"id": "fc_2", "call_id": "call_2"}
    answer = decoded(
        added(call_item()),
        delta(ARGUMENTS, '{"a": 1}', output_index=0),
        done(WHOLE),
        added(call_item(**second)),
        delta(ARGUMENTS, '{"a": 2}', output_index=0),
        done(call_item('{"a": 2}', **second)),
        completed(),
    )
    assert answer.calls == [CALL, ("call_2", "run", '{"a": 2}')]


def test_the_same_call_twice_is_two_calls() -> None:
    again = {"id": "fc_2", "call_id": "call_2"}
    answer = decoded(done(WHOLE), done({**WHOLE, **again}, 1), completed(WHOLE, {**WHOLE, **again}))
    assert [id for id, _, _ in answer.calls] == ["call_1", "call_2"]


def test_a_custom_call_keeps_its_text() -> None:
    item = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "apply_patch", "input": ""}
    answer = decoded(
        added(item),
        delta("custom_tool_call_input", "*** Begin", item_id="ctc_1"),
        delta("custom_tool_call_input", " Patch\n", item_id="ctc_1"),
        {"type": "response.custom_tool_call_input.done", "item_id": "ctc_1", "input": "*** Begin Patch\n"},
        done({**item, "input": "*** Begin Patch\n"}),
        completed(),
    )
    assert answer.calls == [("call_1", "apply_patch", "*** Begin Patch\n")]
    assert answer.blocks[0].kind == "custom"


@pytest.mark.parametrize("ending", [[], [done({"type": "function_call", "id": "fc_1", "arguments": '{"a": 1}'})]])
def test_a_call_that_is_never_named_is_no_success(ending: list[JSON]) -> None:
    answer = decoded(*pieces(item_id="fc_1"), *ending, completed())
    assert answer.calls == []
    assert answer.error is not None
    assert decoded(*pieces(item_id="fc_1"), *ending, completed(text_item("Hi"))).text == "Hi"


def test_an_incomplete_call_is_cut_not_finished() -> None:
    half = call_item('{"a": "tw', status="incomplete")
    answer = decoded(
        added(call_item()),
        delta(ARGUMENTS, '{"a": "tw', item_id="fc_1"),
        done(half),
        {"type": "response.incomplete", "response": {"output": [half], "incomplete_details": None}},
    )
    assert answer.end.finish is e.FinishReason.LENGTH
    assert answer.blocks[0].arguments == '{"a": "tw'
    assert not answer.blocks[0].complete


# ---- text

TEXT = "output_text"


def test_snapshots_do_not_repeat_the_deltas() -> None:
    part = {"type": TEXT, "text": "Hello", "annotations": []}
    answer = decoded(
        added(text_item()),
        {"type": "response.content_part.added", "item_id": "msg_1", "content_index": 0, "part": {**part, "text": ""}},
        delta(TEXT, "Hel", item_id="msg_1", content_index=0),
        delta(TEXT, "lo", item_id="msg_1", content_index=0),
        {"type": "response.output_text.done", "item_id": "msg_1", "content_index": 0, "text": "Hello"},
        {"type": "response.content_part.done", "item_id": "msg_1", "content_index": 0, "part": part},
        done(text_item("Hello")),
        completed(text_item("Hello")),
    )
    assert [event.text for event in answer.events if isinstance(event, e.TextDelta)] == ["Hel", "lo"]
    assert not answer.quirks


def test_a_snapshot_supplies_what_the_deltas_did_not_bring() -> None:
    answer = decoded(added(text_item()), delta(TEXT, "Hel", item_id="msg_1"), done(text_item("Hello")), completed())
    assert answer.text == "Hello"


def test_a_snapshot_with_another_text_changes_nothing() -> None:
    answer = decoded(added(text_item()), delta(TEXT, "Hello", item_id="msg_1"), done(text_item("Bye")), completed())
    assert answer.text == "Hello"
    assert answer.quirks == {"snapshot-differs": 1}


def test_a_snapshot_after_half_a_character() -> None:
    events = [
        b'{"type":"response.output_text.delta","item_id":"msg_1","delta":"a\\ud83d"}',
        done(text_item("a\U0001f600b")),
    ]
    assert decoded(added(text_item()), *events, completed()).text == "a\U0001f600b"


def test_parts_are_blocks_of_their_own() -> None:
    answer = decoded(done(text_item("One.", "Two.")), completed())
    assert [block.text for block in answer.blocks] == ["One.", "Two."]


def test_text_that_is_only_in_the_added_item() -> None:
    assert decoded(added(text_item("Hi")), completed()).text == "Hi"


def test_a_refusal_is_marked() -> None:
    item = text_item() | {"content": [{"type": "refusal", "refusal": "No."}]}
    answer = decoded(added(text_item()), delta("refusal", "No", item_id="msg_1"), done(item), completed())
    assert [(block.text, block.refusal) for block in answer.blocks] == [("No.", True)]


def test_annotations_become_citations_once() -> None:
    note = {"type": "url_citation", "url": "https://a.example", "title": "A", "start_index": 0, "end_index": 2}
    item = text_item("Hi") | {"content": [{"type": TEXT, "text": "Hi", "annotations": [note]}]}
    answer = decoded(
        added(text_item()),
        delta(TEXT, "Hi", item_id="msg_1", content_index=0),
        {"type": "response.output_text.annotation.added", "item_id": "msg_1", "content_index": 0, "annotation": note},
        done(item),
        completed(item),
    )
    (citation,) = answer.blocks[0].citations
    assert (citation.url, citation.title, citation.start, citation.end) == ("https://a.example", "A", 0, 2)
    assert citation.native == note


def test_logprobs_and_phase_stay_with_the_text() -> None:
    scores = [{"token": "Hi", "logprob": -0.1}]
    answer = decoded(
        added(text_item(phase="commentary")), delta(TEXT, "Hi", item_id="msg_1", logprobs=scores), completed()
    )
    assert answer.blocks[0].native == ({"logprobs": scores, "phase": "commentary"},)


# ---- reasoning


def thought(*summary: str, **members: Any) -> JSON:
    parts = [{"type": "summary_text", "text": text} for text in summary]
    return {"type": "reasoning", "id": "rs_1", "summary": parts, **members}


def test_summary_parts_are_paragraphs_of_one_block() -> None:
    stem = "reasoning_summary_text"
    answer = decoded(
        added(thought()),
        delta(stem, "One", item_id="rs_1", summary_index=0),
        delta(stem, ".", item_id="rs_1", summary_index=0),
        {"type": f"response.{stem}.done", "item_id": "rs_1", "summary_index": 0, "text": "One."},
        delta(stem, "Two.", item_id="rs_1", summary_index=1),
        done(thought("One.", "Two.", encrypted_content="RU5D")),
        completed(text_item("Hi")),
    )
    block = answer.blocks[0]
    assert (block.text, block.summary) == ("One.\n\nTwo.", True)
    assert block.opaque == (Opaque("responses", "encrypted", "RU5D", "rs_1"),)


def test_summary_parts_without_indexes() -> None:
    part_added = {"type": "response.reasoning_summary_part.added", "item_id": "rs_1", "part": {"text": ""}}
    stem = "reasoning_summary_text"
    answer = decoded(
        added(thought()),
        part_added,
        delta(stem, "One.", item_id="rs_1"),
        part_added,
        delta(stem, "Two.", item_id="rs_1"),
        completed(),
    )
    assert answer.reasoning == "One.\n\nTwo."


def test_raw_reasoning_in_a_part_that_says_output_text() -> None:
    """vllm-project/vllm#24788"""
    part = {"type": "response.content_part.added", "item_id": "rs_1", "part": {"type": "output_text", "text": ""}}
    answer = decoded(
        added(thought(), 0),
        {**part, "output_index": 0, "content_index": 0},
        delta("reasoning_text", "Hm.", item_id="rs_1", output_index=0, content_index=0),
        {**part, "type": "response.content_part.done", "part": {"type": "output_text", "text": "Hm."}},
        done(thought(content=[{"type": "reasoning_text", "text": "Hm."}])),
        completed(text_item("Hi")),
    )
    assert (answer.reasoning, answer.text) == ("Hm.", "Hi")
    assert answer.blocks[0].summary is False


def test_a_proof_alone_is_a_block() -> None:
    answer = decoded(done(thought(encrypted_content="RU5D")), completed(text_item("Hi")))
    assert answer.blocks[0].text == ""
    assert answer.blocks[0].opaque[0].data == "RU5D"


def test_the_first_ciphertext_may_be_incomplete_and_does_not_count() -> None:
    answer = decoded(added(thought(encrypted_content="RU")), done(thought(encrypted_content="RU5D")), completed())
    assert [proof.data for proof in answer.blocks[0].opaque] == ["RU5D"]
    assert [
        block.text for block in decoded(added(thought(encrypted_content="RU")), completed(text_item("Hi"))).blocks
    ] == ["Hi"]


def test_an_id_that_rotates_is_not_kept_with_the_proof() -> None:
    answer = decoded(added(thought()), done(thought(encrypted_content="RU5D") | {"id": "rs_2"}), completed())
    assert answer.blocks[0].opaque == (Opaque("responses", "encrypted", "RU5D", None),)
    assert answer.quirks == {"item-id-rotates": 1}


def test_raw_text_and_summary_of_one_item_are_two_blocks() -> None:
    item = thought("Short.", content=[{"type": "reasoning_text", "text": "Long."}], encrypted_content="RU5D")
    first, second = decoded(done(item), completed()).blocks
    assert (first.text, first.summary, first.opaque) == ("Short.", True, ())
    assert (second.text, second.summary, second.opaque[0].data) == ("Long.", False, "RU5D")


# ---- hosted items


def test_hosted_items_are_server_tools_in_one_piece() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "x"}}
    answer = decoded(
        added({"type": "web_search_call", "id": "ws_1", "status": "in_progress"}),
        {"type": "response.web_search_call.searching", "item_id": "ws_1", "output_index": 0},
        done(search),
        completed(search, text_item("Hi")),
    )
    assert answer.blocks[0] == e.ServerTool("responses", (search,))
    assert answer.calls == []
    assert answer.end.finish is e.FinishReason.STOP
    assert not answer.losses


def test_arguments_of_a_hosted_call_are_no_client_call() -> None:
    item = {"type": "mcp_call", "id": "mcp_1", "name": "search", "arguments": ""}
    answer = decoded(
        added(item),
        delta("mcp_call_arguments", '{"q": 1}', item_id="mcp_1", output_index=0),
        done({**item, "arguments": '{"q": 1}'}),
        completed(text_item("Hi")),
    )
    assert answer.calls == []
    assert answer.blocks[0].items[0]["arguments"] == '{"q": 1}'


def test_an_image_is_media() -> None:
    item = {
        "type": "image_generation_call",
        "id": "ig_1",
        "status": "completed",
        "result": "aGk=",
        "output_format": "webp",
    }
    (block,) = decoded(done(item), completed()).blocks
    assert (block.media_type, block.data) == ("image/webp", "aGk=")
    assert "result" not in block.native


def test_an_image_that_was_not_made_is_a_server_tool() -> None:
    item = {"type": "image_generation_call", "id": "ig_1", "status": "failed", "result": None}
    assert isinstance(decoded(done(item), completed()).blocks[0], e.ServerTool)


def test_unknown_events_items_and_parts_are_losses() -> None:
    future = {"type": "future_item", "id": "x_1"}
    answer = decoded(
        {"type": "response.future_event", "x": 1},
        added(future),
        done(future),
        done(text_item("Hi") | {"content": [{"type": "future_part"}, {"type": TEXT, "text": "Hi"}]}, 1),
        completed(future, text_item("Hi")),
    )
    assert answer.text == "Hi"
    assert set(answer.losses) == {
        "event of type response.future_event",
        "output item of type future_item",
        "content part of type future_part",
    }


def test_a_hosted_item_that_was_never_done_is_a_loss() -> None:
    answer = decoded(added({"type": "web_search_call", "id": "ws_1"}), completed(text_item("Hi")))
    assert list(answer.losses) == ["output item of type web_search_call that was never done"]


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
    for record in [*PLACES["deltas by item_id and index"], CREATED, FLAT, NESTED, FAILED, completed(WHOLE, usage={})]:
        out += [{**record, name: rubbish} for name in record]
        for name in ("item", "response", "error"):
            inner = record.get(name)
            members = inner if isinstance(inner, dict) else {}
            out += [{**record, name: {**members, member: rubbish}} for member in members]
    return out


ODD = [None, 0, "x", [], [[]], {}, {"type": []}, True, -1, 1.5]


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
    items = [thought("Plan.", encrypted_content="RU5D"), text_item("Hi"), WHOLE]
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
