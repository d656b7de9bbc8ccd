"""Counting tokens: by an upstream that counts, else here, in every dialect's own form."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.upstreams.scripted import ScriptedAnswer
from tests.gateway.asgi import Call
from tests.gateway.conftest import Lab
from tests.gateway.wires import DONE, messages

COUNT = "/v1/messages/count_tokens"
GEMINI = {"contents": [{"role": "user", "parts": [{"text": "one two three"}]}]}


def counted(data: bytes, status: int = 200) -> ScriptedAnswer:
    return ScriptedAnswer([data[:5], data[5:]], status=status, headers={})


async def test_an_upstream_of_the_same_dialect_counts(lab: Lab) -> None:
    gateway = lab.gateway(up=counted(b'{"input_tokens": 42}'), dialect="messages")
    headers = {"anthropic-version": "2023-06-01"}
    body = {name: value for name, value in messages().items() if name not in ("max_tokens", "stream")}
    call = await Call("POST", COUNT, body, headers).answered(gateway)
    assert (call.status, call.json) == (200, {"input_tokens": 42})
    assert "x-dragoman-count" not in call.headers
    (seen,) = lab.upstreams["up"].seen
    assert (seen.path, seen.body["model"], seen.headers) == (COUNT, "m", headers)
    assert not {"max_tokens", "stream"} & set(seen.body)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (GEMINI, GEMINI),
        (
            {"generateContentRequest": {"model": "models/up/g", **GEMINI}},
            {"generateContentRequest": {"model": "models/g", **GEMINI}},
        ),
    ],
)
async def test_both_forms_of_a_gemini_count_go_on(lab: Lab, body: dict[str, Any], wanted: dict[str, Any]) -> None:
    gateway = lab.gateway(up=counted(b'{"totalTokens": 7}'), dialect="gemini")
    call = await Call("POST", "/v1beta/models/up/g:countTokens", body).answered(gateway)
    assert call.json == {"totalTokens": 7}
    (seen,) = lab.upstreams["up"].seen
    assert (seen.path, seen.body) == ("/v1beta/models/g:countTokens", wanted)


async def test_a_responses_count_goes_on_without_what_shapes_answers(lab: Lab) -> None:
    gateway = lab.gateway(up=counted(b'{"object": "response.input_tokens", "input_tokens": 3}'), dialect="responses")
    body = {"model": "up/m", "input": "hi", "instructions": "be brief"}
    call = await Call("POST", "/v1/responses/input_tokens", body).answered(gateway)
    assert call.json["input_tokens"] == 3
    (seen,) = lab.upstreams["up"].seen
    assert (seen.path, seen.body) == ("/responses/input_tokens", {**body, "model": "m"})


CLIENTS: list[tuple[str, dict[str, Any], str, str | None]] = [
    (COUNT, {"model": "up/m", "messages": [{"role": "user", "content": "one two three"}]}, "input_tokens", None),
    ("/v1beta/models/up/m:countTokens", GEMINI, "totalTokens", None),
    ("/v1beta/models/up/m:countTokens", {"generateContentRequest": GEMINI}, "totalTokens", None),
    (
        "/v1/responses/input_tokens",
        {"model": "up/m", "input": "one two three"},
        "input_tokens",
        "response.input_tokens",
    ),
]


@pytest.mark.parametrize(("path", "body", "member", "kind"), CLIENTS)
async def test_for_other_upstreams_it_is_estimated_here(
    lab: Lab, path: str, body: dict[str, Any], member: str, kind: str | None
) -> None:
    call = await Call("POST", path, body).answered(lab.gateway(up=ScriptedAnswer([DONE])))
    assert (call.status, lab.asked("up")) == (200, 0)
    assert call.headers["x-dragoman-count"] == "estimate"
    assert call.json[member] == 7
    assert call.json.get("object") == kind
    assert lab.log[-1]["upstream"] == "up/m"


@pytest.mark.parametrize(
    "answer",
    [
        *(counted(b'{"detail": "Not Found"}', status) for status in (404, 405, 501)),
        counted(b"<html>"),
        counted(b""),
        counted(b'{"x": "' + b"x" * (2 << 20)),
        counted(b'{"type": "message", "content": [], "usage": {"input_tokens": 1}}'),
        *(counted(b'{"input_tokens": %b}' % told) for told in (b"null", b"-1", b'"12"', b"true", b"1.5")),
    ],
)
async def test_a_server_without_a_counter_is_no_obstacle(lab: Lab, answer: ScriptedAnswer) -> None:
    gateway = lab.gateway(up=answer, dialect="messages")
    call = await Call("POST", COUNT, messages()).answered(gateway)
    assert (call.status, lab.asked("up")) == (200, 1)
    assert call.json["input_tokens"] > 5
    assert answer.closed


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (counted(b'{"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}}', 429), 429),
        (counted(b"no key sk-upstream-secret", 400), 400),
        (counted(b"no", 302), 502),
        (counted(b'{"type": "error", "error": {"type": "overloaded_error", "message": "no"}}'), 503),
        (counted(b'[{"error": {"code": 503, "message": "no"}}]'), 503),
        (counted(b'{"error_code": 18, "error_msg": "no"}'), 500),
    ],
)
async def test_a_count_that_fails(lab: Lab, answer: ScriptedAnswer, status: int) -> None:
    call = await Call("POST", COUNT, messages()).answered(lab.gateway(up=answer, dialect="messages"))
    assert (call.status, call.json["type"]) == (status, "error")
    assert "secret" not in call.message
    assert answer.closed


@pytest.mark.parametrize("status", [401, 403])
async def test_the_gateways_key_is_refused_in_the_usual_words(lab: Lab, status: int) -> None:
    call = await Call("POST", COUNT, messages()).answered(lab.gateway(up=counted(b"no", status), dialect="messages"))
    assert call.status == 502
    assert "refused the gateway's own key" in call.message


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        (COUNT, {"model": "up/m", "messages": "x"}, "messages"),
        ("/v1beta/models/up/m:countTokens", {**GEMINI, "cachedContent": "cachedContents/x"}, "cachedContent"),
        (
            "/v1/responses/input_tokens",
            {"model": "up/m", "input": "x", "previous_response_id": "resp_1"},
            "previous_response_id",
        ),
        ("/v1/responses/input_tokens", {"model": "up/m", "input": [{"type": "item_reference", "id": "m"}]}, "input[0]"),
    ],
)
async def test_what_cannot_be_counted_is_refused_in_the_clients_form(
    lab: Lab, path: str, body: dict[str, Any], param: str
) -> None:
    call = await Call("POST", path, body).answered(lab.gateway(up=ScriptedAnswer([DONE])))
    assert call.status == 400
    assert param in call.message or call.json["error"].get("param") == param
