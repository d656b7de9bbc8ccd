"""What an attacker tries, on either side of the gateway (docs/security.md). Keys, hosts and routes: test_app."""

from __future__ import annotations

import hmac
import json
import logging
import re
from typing import Any
from urllib.parse import unquote

import msgspec
import pytest

from dragoman import dialects
from dragoman.canonical.errors import MESSAGE_BYTES
from dragoman.dialects.contract import UpstreamRequest
from dragoman.exceptions import InvalidRequest
from dragoman.gateway.auth import ClientKeys
from dragoman.gateway.client import ClientRequest
from dragoman.gateway.config import load
from dragoman.gateway.connect import connect
from dragoman.gateway.settings import Secret, Settings
from dragoman.upstreams.scripted import ScriptedAnswer
from tests import asking
from tests.gateway.asgi import Call
from tests.gateway.conftest import Lab
from tests.gateway.wires import CHAT, DONE, chat, chunk, event, failure, say, text_of

CANARY = "canary-4f1d9a77c3"
every_client = pytest.mark.parametrize("client", dialects.names())
every_upstream = pytest.mark.parametrize("upstream", dialects.names())


def asked(client: str, model: str = "up/m", **more: Any) -> Call:
    one = asking.ask(client, model)
    return Call("POST", one.path.partition("?")[0], {**one.body, **more}, query="alt=sse")


# ---- keys


def request(**headers: str) -> ClientRequest:
    async def receive() -> dict[str, Any]:
        raise AssertionError

    lines = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
    scope = {"method": "GET", "path": "/v1/models", "query_string": b"", "headers": lines}
    return ClientRequest(scope, receive)


@pytest.mark.parametrize("offered", ["first", "third", "wrong", ""])
def test_every_key_is_compared_in_constant_time_whichever_fits(monkeypatch: pytest.MonkeyPatch, offered: str) -> None:
    compared: list[tuple[bytes, bytes]] = []
    compare = hmac.compare_digest

    def note(one: Any, other: Any) -> bool:
        compared.append((one, other))
        return compare(one, other)

    monkeypatch.setattr(hmac, "compare_digest", note)
    keys = ClientKeys([Secret("first"), Secret("second"), Secret("third")])
    try:
        keys.demand(request(x_api_key=offered))
    except InvalidRequest:
        assert offered not in ("first", "third")
    assert len(compared) == 3
    assert {len(side) for pair in compared for side in pair} == {32}


def test_only_digests_of_client_keys_are_kept() -> None:
    keys = ClientKeys([Secret(CANARY)])
    assert CANARY not in repr(vars(keys))
    scope = keys.demand(request(x_api_key=CANARY))
    assert CANARY not in scope
    assert scope != ClientKeys([Secret(CANARY + "x")]).demand(request(x_api_key=CANARY + "x"))


@pytest.mark.parametrize("show", [str, repr, ascii, "{}".format, "{!r:>9}".format, "%s".__mod__, lambda s: f"{[s]}"])
def test_a_secret_cannot_be_printed(show: Any) -> None:
    assert CANARY not in show(Secret(CANARY))


@pytest.mark.parametrize("write", [msgspec.json.encode, json.dumps, msgspec.to_builtins])
def test_a_secret_cannot_be_written_down(write: Any) -> None:
    with pytest.raises((TypeError, NotImplementedError)):
        write(Secret(CANARY))


CONFIGURED = f"""
keys: [{CANARY}1]
upstreams:
  up: {{dialect: chat, base_url: "http://h/v1", api_key: {CANARY}2, headers: {{authorization: "Bearer {CANARY}3"}}}}
tools:
  lab: {{mcp: {{url: "http://h/mcp?key={CANARY}4", headers: {{x: {CANARY}5}}}}}}
"""


def test_nothing_that_holds_settings_shows_a_secret() -> None:
    settings = load(CONFIGURED, {})
    services = connect(settings)
    assert CANARY not in f"{settings!r} {settings} {services!r} {settings.upstreams['up'].headers!r}"
    assert CANARY in settings.upstreams["up"].headers["authorization"]


# ---- headers

