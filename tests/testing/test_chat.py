"""What a strict chat upstream refuses."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.testing import validate
from tests.testing.changing import GONE, changed

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw==", "detail": "low"}}
CALL = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Utrecht"}'}}
PATCH = {"id": "call_2", "type": "custom", "custom": {"name": "patch", "input": ""}}
BODY: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Be brief, in JSON."},
        {"role": "user", "content": [{"type": "text", "text": "Hi"}, IMAGE]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [CALL, PATCH],
            "reasoning_details": [{"type": "reasoning.encrypted", "data": "RU5D"}],
        },
        {"role": "tool", "tool_call_id": "call_2", "content": "done"},
        {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "18 C"}]},
        {"role": "assistant", "content": "Fine.", "reasoning_content": "Hm."},
        {"role": "user", "content": "Thanks."},
    ],
    "tools": [
        {"type": "function", "function": {"name": "weather", "description": "", "parameters": SCHEMA}},
        {"type": "custom", "custom": {"name": "patch"}},
    ],
    "tool_choice": {"type": "function", "function": {"name": "weather"}},
    "parallel_tool_calls": False,
    "stream": True,
    "stream_options": {"include_usage": True},
    "max_tokens": 99,
    "temperature": 2,
    "stop": ["END"],
    "logprobs": True,
    "top_logprobs": 2,
    "response_format": {"type": "json_object"},
    "reasoning_effort": "xhigh",
}


def test_a_sound_request() -> None:
    assert validate("chat", BODY) == []
    assert validate("chat", BODY, proofs=["RU5D"]) == []


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        ("model", "", "model: must not be empty"),
        ("top_k", 5, "top_k: unknown member"),
        ("messages", GONE, "messages: expected a list, not nothing"),
        ("messages[0].role", "model", "messages[0].role: 'model' is none of"),
        ("messages[0].content", [IMAGE], "messages[0].content[0].type: 'image_url' is none of"),
        ("messages[1].content", None, "messages[1].content: must be there"),
        ("messages[1].content", [], "messages[1].content: expected at least 1"),
        ("messages[1].content[0].text", "", "messages[1].content[0].text: must not be empty"),
        ("messages[1].content[1].image_url.url", "ftp://x", "url: 'ftp://x' does not match"),
        ("messages[1].content[1].image_url.detail", "best", "detail: 'best' is none of"),
        ("messages[1].content[1]", {"type": "file", "file": {}}, "needs either file_id or file_data"),
        ("messages[1].content[1]", {"type": "input_audio", "input_audio": {"data": "a", "format": "ogg"}}, "'ogg' is"),
        ("messages[1].tool_calls", [], "messages[1].tool_calls: unknown member"),
        ("messages[2].tool_calls", [], "messages[2].tool_calls: expected at least 1"),
        ("messages[2].tool_calls", [CALL], "no call 'call_2' waits for a result"),
        ("messages[2].tool_calls[1]", CALL, "there is another call 'call_1'"),
        ("messages[2].tool_calls[0].id", "", "messages[2].tool_calls[0].id: must not be empty"),
        ("messages[2].tool_calls[0].id", "a" * 41, "41 characters, at most 40 are taken"),
        ("messages[2].tool_calls[0].call_id", "a", "call_id: unknown member"),
        ("messages[2].tool_calls[0].function.name", "a.b", "name: 'a.b' does not match"),
        ("messages[2].tool_calls[0].function.arguments", "", "arguments: must not be empty"),
        ("messages[2].tool_calls[0].function.arguments", '{"a"', "arguments: is no JSON"),
        ("messages[2].tool_calls[0].function.arguments", "[]", "arguments: is no JSON object"),
        ("messages[3]", {"role": "user", "content": "a"}, "the call 'call_2' has no result right after it"),
        ("messages[4].content", [IMAGE], "messages[4].content[0].type"),
        ("messages[5].content", None, "messages[5].content: must be there"),
        ("messages[5].reasoning_content", 1, "messages[5].reasoning_content: expected a text"),
        ("messages[7]", {"role": "tool", "tool_call_id": "call_1", "content": "a"}, "no call 'call_1' waits"),
        ("messages[7]", {"role": "assistant", "tool_calls": [CALL]}, "the call 'call_1' has no result"),
        ("tools", [], "tools: expected at least 1"),
        ("tools", GONE, "parallel_tool_calls: there are no tools"),
        ("tools[0].name", "weather", "tools[0].name: unknown member"),
        ("tools[0].function.name", "a.b", "'a.b' does not match"),
        ("tools[0].function.parameters", {"properties": {}}, "parameters.type: expected object"),
        ("tools[0].function.strict", True, "parameters.additionalProperties: must be false"),
        ("tools[0].function.strict", True, "parameters.required: must name every member"),
        ("tool_choice", "any", "tool_choice: 'any' is none of"),
        ("tool_choice.function.name", "b", "there is no tool 'b'"),
        ("tool_choice", {"type": "allowed_tools", "allowed_tools": {"mode": "none", "tools": []}}, "mode: 'none' is"),
        ("stream", False, "stream_options: goes with stream only"),
        ("max_completion_tokens", 9, "max_tokens: does not go with"),
        ("max_tokens", 0, "max_tokens: 0 is not at least 1"),
        ("temperature", 2.5, "temperature: 2.5 is not at least 0 and at most 2"),
        ("n", 0, "n: 0 is not"),
        ("stop", list("abcde"), "stop: 5 words"),
        ("logit_bias", {"1": 101}, "logit_bias.1: 101 is not"),
        ("logprobs", False, "top_logprobs: goes with logprobs only"),
        ("messages[0].content", "Be brief.", "json_object is taken only where"),
        ("response_format", {"type": "json_schema", "json_schema": {"schema": {}}}, "json_schema.name: expected"),
        ("reasoning_effort", "most", "reasoning_effort: 'most' is none of"),
        ("metadata", {"a": "b"}, "metadata: goes with store only"),
        ("metadata", {"a": 1}, "metadata.a: expected a text"),
    ],
)
def test_faults(path: str, value: Any, fault: str) -> None:
    assert any(fault in line for line in validate("chat", changed(BODY, path, value)))


def test_proofs_are_known_or_refused() -> None:
    fault = "messages[2].reasoning_details[0].data: this upstream has not given out such a proof"
    assert validate("chat", BODY, proofs=[]) == [fault]
