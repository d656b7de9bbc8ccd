"""Upstream events to the canonical stream, with the oddities of real servers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.canonical import events as e

from .driving import CREATED, JSON, added, call_item, completed, decoded, delta, done, text_item

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
