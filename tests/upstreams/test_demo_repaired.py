"""The demo through the translation: what each recording is for, in every client's dialect."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman import dialects
from dragoman.translate import Exchange
from dragoman.upstreams.demo import MODELS
from dragoman.upstreams.demo.answer import answer

QUIRKS = {
    "late-name": {"name-late"},
    "bare-continuation": {"continuation-bare"},
    "index-zero": {"index-reused"},
    "cumulative": {"args-cumulative", "args-echo"},
    "placeholder": {"args-placeholder"},
    "no-id": {"id-missing"},
    "never-named": {"name-never"},
}
BODY: dict[str, Any] = {
    "messages": [{"role": "user", "content": "How are you?"}],
    "tools": [
        {
            "type": "function",
            "function": {
                "name": name,
                "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
            },
        }
        for name in ("get_weather", "get_tides")
    ],
}


def translated(model: str, client: str, *, stream: bool) -> tuple[Exchange, bytes]:
    """The exchange, over, and the bytes that the client got."""
    body = BODY | {"model": model, "stream": stream}
    exchange = Exchange(dialects.get(client), dialects.get("chat"), seed="test", now=1)
    request = dialects.get("chat").parse_request(body, None, None)
    exchange.begin(request, streaming=stream)
    given = answer(body, token="test", now=1)
    exchange.receive_head(given.status, {"content-type": given.content_type})
    for piece in given.pieces:
        exchange.receive_data(piece)
    exchange.receive_eof()
    assert exchange.finished
    return exchange, exchange.data_to_send()


def whole_message(data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(data)["choices"][0]
    return found


@pytest.mark.parametrize("client", ["chat", "gemini", "messages", "responses"])
@pytest.mark.parametrize("model", [name for name in MODELS if name != "early-error"])
def test_what_comes_out_is_well_formed_in_every_dialect(model: str, client: str) -> None:
    _, data = translated(model, client, stream=True)
    violations = dialects.get(client).check(data)
    assert violations == []


@pytest.mark.parametrize("model", [name for name in MODELS if name not in ("error", "early-error", "cut")])
def test_the_repaired_stream_says_what_the_whole_answer_says(model: str) -> None:
    body = BODY | {"model": model, "stream": True}
    exchange = Exchange(dialects.get("chat"), dialects.get("chat"), seed="test", now=1)
    exchange.begin(dialects.get("chat").parse_request(body, None, None), streaming=False)
    exchange.receive_head(200, {})
    exchange.receive_data(b"".join(answer(body, token="test", now=1).pieces))
    exchange.receive_eof()
    collected = whole_message(exchange.data_to_send())
    _, data = translated(model, "chat", stream=False)
    expected = whole_message(data)
    for one in (collected, expected):
        for call in one["message"].get("tool_calls", ()):
            call["id"] = "any"
    assert collected == expected


@pytest.mark.parametrize("model", MODELS)
def test_the_quirk_is_there_and_no_other(model: str) -> None:
    exchange, _ = translated(model, "messages", stream=True)
    assert set(exchange.quirks) == QUIRKS.get(model, set())


@pytest.mark.parametrize("stream", [True, False])
def test_an_early_error_gets_a_true_status(stream: bool) -> None:
    exchange, data = translated("early-error", "messages", stream=stream)
    assert exchange.failed
    assert exchange.head is not None
    assert exchange.head.status == 429
    assert json.loads(data)["error"]["type"] == "rate_limit_error"


@pytest.mark.parametrize("model", ["error", "cut"])
def test_a_broken_answer_does_not_look_finished(model: str) -> None:
    for stream in (True, False):
        exchange, data = translated(model, "messages", stream=stream)
        assert exchange.failed
        assert b"message_stop" not in data
        assert b'"error"' in data


def test_reasoning_and_text_are_apart() -> None:
    for model in ("reasoning", "think-tags"):
        choice = whole_message(translated(model, "chat", stream=False)[1])
        assert "this is" in choice["message"]["content"].lower()
        assert choice["message"]["reasoning_content"]
        assert "think>" not in json.dumps(choice)


def test_counts_are_not_added_up() -> None:
    exchange, _ = translated("usage", "messages", stream=True)
    assert exchange.usage is not None
    assert (exchange.usage.input, exchange.usage.output) == (41, 18)
