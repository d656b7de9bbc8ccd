"""Answers that are kept for ``previous_response_id``, and counts of tokens, where the gateway has tools."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.asking import PROMPT
from tests.gateway.sockets import RawClient
from tests.toolloop.lab import SHELF, Answer, Lab, every_client, every_upstream, opened
from tests.toolloop.model import JSON, Says

CITY = {"city": "Utrecht"}
COUNT = Says(text="One. ", calls=(("shelf__count", {}),))
DONE = Says(text="Done.")


async def go_on(lab: Lab, upstream: str, before: str, given: Any, *, stream: bool = True) -> Answer:
    """A request that says nothing but what is new."""
    more = {"store": None, "previous_response_id": before, "input": given}
    return await lab.ask("responses", upstream, stream=stream, more=more)


def id_of(answer: Answer) -> str:
    body = answer.body
    if body.startswith(b"{"):
        return str(json.loads(body)["id"])
    ids = {json.loads(line[6:])["response"]["id"] for line in body.split(b"\n") if b'"response":' in line}
    assert len(ids) == 1
    return str(ids.pop())


@pytest.mark.parametrize("stream", [True, False])
@every_upstream
async def test_a_kept_answer_has_the_gateways_calls(upstream: str, stream: bool) -> None:
    async with opened() as lab:
        lab.model.play(
            COUNT,
            Says(text="Two. ", calls=(("shelf__count", {}), ("get_weather", CITY))),
            Says(text="Three."),
            DONE,
        )
        first = await lab.ask("responses", upstream, stream=stream, more={"store": None})
        (id, _, _) = first.said.calls[0]
        result = {"type": "function_call_output", "call_id": id, "output": "sunny"}
        second = await go_on(lab, upstream, id_of(first), [result], stream=stream)
        assert second.said.text == "Three."
        third = await go_on(lab, upstream, id_of(second), "Thank you!", stream=stream)
        assert third.said.text == "Done."
        calls = [
            ("shelf__count", {}, "Call number 1."),
            ("shelf__count", {}, "Call number 2."),
            ("get_weather", CITY, "sunny"),
        ]
        assert [seen.calls for seen in lab.model.seen] == [[], calls[:1], calls, calls]
        last = lab.model.seen[3]
        assert "previous_response_id" not in last.body
        assert [text for role, text in last.texts if role == "user"] == [PROMPT, "Thank you!"]
        shown = await shown_again(lab, id_of(first))
        assert [item["type"] for item in shown["output"]] == [
            "message",
            "mcp_call",
            "message",
            "function_call",
            "mcp_call",
        ]


async def shown_again(lab: Lab, id: str) -> JSON:
    connection = await RawClient.connect(lab.port)
    await connection.send(f"GET /v1/responses/{id} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode())
    status, body = await connection.answer()
    connection.close()
    assert status == 200
    found = json.loads(body)
    assert isinstance(found, dict)
    return found


async def test_an_answer_that_only_its_upstream_holds() -> None:
    """There no tools are offered: what it holds could not be told apart from the turns of a loop."""
    async with opened() as lab:
        lab.model.play(DONE)
        assert (await go_on(lab, "responses", "resp_of_the_upstream", "And now?")).said.text == "Done."
        seen = lab.model.seen[0]
        assert seen.body["previous_response_id"] == "resp_of_the_upstream"
        assert "shelf__count" not in seen.tools


async def test_without_tools_for_the_model_its_upstream_keeps_the_answer() -> None:
    async with opened(SHELF.replace("TOOLS'", "TOOLS', models: [chat/m]")) as lab:
        lab.model.play(DONE, DONE)
        first = await lab.ask("responses", "responses", more={"store": None})
        assert id_of(first) == "resp_1"
        await go_on(lab, "responses", "resp_1", "And now?")
        assert lab.model.seen[1].body["previous_response_id"] == "resp_1"


async def test_a_conversation_that_began_without_tools_gets_them_later() -> None:
    async with opened() as lab:
        lab.model.play(DONE, COUNT, DONE)
        first = await lab.ask("responses", "responses", more={"store": None, "tool_choice": "none"})
        second = await go_on(lab, "responses", id_of(first), "And now?")
        assert second.said.text == "One. Done."


async def test_an_answer_that_is_not_to_be_kept() -> None:
    async with opened() as lab:
        lab.model.play(COUNT, DONE)
        answer = await lab.ask("responses", "responses", more={"store": False})
        assert answer.said.text == "One. Done."
        assert [seen.body["store"] for seen in lab.model.seen] == [False, False]
        refused = await go_on(lab, "chat", id_of(answer), "And now?")
        assert refused.status == 400


# ---- counts

COUNTS = {
    "responses": "/v1/responses/input_tokens",
    "messages": "/v1/messages/count_tokens",
    "gemini": "/v1beta/models/{model}:countTokens",
}
QUESTIONS: dict[str, list[JSON]] = {
    "responses": [{"input": "Hi"}],
    "messages": [{"messages": [{"role": "user", "content": "Hi"}]}],
    "gemini": [
        {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
        {"generateContentRequest": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}},
        {"generate_content_request": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}},
    ],
}


@pytest.mark.parametrize(("client", "body"), [(client, body) for client in QUESTIONS for body in QUESTIONS[client]])
async def test_an_upstream_counts_the_gateways_tools(client: str, body: JSON) -> None:
    async with opened() as lab:
        path = COUNTS[client].format(model=f"{client}/m")
        answer = await lab.post(client, path, {**body, **({} if client == "gemini" else {"model": f"{client}/m"})})
        assert answer.status == 200
        (seen,) = lab.model.seen
        asked = seen.body.get("generateContentRequest") or seen.body.get("generate_content_request") or seen.body
        assert "shelf__count" in json.dumps(asked["tools"])
        assert set(seen.body) <= {"generateContentRequest", "generate_content_request"} or client != "gemini"


@pytest.mark.parametrize("client", list(COUNTS))
async def test_an_estimate_counts_them_too(client: str) -> None:
    counted = []
    for models in ("chat/m", "another"):
        async with opened(SHELF.replace("TOOLS'", f"TOOLS', models: [{models}]")) as lab:
            path = COUNTS[client].format(model="chat/m")
            body = {**QUESTIONS[client][0], **({} if client == "gemini" else {"model": "chat/m"})}
            answer = await lab.post(client, path, body)
            assert answer.headers["x-dragoman-count"] == "estimate"
            (tokens,) = (value for value in json.loads(answer.body).values() if isinstance(value, int))
            counted.append(tokens)
    assert counted[0] > counted[1] + 50


@every_client
async def test_a_gateway_without_tools_changes_nothing(client: str) -> None:
    async with opened("") as lab:
        lab.model.play(DONE)
        assert (await lab.ask(client, client)).said.text == "Done."
        assert set(lab.model.seen[0].tools) == {"get_weather", "read_file", "run", "list_tasks"}
