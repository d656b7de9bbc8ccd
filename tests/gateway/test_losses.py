"""What could not cross is told, and refused where the client or the operator wants that; what clients forget is kept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.canonical.request import Loss
from dragoman.dialects.contract import UpstreamRequest
from dragoman.gateway.settings import Limits, MemorySettings
from dragoman.gateway.turn import loss_header
from dragoman.upstreams.scripted import ScriptedAnswer
from tests.gateway.asgi import Call
from tests.gateway.conftest import Lab
from tests.gateway.wires import CHAT, DONE, MESSAGES, chat, event, messages, say


def lossy() -> dict[str, Any]:
    """What a messages client may say, and a chat upstream has no word for."""
    return {**messages(), "top_k": 5}


async def test_a_loss_is_told_in_a_header_and_in_the_log(lab: Lab) -> None:
    call = await Call("POST", MESSAGES, lossy()).answered(lab.gateway(up=ScriptedAnswer([say("hi"), DONE])))
    assert call.status == 200
    assert "top_k" in call.headers["x-dragoman-loss"]
    assert any(loss.startswith("top_k:") for loss in lab.log[-1]["losses"])


@pytest.mark.parametrize(("strict", "headers"), [(True, {}), (False, {"x-dragoman-strict": "1"})])
async def test_strict_makes_it_a_refusal(lab: Lab, strict: bool, headers: dict[str, str]) -> None:
    gateway = lab.gateway(up=lambda _: ScriptedAnswer([say("hi"), DONE]), strict=strict)
    call = await Call("POST", MESSAGES, lossy(), headers).answered(gateway)
    assert (call.status, call.json["error"]["type"], lab.asked("up")) == (400, "invalid_request_error", 0)
    assert "top_k" in call.message
    assert "top_k" in call.headers["x-dragoman-loss"]
    assert any(loss.startswith("top_k:") for loss in lab.log[-1]["losses"])
    assert (await Call("POST", MESSAGES, messages(), headers).answered(gateway)).status == 200


async def test_strict_goes_to_the_target_that_loses_nothing(lab: Lab) -> None:
    said = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "y",
        "content": [{"type": "text", "text": "hi"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    gateway = lab.gateway(
        models={"pair": ["a/x", "b/y"]},
        dialect={"a": "chat", "b": "messages"},
        a=ScriptedAnswer([DONE]),
        b=ScriptedAnswer([json.dumps(said).encode()], headers={"content-type": "application/json"}),
    )
    body = {**lossy(), "model": "pair", "stream": False}
    call = await Call("POST", MESSAGES, body, {"x-dragoman-strict": "1"}).answered(gateway)
    assert (call.status, lab.asked("a"), lab.asked("b")) == (200, 0, 1)


def test_the_header_holds_whole_paths() -> None:
    losses = [Loss("tools[0].x", "r"), Loss("tools[0].x", "again"), Loss("métadata", "r"), Loss("a\r\nb", "r")]
    assert loss_header(losses) == "tools[0].x; m?tadata; a??b"
    many = loss_header([Loss(f"messages[{number}].parts[0]", "r") for number in range(500)])
    assert len(many) < 1020
    assert many.endswith("]; " + many.rpartition("; ")[2])
    assert many.rpartition("; ")[2].endswith(" more")


# ---- what clients forget

SIGNATURE = "c2lnbmF0dXJlLW9mLWdvb2dsZQ=="
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]


def strict_google(request: UpstreamRequest) -> ScriptedAnswer:
    """Calls a tool, and goes on only if the call comes back with the signature that it had."""
    parts = [part for content in request.body["contents"] for part in content["parts"]]
    calls = [part for part in parts if "functionCall" in part]
    if not calls:
        part = {"functionCall": {"name": "look", "args": {}}, "thoughtSignature": SIGNATURE}
    elif all(call.get("thoughtSignature") == SIGNATURE for call in calls):
        part = {"text": "done"}
    else:
        error = {"error": {"code": 400, "message": "a thought_signature is missing", "status": "INVALID_ARGUMENT"}}
        return ScriptedAnswer([json.dumps(error).encode()], status=400, headers={})
    answer = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}]}
    return ScriptedAnswer([event(answer)])


def strict_anthropic(request: UpstreamRequest) -> ScriptedAnswer:
    """Thinks and calls a tool, and goes on only if the signed thought comes back before the call."""
    turns = [turn["content"] for turn in request.body["messages"] if turn["role"] == "assistant"]
    thought = {"type": "thinking", "thinking": "hm", "signature": "EqQBCkgIARABGAIiQ"}
    if not turns:
        content: list[dict[str, Any]] = [thought, {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}]
        reason = "tool_use"
    elif turns[0][0] == thought:
        content, reason = [{"type": "text", "text": "done"}], "end_turn"
    else:
        error = {"type": "error", "error": {"type": "invalid_request_error", "message": "expected thinking first"}}
        return ScriptedAnswer([json.dumps(error).encode()], status=400, headers={})
    said = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": content,
        "stop_reason": reason,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    return ScriptedAnswer([json.dumps(said).encode()], headers={"content-type": "application/json"})


async def first_call(gateway: Any, headers: dict[str, str], stream: bool) -> list[dict[str, Any]]:
    """The history that a forgetful chat client makes of an answer with a call: its id, name and arguments."""
    asked = {**chat(stream=stream), "tools": TOOLS, "reasoning_effort": "high"}
    call = await Call("POST", CHAT, asked, headers).answered(gateway)
    assert call.status == 200, call.body
    if stream:
        deltas = [
            json.loads(line[6:])["choices"][0]["delta"] for line in call.body.split(b"\n\n") if b'"tool_c' in line
        ]
        id = deltas[0]["tool_calls"][0]["id"]
    else:
        id = call.json["choices"][0]["message"]["tool_calls"][0]["id"]
    made = {"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return [
        *asked["messages"],
        {"role": "assistant", "content": None, "tool_calls": [made]},
        {"role": "tool", "tool_call_id": id, "content": "seen"},
    ]


async def go_on(gateway: Any, history: list[dict[str, Any]], headers: dict[str, str]) -> Call:
    body = {**chat(stream=False), "messages": history, "tools": TOOLS, "reasoning_effort": "high"}
    return await Call("POST", CHAT, body, headers).answered(gateway)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(("dialect", "play"), [("gemini", strict_google), ("messages", strict_anthropic)])
async def test_a_forgotten_proof_is_put_back(lab: Lab, dialect: str, play: Any, stream: bool) -> None:
    gateway = lab.gateway(up=play, dialect=dialect)
    history = await first_call(gateway, {}, stream)
    call = await go_on(gateway, history, {})
    assert (call.status, call.json["choices"][0]["message"]["content"]) == (200, "done")


async def test_but_not_for_another_client(lab: Lab) -> None:
    gateway = lab.gateway(up=strict_anthropic, dialect="messages", keys=["sk-one-client", "sk-another-client"])
    history = await first_call(gateway, {"x-api-key": "sk-one-client"}, False)
    assert (await go_on(gateway, history, {"x-api-key": "sk-another-client"})).status == 400
    assert (await go_on(gateway, history, {"x-api-key": "sk-one-client"})).status == 200


async def test_and_not_where_nothing_is_to_be_kept(lab: Lab) -> None:
    limits = Limits(memory=MemorySettings(calls=0))
    gateway = lab.gateway(up=strict_anthropic, dialect="messages", limits=limits)
    history = await first_call(gateway, {}, False)
    assert (await go_on(gateway, history, {})).status == 400
