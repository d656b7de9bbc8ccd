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

from .driving import DIALECT, JSON

FACTS = Facts()


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


def test_a_stateless_upstream_stores_nothing() -> None:
    stateless = Facts(stateless_upstream=True)
    made = adapted(stateless, input=[{"type": "reasoning", "id": "rs_2", "summary": []}], store=True)
    assert (made.body["store"], made.body["input"]) == (False, [])
    with pytest.raises(InvalidRequest, match="previous_response_id"):
        adapted(stateless, previous_response_id="resp_1")


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


def test_the_limit_of_the_upstream_is_kept() -> None:
    assert adapted(Facts(max_output_tokens=100), max_output_tokens=900).body["max_output_tokens"] == 100
    assert adapted(Facts(max_output_tokens=100), max_output_tokens=9).body["max_output_tokens"] == 9
