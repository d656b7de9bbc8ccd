"""Routes, refusals and keys, in the shape of the client's dialect (design/product.md, routes)."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman import dialects
from dragoman.gateway.settings import Limits
from dragoman.upstreams.scripted import ScriptedAnswer
from tests.gateway.asgi import Call
from tests.gateway.conftest import Lab
from tests.gateway.wires import DONE, chat, messages, say, text_of

KEY = "sk-client-key"


def shape(body: Any) -> str:
    """Which dialect's error this is."""
    if body.get("type") == "error":
        return "messages"
    error = body["error"]
    return "gemini" if isinstance(error.get("code"), int) and error.get("status") else "openai"


# ---- routes


@pytest.mark.parametrize(
    ("method", "path", "headers", "status", "dialect"),
    [
        ("POST", "/v1/chat/nothing", {}, 404, "openai"),
        ("POST", "/v1/responses/a/b/c", {}, 404, "openai"),
        ("POST", "/v1/messages/nothing", {}, 404, "messages"),
        ("POST", "/v1beta/models/x:doNothing", {}, 404, "gemini"),
        ("GET", "/v1beta/nothing", {}, 404, "gemini"),
        ("GET", "/v1/nothing", {"anthropic-version": "2023-06-01"}, 404, "messages"),
        ("GET", "/v1/nothing", {"x-goog-api-client": "x"}, 404, "gemini"),
        ("GET", "/v1/nothing", {}, 404, "openai"),
        ("GET", "/nothing", {}, 404, "openai"),
        ("GET", "/V1/MODELS", {}, 404, "openai"),
        ("GET", "//v1/models", {}, 404, "openai"),
        ("GET", "/v1/models/", {}, 404, "openai"),
        ("GET", "/v1/chat/completions", {}, 405, "openai"),
        ("DELETE", "/v1/messages", {}, 405, "messages"),
        ("OPTIONS", "/v1/responses", {}, 405, "openai"),
        ("GET", "/v1beta/models/up/m:streamGenerateContent", {}, 405, "gemini"),
        ("POST", "/v1beta/models", {}, 405, "gemini"),
        ("POST", "/health", {}, 405, "openai"),
    ],
)
async def test_what_is_not_there(
    lab: Lab, method: str, path: str, headers: dict[str, str], status: int, dialect: str
) -> None:
    call = await Call(method, path, {"x": 1}, headers).answered(lab.gateway(up=ScriptedAnswer([DONE])))
    assert (call.status, shape(call.json)) == (status, dialect)
    assert call.headers["x-request-id"]
    assert lab.asked("up") == 0


async def test_a_wrong_method_is_told_the_right_one(lab: Lab) -> None:
    gateway = lab.gateway(up=ScriptedAnswer([DONE]))
    assert (await Call("GET", "/v1/messages").answered(gateway)).headers["allow"] == "POST"
    assert (await Call("POST", "/v1/models").answered(gateway)).headers["allow"] == "GET, HEAD"
    assert (await Call("POST", "/v1/responses/resp_1").answered(gateway)).headers["allow"] == "GET, DELETE"
    assert (await Call("GET", "/v1/responses/input_tokens").answered(gateway)).headers["allow"] == "POST"


@pytest.mark.parametrize("dialect", dialects.names())
async def test_every_route_of_every_dialect_is_served(lab: Lab, dialect: str) -> None:
    gateway = lab.gateway(up=ScriptedAnswer([DONE]))
    for route in dialects.get(dialect).routes:
        path = route.path.replace("{model}", "up/org/m").replace("{id}", "resp_1")
        call = await Call(route.method, path, b"{").answered(gateway)
        assert call.status == (400 if route.method == "POST" else 404), route.path
        assert lab.log[-1]["client"] == dialect


