"""A dialect that is registered is a client and an upstream like any other, without an edit elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from dragoman import Translator, dialects
from dragoman.cli import main
from dragoman.dialects.contract import UpstreamRequest
from dragoman.gateway.accesslog import AccessLog
from dragoman.gateway.app import Gateway
from dragoman.gateway.settings import DialectName, Settings
from dragoman.gateway.turn import Service
from dragoman.upstreams.scripted import ScriptedAnswer, ScriptedUpstream
from tests import toy
from tests.asking import CLIENTS, PROMPT, TOOLS, Asked, ask
from tests.fixtures import pieces
from tests.gateway.asgi import Call
from tests.reading import Said, read
from tests.toy.answer import pieces_in

JSON = dict[str, Any]

SAYS: list[JSON] = [
    {"t": "r", "v": "Hm, "},
    {"t": "r", "v": "the weather."},
    {"t": "x", "v": "Let me "},
    {"t": "x", "v": "look. 🧭"},
    {"t": "c", "i": "call_1", "n": "get_weather"},
    {"t": "a", "v": '{"city": '},
    {"t": "a", "v": '"Utrecht"}'},
    {"t": "/"},
    {"t": "c", "i": "call_2", "n": "list_tasks"},
    {"t": "a", "v": "{}"},
    {"t": "/"},
    {"t": "u", "i": 30, "o": 12},
    {"t": ".", "f": "tool_calls"},
]
STREAM = b"".join(b"data: " + json.dumps(piece).encode() + b"\n\n" for piece in SAYS)
WHOLE = json.dumps({"all": SAYS}).encode()
MEANT = Said(
    text="Let me look. 🧭",
    reasoning="Hm, the weather.",
    calls=[("call_1", "get_weather", '{"city": "Utrecht"}'), ("call_2", "list_tasks", "{}")],
    finish="tool_calls",
    usage={"input": 30, "output": 12},
)

EVERY = (*CLIENTS, "toy")


@pytest.fixture(autouse=True)
def _toy() -> Iterator[None]:
    with toy.registered():
        yield
    assert "toy" not in dialects.names()


def test_a_name_is_taken_once() -> None:
    assert dialects.names() == tuple(sorted(EVERY))
    with pytest.raises(ValueError, match="there is a dialect 'toy' already"):
        dialects.register(toy.DIALECT)


# ---- answers


@pytest.mark.parametrize("cut", [0, 1, 5])
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("client", EVERY)
def test_every_client_gets_what_a_toy_upstream_says(client: str, stream: bool, cut: int) -> None:
    asked, body = question(client, stream=stream), STREAM if stream else WHOLE
    answer = carried(client, "toy", asked, body, cut)
    assert_meant(client, answer)
    assert dialects.get(client).check(answer) == []


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("upstream", CLIENTS)
def test_a_toy_client_gets_what_every_upstream_says(upstream: str, stream: bool) -> None:
    """The upstream's bytes are what a client of its dialect would get of the toy."""
    body = carried(upstream, "toy", question(upstream, stream=stream), STREAM if stream else WHOLE)
    asked = question("toy", stream=stream)
    answer = carried("toy", upstream, asked, body)
    assert_meant("toy", answer)
    assert all(carried("toy", upstream, asked, body, cut) == answer for cut in (1, 2, 11))


@pytest.mark.parametrize("client", EVERY)
def test_a_failure_is_told_in_the_clients_words(client: str) -> None:
    failed = STREAM.replace(json.dumps(SAYS[-1]).encode(), b'{"t": "!", "k": "overloaded", "v": "too many toys"}')
    asked = question(client)
    assert said(client, carried(client, "toy", asked, failed)).error == "too many toys"
    early = failed[failed.index(b'data: {"t": "!"') :]
    answer = carried(client, "toy", asked, early)
    assert said(client, answer).error == "too many toys"
    assert answer.startswith(b"{"), "a failure before the first word has a status of its own"


# ---- requests


@pytest.mark.parametrize("client", EVERY)
def test_what_a_toy_upstream_is_asked(client: str) -> None:
    sent = request_for(client, "toy", question(client))
    assert (sent.path, sent.losses) == ("/toy", ())
    assert sent.body["model"] == "there"
    assert sent.body["s"] is True
    assert sent.body["q"] == [{"w": "u", "x": PROMPT}]
    assert sent.body["t"] == TOOLS


@pytest.mark.parametrize("upstream", CLIENTS)
def test_what_a_toy_client_asks(upstream: str) -> None:
    """Whatever the upstream's dialect says of it, it reads as the same request again."""
    turns = [
        {"w": "s", "x": "Be brief."},
        {"w": "u", "x": PROMPT},
        {"w": "a", "c": "call_1", "n": "get_weather", "a": '{"city":"Utrecht"}'},
        {"w": "r", "c": "call_1", "x": "18 C"},
    ]
    asked = Asked("/toy", {"model": "here", "s": True, "q": turns, "t": TOOLS})
    sent = request_for("toy", upstream, asked)
    assert sent.losses == ()
    stream = True if upstream == "gemini" else None
    again = Asked(sent.path, sent.body, "there" if upstream == "gemini" else None, stream)
    back = request_for(upstream, "toy", again)
    assert back.body == {"model": "there", "s": True, "q": turns, "t": TOOLS}


