"""One exchange through the gateway, over scripted upstreams: what reaches the client, the upstream, the log."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dragoman.dialects.contract import UpstreamRequest
from dragoman.gateway.settings import Limits
from dragoman.upstreams.scripted import ScriptedAnswer
from tests.gateway.asgi import Call
from tests.gateway.conftest import Lab
from tests.gateway.wires import (
    CHAT,
    DONE,
    FOREVER,
    MESSAGES,
    ROLE,
    chat,
    failure,
    gone,
    messages,
    say,
    text_of,
    whole,
)


def answered(status: int, body: bytes, **headers: str) -> ScriptedAnswer:
    lines = {"content-type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return ScriptedAnswer([body], status=status, headers=lines)


# ---- answers


async def test_a_stream(lab: Lab) -> None:
    gateway = lab.gateway(up=ScriptedAnswer([ROLE, say("Hel"), say("lo"), DONE]))
    call = await Call("POST", CHAT, chat()).answered(gateway)
    assert call.status == 200
    assert call.headers["content-type"] == "text/event-stream"
    assert call.headers["x-request-id"].startswith("req_")
    assert "content-length" not in call.headers
    assert text_of(call.body) == "Hello"
    assert call.body.endswith(b"data: [DONE]\n\n")
    assert call.ended


async def test_a_whole_answer(lab: Lab) -> None:
    gateway = lab.gateway(up=answered(200, whole("Hello")))
    call = await Call("POST", CHAT, chat(stream=False)).answered(gateway)
    assert (call.status, call.headers["content-type"]) == (200, "application/json")
    assert call.headers["content-length"] == str(len(call.body))
    assert call.json["choices"][0]["message"]["content"] == "Hello"


async def test_another_dialect(lab: Lab) -> None:
    gateway = lab.gateway(up=ScriptedAnswer([ROLE, say("Hello"), DONE]))
    call = await Call("POST", MESSAGES, messages()).answered(gateway)
    assert call.headers["request-id"] == call.headers["x-request-id"]
    assert b'"text_delta","text":"Hello"' in call.body
    assert b"message_stop" in call.body
    assert lab.upstreams["up"].seen[0].path == "/chat/completions"


async def test_each_piece_goes_out_before_the_next_is_read(lab: Lab) -> None:
    gateway = lab.gateway(up=ScriptedAnswer([say("first"), FOREVER]))
    call = Call("POST", CHAT, chat())
    task = asyncio.ensure_future(call.answered(gateway))
    assert text_of(await call.begun()) == "first"
    call.leave()
    await task


async def test_an_upstream_error_keeps_its_status_and_retry_after(lab: Lab) -> None:
    gateway = lab.gateway(up=answered(429, failure("slow down"), retry_after="17"))
    call = await Call("POST", MESSAGES, messages()).answered(gateway)
    assert (call.status, call.headers["retry-after"], call.message) == (429, "17", "slow down")
    assert call.json["request_id"] == call.headers["request-id"]


async def test_a_failure_before_anything_was_said_is_a_status(lab: Lab) -> None:
    gateway = lab.gateway(up=ScriptedAnswer([ROLE, gone("cut")]))
    call = await Call("POST", CHAT, chat()).answered(gateway)
    assert (call.status, call.message) == (502, "cut")


async def test_a_failure_afterwards_is_in_the_stream(lab: Lab) -> None:
    gateway = lab.gateway(up=ScriptedAnswer([say("half"), gone("cut")]))
    call = await Call("POST", CHAT, chat()).answered(gateway)
    assert call.status == 200
    assert text_of(call.body) == "half"
    assert b'"error":{"message":"cut"' in call.body
    assert b'"finish_reason":"stop"' not in call.body
    assert lab.log[-1]["error"] == "bad_upstream"


# ---- what the client says


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"5",
        b'{"model": NaN}',
        b'\xef\xbb\xbf{"model": "up/m"}',
        b'{"model": "\xff"}',
        b"{} {}",
    ],
)
async def test_a_body_that_is_no_json_object(lab: Lab, body: bytes) -> None:
    gateway = lab.gateway(up=ScriptedAnswer([DONE]))
    call = await Call("POST", CHAT, body).answered(gateway)
    assert (call.status, lab.asked("up")) == (400, 0)
    assert "JSON" in call.message


async def test_a_body_nested_too_deeply(lab: Lab) -> None:
    body = b'{"model": "up/m", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    call = await Call("POST", CHAT, body).answered(lab.gateway(up=ScriptedAnswer([DONE])))
    assert call.status == 400


async def test_a_lone_surrogate_is_let_through(lab: Lab) -> None:
    body = b'{"model": "up/m", "messages": [{"role": "user", "content": "a\\ud83d b"}]}'
    gateway = lab.gateway(up=answered(200, whole("ok")))
    call = await Call("POST", CHAT, body).answered(gateway)
    assert call.status == 200


@pytest.mark.parametrize("model", [None, 5, "", ["up/m"]])
async def test_a_model_that_is_no_name(lab: Lab, model: Any) -> None:
    call = await Call("POST", CHAT, {**chat(), "model": model}).answered(lab.gateway(up=ScriptedAnswer([DONE])))
    assert (call.status, call.json["error"]["param"]) == (400, "model")


async def test_an_unknown_model(lab: Lab) -> None:
    gateway = lab.gateway(up=ScriptedAnswer([DONE]), other=ScriptedAnswer([DONE]))
    call = await Call("POST", MESSAGES, messages("nowhere/m")).answered(gateway)
    assert (call.status, call.json["error"]["type"]) == (404, "not_found_error")
    assert "nowhere/m" in call.message


@pytest.mark.parametrize("declared", [True, False])
async def test_a_body_that_is_too_large(lab: Lab, declared: bool) -> None:
    body = b'{"x": "' + b"x" * 3000 + b'"}'
    headers = {"content-length": str(len(body))} if declared else {"transfer-encoding": "chunked"}
    gateway = lab.gateway(up=ScriptedAnswer([DONE]), limits=Limits(body_mib=1000 / 2**20))
    call = Call("POST", CHAT, body, headers, cut=100)
    await call.answered(gateway)
    assert call.status == 413
    assert call.headers.get("connection") == (None if declared else "close")


async def test_a_client_that_leaves_in_its_own_request(lab: Lab) -> None:
    gateway = lab.gateway(up=ScriptedAnswer([DONE]))
    call = Call("POST", CHAT, b"")
    call._body.clear()
    call.leave()
    await call.answered(gateway)
    assert (call.status, lab.asked("up")) == (0, 0)
    assert (lab.log[-1]["status"], lab.log[-1]["error"]) == (499, "client_left")


# ---- headers


async def test_of_the_upstreams_headers_few_pass(lab: Lab) -> None:
    sent = {
        "x-ratelimit-remaining-requests": "5",
        "anthropic-ratelimit-tokens-limit": "9",
        "x-request-id": "up-1",
        "set-cookie": "a=b",
        "server": "inner",
        "openai-organization": "org",
        "x-ratelimit-evil": "a\r\nb",
    }
    gateway = lab.gateway(up=ScriptedAnswer([say("hi"), DONE], headers=sent))
    call = await Call("POST", CHAT, chat()).answered(gateway)
    assert call.headers["x-ratelimit-remaining-requests"] == "5"
    assert call.headers["anthropic-ratelimit-tokens-limit"] == "9"
    assert call.headers["x-upstream-request-id"] == "up-1"
    assert call.headers["x-request-id"] != "up-1"
    assert not {"set-cookie", "server", "openai-organization", "x-ratelimit-evil"} & set(call.headers)


async def test_of_the_clients_headers_those_of_its_dialect_pass(lab: Lab) -> None:
    headers = {
        "anthropic-version": "2023-06-01",
        "anthropic-beta": "some-beta",
        "cookie": "a=b",
        "x-api-key": "sk-client",
    }
    gateway = lab.gateway(up=answered(500, failure("no")), dialect="messages")
    await Call("POST", MESSAGES, messages(), headers).answered(gateway)
    sent = lab.upstreams["up"].seen[0].headers
    assert sent["anthropic-beta"] == "some-beta"
    assert not {"cookie", "x-api-key", "authorization"} & set(sent)


async def test_no_header_passes_to_another_dialect(lab: Lab) -> None:
    gateway = lab.gateway(up=answered(500, failure("no")))
    await Call("POST", MESSAGES, messages(), {"anthropic-beta": "some-beta"}).answered(gateway)
    assert "anthropic-beta" not in lab.upstreams["up"].seen[0].headers


# ---- the log


async def test_a_line_for_each_exchange(lab: Lab) -> None:
    answer = [say("an answer in confidence"), DONE]
    gateway = lab.gateway(up=ScriptedAnswer(answer), keys=["sk-client"])
    call = await Call("POST", CHAT, chat(), query="key=sk-client&word=secret").answered(gateway)
    (line,) = lab.log
    assert line["request_id"] == call.headers["x-request-id"]
    expected = {
        "method": "POST",
        "path": CHAT,
        "client": "chat",
        "model": "up/m",
        "upstream": "up/m",
        "status": 200,
        "finish": "stop",
    }
    assert {name: line[name] for name in expected} == expected
    assert line["duration_ms"] >= 0
    assert "error" not in line
    for word in ("confidence", "sk-client", "secret"):
        assert word not in lab.lines[0]


async def test_usage_in_the_log(lab: Lab) -> None:
    await Call("POST", CHAT, chat(stream=False)).answered(lab.gateway(up=answered(200, whole("ok"))))
    assert lab.log[-1]["usage"] == {"input": 3, "output": 1}


async def test_a_bug_is_a_500_and_a_line_without_its_text(lab: Lab) -> None:
    def play(_: UpstreamRequest) -> ScriptedAnswer:
        raise RuntimeError("said in confidence")

    call = await Call("POST", MESSAGES, messages()).answered(lab.gateway(up=play))
    assert (call.status, call.json["type"]) == (500, "error")
    assert "RuntimeError at" in lab.log[0]["internal"]
    assert "confidence" not in call.body.decode() + "".join(lab.lines)
