"""Within one dialect the client's own bytes go on: unknown members stay, and each request begins like the one before."""

from __future__ import annotations

from typing import Any

import pytest

from tests.asking import ask
from tests.roundtrips.echo import follow
from tests.toolloop.lab import Lab, every_client, opened
from tests.toolloop.model import JSON, Says

CITY = {"city": "Utrecht"}
HISTORY = {"chat": "messages", "responses": "input", "messages": "messages", "gemini": "contents"}

BEFORE: dict[str, list[JSON]] = {
    "chat": [
        {"role": "system", "content": [{"type": "text", "text": "Be brief."}], "name": "house"},
        {"role": "user", "content": "Hi", "name": "ann"},
        {"role": "assistant", "content": "Hello.", "annotations": []},
    ],
    "responses": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}], "status": "completed"},
        {"type": "message", "id": "msg_7", "role": "assistant", "status": "completed", "phase": "final_answer",
         "content": [{"type": "output_text", "text": "Hello.", "annotations": [], "logprobs": []}]},
    ],
    "messages": [
        {"role": "user", "content": [{"type": "document", "source": {"type": "text", "media_type": "text/plain",
         "data": "Hi"}, "citations": {"enabled": True}, "context": "a greeting"}]},
        {"role": "assistant", "content": "Hello."},
    ],
    "gemini": [
        {"role": "user", "parts": [{"text": "Hi"}, {"videoMetadata": {"fps": 1},
         "fileData": {"fileUri": "https://files.example/v", "mimeType": "video/mp4"}}]},
        {"role": "model", "parts": [{"text": "Hello."}]},
    ],
}  # fmt: skip
"""A history with members that have no canonical form."""

BESIDE: dict[str, JSON] = {
    "chat": {"logit_bias": {"50256": -100}, "web_search_options": {}},
    "responses": {"truncation": "auto", "max_tool_calls": 3},
    "messages": {"inference_geo": "eu", "tool_choice": {"type": "any", "disable_parallel_tool_use": True}},
    "gemini": {
        "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
        "tool_config": {
            "function_calling_config": {"mode": "ANY"},
            "retrieval_config": {"language_code": "nl"},
        },
    },
}
"""And further members of a body."""


def body_of(client: str, *more: JSON) -> tuple[str, JSON]:
    asked = ask(client, f"{client}/m", stream=True)
    name = HISTORY[client]
    return asked.path, {**asked.body, **BESIDE[client], name: [*BEFORE[client], *asked.body[name], *more]}


def rest(client: str, body: JSON) -> JSON:
    left_out = (
        "model",
        "tools",
        HISTORY[client],
        "tool_choice",
        "tool_config",
        "stream_options",
        "max_tokens",
        "stream",
    )
    return {name: value for name, value in body.items() if name not in left_out}


@every_client
async def test_what_the_client_wrote_goes_on_in_every_round(client: str) -> None:
    async with opened() as lab:
        path, body = body_of(client)
        lab.model.play(
            Says(text="One. ", calls=(("shelf__count", {}),)),
            Says(text="Two. ", calls=(("shelf__count", {}), ("shelf__fail", {}))),
            Says(text="Three."),
        )
        assert (await lab.post(client, path, body)).said.text == "One. Two. Three."
        written: list[Any] = body[HISTORY[client]]
        for seen in lab.model.seen:
            history = seen.body[HISTORY[client]]
            assert history[: len(written)] == written
            assert rest(client, seen.body) == rest(client, body)
            assert seen.body["tools"][: len(body["tools"])] == body["tools"]
            assert seen.body["tools"] == lab.model.seen[0].body["tools"]
            written = history
        assert (
            choices(lab)
            == {
                "chat": [None] * 3,
                "responses": [None] * 3,
                "messages": [
                    BESIDE[client].get("tool_choice"),
                    *[{"type": "auto", "disable_parallel_tool_use": True}] * 2,
                ],
                "gemini": [
                    BESIDE[client].get("tool_config"),
                    *[{"function_calling_config": {"mode": "AUTO"}, "retrieval_config": {"language_code": "nl"}}] * 2,
                ],
            }[client]
        )