ODD_HEADERS = [
    *("cookie", "proxy-authorization", "x-forwarded-for", "x-forwarded-host", "forwarded", "x-real-ip", "te", "via"),
    *("x-hop", "referer", "origin-agent", "x-stainless-lang", "openai-organization", "x-request-id", "traceparent"),
    *("x-base-url", "x-upstream-url", "x-portkey-custom-host", "transfer", "upgrade-insecure-requests", "expect-ct"),
    *("x-amz-security-token", "x-goog-user-project", "user-agent", "accept-language", "content-encoding-x"),
]


@every_client
@every_upstream
async def test_of_a_clients_headers_an_upstream_gets_those_on_the_list(lab: Lab, client: str, upstream: str) -> None:
    call = asked(client)
    known = dialects.get(client).forward_headers if client == upstream else ()
    lines = {**dict.fromkeys(ODD_HEADERS, CANARY), **dict.fromkeys(known, "2023-06-01")}
    call.scope["headers"] += [(name.encode(), value.encode()) for name, value in lines.items()]
    call.scope["headers"] += [(name, CANARY.encode()) for name in (b"authorization", b"x-api-key", b"x-goog-api-key")]
    await call.answered(lab.gateway(dialect=upstream, up=ScriptedAnswer([failure("no")], status=400)))
    (sent,) = lab.upstreams["up"].seen
    assert CANARY not in repr(sent)
    assert {name for name, value in sent.headers.items() if value == "2023-06-01"} - {"anthropic-version"} <= set(known)


SECRET_HEADERS = [
    *("set-cookie", "server", "x-internal-token", "openai-organization", "openai-project", "authorization", "via"),
    *("x-amz-security-token", "location", "x-powered-by", "cf-ray", "www-authenticate", "proxy-authenticate", "x-host"),
    *("link", "refresh", "content-location", "alt-svc", "report-to", "nel", "access-control-allow-origin", "etag"),
    *("content-disposition", "strict-transport-security", "keep-alive", "upgrade", "trailer", "x-ratelimit", "p3p"),
]


@every_client
@pytest.mark.parametrize("status", [200, 400, 401, 503])
async def test_of_an_upstreams_headers_a_client_gets_those_on_the_list(lab: Lab, client: str, status: int) -> None:
    passed = {"x-ratelimit-remaining-tokens": "5", "anthropic-ratelimit-requests-limit": "6", "x-request-id": "up-1"}
    headers = {**dict.fromkeys(SECRET_HEADERS, CANARY), **passed}
    steps = [say("hi"), DONE] if status == 200 else [failure("no")]
    call = await asked(client).answered(lab.gateway(up=ScriptedAnswer(steps, status=status, headers=headers)))
    assert CANARY not in repr(call.headers)
    own = {"content-type", "cache-control", "content-length", "x-accel-buffering", "x-request-id", "request-id"}
    allowed = {*own, "x-upstream-request-id", "x-ratelimit-remaining-tokens", "anthropic-ratelimit-requests-limit"}
    assert set(call.headers) - allowed <= {name for name in call.headers if name.startswith("x-dragoman-")}


@pytest.mark.parametrize("value", ["a\r\nset-cookie: b", "a\nb", "a\x00b", "a\x7fb", "ä", "x" * 2000])
async def test_no_header_of_an_upstream_ends_a_line(lab: Lab, value: str) -> None:
    headers = {"x-ratelimit-evil": value, "x-request-id": value, "retry-after": value}
    call = await asked("chat").answered(lab.gateway(up=ScriptedAnswer([failure("no")], status=429, headers=headers)))
    assert not {"x-ratelimit-evil", "x-upstream-request-id", "retry-after", "set-cookie"} & set(call.headers)


# ---- where a request goes

URL = "http://127.0.0.1:1/v1"
INERT: dict[str, Any] = {
    **dict.fromkeys(("api_base", "base_url", "baseURL", "custom_host", "proxy", "upstream", "endpoint", "url"), URL),
    **{"api_key": CANARY, "headers": {"x-evil": "1"}, "extra_headers": {"x-evil": "1"}, "extra_query": {"k": "v"}},
    **{"extra_body": {"api_base": URL}, "litellm_params": {"api_base": URL}, "path": "/evil", "method": "DELETE"},
}


