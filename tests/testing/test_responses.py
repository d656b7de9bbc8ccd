"""What a strict responses upstream refuses."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.testing import validate
from tests.testing.changing import GONE, changed

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "weather", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "18 C"}
IMAGE = {"type": "input_image", "image_url": "https://llm.example/a.png", "detail": "auto"}
BODY: dict[str, Any] = {
    "model": "m",
    "instructions": "Be brief.",
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "input": [
        {"role": "user", "content": "Hi, in JSON"},
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "Hm."}],
            "encrypted_content": "RU5D",
        },
        CALL,
        {"type": "custom_tool_call", "call_id": "call_2", "name": "patch", "input": ""},
        {"type": "custom_tool_call_output", "call_id": "call_2", "output": [{"type": "input_text", "text": "done"}]},
        OUTPUT,
        {
            "type": "message",
            "role": "assistant",
            "id": "msg_1",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Fine.", "annotations": []}],
        },
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And?"}, IMAGE]},
    ],
    "tools": [
        {"type": "function", "name": "weather", "parameters": SCHEMA, "strict": False},
        {"type": "custom", "name": "patch"},
        {"type": "namespace", "name": "crm", "tools": [{"type": "function", "name": "find", "parameters": SCHEMA}]},
        {"type": "web_search"},
    ],
    "tool_choice": {"type": "function", "name": "weather"},
    "parallel_tool_calls": True,
    "max_output_tokens": 16,
    "reasoning": {"effort": "low", "summary": "auto"},
    "text": {"format": {"type": "json_object"}, "verbosity": "low"},
    "metadata": {"a": "b"},
    "prompt_cache_key": "k",
    "stream": True,
}


def test_a_sound_request() -> None:
    assert validate("responses", BODY) == []
    assert validate("responses", BODY, proofs=["RU5D"]) == []
    assert validate("responses", {"model": "m", "input": "Hi"}) == []
    assert validate("responses", {"model": "m", "previous_response_id": "resp_1", "input": [OUTPUT]}) == []


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        ("model", GONE, "model: expected a text"),
        ("messages", [], "messages: unknown member"),
        ("input", GONE, "input: expected a list, not nothing"),
        ("input[0]", {"content": "a"}, "input[0].type: an item must have a type"),
        ("input[0].role", "tool", "input[0].role: 'tool' is none of"),
        ("input[0].content", [{"type": "output_text", "text": "a"}], "input[0].content[0].type: 'output_text' is"),
        ("input[0].content", [{"type": "text", "text": "a"}], "input[0].content[0].type: 'text' is none of"),
        ("input[6].content[0].type", "input_text", "input[6].content[0].type: 'input_text' is none of"),
        ("input[6].id", "chatcmpl-1", "input[6].id: 'chatcmpl-1' does not begin with msg"),
        ("input[6].status", "done", "input[6].status: 'done' is none of"),
        ("input[7].content[1].file_id", "file_1", "needs either image_url or file_id"),
        ("input[7].content[1].image_url", "a.png", "'a.png' does not match"),
        ("input[7].content[1]", {"type": "input_file"}, "needs one of file_id, file_data and file_url"),
        ("input[2].id", "call_1", "input[2].id: 'call_1' does not begin with fc"),
        ("input[2].call_id", "a" * 65, "input[2].call_id: 65 characters"),
        ("input[2].call_id", "a", "input[2]: the call 'a' has no output"),
        ("input[2].name", "a b", "input[2].name: 'a b' does not match"),
        ("input[2].arguments", "{", "input[2].arguments: is no JSON"),
        ("input[2].arguments", {}, "input[2].arguments: expected a text, not an object"),
        ("input[2].tool_call_id", "a", "input[2].tool_call_id: unknown member"),
        ("input[5].output", {"a": 1}, "input[5].output: expected a list"),
        ("input[5].type", "custom_tool_call_output", "no call 'call_1' waits for an output"),
        ("input[8]", OUTPUT, "input[8].call_id: no call 'call_1' waits for an output"),
        ("input[8]", CALL, "there is another call 'call_1'"),
        ("input[1].id", "th_1", "'th_1' does not begin with rs"),
        ("input[1].encrypted_content", GONE, "must be there where nothing is stored"),
        ("input[1].summary", GONE, "input[1].summary: expected a list"),
        ("input[1].content", [{"type": "reasoning_text", "text": "a"}], "raw reasoning is not taken back"),
        ("input[8]", BODY["input"][1], "reasoning must be followed by the item that came of it"),
        ("input[8]", {"type": "item_reference", "id": "msg_1"}, "nothing is stored that could be referred to"),
        ("tools[0]", {"type": "function", "function": {"name": "weather"}}, "tools[0].function: unknown member"),
        ("tools[0].name", "a.b", "tools[0].name: 'a.b' does not match"),
        ("tools[0].parameters", {}, "tools[0].parameters.type: expected object"),
        ("tools[0].strict", True, "additionalProperties: must be false"),
        ("tools[2].tools[0].name", "", "tools[2].tools[0].name: must not be empty"),
        ("tools", [], "tool_choice: there are no tools"),
        ("tool_choice.name", "b", "there is no tool 'b'"),
        ("tool_choice", "any", "'any' is none of"),
        ("tool_choice", {"type": "allowed_tools", "mode": "auto", "tools": []}, "tools: expected at least 1"),
        ("max_output_tokens", 1, "max_output_tokens: 1 is not at least 16"),
        ("temperature", 3, "temperature: 3 is not"),
        ("reasoning.effort", "most", "reasoning.effort: 'most' is none of"),
        ("reasoning.budget", 1, "reasoning.budget: unknown member"),
        ("text.verbosity", "much", "text.verbosity: 'much' is none of"),
        ("text.format", {"type": "json_schema", "schema": SCHEMA, "name": "a b"}, "text.format.name: 'a b' does"),
        ("input[0].content", "Hi", "json_object is taken only where the input speaks of JSON"),
        ("include", ["everything"], "include[0]: 'everything' is none of"),
        ("metadata", {str(n): "" for n in range(17)}, "metadata: 17 pairs"),
        ("prompt_cache_key", "k" * 65, "prompt_cache_key: 65 characters"),
        ("stream_options", {"include_usage": True}, "stream_options.include_usage: unknown member"),
        ("text.format", {"type": "xml"}, "text.format.type: 'xml' is none of"),
    ],
)
def test_faults(path: str, value: Any, fault: str) -> None:
    assert any(fault in line for line in validate("responses", changed(BODY, path, value)))


def test_an_output_may_answer_a_call_of_the_answer_before() -> None:
    body = changed(BODY, "input", [OUTPUT])
    assert validate("responses", body) != []
    body["text"] = {}
    assert validate("responses", changed(body, "previous_response_id", "resp_1")) == []
    both = changed(changed(body, "previous_response_id", "resp_1"), "conversation", "conv_1")
    assert validate("responses", both) == ["previous_response_id: does not go with conversation"]


def test_proofs_are_known_or_refused() -> None:
    fault = "input[1].encrypted_content: this upstream has not given out such a proof"
    assert validate("responses", BODY, proofs=[]) == [fault]
