"""Text, reasoning and hosted items of an upstream: deltas, snapshots, parts, proofs."""

from __future__ import annotations

from typing import Any

from dragoman.canonical import events as e
from dragoman.canonical.logprobs import Token, tokens_of
from dragoman.canonical.opaque import Opaque

from .driving import JSON, added, completed, decoded, delta, done, text_item

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
    events: list[Any] = [
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
    (native,) = answer.blocks[0].native
    assert (native["logprobs"], native["phase"]) == (scores, "commentary")
    assert tokens_of(native) == (Token("Hi", -0.1, (72, 105)),)


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