@every_client
@every_upstream
async def test_nothing_in_a_request_chooses_host_path_method_or_header(lab: Lab, client: str, upstream: str) -> None:
    gateway = lab.gateway(dialect=upstream, up=lambda _: ScriptedAnswer([failure("no")], status=400))
    await asked(client).answered(gateway)
    call = asked(client, **INERT)
    call.scope["query_string"] += f"&base_url={URL}&key={CANARY}&path=/evil".encode()
    await call.answered(gateway)
    plain, odd = lab.upstreams["up"].seen
    assert (odd.path, odd.method, odd.headers) == (plain.path, plain.method, plain.headers)
    if client != upstream:
        assert odd.body == plain.body


EVIL_MODELS = [
    *("../../v1/files", "..", ".", "%2e%2e/%2e%2e/admin", "m?key=mine&alt=json", "m#x", "m:deleteModel", "..\\..\\m"),
    *(
        "m\r\nx-injected: yes\r\n\r\nGET /evil HTTP/1.1",
        "m@127.0.0.1:1/x",
        "m/../../x",
        "//evil.example/x",
        "m%00",
        "m\x00",
    ),
    *("http://evil.example/", "m;x=y", "m\u2028x", "ｍ／．．／x", "m\ud800", "%", " ", "m/", "m" * 3000),
]
GEMINI_PATH = re.compile(r"/v1beta/models/[^?#\s\\:]+:(?:streamGenerateContent\?alt=sse|generateContent|countTokens)\Z")


@pytest.mark.parametrize("model", EVIL_MODELS)
async def test_a_models_name_stays_one_part_of_the_path(lab: Lab, model: str) -> None:
    gateway = lab.gateway(dialect="gemini", up=lambda _: ScriptedAnswer([failure("no")], status=400))
    calls = [
        Call("POST", CHAT, chat(f"up/{model}")),
        Call("POST", CHAT, chat(f"up/{model}", stream=False)),
        Call("POST", f"/v1beta/models/up/{model}:generateContent", {"contents": [{"parts": [{"text": "hi"}]}]}),
        Call("POST", f"/v1beta/models/up/{model}:countTokens", {"contents": [{"parts": [{"text": "hi"}]}]}),
    ]
    for call in calls:
        await call.answered(gateway)
        assert 400 <= call.status < 500
    for sent in lab.upstreams["up"].seen:
        assert GEMINI_PATH.fullmatch(sent.path), sent.path
        assert not {".", ".."} & {unquote(part) for part in sent.path.partition("?")[0].split("/")}


@every_upstream
async def test_a_models_name_is_in_no_path_of_a_dialect_that_has_it_in_the_body(lab: Lab, upstream: str) -> None:
    if upstream == "gemini":
        return
    gateway = lab.gateway(dialect=upstream, up=lambda _: ScriptedAnswer([failure("no")], status=400))
    for model in EVIL_MODELS:
        await Call("POST", CHAT, chat(f"up/{model}")).answered(gateway)
    assert len({sent.path for sent in lab.upstreams["up"].seen}) == 1


@every_client
@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 307, 308])
async def test_a_redirect_is_an_error_and_not_followed(lab: Lab, client: str, status: int) -> None:
    answer = ScriptedAnswer([b""], status=status, headers={"location": f"http://evil.example/{CANARY}"})
    call = await asked(client).answered(lab.gateway(up=answer))
    assert (call.status, lab.asked("up")) == (502, 1)
    assert CANARY not in call.body.decode() + repr(call.headers)


# ---- what upstreams put into streams

INJECTED = [
    'one\r\n\r\ndata: {"evil": true}\n\nevent: error\rtwo',
    "one\u2028two\u2029three\x85four\x0bfive\x0csix\x1eseven",
    "one\x00two\x1bthree\x7f",
    "one\n\ndata: [DONE]\n\ntwo: data:\n: comment\n",
]


def lines_of(body: bytes) -> list[bytes]:
    return re.split(rb"\r\n|\r|\n", body)


def sound(client: str, body: bytes) -> bool:
    """Nothing but lines of events, each of them whole JSON; and a strict client takes them."""
    for line in lines_of(body):
        if line.startswith(b"data: ") and line != b"data: [DONE]":
            json.loads(line[6:])
        elif line and not line.startswith((b"event: ", b":")) and line != b"data: [DONE]":
            return False
    return not re.search(rb"[\x00-\x09\x0b-\x1f]", body) and dialects.get(client).check(body) == []