@pytest.mark.parametrize("collection", ["models/", ""])
async def test_a_model_in_the_path_may_hold_slashes(lab: Lab, collection: str) -> None:
    """Vercel's AI SDK leaves the collection out before such a name."""
    gateway = lab.gateway(up=ScriptedAnswer([say("hi"), DONE]))
    body = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    call = Call("POST", f"/v1beta/{collection}up/org/m:8b:streamGenerateContent", body, query="alt=sse")
    await call.answered(gateway)
    assert call.status == 200
    assert lab.upstreams["up"].seen[0].body["model"] == "org/m:8b"
    assert call.body.startswith(b"data: ")


async def test_a_gemini_stream_without_sse_is_an_array(lab: Lab) -> None:
    gateway = lab.gateway(up=ScriptedAnswer([say("hi"), DONE]))
    body = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    call = await Call("POST", "/v1/models/up/m:streamGenerateContent", body).answered(gateway)
    assert call.headers["content-type"] == "application/json"
    assert isinstance(call.json, list)


async def test_health(lab: Lab) -> None:
    gateway = lab.gateway(up=ScriptedAnswer([DONE]), keys=[KEY])
    for method in ("GET", "HEAD"):
        assert (await Call(method, "/health").answered(gateway)).status == 200
    assert lab.log == []
    assert (await Call("HEAD", "/").answered(gateway)).status == 401
    assert (await Call("HEAD", "/", headers={"x-api-key": KEY}).answered(gateway)).status == 200


async def test_mounted_under_a_path(lab: Lab) -> None:
    call = Call("GET", "/llm/v1/models")
    call.scope["root_path"] = "/llm"
    assert (await call.answered(lab.gateway(up=ScriptedAnswer([DONE])))).status == 200


async def test_too_many_header_bytes(lab: Lab) -> None:
    headers = {"x-large": "x" * int(Limits().header_kib * 1024)}
    call = await Call("POST", "/v1/messages", messages(), headers).answered(lab.gateway(up=ScriptedAnswer([DONE])))
    assert call.status in (413, 431)
    assert shape(call.json) == "messages"


async def test_other_scopes(lab: Lab) -> None:
    gateway = lab.gateway(up=ScriptedAnswer([DONE]))
    sent: list[str] = []
    todo = ["lifespan.startup", "lifespan.shutdown"]

    async def receive() -> dict[str, Any]:
        return {"type": todo.pop(0)}

    async def send(message: Any) -> None:
        sent.append(message["type"])

    await gateway({"type": "lifespan"}, receive, send)
    await gateway({"type": "websocket"}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete", "websocket.close"]


# ---- models


async def test_the_list_of_models(lab: Lab) -> None:
    models = {"fast": ["up/m"], "claude-*": ["up/*"]}
    gateway = lab.gateway(models=models, up=ScriptedAnswer([DONE]), known=["chat", "agent"])
    openai = (await Call("GET", "/v1/models").answered(gateway)).json
    assert [one["id"] for one in openai["data"]] == ["fast", "up/chat", "up/agent"]
    assert openai["object"] == "list"
    anthropic = (await Call("GET", "/v1/models", headers={"anthropic-version": "2023-06-01"}).answered(gateway)).json
    assert anthropic["first_id"] == "fast"
    for headers, query, path in (
        ({"x-goog-api-key": "x"}, "", "/v1/models"),
        ({}, "key=x", "/v1/models"),
        ({}, "", "/v1beta/models"),
    ):
        google = (await Call("GET", path, headers=headers, query=query).answered(gateway)).json
        assert google["models"][0]["name"] == "models/fast"


async def test_one_model(lab: Lab) -> None:
    gateway = lab.gateway(models={"fast": ["up/m"]}, up=ScriptedAnswer([DONE]), known=["org/chat"])
    for name in ("fast", "up/org/chat", "org/chat"):
        assert (await Call("GET", f"/v1/models/{name}").answered(gateway)).json["id"] == name
    call = await Call("GET", "/v1/models/up/nothing", headers={"anthropic-version": "1"}).answered(gateway)
    assert (call.status, shape(call.json)) == (404, "messages")
    error = (await Call("GET", "/v1/models/up/nothing").answered(gateway)).json["error"]
    asked = await Call("POST", "/v1/chat/completions", chat(model="else/m")).answered(
        lab.gateway(a=ScriptedAnswer([DONE]), b=ScriptedAnswer([DONE]))
    )
    assert (error["code"], error["param"]) == (asked.json["error"]["code"], "model") == ("model_not_found", "model")


async def test_a_model_that_is_not_listed_but_can_be_used(lab: Lab) -> None:
    gateway = lab.gateway(models={"claude-*": ["up/*"]}, up=ScriptedAnswer([DONE]))
    for name in ("up/demo/chat", "claude-x", "anything"):
        assert (await Call("GET", f"/v1/models/{name}").answered(gateway)).json["id"] == name
    assert (await Call("GET", "/v1/models").answered(gateway)).json["data"] == []


# ---- keys


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ({"authorization": f"Bearer {KEY}"}, ""),
        ({"authorization": f"bearer  {KEY}"}, ""),
        ({"x-api-key": KEY}, ""),
        ({"x-goog-api-key": KEY}, ""),
        ({}, f"key={KEY}"),
        ({"authorization": "Bearer other", "x-api-key": KEY}, ""),
        ({"x-api-key": "sk-second", "host": "gateway.example"}, ""),
        ({"x-api-key": KEY, "origin": "https://page.example"}, ""),
    ],
)
async def test_a_key_in_any_place(lab: Lab, headers: dict[str, str], query: str) -> None:
    gateway = lab.gateway(up=ScriptedAnswer([say("in"), DONE]), keys=[KEY, "sk-second"])
    call = await Call("POST", "/v1/chat/completions", chat(), headers, query).answered(gateway)
    assert (call.status, text_of(call.body)) == (200, "in")


