"""A client's own body for an upstream of the same dialect: the least change."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dragoman.canonical.aliases import alias
from dragoman.canonical.opaque import Opaque, seal
from dragoman.dialects.contract import Facts, UpstreamRequest
from dragoman.dialects.responses.wire import RESPONSE_PREFIX, mint
from dragoman.exceptions import InvalidRequest
from dragoman.streaming.ids import Ids
from dragoman.structured import instruction

from .driving import DIALECT, JSON

FACTS = Facts()
STATELESS = Facts(stateless_upstream=True)
FORM: JSON = {"format": {"type": "json_schema", "name": "x", "schema": {"type": "object"}}}
TOLD = instruction({"type": "object"})


# ---- within the dialect


def adapted(facts: Facts = FACTS, **members: Any) -> UpstreamRequest:
    body = {"model": "asked", "input": "Hi", **members}
    request = DIALECT.parse_request(body, None, None)
    return DIALECT.adapt_request(body, msgspec.structs.replace(request, model="there"), facts)


def test_a_body_passes_with_its_unknown_members() -> None:
    made = adapted(future={"a": 1}, previous_response_id="resp_1", store=True)
    assert made.path == "/responses"
    assert made.body == {
        "model": "there",
        "input": "Hi",
        "future": {"a": 1},
        "previous_response_id": "resp_1",
        "store": True,
    }


def test_what_the_gateway_put_into_the_history_is_taken_out() -> None:
    ids = Ids("x")
    sealed = seal(Opaque("messages", "signature", "c2ln"))
    made = adapted(
        input=[
            {"role": "user", "content": "Hi"},
            {"type": "reasoning", "id": mint(ids, "rs_"), "summary": [], "encrypted_content": sealed},
            {"type": "reasoning", "id": mint(ids, "rs_"), "summary": [{"type": "summary_text", "text": "Plan."}]},
            {"type": "reasoning", "id": mint(ids, "rs_"), "summary": [], "encrypted_content": "RU5D"},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "RU5D"},
            {"type": "message", "id": mint(ids, "msg_"), "role": "assistant", "content": "Yes."},
            {"type": "function_call", "id": "fc_1", "call_id": alias("a:0"), "name": "run", "arguments": "{a"},
            {"type": "function_call_output", "call_id": alias("a:0"), "output": "x"},
        ]
    )
    assert made.body["input"] == [
        {"role": "user", "content": "Hi"},
        {"type": "reasoning", "summary": [], "encrypted_content": "RU5D"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "RU5D"},
        {"type": "message", "role": "assistant", "content": "Yes."},
        {"type": "function_call", "id": "fc_1", "call_id": "a:0", "name": "run", "arguments": '{"INVALID_JSON":"{a"}'},
        {"type": "function_call_output", "call_id": "a:0", "output": "x"},
    ]
    assert [loss.path for loss in made.losses] == ["input[1]", "input[2]"]


def test_reasoning_that_is_stored_nowhere_goes() -> None:
    empty = {"type": "reasoning", "id": "rs_2", "summary": []}
    assert adapted(input=[empty], store=False).body["input"] == []
    assert adapted(input=[empty]).body["input"] == [empty]
    raw = {**empty, "content": [{"type": "reasoning_text", "text": "Hm."}]}
    assert adapted(input=[raw], store=False).body["input"] == [raw]
    unnamed = {name: value for name, value in raw.items() if name != "id"}
    assert adapted(input=[unnamed], store=False).body["input"] == [unnamed]


def test_what_led_to_an_item_takes_its_id_along() -> None:
    gone = {"type": "reasoning", "id": "rs_2", "summary": []}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "content": "Yes."}
    call = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "run", "arguments": "{}"}
    output = {"type": "function_call_output", "id": "fco_1", "call_id": "c", "output": "x"}
    later = {**message, "id": "msg_2"}
    made = adapted(input=[gone, message, call, output, later], store=False)
    assert [item.get("id") for item in made.body["input"]] == [None, None, "fco_1", "msg_2"]
    stored = adapted(input=[gone, message, call, output, later])
    assert stored.body["input"] == [gone, message, call, output, later]


def test_items_are_mended() -> None:
    made = adapted(
        input=[
            {"type": "reasoning", "id": "rs_1", "encrypted_content": "RU5D"},
            {"type": "message", "id": "", "role": "assistant", "content": "Yes."},
            {"type": "function_call", "id": None, "call_id": "c", "name": "run", "arguments": {"a": 1}},
            "Hi",
        ]
    )
    assert made.body["input"] == [
        {"type": "reasoning", "id": "rs_1", "encrypted_content": "RU5D", "summary": []},
        {"type": "message", "role": "assistant", "content": "Yes."},
        {"type": "function_call", "call_id": "c", "name": "run", "arguments": '{"a":1}'},
        "Hi",
    ]


def test_a_stateless_upstream_stores_nothing() -> None:
    made = adapted(
        STATELESS,
        input=[
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "RU5D"},
            {"type": "message", "id": "msg_1", "role": "assistant", "content": "Yes."},
            {"type": "reasoning", "id": "rs_2", "summary": []},
            {"id": "rs_3"},
            {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        ],
        store=True,
    )
    assert made.body["store"] is False
    assert made.body["input"] == [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "RU5D"},
        {"type": "message", "role": "assistant", "content": "Yes."},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
    ]
    assert [loss.path for loss in made.losses] == ["input[2]", "input[3]"]


@pytest.mark.parametrize(
    ("members", "param"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"conversation": {"id": "conv_1"}}, "conversation"),
        ({"prompt": {"id": "pmpt_1"}}, "prompt"),
        ({"background": True}, "background"),
        ({"input": [{"type": "item_reference", "id": "msg_1"}]}, "input[0].id"),
    ],
)
def test_a_stateless_upstream_finds_nothing_again(members: JSON, param: str) -> None:
    adapted(**members)
    with pytest.raises(InvalidRequest) as raised:
        adapted(STATELESS, **members)
    assert raised.value.error.param == param


@pytest.mark.parametrize("facts", [Facts(signing_upstream=False), Facts(wants_reasoning=True)])
def test_reasoning_stays_as_text_where_nobody_verifies_it(facts: Facts) -> None:
    ids, summary = Ids("x"), [{"type": "summary_text", "text": "Plan."}]
    sealed = seal(Opaque("messages", "signature", "c2ln"))
    items = [
        {"type": "reasoning", "id": mint(ids, "rs_"), "summary": summary},
        {"type": "reasoning", "id": mint(ids, "rs_"), "summary": summary, "encrypted_content": sealed},
        {"type": "reasoning", "id": mint(ids, "rs_"), "summary": [], "encrypted_content": sealed},
    ]
    made = adapted(facts, input=items)
    assert made.body["input"] == [{"type": "reasoning", "summary": summary}] * 2
    assert [loss.path for loss in made.losses] == ["input[1].encrypted_content", "input[2]"]


@pytest.mark.parametrize(
    ("members", "param"),
    [
        ({"previous_response_id": Ids("x")(RESPONSE_PREFIX)}, "previous_response_id"),
        ({"input": [{"type": "item_reference", "id": mint(Ids("x"), "msg_")}]}, "input[0].id"),
    ],
)
def test_what_only_the_gateway_knows_is_refused(members: JSON, param: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        adapted(**members)
    assert raised.value.error.param == param


# ---- what the upstream does not take


@pytest.mark.parametrize(
    ("facts", "members", "changed", "losses"),
    [
        (Facts(max_output_tokens=100), {"max_output_tokens": 900}, {"max_output_tokens": 100}, ["max_output_tokens"]),
        (Facts(max_output_tokens=100), {"max_output_tokens": 9}, {"max_output_tokens": 9}, []),
        (Facts(max_output_tokens=100), {}, {}, []),
        (Facts(exclusive_sampling=True), {"temperature": 1, "top_p": 0.5}, {"temperature": 1}, ["top_p"]),
        (Facts(exclusive_sampling=True), {"top_p": 0.5}, {"top_p": 0.5}, []),
        (
            Facts(reasoning_model=True),
            {"temperature": 1, "top_p": 0.5, "include": ["message.output_text.logprobs", "x"]},
            {"include": ["x"]},
            ["include", "temperature", "top_p"],
        ),
        (Facts(), {"temperature": 1, "top_p": 0.5, "text": FORM}, {"temperature": 1, "top_p": 0.5, "text": FORM}, []),
        (
            Facts(structured_output=False),
            {"text": {**FORM, "verbosity": "low"}, "instructions": "Be brief."},
            {"text": {"verbosity": "low"}, "instructions": f"Be brief.\n\n{TOLD}"},
            ["text.format"],
        ),
        (Facts(structured_output=False), {"text": FORM}, {"text": {}, "instructions": TOLD}, ["text.format"]),
    ],
)
def test_members_fit_the_upstream(facts: Facts, members: JSON, changed: JSON, losses: list[str]) -> None:
    made = adapted(facts, **members)
    assert made.body == {"model": "there", "input": "Hi", **changed}
    assert [loss.path for loss in made.losses] == losses


def test_system_items_in_mid_conversation() -> None:
    first, user = {"role": "developer", "content": "A"}, {"role": "user", "content": "Hi"}
    later = [
        {"role": "system", "content": "B"},
        {"role": "developer", "content": [{"type": "input_text", "text": "C"}]},
    ]
    assert adapted(input=[first, user, *later]).body["input"] == [first, user, *later]
    made = adapted(Facts(mid_conversation_system=False), input=[first, user, *later])
    assert made.body["input"] == [
        first,
        user,
        {"role": "user", "content": "<system>\nB\n</system>"},
        {"role": "user", "content": [{"type": "input_text", "text": "<system>\nC\n</system>"}]},
    ]
    assert [loss.path for loss in made.losses] == ["input[2]", "input[3]"]


def test_the_last_turn_of_the_assistant() -> None:
    items = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "So"}]
    assert adapted(input=items).body["input"] == items
    made = adapted(Facts(assistant_prefill=False), input=items)
    assert made.body["input"] == [*items, {"role": "user", "content": "Continue."}]
    assert [loss.path for loss in made.losses] == ["input"]
