"""Codex has its history summed up by the server; upstreams of other dialects are asked for a text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman import compaction, dialects
from dragoman.canonical.opaque import Opaque, seal
from dragoman.dialects.responses.compaction import read_summary, render_summary
from dragoman.exceptions import InvalidRequest
from dragoman.translate import Exchange

JSON = dict[str, Any]
TOOL = {"type": "function", "name": "run", "parameters": {"type": "object", "properties": {}}}
TURNS = [
    {"type": "message", "role": "user", "content": "Mend it."},
    {"type": "function_call", "call_id": "call_1", "name": "run", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "call_1", "output": "mended"},
]
TRIGGER = {"type": "compaction_trigger"}
CHOICE = {"index": 0, "delta": {"role": "assistant", "content": "It is "}, "finish_reason": None}


def exchange(upstream: str = "chat") -> Exchange:
    return Exchange(dialects.get("responses"), dialects.get(upstream), seed="s", now=1)


def body(*items: JSON, **members: Any) -> JSON:
    return {"model": "m", "input": [*TURNS, *items], "tools": [TOOL], "stream": False, **members}


def chat(*choices: JSON) -> bytes:
    lines = [{"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice]} for choice in choices]
    return b"".join(b"data: %b\n\n" % json.dumps(line).encode() for line in lines) + b"data: [DONE]\n\n"


def end(text: str, finish: str = "stop", **more: Any) -> JSON:
    return {"index": 0, "delta": {"content": text, **more}, "finish_reason": finish}


def answered(pair: Exchange, data: bytes) -> bytes:
    pair.receive_head(200, {"content-type": "text/event-stream"})
    pair.receive_data(data)
    pair.receive_eof()
    return pair.data_to_send()


@pytest.mark.parametrize("upstream", ["chat", "messages", "gemini"])
def test_the_upstream_is_asked_for_a_summary_and_calls_nothing(upstream: str) -> None:
    made = exchange(upstream).request(body(TRIGGER), "m").body
    asked = json.dumps(made)
    assert json.dumps(compaction.INSTRUCTION)[1:-1] in asked
    assert "compaction_trigger" not in asked
    choice = {"chat": '"tool_choice": "none"', "messages": '{"type": "none"}', "gemini": '"mode": "NONE"'}[upstream]
    assert choice in asked


def test_the_answer_is_one_item() -> None:
    pair = exchange()
    pair.request(body(TRIGGER), "m")
    call = {"index": 0, "id": "call_2", "type": "function", "function": {"name": "run", "arguments": "{}"}}
    answer = json.loads(answered(pair, chat(CHOICE, end("mended.", "tool_calls", tool_calls=[call]))))
    (item,) = answer["output"]
    assert (answer["status"], item["type"]) == ("completed", "compaction")
    assert "It is mended." in str(read_summary(item))


def test_a_stream_of_one_item() -> None:
    pair = exchange()
    pair.request(body(TRIGGER, stream=True), "m")
    data = answered(pair, chat(CHOICE, end("mended.")))
    assert dialects.get("responses").check(data) == []
    events = [json.loads(line[6:]) for line in data.decode().splitlines() if line.startswith("data: {")]
    done = [event["item"]["type"] for event in events if event["type"] == "response.output_item.done"]
    assert (done, events[-1]["type"]) == (["compaction"], "response.completed")


def test_only_the_last_item_asks_for_a_summary() -> None:
    asked = json.dumps(exchange().request(body(TRIGGER, {"role": "user", "content": "And now?"}), "m").body)
    assert json.dumps(compaction.INSTRUCTION)[1:-1] not in asked
    assert "compaction_trigger" not in asked


def test_no_summary_is_an_error() -> None:
    pair = exchange()
    pair.request(body(TRIGGER), "m")
    answered(pair, chat(end("")))
    assert pair.error is not None
    assert "sum up" in pair.error.message


@pytest.mark.parametrize("kind", ["compaction", "compaction_summary"])
@pytest.mark.parametrize("upstream", dialects.names())
def test_a_summary_is_read_by_every_upstream(kind: str, upstream: str) -> None:
    item = {**render_summary('It is "mended".'), "type": kind, "id": "cmp_1"}
    question = {"type": "message", "role": "user", "content": "And now?"}
    made = exchange(upstream).request({"model": "m", "input": [item, question]}, "m").body
    asked = json.dumps(made)
    assert "summed up" in asked
    assert json.dumps('It is "mended".')[1:-1] in asked
    assert "compaction" not in asked


def test_openai_itself_is_asked_as_the_client_asked() -> None:
    made = exchange("responses").request(body(TRIGGER), "m").body
    assert made["input"][-1] == TRIGGER
    assert made["tools"] == [TOOL]


def test_what_openai_summed_up_is_read_by_openai_alone() -> None:
    item = {"type": "compaction", "encrypted_content": "gAAA"}
    assert exchange("responses").request(body(item), "m").body["input"][-1] == item
    with pytest.raises(InvalidRequest):
        exchange().request(body(item), "m")


def test_a_sealed_proof_is_no_summary() -> None:
    assert read_summary({"encrypted_content": seal(Opaque("messages", "signature", "x"))}) is None
    assert read_summary({"encrypted_content": None}) is None
