"""Requests that go on from an answer, and the items of both, without a store."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialects.responses import DIALECT
from dragoman.dialects.responses.state import STATE
from dragoman.dialects.responses.wire import is_minted
from dragoman.exceptions import InvalidRequest

BEFORE = [{"id": "msg_1", "type": "message", "role": "user", "content": "one"}]


def said(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


@pytest.mark.parametrize(
    ("given", "added"),
    [
        ("two", [{"role": "user", "content": "two"}]),
        (["two"], [{"role": "user", "content": "two"}]),
        ({"role": "user", "content": "two"}, [{"role": "user", "content": "two"}]),
        (None, []),
        ([{"type": "item_reference", "id": "fc_1"}], [{"id": "fc_1", "type": "function_call"}]),
        ([{"id": "fc_1"}], [{"id": "fc_1", "type": "function_call"}]),
        ([{"id": "fc_2"}], [{"id": "fc_2"}]),
    ],
)
def test_a_body_stands_alone(given: Any, added: list[Any]) -> None:
    body = {"model": "m", "previous_response_id": "resp_1", "input": given, "instructions": "brief"}
    known = {"fc_1": {"id": "fc_1", "type": "function_call"}}
    whole = STATE.expand(body, BEFORE, known)
    assert whole == {"model": "m", "input": [*BEFORE, *added], "instructions": "brief"}
    assert body["input"] == given


def test_a_body_that_needs_nothing_is_left_alone() -> None:
    body = {"model": "m", "input": "one", "previous_response_id": "resp_far"}
    assert STATE.expand(body, None, {}) is body


def test_items_have_ids_that_depend_on_what_they_say() -> None:
    body = {
        "input": ["yes", {"role": "assistant", "content": "ok"}, "yes", {"id": "", "role": "user", "content": "yes"}]
    }
    first, answer, second, blank = STATE.items(body)
    assert {**first, "id": 0} == {**said("yes"), "id": 0}
    assert answer["content"] == [{"type": "output_text", "text": "ok", "annotations": []}]
    assert first["id"].startswith("msg_")
    assert all(is_minted(item["id"]) for item in (first, answer, second))
    assert first["id"] != second["id"]
    assert STATE.items(body) == [first, answer, second, blank]
    longer = STATE.items({"input": [*body["input"], "no"]})
    assert longer[:3] == [first, answer, second]
    assert STATE.items({"input": [{"id": "own", "type": "function_call", "call_id": "c"}]})[0]["id"] == "own"
    assert STATE.items({}) == []


def test_what_a_client_may_say_of_it() -> None:
    assert [STATE.wanted({"store": value}) for value in (True, False, None)] == [True, False, True]
    assert [STATE.previous({"previous_response_id": value}) for value in ("a", "", None)] == ["a", None, None]
    with pytest.raises(InvalidRequest):
        STATE.wanted({"store": 1})
    with pytest.raises(InvalidRequest):
        STATE.previous({"previous_response_id": ["a"]})
    assert STATE.unkept({"store": True, "x": 1}) == {"x": 1}
    assert STATE.references({"input": [{"type": "item_reference", "id": "a"}, {"id": "b"}, "c", said("d")]}) == (
        "a",
        "b",
    )


def test_an_answer_is_parted_and_put_together() -> None:
    answer = {"id": "r", "output": BEFORE, "usage": None}
    rest, output = STATE.take(answer)
    assert (rest, output) == ({"id": "r", "usage": None}, BEFORE)
    assert STATE.put(rest, output) == answer
    assert STATE.take({"id": "r"}) == ({"id": "r"}, [])


def test_an_id_is_this_gateways_own() -> None:
    id = STATE.new_id("seed")
    assert is_minted(id)
    assert id == STATE.new_id("seed") != STATE.new_id("other")
    assert STATE.echo(id, None) == {"id": id, "store": True, "previous_response_id": None}


def test_pages() -> None:
    every = [{"id": str(number)} for number in range(45)]
    page = STATE.page(every, {})
    assert [item["id"] for item in page["data"]] == [str(number) for number in range(44, 24, -1)]
    assert (page["first_id"], page["last_id"], page["has_more"]) == ("44", "25", True)
    seen: list[str] = []
    after: dict[str, str] = {}
    while True:
        page = STATE.page(every, {"order": "asc", "limit": "7", **after})
        seen += [item["id"] for item in page["data"]]
        if not page["has_more"]:
            break
        after = {"after": page["last_id"]}
    assert seen == [str(number) for number in range(45)]
    assert STATE.page([], {}) == {"object": "list", "data": [], "first_id": None, "last_id": None, "has_more": False}


@pytest.mark.parametrize(
    ("parameters", "param"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": "1e9"}, "limit"),
        ({"limit": "-1"}, "limit"),
        ({"limit": "²"}, "limit"),
        ({"order": "ASC"}, "order"),
        ({"after": "x"}, "after"),
    ],
)
def test_pages_that_are_none(parameters: dict[str, str], param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        STATE.page([{"id": "0"}], parameters)
    assert caught.value.error.param == param


def test_what_is_missing_is_told_in_openais_words() -> None:
    error = STATE.missing("resp_x")
    body = DIALECT.render_error(error, "")["error"]
    assert DIALECT.status_of(error) == 400
    assert (body["code"], body["param"]) == ("previous_response_not_found", "previous_response_id")
    assert STATE.deleted("resp_x") == {"id": "resp_x", "object": "response", "deleted": True}
