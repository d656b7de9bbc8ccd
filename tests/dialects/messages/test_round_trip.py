"""What the encoder writes, the decoder reads back: any answer, and the whole corpus of real streams."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.canonical import events as e
from dragoman.canonical import response as r
from dragoman.canonical.opaque import Opaque
from dragoman.dialects.messages.check import check
from dragoman.streaming.accumulate import Accumulator
from dragoman.translator import Translator

from .driving import JSON, Upstream, encode, frames

CORPUS = Path(__file__).parents[4] / "shared" / "cases" / "streams" / "messages"
CASES = sorted(folder.name for folder in CORPUS.glob("*")) if CORPUS.is_dir() else []

FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}

# ---- any answer

words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
pieces = st.lists(words, min_size=1, max_size=4)
proofs = st.sampled_from([(), (Opaque("messages", "signature", "U0lH"),)])
inputs = st.dictionaries(words, st.one_of(words, st.integers(-9, 9), st.booleans(), st.none()), max_size=3)


def text_block(said: list[str]) -> list[e.Event]:
    return [e.TextStart(), *map(e.TextDelta, said), e.TextEnd()]


def reasoning_block(thought: list[str], opaque: tuple[Opaque, ...]) -> list[e.Event]:
    return [e.ReasoningStart(), *map(e.ReasoningDelta, thought), e.ReasoningEnd(opaque)]


def call_block(given: JSON, cut: int) -> list[e.Event]:
    text = json.dumps(given)
    deltas = [e.ToolCallDelta(piece) for piece in (text[:cut], text[cut:]) if piece]
    return [e.ToolCallStart(id="-", name="run"), *deltas, e.ToolCallEnd()]


blocks = st.one_of(
    st.builds(text_block, pieces),
    st.builds(reasoning_block, pieces, proofs),
    st.builds(call_block, inputs, st.integers(0, 30)),
)


def numbered(events: list[e.Event]) -> list[e.Event]:
    """The same events, each call with an id of its own."""
    return [
        e.ToolCallStart(id=f"c{n}", name=event.name) if isinstance(event, e.ToolCallStart) else event
        for n, event in enumerate(events)
    ]


def blocks_of(events: list[e.Event]) -> list[r.Block]:
    accumulator = Accumulator()
    accumulator.add(events)
    assert accumulator.response is not None
    return list(accumulator.response.choices[0].blocks)


@given(st.lists(blocks, max_size=5))
def test_any_answer_comes_back(drawn: list[list[e.Event]]) -> None:
    body = numbered([event for block in drawn for event in block])
    calls = any(isinstance(event, e.ToolCallStart) for event in body)
    finish = e.FinishReason.TOOL_CALLS if calls else e.FinishReason.STOP
    usage = e.UsageUpdate(e.Usage(input=9, output=4, cached=2), None, "messages")
    sent = [e.ResponseStart(id="msg_1", model="m", origin="messages"), *body, usage, e.ResponseEnd(finish=finish)]
    data = encode(*sent)
    assert check(data) == []
    received = Upstream().say(*frames(data)).end()
    assert blocks_of(received) == blocks_of(sent)
    assert received[0] == sent[0]
    assert received[-2] == usage
    end = received[-1]
    assert isinstance(end, e.ResponseEnd)
    assert end.finish is finish


# ---- the corpus


def translated(body: bytes, stream: bool, cut: int) -> tuple[int, bytes]:
    tools = [
        {"name": name, "input_schema": {"type": "object"}} for name in ("get_weather", "read_file", "run", "list_tasks")
    ]
    request = {
        "model": "m",
        "max_tokens": 10,
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": tools,
        "stream": stream,
    }
    translator = Translator(client="messages", upstream="messages", ids="corpus")
    translator.request(request)
    translator.receive_head(200, {})
    out = b""
    for place in range(0, len(body), cut):
        translator.receive_data(body[place : place + cut])
        out += translator.data_to_send()
    translator.receive_eof()
    out += translator.data_to_send()
    assert translator.head is not None
    return translator.head.status, out


def read(data: bytes) -> tuple[str, list[tuple[str, str]], Any]:
    """Text, calls and stop reason, as a client joins them."""
    if data.startswith(b"{"):
        body = json.loads(data)
        calls = [
            (block["name"], json.dumps(block["input"])) for block in body["content"] if block["type"] == "tool_use"
        ]
        text = "".join(block["text"] for block in body["content"] if block["type"] == "text")
        return text, calls, body["stop_reason"]
    text, reason, calls = "", None, list[tuple[str, str]]()
    for value in frames(data):
        opened, piece = value.get("content_block", {}), value.get("delta", {})
        if opened.get("type") == "tool_use":
            calls.append((opened["name"], ""))
        elif piece.get("type") == "input_json_delta" and calls:
            calls[-1] = (calls[-1][0], calls[-1][1] + piece["partial_json"])
        text += piece.get("text", "")
        reason = piece.get("stop_reason", reason)
    return text, [(name, given or "{}") for name, given in calls], reason


@pytest.mark.skipif(not CASES, reason="the corpus of the sibling folder is not there")
@pytest.mark.parametrize("slug", CASES)
def test_real_streams(slug: str) -> None:
    case = json.loads((CORPUS / slug / "case.json").read_text())
    body = next((CORPUS / slug).glob("upstream.*")).read_bytes()
    expect, stream = case["expect"], case["kind"] == "stream"
    status, data = translated(body, stream, len(body))
    assert (status, data) == translated(body, stream, 1)
    assert (status, data) == translated(body, stream, 7)
    assert all(value.encode() in data for value in expect.get("replay", []))
    if expect["outcome"] != "complete":
        assert b"event: error" in data
        assert b"message_stop" not in data
        return
    assert check(data) == []
    text, calls, reason = read(data)
    assert text == expect["text"]
    assert [(name, json.loads(given)) for name, given in calls] == [
        (call["name"], call["arguments"]) for call in expect["tool_calls"]
    ]
    assert FINISH[reason] == expect["finish"]