@every_client
@pytest.mark.parametrize("text", INJECTED)
async def test_what_an_upstream_says_stays_inside_json(lab: Lab, client: str, text: str) -> None:
    call = {
        "index": 0,
        "id": f"c1{text}",
        "type": "function",
        "function": {"name": "run", "arguments": json.dumps({"command": text})},
    }
    steps = [
        chunk({"reasoning_content": text}),
        say(text),
        chunk({"tool_calls": [call]}),
        chunk({}, "tool_calls"),
        DONE,
    ]
    odd = [step.replace(b'"model": "up"', b'"model": ' + json.dumps(text).encode()) for step in steps]
    odd = [step.replace(b'"id": "c1"', b'"id": ' + json.dumps(text).encode()) for step in odd]
    for how in (steps, odd):
        answer = await asked(client).answered(lab.gateway(up=ScriptedAnswer(how)))
        assert answer.status == 200
        assert sound(client, answer.body)
        events = [json.loads(line[6:]) for line in lines_of(answer.body) if line[:7] == b"data: {"]
        assert not any("evil" in one for one in events)


@every_client
@pytest.mark.parametrize("text", INJECTED)
async def test_so_does_what_it_says_of_its_failures(lab: Lab, client: str, text: str) -> None:
    error = event({"error": {"message": text, "type": text, "code": text, "param": text}})
    call = await asked(client).answered(lab.gateway(up=ScriptedAnswer([say("seen"), error])))
    assert sound(client, call.body)
    body = json.dumps({"error": {"message": text, "type": text, "code": text}}).encode()
    call = await asked(client).answered(lab.gateway(up=ScriptedAnswer([body], status=400)))
    assert call.status == 400
    assert not re.search(rb"[\x00-\x1f]", call.body)
    assert not {"set-cookie", "data"} & set(call.headers)


@every_client
async def test_an_error_carries_the_upstreams_words_bounded_and_without_keys(lab: Lab, client: str) -> None:
    message = f"Incorrect key sk-proj-{CANARY} given. " + "ä" * 5000
    for steps, status in (([failure(message)], 400), ([say("hi"), event({"error": {"message": message}})], 200)):
        call = await asked(client).answered(lab.gateway(up=ScriptedAnswer(steps, status=status)))
        assert CANARY.encode() not in call.body
        assert b"Incorrect key [key] given" in call.body
        longest = max(map(len, re.findall("ä+", call.body.decode())))
        assert longest * 2 <= MESSAGE_BYTES


@every_client
async def test_a_bug_tells_a_client_nothing(lab: Lab, client: str, caplog: pytest.LogCaptureFixture) -> None:
    def play(_: UpstreamRequest) -> ScriptedAnswer:
        raise RuntimeError(f"at /srv/{CANARY}.py")

    with caplog.at_level(logging.DEBUG):
        call = await asked(client).answered(lab.gateway(up=play))
    assert (call.status, dialects.get(client).check(call.body)) == (500, [])
    assert CANARY not in call.body.decode() + "".join(lab.lines) + caplog.text
    assert "Traceback" not in call.body.decode()


# ---- where it listens


def test_it_listens_on_this_machine_unless_told_otherwise() -> None:
    assert Settings().listen.loopback
    assert not Settings().keys


async def test_a_stolen_key_of_the_gateway_is_not_shown_by_the_page_that_is_asked(lab: Lab) -> None:
    """No answer carries leave for another origin's page to read it."""
    gateway = lab.gateway(up=ScriptedAnswer([say("hi"), DONE]), keys=["k"])
    headers = {"origin": "https://evil.example", "x-api-key": "k"}
    call = await Call("POST", CHAT, chat(), headers).answered(gateway)
    assert text_of(call.body) == "hi"
    assert not [name for name in call.headers if name.startswith("access-control-")]
    preflight = await Call("OPTIONS", CHAT, b"", headers).answered(gateway)
    assert not [name for name in preflight.headers if name.startswith("access-control-")]
