"""The official SDK reads what the encoder and the whole answers give."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman import jsontext
from dragoman.canonical import events as e
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.canonical.opaque import Opaque
from dragoman.dialects.messages.errors import render_error
from dragoman.dialects.messages.response import render_response
from dragoman.streaming.accumulate import Accumulator

from .driving import context, encode

anthropic = pytest.importorskip("anthropic")
httpx2 = pytest.importorskip("httpx2")

USE = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
ANSWER: list[e.Event] = [
    e.ResponseStart(id="msg_1", model="m", origin="messages"),
    e.ReasoningStart(),
    e.ReasoningDelta("Hm."),
    e.ReasoningEnd((Opaque("messages", "signature", "U0lH"),)),
    e.ServerTool("messages", (USE,)),
    e.TextStart(),
    e.CitationAdded(e.Citation(url="https://a.example", title="A", origin="chat")),
    e.TextDelta("Hel"),
    e.TextDelta("lo"),
    e.TextEnd(),
    e.ToolCallStart(id="c1", name="run"),
    e.ToolCallDelta('{"a":'),
    e.ToolCallDelta(' "ü"}'),
    e.ToolCallEnd(),
    e.ToolCallStart(id="c2", name="list"),
    e.ToolCallEnd(),
    e.UsageUpdate(e.Usage(input=9, output=4, cached=2, reasoning=1)),
    e.ResponseEnd(finish=e.FinishReason.TOOL_CALLS),
]


def client(body: bytes, kind: str, status: int = 200) -> Any:
    """An SDK client whose every request is answered with this body."""

    def answer(request: Any) -> Any:
        return httpx2.Response(status, headers={"content-type": kind}, content=body)

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    return anthropic.Anthropic(api_key="k", base_url="http://gateway.test", http_client=http, max_retries=0)


def ask(**members: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": "Hi"}], **members}


def look(message: Any) -> None:
    assert (message.id, message.stop_reason) == ("msg_1", "tool_use")
    thinking, use, text, first, second = message.content
    assert (thinking.thinking, thinking.signature) == ("Hm.", "U0lH")
    assert use.input == {"query": "x"}
    assert (text.text, text.citations[0].url) == ("Hello", "https://a.example")
    assert (first.id, first.name, first.input) == ("c1", "run", {"a": "ü"})
    assert (second.id, second.name, second.input) == ("c2", "list", {})
    usage = message.usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens) == (7, 2, 4)
    assert usage.output_tokens_details.thinking_tokens == 1


def test_a_stream() -> None:
    with client(encode(*ANSWER), "text/event-stream").messages.stream(**ask()) as stream:
        assert "".join(stream.text_stream) == "Hello"
        look(stream.get_final_message())


def test_a_whole_answer() -> None:
    accumulator = Accumulator()
    accumulator.add(ANSWER)
    assert accumulator.response is not None
    body = jsontext.render(render_response(accumulator.response, context()))
    look(client(body, "application/json").messages.create(**ask()))


def test_a_failure_in_the_stream() -> None:
    failed = [*ANSWER[:13], e.ResponseError(Error(kind=ErrorKind.OVERLOADED, message="no room"))]
    asked = client(encode(*failed), "text/event-stream").messages.stream(**ask())
    with pytest.raises(anthropic.APIError, match="no room"), asked as stream:
        stream.get_final_message()


def test_a_failure_before_it() -> None:
    body = jsontext.render(render_error(Error(kind=ErrorKind.RATE_LIMIT, message="slow down"), "req_1"))
    with pytest.raises(anthropic.RateLimitError, match="slow down"):
        client(body, "application/json", 429).messages.create(**ask())