@pytest.mark.parametrize("key", [None, "", "x", KEY[:-1], KEY + "x", KEY.upper(), "*", "\xe9"])
async def test_no_key_or_a_wrong_one(lab: Lab, key: str | None) -> None:
    headers = {} if key is None else {"x-api-key": key}
    gateway = lab.gateway(up=ScriptedAnswer([DONE]), keys=[KEY])
    for path in ("/v1/messages", "/v1/messages/count_tokens", "/v1/messages/nothing"):
        call = await Call("POST", path, b"{", headers).answered(gateway)
        assert (call.status, shape(call.json)) == (401, "messages")
        assert call.headers["www-authenticate"] == "Bearer"
        assert ("is not known here" in call.json["error"]["message"]) == bool(key)
    assert (await Call("GET", "/v1/models", headers=headers).answered(gateway)).status == 401


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:4180", "localhost:1", "[::1]:4180", "LocalHost"])
async def test_without_keys_a_loopback_name_is_served(lab: Lab, host: str) -> None:
    gateway = lab.gateway(up=ScriptedAnswer([say("in"), DONE]))
    headers = {"host": host, "origin": "http://localhost:3000", "x-api-key": "whatever"}
    assert (await Call("POST", "/v1/chat/completions", chat(), headers).answered(gateway)).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "127.0.0.1.evil.example"},
        {"host": "evil.example:127.0.0.1"},
        {"host": ""},
        {"host": "[::1"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost.evil.example"},
    ],
)
async def test_without_keys_nobody_else_is(lab: Lab, headers: dict[str, str]) -> None:
    gateway = lab.gateway(up=ScriptedAnswer([DONE]))
    call = await Call("POST", "/v1/chat/completions", chat(), headers).answered(gateway)
    assert (call.status, lab.asked("up")) == (403, 0)


async def test_without_keys_two_hosts_are_refused(lab: Lab) -> None:
    call = Call("GET", "/v1/models")
    call.scope["headers"].append((b"host", b"localhost"))
    assert (await call.answered(lab.gateway(up=ScriptedAnswer([DONE])))).status == 403