# ---- the gateway and the command line


@pytest.mark.parametrize("client", EVERY)
async def test_the_gateway_serves_it_as_an_upstream(client: str) -> None:
    asked = question(client, model="up/there")
    path, _, query = asked.path.partition("?")
    call = await Call("POST", path, asked.body, query=query).answered(gateway("toy", STREAM))
    assert call.status == 200
    assert_meant(client, call.body)


@pytest.mark.parametrize("upstream", EVERY)
async def test_the_gateway_serves_its_route(upstream: str) -> None:
    body = STREAM if upstream == "toy" else carried(upstream, "toy", question(upstream), STREAM)
    asked = question("toy", model="up/there")
    call = await Call("POST", "/toy", asked.body).answered(gateway(upstream, body))
    assert call.status == 200
    assert call.headers["x-toy-request"] == call.headers["x-request-id"]
    assert_meant("toy", call.body)


async def test_refusals_are_in_its_words() -> None:
    call = await Call("POST", "/toy", {"model": "nowhere/x", "q": []}).answered(gateway("toy", STREAM))
    assert (call.status, call.json["k"]) == (404, "not_found")
    call = await Call("POST", "/toy", {"model": "up/x", "q": 7}).answered(gateway("toy", STREAM))
    assert (call.status, call.json["v"]) == (400, "q: expected a list of turns")


def test_the_configuration_knows_its_name() -> None:
    assert DialectName.read("toy") == "toy"


def test_the_command_line_knows_its_name() -> None:
    run = CliRunner().invoke(main, ["translate", "--from", "toy", "--to", "messages"], input=STREAM)
    assert run.exit_code == 0
    assert_meant("messages", run.stdout_bytes)
    run = CliRunner().invoke(main, ["translate", "--from", "messages", "--to", "toy"], input=run.stdout_bytes)
    assert_meant("toy", run.stdout_bytes)
    assert CliRunner().invoke(main, ["check", "toy"], input=STREAM).output == "clean\n"
    assert CliRunner().invoke(main, ["check", "toy"], input=STREAM * 2).exit_code == 1


# ---- how


def question(client: str, *, model: str = "here", stream: bool = True) -> Asked:
    if client != "toy":
        return ask(client, model, stream=stream)
    return Asked("/toy", {"model": model, "s": stream, "q": [{"w": "u", "x": PROMPT}], "t": TOOLS})


def request_for(client: str, upstream: str, asked: Asked) -> UpstreamRequest:
    translator = Translator(client=client, upstream=upstream)
    return translator.request(asked.body, "there", path_model=asked.model, path_stream=asked.stream)


def carried(client: str, upstream: str, asked: Asked, body: bytes, cut: int = 0) -> bytes:
    """The client's bytes of this answer."""
    translator = Translator(client=client, upstream=upstream, ids="pairs")
    translator.request(asked.body, "there", path_model=asked.model, path_stream=asked.stream)
    translator.receive_head(200, {})
    out = []
    for piece in pieces(body, cut):
        translator.receive_data(piece)
        out.append(translator.data_to_send())
    translator.receive_eof()
    return b"".join([*out, translator.data_to_send()])


def gateway(upstream: str, body: bytes) -> Gateway:
    played = ScriptedUpstream(upstream, lambda _: ScriptedAnswer(pieces(body, 9)))
    services = {name: Service(name=name, dialect=dialects.get(upstream), upstream=played) for name in ("up", "further")}
    return Gateway(Settings(), services, AccessLog(lambda _: None))


def said(client: str, body: bytes) -> Said:
    if client != "toy":
        return read(client, body)
    found = Said()
    for piece in pieces_in(body):
        match piece:
            case {"t": "x", "v": text}:
                found.text += text
            case {"t": "r", "v": text}:
                found.reasoning += text
            case {"t": "c", "i": id, "n": name}:
                found.calls.append((id, name, ""))
            case {"t": "a", "v": text}:
                id, name, before = found.calls[-1]
                found.calls[-1] = (id, name, before + text)
            case {"t": "u", "i": read_, "o": made}:
                found.usage = {"input": read_, "output": made}
            case {"t": ".", "f": finish}:
                found.finish = finish
            case {"t": "!", "v": message}:
                found.error = message
    return found


def assert_meant(client: str, body: bytes) -> None:
    found = said(client, body)
    assert [(id, name, json.loads(text)) for id, name, text in found.calls] == [
        (id, name, json.loads(text)) for id, name, text in MEANT.calls
    ]
    assert (found.text, found.reasoning, found.finish) == (MEANT.text, MEANT.reasoning, MEANT.finish)
    assert {name: (found.usage or {}).get(name) for name in ("input", "output")} == MEANT.usage
    assert found.error is None
