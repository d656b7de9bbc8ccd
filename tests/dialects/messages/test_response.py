"""Whole answers, which say the same as streamed ones."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman import jsontext
from dragoman.canonical import events as e
from dragoman.canonical import response as r
from dragoman.canonical.opaque import Opaque, unseal
from dragoman.dialects.messages.check import check
from dragoman.dialects.messages.response import render_response
from dragoman.streaming.accumulate import Accumulator

from .driving import context, encode, frames, whole

GEMINI = Opaque("gemini", "signature", "R0VN")


def rendered(*blocks: r.Block, finish: e.FinishReason = e.FinishReason.STOP, **members: Any) -> dict[str, Any]:
    choice = r.Choice(blocks=blocks, finish=finish, origin=members.get("origin", ""))
    response = r.Response(**{"id": "x", "model": "m", "created": None, "choices": (choice,), **members})
    body = render_response(response, context())
    assert check(jsontext.render(body)) == []
    return body


def test_a_plain_answer() -> None:
    body = rendered(r.TextBlock(text="Hi."), id="msg_1", origin="messages", usage=e.Usage(input=3, output=1))
    assert body == {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "Hi."}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 1},
    }


def test_a_foreign_answer_gets_an_id_and_zeros() -> None:
    body = rendered(
        r.TextBlock(text="Hi."), id="chatcmpl-1", model="", origin="chat", native={"system_fingerprint": "f"}
    )
    assert body["id"].startswith("msg_")
    assert body["model"] == "asked-model"
    assert body["usage"] == {"input_tokens": 0, "output_tokens": 0}
    assert "system_fingerprint" not in body


def test_empty_blocks_go() -> None:
    assert rendered(r.TextBlock(text=""), r.ReasoningBlock(text=""))["content"] == []


@pytest.mark.parametrize(("origin", "passes"), [("messages", True), ("chat", False)])
def test_native_members_of_a_call_pass_within_the_dialect(origin: str, passes: bool) -> None:
    native = {"caller": {"type": "direct"}}
    block = r.ToolCallBlock(id="c", name="run", arguments="{}", native=native)
    (sent,) = rendered(block, finish=e.FinishReason.TOOL_CALLS, origin=origin)["content"]
    assert sent == {"type": "tool_use", "id": "c", "name": "run", "input": {}, **(native if passes else {})}


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        ('{"a": 1}', {"a": 1}),
        ("", {}),
        ("{a: 1}", {"INVALID_JSON": "{a: 1}"}),
        ("[1]", {"INVALID_JSON": "[1]"}),
        ('{"a": "Pa', {"INVALID_JSON": '{"a": "Pa'}),
    ],
)
def test_tool_input_is_an_object(arguments: str, given: dict[str, Any]) -> None:
    body = rendered(r.ToolCallBlock(id="c", name="run", arguments=arguments), finish=e.FinishReason.TOOL_CALLS)
    assert body["content"] == [{"type": "tool_use", "id": "c", "name": "run", "input": given}]
    assert body["stop_reason"] == "tool_use"


def test_reasoning_and_its_proofs() -> None:
    own, sealed = Opaque("messages", "signature", "U0lH"), Opaque("responses", "encrypted", "ENC", "rs_1")
    content = rendered(
        r.ReasoningBlock(text="a", opaque=(own,)),
        r.ReasoningBlock(text="b"),
        r.ReasoningBlock(text="", opaque=(sealed,)),
    )["content"]
    assert content[:2] == [
        {"type": "thinking", "thinking": "a", "signature": "U0lH"},
        {"type": "thinking", "thinking": "b", "signature": ""},
    ]
    assert unseal(content[2]["data"]) == sealed


def test_proofs_of_calls_stand_beside_them() -> None:
    block = r.ToolCallBlock(id="c", name="run", arguments="{}", signature=GEMINI)
    content = rendered(block, finish=e.FinishReason.TOOL_CALLS)["content"]
    assert [item["type"] for item in content] == ["redacted_thinking", "tool_use"]


def test_citations_and_server_tools() -> None:
    use = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    native = {"type": "page_location", "cited_text": "q"}
    cited = r.TextBlock(text="a", citations=(e.Citation(origin="messages", native=native), e.Citation(title="no URL")))
    content = rendered(
        e.ServerTool("messages", (use,)), e.ServerTool("gemini", ({"x": 1},)), e.Media(media_type="image/png"), cited
    )["content"]
    assert content == [use, {"type": "text", "text": "a", "citations": [native]}]


def test_own_members_come_back() -> None:
    body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": [{"type": "text", "text": "I can"}],
        "stop_reason": "refusal",
        "stop_sequence": None,
        "stop_details": {"type": "refusal", "category": "bio", "explanation": None},
        "container": {"id": "c", "expires_at": "2026-12-01T00:00:00Z"},
        "usage": {"input_tokens": 5, "cache_read_input_tokens": 2, "output_tokens": 3, "service_tier": "standard"},
    }
    accumulator = Accumulator()
    accumulator.add(whole(body))
    assert accumulator.response is not None
    assert render_response(accumulator.response, context()) == body


def test_streamed_equals_whole() -> None:
    events: list[e.Event] = [
        e.ResponseStart(id="msg_1", model="m", origin="messages"),
        e.ReasoningStart(),
        e.ReasoningDelta("Hm."),
        e.ReasoningEnd((Opaque("messages", "signature", "U0lH"),)),
        e.TextStart(),
        e.TextDelta("Hel"),
        e.TextDelta("lo"),
        e.TextEnd(GEMINI),
        e.ToolCallStart(id="c", name="run"),
        e.ToolCallDelta('{"a":'),
        e.ToolCallDelta("1}"),
        e.ToolCallEnd(),
        e.UsageUpdate(e.Usage(input=9, output=4, cached=2)),
        e.ResponseEnd(finish=e.FinishReason.TOOL_CALLS),
    ]
    accumulator = Accumulator()
    accumulator.add(events)
    assert accumulator.response is not None
    assert collected(frames(encode(*events))) == render_response(accumulator.response, context())


def collected(found: list[dict[str, Any]]) -> dict[str, Any]:
    """What a client makes of a stream: the message with its blocks."""
    message: dict[str, Any] = {}
    inputs: dict[int, str] = {}
    for frame in found:
        match frame["type"]:
            case "message_start":
                message = frame["message"]
            case "content_block_start":
                message["content"].append(frame["content_block"])
            case "content_block_delta":
                block = message["content"][frame["index"]]
                for name, piece in frame["delta"].items():
                    if name == "partial_json":
                        inputs[frame["index"]] = inputs.get(frame["index"], "") + piece
                        block["input"] = jsontext.parse(inputs[frame["index"]]) if piece.endswith("}") else {}
                    elif name != "type":
                        block[name] += piece
            case "message_delta":
                message |= frame["delta"]
                message["usage"] |= frame["usage"]
    return message
