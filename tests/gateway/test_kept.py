"""``previous_response_id`` and the answers that are kept here, through HTTP."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.dialects.contract import UpstreamRequest
from dragoman.upstreams.scripted import ScriptedAnswer
from tests.gateway.asgi import Call
from tests.gateway.conftest import Lab
from tests.gateway.wires import DONE, ROLE, gone, say, whole

PATH = "/v1/responses"


def echoing(request: UpstreamRequest) -> ScriptedAnswer:
    """A chat server that says how many messages it was sent."""
    text = f"seen {len(request.body['messages'])}"
    if request.body.get("stream"):
        return ScriptedAnswer([ROLE, say(text), DONE])
    return ScriptedAnswer([whole(text)], headers={"content-type": "application/json"})


def native(id: str) -> ScriptedAnswer:
    """A server of the responses dialect."""
    message = {
        "id": "msg_native",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "from afar", "annotations": []}],
    }
    body = {"id": id, "object": "response", "created_at": 1, "status": "completed", "model": "m", "output": [message]}
    return ScriptedAnswer([json.dumps(body).encode()], headers={"content-type": "application/json"})


def asked(text: str, model: str = "up/m", **more: Any) -> dict[str, Any]:
    return {"model": model, "input": text, **more}


async def post(lab_gateway: Any, body: dict[str, Any], headers: dict[str, str] | None = None) -> Call:
    return await Call("POST", PATH, body, headers).answered(lab_gateway)


def last(body: bytes) -> dict[str, Any]:
    """The response in the last event of a stream."""
    data: dict[str, Any] = json.loads(body.strip().rpartition(b"data: ")[2])
    return dict(data["response"])


async def test_a_conversation_by_ids(lab: Lab) -> None:
    gateway = lab.gateway(up=echoing)
    first = await post(gateway, asked("one", instructions="be brief"))
    assert (first.json["store"], first.json["previous_response_id"]) == (True, None)
    assert "x-dragoman-loss" not in first.headers
    second = await post(gateway, asked("two", previous_response_id=first.json["id"]))
    assert second.json["previous_response_id"] == first.json["id"]
    third = await post(gateway, asked("three", previous_response_id=second.json["id"]))
    sent = lab.upstreams["up"].seen[-1].body["messages"]
    assert [(one["role"], one["content"]) for one in sent] == [
        ("user", "one"),
        ("assistant", "seen 2"),
        ("user", "two"),
        ("assistant", "seen 3"),
        ("user", "three"),
    ]
    assert third.json["output"][0]["content"][0]["text"] == "seen 5"
    assert "previous_response_id" not in lab.upstreams["up"].seen[-1].body


async def test_a_stream_is_kept_before_its_end_is_seen(lab: Lab) -> None:
    gateway = lab.gateway(up=echoing)
    first = await post(gateway, asked("one", stream=True))
    made = last(first.body)
    created = json.loads(first.body.split(b"data: ")[1].split(b"\n")[0])["response"]
    assert made["id"] == created["id"]
    shown = await Call("GET", f"{PATH}/{made['id']}").answered(gateway)
    assert shown.json == made
    again = await post(gateway, asked("two", previous_response_id=made["id"], stream=True))
    assert last(again.body)["output"][0]["content"][0]["text"] == "seen 3"


async def test_what_is_not_to_be_kept_is_not(lab: Lab) -> None:
    gateway = lab.gateway(up=echoing)
    made = (await post(gateway, asked("one", store=False))).json
    assert made["store"] is False
    assert (await Call("GET", f"{PATH}/{made['id']}").answered(gateway)).status == 404
    call = await post(gateway, asked("two", previous_response_id=made["id"]))
    assert (call.status, call.json["error"]["code"]) == (400, "previous_response_not_found")
    assert call.json["error"]["param"] == "previous_response_id"


async def test_a_stream_that_fails_is_not_kept(lab: Lab) -> None:
    gateway = lab.gateway(up=ScriptedAnswer([say("half"), gone("cut")]))
    made = last((await post(gateway, asked("one", stream=True))).body)
    assert made["status"] == "failed"
    assert (await Call("GET", f"{PATH}/{made['id']}").answered(gateway)).status == 404


async def test_one_can_go_on_twice_and_after_the_first_was_deleted(lab: Lab) -> None:
    gateway = lab.gateway(up=echoing)
    first = (await post(gateway, asked("one"))).json["id"]
    second = (await post(gateway, asked("two", previous_response_id=first))).json["id"]
    gone = await Call("DELETE", f"{PATH}/{first}").answered(gateway)
    assert gone.json == {"id": first, "object": "response", "deleted": True}
    assert (await Call("DELETE", f"{PATH}/{first}").answered(gateway)).status == 404
    assert (await Call("GET", f"{PATH}/{first}").answered(gateway)).status == 404
    assert (await post(gateway, asked("three", previous_response_id=first))).status == 400
    assert (await post(gateway, asked("three", previous_response_id=second))).status == 200


async def test_the_items_of_a_request(lab: Lab) -> None:
    gateway = lab.gateway(up=echoing)
    first = (await post(gateway, asked("one"))).json["id"]
    body = asked("", previous_response_id=first)
    body["input"] = [{"role": "user", "content": "two"}, {"id": "msg_x", "role": "user", "content": "two"}]
    id = (await post(gateway, body)).json["id"]
    call = await Call("GET", f"{PATH}/{id}/input_items", query="order=asc&limit=3").answered(gateway)
    listed = call.json
    texts = [part["text"] for item in listed["data"] for part in item["content"]]
    assert (texts, listed["has_more"], listed["object"]) == (["one", "seen 1", "two"], True, "list")
    assert listed["first_id"] == listed["data"][0]["id"]
    query = f"order=asc&after={listed['last_id']}"
    rest = (await Call("GET", f"{PATH}/{id}/input_items", query=query).answered(gateway)).json
    assert [item["id"] for item in rest["data"]] == ["msg_x"]
    assert rest["has_more"] is False
    newest = (await Call("GET", f"{PATH}/{id}/input_items").answered(gateway)).json
    assert newest["data"][0]["id"] == "msg_x"
    for query, param in (("limit=0", "limit"), ("limit=101", "limit"), ("order=up", "order"), ("after=x", "after")):
        call = await Call("GET", f"{PATH}/{id}/input_items", query=query).answered(gateway)
        assert (call.status, call.json["error"]["param"]) == (400, param)


async def test_an_item_can_be_named(lab: Lab) -> None:
    gateway = lab.gateway(up=echoing)
    made = (await post(gateway, asked("one"))).json
    named = [{"type": "item_reference", "id": made["output"][0]["id"]}, {"role": "user", "content": "two"}]
    assert (await post(gateway, {"model": "up/m", "input": named})).status == 200
    assert [one["content"] for one in lab.upstreams["up"].seen[-1].body["messages"]] == ["seen 1", "two"]
    unknown = await post(gateway, {"model": "up/m", "input": [{"type": "item_reference", "id": "msg_none"}]})
    assert unknown.status == 400


async def test_each_client_key_has_its_own(lab: Lab) -> None:
    gateway = lab.gateway(up=echoing, keys=["sk-one-client", "sk-another-client"])
    me, you = {"x-api-key": "sk-one-client"}, {"authorization": "Bearer sk-another-client"}
    id = (await post(gateway, asked("one"), me)).json["id"]
    assert (await post(gateway, asked("two", previous_response_id=id), you)).status == 400
    assert (await Call("GET", f"{PATH}/{id}", headers=you).answered(gateway)).status == 404
    assert (await Call("DELETE", f"{PATH}/{id}", headers=you).answered(gateway)).status == 404
    assert (await Call("GET", f"{PATH}/{id}").answered(gateway)).status == 401
    assert (await Call("GET", f"{PATH}/{id}", headers=me).answered(gateway)).status == 200


async def test_a_kept_answer_cannot_be_streamed_again(lab: Lab) -> None:
    gateway = lab.gateway(up=echoing)
    id = (await post(gateway, asked("one"))).json["id"]
    assert (await Call("GET", f"{PATH}/{id}", query="stream=true").answered(gateway)).status == 400


# ---- upstreams of this dialect


async def test_an_upstream_that_keeps_answers_is_left_to_it(lab: Lab) -> None:
    gateway = lab.gateway(up=lambda _: native("resp_far"), dialect="responses")
    made = await post(gateway, asked("one"))
    assert made.json["id"] == "resp_far"
    assert (await Call("GET", f"{PATH}/resp_far").answered(gateway)).status == 404
    await post(gateway, asked("two", previous_response_id="resp_far"))
    await post(gateway, asked("three", previous_response_id="resp_from_another_day"))
    bodies = [one.body for one in lab.upstreams["up"].seen]
    assert [body.get("previous_response_id") for body in bodies] == [None, "resp_far", "resp_from_another_day"]
    assert [body["input"] for body in bodies] == ["one", "two", "three"]


async def test_an_answer_binds_to_the_target_that_made_it(lab: Lab) -> None:
    models = {"pair": ["a/x", "b/y"], "other": ["a/x", "c/z"]}
    gateway = lab.gateway(
        models=models,
        dialect={"a": "responses", "b": "responses", "c": "chat"},
        a=gone(),
        b=lambda _: native("resp_b"),
        c=echoing,
    )
    assert (await post(gateway, asked("one", "pair"))).json["id"] == "resp_b"
    assert lab.asked("a") == 1
    assert (await post(gateway, asked("two", "pair", previous_response_id="resp_b"))).status == 200
    assert (lab.asked("a"), lab.asked("b")) == (1, 2)
    call = await post(gateway, asked("two", "other", previous_response_id="resp_b"))
    assert (call.status, call.json["error"]["code"]) == (400, "previous_response_not_found")
    assert (lab.asked("a"), lab.asked("c")) == (1, 0)


async def test_an_upstream_without_state_gets_the_whole_conversation(lab: Lab) -> None:
    gateway = lab.gateway(up=lambda _: native("resp_same"), dialect="responses", accepts={"stateless_upstream": True})
    first = (await post(gateway, asked("one"))).json
    assert (first["id"] != "resp_same", first["store"]) == (True, True)
    second = await post(gateway, asked("two", previous_response_id=first["id"]))
    sent = lab.upstreams["up"].seen[-1].body
    assert (sent["store"], "previous_response_id" in sent, len(sent["input"])) == (False, False, 3)
    assert second.json["id"] != first["id"]
    assert (await Call("GET", f"{PATH}/{first['id']}").answered(gateway)).status == 200


async def test_it_can_go_on_elsewhere(lab: Lab) -> None:
    gateway = lab.gateway(dialect={"here": "chat", "far": "responses"}, here=echoing, far=lambda _: native("resp_far"))
    first = (await post(gateway, asked("one", "here/m"))).json
    await post(gateway, asked("two", "far/m", previous_response_id=first["id"]))
    sent = lab.upstreams["far"].seen[0].body
    assert "previous_response_id" not in sent
    said = [item["content"] for item in sent["input"]]
    assert [text if isinstance(text, str) else text[0]["text"] for text in said] == ["one", "seen 1", "two"]
    assert not any("dgm" in item.get("id", "") for item in sent["input"])


async def test_a_store_that_fails_does_not_take_the_answer_with_it(lab: Lab) -> None:
    gateway = lab.gateway(up=echoing)
    gateway._stores.answers._database.execute("DROP TABLE items")
    call = await post(gateway, asked("one"))
    assert (call.status, call.json["status"]) == (200, "completed")
    assert lab.log[-1]["unkept"] is True


@pytest.mark.parametrize(
    ("more", "param"), [({"store": "yes"}, "store"), ({"previous_response_id": 5}, "previous_response_id")]
)
async def test_wrong_types(lab: Lab, more: dict[str, Any], param: str) -> None:
    call = await post(lab.gateway(up=echoing), asked("one", **more))
    assert (call.status, call.json["error"]["param"]) == (400, param)


async def test_tokens_of_a_conversation_are_counted_with_what_came_before(lab: Lab) -> None:
    gateway = lab.gateway(up=echoing)
    first = (await post(gateway, asked("words and words " * 100))).json["id"]
    body = asked("two", previous_response_id=first)
    call = await Call("POST", f"{PATH}/input_tokens", body).answered(gateway)
    assert call.json["input_tokens"] > 250