def choices(lab: Lab) -> list[Any]:
    return [seen.body.get("tool_choice") or seen.body.get("tool_config") for seen in lab.model.seen]


@every_client
async def test_the_next_request_begins_like_the_one_before(client: str) -> None:
    """The turns of the gateway are written the same way again, and what stands before them is not touched."""
    async with opened() as lab:
        path, body = body_of(client)
        lab.model.play(
            Says(text="One. ", calls=(("shelf__count", {}),)),
            Says(text="Two. ", calls=(("shelf__count", {}), ("get_weather", CITY))),
            Says(text="Three."),
        )
        first = await lab.post(client, path, body)
        kept = first.kept
        _, following = body_of(client, *kept.turn, *follow(kept, ["sunny"]))
        assert (await lab.post(client, path, following)).said.text == "Three."
        second, third = lab.model.seen[1:]
        assert [name for name, _, _ in third.calls] == ["shelf__count", "shelf__count", "get_weather"]
        before = second.body[HISTORY[client]]
        assert third.body[HISTORY[client]][: len(before)] == before


@pytest.mark.parametrize("given", [{"type": "web_search_20250305", "name": "web_search"}])
async def test_tools_of_the_upstreams_own_stand_once(given: JSON) -> None:
    async with opened() as lab:
        lab.model.play(Says(calls=(("shelf__count", {}),)), Says(text="Done."))
        _, body = body_of("messages")
        answer = await lab.post("messages", "/v1/messages", {**body, "tools": [*body["tools"], given]})
        assert answer.said.text == "Done."
        for seen in lab.model.seen:
            assert seen.body["tools"].count(given) == 1
            assert "shelf__count" in seen.tools


async def test_one_tool_that_is_no_list() -> None:
    async with opened() as lab:
        lab.model.play(Says(calls=(("shelf__count", {}),)), Says(text="Done."))
        path, body = body_of("gemini")
        answer = await lab.post("gemini", path, {**body, "tools": body["tools"][0]})
        assert answer.said.text == "Done."
        assert {"get_weather", "shelf__count"} <= lab.model.seen[1].tools.keys()


async def test_functions_of_the_old_form_become_tools() -> None:
    """Beside tools, with which they do not go together."""
    async with opened() as lab:
        lab.model.play(Says(calls=(("get_weather", CITY),)), Says(text="Done."))
        asked = ask("chat", "chat/m")
        function = asked.body["tools"][0]["function"]
        old = {**asked.body, "tools": None, "functions": [function], "function_call": {"name": "get_weather"}}
        answer = await lab.post("chat", asked.path, old)
        assert answer.said.finish == "function_call"
        (seen,) = lab.model.seen
        assert {"get_weather", "shelf__count"} <= seen.tools.keys()
        assert seen.body.keys().isdisjoint({"functions", "function_call"})
        assert seen.choice == "required"


async def test_a_lone_text_as_input() -> None:
    async with opened() as lab:
        lab.model.play(Says(calls=(("shelf__count", {}),)), Says(text="Done."))
        path, body = body_of("responses")
        answer = await lab.post("responses", path, {**body, "input": "Hi"})
        assert answer.said.text == "Done."
        assert lab.model.seen[1].texts[0] == ("user", "Hi")


async def test_what_only_one_upstream_counts_is_told_of_a_single_turn() -> None:
    """``queue_time``, which has no canonical form."""
    async with opened() as lab:
        lab.model.play(Says(text="Done."))
        assert b'"queue_time":0.25' in (await lab.ask("chat", "chat")).body
        lab.model.play(Says(calls=(("shelf__count", {}),)), Says(text="Done."))
        assert b"queue_time" not in (await lab.ask("chat", "chat")).body


async def test_proofs_are_asked_for_where_models_think() -> None:
    async with opened() as lab:
        for reasoning, include in ((None, None), ({"effort": "low"}, ["reasoning.encrypted_content"])):
            lab.model.play(Says(text="Done."))
            await lab.ask("responses", "responses", more={"reasoning": reasoning})
            assert lab.model.seen[0].body.get("include") == include
