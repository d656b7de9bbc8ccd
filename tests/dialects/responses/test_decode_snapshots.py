"""What starts and snapshots add to deltas: of calls, texts, reasoning, and of texts in place of items."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.canonical import events as e

from .driving import CREATED, JSON, added, call_item, completed, decoded, decoded_body, delta, done, text_item

ARGUMENTS, INPUT = "function_call_arguments", "custom_tool_call_input"
TEXT, SUMMARY, RAW = "output_text", "reasoning_summary_text", "reasoning_text"
WHOLE = call_item('{"a": 1}')
SHELL: JSON = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "shell", "input": ""}


def arguments_done(text: str, **members: Any) -> JSON:
    return {"type": f"response.{ARGUMENTS}.done", "item_id": "fc_1", "arguments": text, **members}


def part_added(text: str, number: int | None = 0, **part: Any) -> JSON:
    index = {} if number is None else {"content_index": number}
    held = {"type": TEXT, "text": text, **part}
    return {"type": "response.content_part.added", "item_id": "msg_1", **index, "part": held}


def thought(*texts: str, member: str = "summary", id: str = "rs_1") -> JSON:
    return {"type": "reasoning", "id": id, "summary": [], member: [{"type": "x", "text": text} for text in texts]}


# ---- calls


@pytest.mark.parametrize("final", [[], [call_item()]])
def test_the_done_event_of_arguments_completes_their_deltas(final: list[JSON]) -> None:
    answer = decoded(
        added(call_item()), delta(ARGUMENTS, '{"a"', item_id="fc_1"), arguments_done('{"a": 1}'), completed(*final)
    )
    assert answer.calls == [("call_1", "run", '{"a": 1}')]
    assert answer.end.finish is e.FinishReason.TOOL_CALLS
    assert not answer.quirks


def test_the_done_event_of_an_input_completes_its_deltas() -> None:
    snapshot = {"type": f"response.{INPUT}.done", "item_id": "ctc_1", "input": "ls /tmp/cache"}
    answer = decoded(added(SHELL), delta(INPUT, "ls /tmp", item_id="ctc_1"), snapshot, completed())
    assert answer.calls == [("call_1", "shell", "ls /tmp/cache")]


def test_deltas_win_over_another_snapshot() -> None:
    answer = decoded(
        added(call_item()), delta(ARGUMENTS, '{"a": 1}', item_id="fc_1"), arguments_done('{"a": 2}'), completed()
    )
    assert answer.calls == [("call_1", "run", '{"a": 1}')]


def test_half_arguments_without_a_snapshot_are_cut() -> None:
    answer = decoded(added(call_item()), delta(ARGUMENTS, '{"a"', item_id="fc_1"), completed())
    assert answer.calls == [("call_1", "run", '{"a"')]
    assert answer.end.finish is e.FinishReason.LENGTH


def test_a_later_snapshot_supplies_what_the_done_item_did_not_hold() -> None:
    assert decoded(added(call_item()), done(call_item()), completed(WHOLE)).calls == [("call_1", "run", '{"a": 1}')]


@pytest.mark.parametrize(
    ("start", "rest"),
    [
        ("{", ['"a": 1}']),
        ('{"a"', [": 1}"]),
        ('{"a"', ['{"a": 1}']),
        ('{"a": 1}', ['{"a"', ": 1}"]),
        ("{}", ['{"a": 1}']),
    ],
)
def test_arguments_begin_in_the_added_item(start: str, rest: list[str]) -> None:
    """Deltas go on from there, or begin anew."""
    deltas = [delta(ARGUMENTS, text, item_id="fc_1") for text in rest]
    assert decoded(added(call_item(start)), *deltas, completed()).calls == [("call_1", "run", '{"a": 1}')]


@pytest.mark.parametrize("before", [[], [delta(ARGUMENTS, '{"a": 1}', item_id="fc_1")]])
def test_a_name_may_come_with_the_done_event(before: list[JSON]) -> None:
    nameless = call_item(name=None)
    answer = decoded(added(nameless), *before, arguments_done('{"a": 1}', name="run"), completed())
    assert answer.calls == [("call_1", "run", '{"a": 1}')]


# ---- the item id is the exact key

STREAMED = [added(call_item()), delta(ARGUMENTS, '{"a": 1}', item_id="fc_1")]
OTHER = {**WHOLE, "call_id": "call_9"}


@pytest.mark.parametrize(
    "ending",
    [
        [done(WHOLE), completed(OTHER)],
        [done(OTHER), completed()],
        [done(OTHER), completed(OTHER)],
        [completed(OTHER)],
    ],
)
def test_a_known_item_with_another_call_id_is_the_same_call(ending: list[JSON]) -> None:
    answer = decoded(*STREAMED, *ending)
    assert answer.calls == [("call_1", "run", '{"a": 1}')]
    assert set(answer.quirks) == {"id-rotated"}


def test_calls_that_share_an_item_id_are_told_apart() -> None:
    """By their call ids while they come one after the other, and in the final output."""
    again = [added(call_item(call_id="call_9"), 1), delta(ARGUMENTS, '{"a": 1}', item_id="fc_1"), done(OTHER, 1)]
    for ending in (completed(), completed(WHOLE, OTHER), completed(OTHER, WHOLE)):
        assert [id for id, _, _ in decoded(*STREAMED, done(WHOLE), *again, ending).calls] == ["call_1", "call_9"]
    assert [id for id, _, _ in decoded(*STREAMED, done(WHOLE), completed(OTHER, WHOLE)).calls] == ["call_1", "call_9"]
    assert [id for id, _, _ in decoded(done(WHOLE), done(OTHER, 1), completed()).calls] == ["call_1", "call_9"]


@pytest.mark.parametrize("ending", [[completed({**OTHER, "name": "read"})], [done({**OTHER, "name": "read"})]])
def test_an_item_id_with_another_name_is_another_call(ending: list[JSON]) -> None:
    answer = decoded(*STREAMED, *ending, completed())
    assert [(id, name) for id, name, _ in answer.calls] == [("call_1", "run"), ("call_9", "read")]


# ---- texts that begin in a start


@pytest.mark.parametrize(
    "starts",
    [
        [added(text_item("Hel"))],
        [added({**text_item(), "content": "Hel"})],
        [added(text_item()), part_added("Hel")],
        [added(text_item()), part_added("Hel", None)],
        [added(text_item("Hel")), part_added("Hel")],
        [added(text_item("Hel")), added(text_item("Hel")), part_added("")],
    ],
)
@pytest.mark.parametrize("final", [[], [text_item("Hello")]])
def test_the_text_of_a_start_counts(starts: list[JSON], final: list[JSON]) -> None:
    answer = decoded(*starts, delta(TEXT, "lo", item_id="msg_1"), completed(*final))
    assert answer.text == "Hello"
    assert "snapshot-differs" not in answer.quirks


def test_a_start_alone_and_one_that_a_snapshot_extends() -> None:
    assert decoded(added(text_item()), part_added("Hel"), completed()).text == "Hel"
    assert decoded(added(text_item()), part_added("Hel"), done(text_item("Hello")), completed()).text == "Hello"


def test_a_start_that_was_another_text_stays_and_is_noted() -> None:
    answer = decoded(added(text_item()), part_added("Hel"), done(text_item("Bye")), completed())
    assert answer.text == "Hel"
    assert answer.quirks == {"snapshot-differs": 1}


def test_a_refusal_begins_in_its_start() -> None:
    start = part_added("", type="refusal", refusal="N")
    answer = decoded(added(text_item()), start, delta("refusal", "o.", item_id="msg_1", content_index=0), completed())
    assert [(block.text, block.refusal) for block in answer.blocks] == [("No.", True)]


def test_starts_keep_the_order_in_which_they_came() -> None:
    second = delta(TEXT, "Two.", item_id="msg_1", content_index=1)
    answer = decoded(added(text_item()), part_added("One."), part_added("", 1), second, completed())
    assert [block.text for block in answer.blocks] == ["One.", "Two."]
    answer = decoded(added(text_item()), part_added("One."), added(WHOLE, 1), done(WHOLE, 1), completed())
    assert [type(block).__name__ for block in answer.blocks] == ["TextBlock", "ToolCallBlock"]


@pytest.mark.parametrize(
    ("start", "more"),
    [
        (added(thought("Hel")), delta(SUMMARY, "lo", item_id="rs_1", summary_index=0)),
        (added(thought("Hel", member="content")), delta(RAW, "lo", item_id="rs_1", content_index=0)),
        (
            {
                "type": "response.reasoning_summary_part.added",
                "item_id": "rs_1",
                "summary_index": 0,
                "part": {"type": "summary_text", "text": "Hel"},
            },
            delta(SUMMARY, "lo", item_id="rs_1", summary_index=0),
        ),
    ],
)
def test_reasoning_begins_in_its_start(start: JSON, more: JSON) -> None:
    answer = decoded(start, more, completed(text_item("Hi")))
    assert (answer.reasoning, answer.text) == ("Hello", "Hi")
    assert not answer.quirks


def test_paragraphs_of_reasoning_begin_in_their_starts() -> None:
    more = delta(SUMMARY, " And", item_id="rs_1", summary_index=1)
    answer = decoded(added(thought("One.", "Two.")), more, done(thought("One.", "Two. And more.")), completed())
    assert answer.reasoning == "One.\n\nTwo. And more."


# ---- the end


@pytest.mark.parametrize("status", ["completed", None, "in_progress"])
def test_an_incomplete_event_is_stronger_than_the_status(status: str | None) -> None:
    end = {"type": "response.incomplete", "response": {"status": status, "output": [text_item("Hi")]}}
    assert decoded(end).end.finish is e.FinishReason.LENGTH


def test_a_failed_event_is_stronger_than_the_status() -> None:
    end = {"type": "response.failed", "response": {"status": "completed", "output": [text_item("Hi")]}}
    assert decoded(end).error is not None


# ---- a text in place of items


@pytest.mark.parametrize("members", [{"output": "Hello"}, {"output": [], "output_text": "Hello"}])
def test_a_text_in_place_of_items_is_the_answer(members: JSON) -> None:
    answer = decoded_body({"object": "response", "status": "completed", **members})
    assert (answer.text, answer.quirks) == ("Hello", {"output-is-text": 1})
    end = {"type": "response.completed", "response": {"status": "completed", **members}}
    assert decoded(CREATED, end).text == "Hello"
    answer = decoded(CREATED, delta(TEXT, "Hel"), end)
    assert (answer.text, len(answer.blocks)) == ("Hello", 1)


def test_a_text_beside_items_that_hold_none() -> None:
    answer = decoded(completed(thought("Hm."), WHOLE, output_text="Hello"))
    assert (answer.reasoning, answer.text, len(answer.calls)) == ("Hm.", "Hello", 1)
    assert answer.quirks == {"output-is-text": 1}


@pytest.mark.parametrize(("beside", "quirks"), [("One.Two.", {}), ("Two.", {}), ("Bye", {"snapshot-differs": 1})])
def test_a_text_beside_items_that_say_it(beside: str, quirks: JSON) -> None:
    """As OpenAI's clients write it: of all items."""
    answer = decoded(completed(text_item("One."), text_item("Two.", id="msg_2"), output_text=beside))
    assert (answer.text, answer.quirks) == ("One.Two.", quirks)


@pytest.mark.parametrize("members", [{"output": {"a": 1}}, {"output_text": ["Hello"]}])
def test_what_stands_there_and_is_no_text_is_a_loss(members: JSON) -> None:
    answer = decoded_body({"object": "response", "status": "completed", **members})
    assert answer.losses == {f"{next(iter(members))} that is no text": 1}
