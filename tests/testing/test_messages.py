"""What a strict messages upstream refuses."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.testing import validate
from tests.testing.changing import GONE, changed

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
MARK = {"type": "ephemeral"}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Utrecht"}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "18 C"}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "U0lH"}
BODY: dict[str, Any] = {
    "model": "m",
    "max_tokens": 2048,
    "system": [{"type": "text", "text": "Be brief.", "cache_control": MARK}],
    "messages": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [THOUGHT, {"type": "redacted_thinking", "data": "UkVE"}, CALL]},
        {"role": "user", "content": [RESULT, IMAGE, {"type": "text", "text": "And?"}]},
        {"role": "system", "content": "Go on."},
        {"role": "assistant", "content": "Fine."},
        {"role": "user", "content": "Thanks."},
    ],
    "tools": [
        {"name": "weather", "description": "", "input_schema": SCHEMA},
        {"type": "web_search_20250305", "name": "web_search"},
    ],
    "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "stop_sequences": ["END"],
    "metadata": {"user_id": "me"},
    "temperature": 1,
    "stream": True,
}


def test_a_sound_request() -> None:
    assert validate("messages", BODY) == []
    assert validate("messages", BODY, headers={"anthropic-version": "2023-06-01"}, proofs=["U0lH", "UkVE"]) == []


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        ("model", GONE, "model: expected a text"),
        ("max_tokens", GONE, "max_tokens: expected a whole number"),
        ("max_tokens", True, "max_tokens: expected a whole number"),
        ("n", 2, "n: unknown member"),
        ("messages", [], "messages: expected at least 1"),
        ("messages[0].role", "tool", "messages[0].role: 'tool' is none of"),
        ("messages[0].role", "assistant", "messages[0].role: the first turn must be the user's"),
        ("messages[4].role", "user", "messages[4].role: two turns of the user"),
        ("messages[0].content", "  ", "messages[0].content.text: must not be blank"),
        ("messages[0].content", [], "messages[0].content: expected at least 1"),
        ("messages[0].content", [{"type": "text", "text": ""}], "messages[0].content[0].text: must not be empty"),
        ("messages[0].content", [{"type": "text", "text": "a", "name": "b"}], "messages[0].content[0].name: unknown"),
        ("messages[0].content", [{"text": "a"}], "messages[0].content[0].type: a block must have a type"),
        ("messages[0].content", [CALL], "tool_use cannot stand in a turn of the user"),
        ("messages[0].content", [IMAGE | {"source": {"type": "base64"}}], "source.media_type: None is none of"),
        ("messages[0].content", [{"type": "document", "source": {"type": "url", "url": "x"}}], "source.url: 'x' does"),
        ("messages[4].content", [IMAGE], "image cannot stand in a turn of the assistant"),
        ("messages[6]", {"role": "assistant", "content": "So "}, "must not end in blanks"),
        ("messages[1].content[2].id", "a:0", "messages[1].content[2].id: 'a:0' does not match"),
        ("messages[1].content[2].name", "a.b", "name: 'a.b' does not match"),
        ("messages[1].content[2].input", "{}", "input: expected an object, not a text"),
        ("messages[1].content[3]", CALL, "there is another call 'toolu_1'"),
        ("messages[2].content[0]", {"type": "text", "text": "a"}, "messages[2]: the call 'toolu_1' has no result"),
        ("messages[2].content[3]", RESULT, "results must stand before all else"),
        ("messages[2].content[1]", RESULT, "the call 'toolu_1' has more than one result"),
        ("messages[5].content", [RESULT], "the turn before has no call 'toolu_1'"),
        ("messages[2].content[0].content", [IMAGE, {"type": "audio"}], "content[1].type: 'audio' is none of"),
        ("messages[2].content[0]", RESULT | {"content": [IMAGE], "is_error": True}, "can hold text only"),
        ("messages[2].content[0]", RESULT | {"content": "", "is_error": True}, "must not be empty where the call"),
        ("messages[1].content[0].signature", "", "messages[1].content[0].signature: must not be empty"),
        ("messages[1].content[0].cache_control", MARK, "is not taken on thinking"),
        ("messages[4].content", [THOUGHT], "a turn must not end in thinking"),
        ("system", [{"type": "text", "text": " "}], "system[0].text: must not be blank"),
        ("system", [IMAGE], "only text can stand in system"),
        ("system[0].cache_control.ttl", "2h", "system[0].cache_control.ttl: '2h' is none of"),
        ("cache_control", {"type": "forever"}, "cache_control.type: 'forever' is none of"),
        ("tools", GONE, "tools: must be declared"),
        ("tools", GONE, "tool_choice: there are no tools"),
        ("tools[0].name", "get weather", "tools[0].name: 'get weather' does not match"),
        ("tools[1].name", "weather", "there is another tool weather"),
        ("tools[0].parameters", SCHEMA, "tools[0].parameters: unknown member"),
        ("tools[0].input_schema", {}, "input_schema.type: expected object"),
        ("tools[0].input_schema.anyOf", [SCHEMA], "input_schema.anyOf: is not taken at the root"),
        ("tools[0].strict", True, "input_schema.additionalProperties: must be false"),
        ("tool_choice", {"type": "any"}, "tool_choice: cannot force a call while thinking"),
        ("tool_choice", {"type": "tool"}, "tool_choice.name: belongs to the type tool"),
        ("tool_choice", {"type": "tool", "name": "b"}, "there is no tool 'b'"),
        ("tool_choice", {"type": "none", "disable_parallel_tool_use": True}, "there is nothing to disable"),
        ("tool_choice", "auto", "tool_choice: expected an object, not a text"),
        ("thinking.budget_tokens", 1000, "thinking.budget_tokens: 1000 is not at least 1024"),
        ("thinking.budget_tokens", 2048, "2048 is not below max_tokens"),
        ("thinking.type", "adaptive", "belongs to the type enabled"),
        ("thinking.display", "all", "thinking.display: 'all' is none of"),
        ("temperature", 0.5, "temperature: is not taken while thinking"),
        ("top_p", 0.5, "top_p: is not taken while thinking"),
        ("top_k", 5, "top_k: is not taken while thinking"),
        ("temperature", 1.5, "temperature: 1.5 is not at least 0 and at most 1.0"),
        ("stop_sequences", ["\n"], "stop_sequences[0]: must not be blank"),
        ("metadata.name", "a", "metadata.name: unknown member"),
        ("service_tier", "flex", "service_tier: 'flex' is none of"),
        ("output_config", {"effort": "minimal"}, "output_config.effort: 'minimal' is none of"),
        ("output_config", {"format": {"type": "json_schema", "schema": SCHEMA}}, "additionalProperties: must be false"),
    ],
)
def test_faults(path: str, value: Any, fault: str) -> None:
    assert any(fault in line for line in validate("messages", changed(BODY, path, value)))


def test_a_turn_that_goes_on_begins_with_thinking() -> None:
    """With a budget: after results the model goes on from what it thought before its call."""
    body = changed(BODY, "messages", BODY["messages"][:3])
    body["messages"][2]["content"] = [RESULT]
    assert validate("messages", body) == []
    body["messages"][1]["content"] = [CALL]
    fault = "messages: thinking is enabled, but the turn that goes on does not begin with it"
    assert validate("messages", body) == [fault]
    assert validate("messages", changed(body, "thinking", {"type": "adaptive"})) == []


def test_calls_at_the_end_have_results() -> None:
    body = changed(BODY, "messages", [BODY["messages"][0], {"role": "assistant", "content": [CALL]}])
    assert "messages: the call 'toolu_1' has no result" in validate("messages", body)


def test_five_markers_are_too_many() -> None:
    marked = [{"type": "text", "text": "a", "cache_control": MARK}] * 4
    body = changed(BODY, "messages[0].content", marked)
    assert validate("messages", body) == ["cache_control: 5 markers, at most 4 are taken"]


def test_headers() -> None:
    assert "anthropic-version: None is none of 2023-06-01, 2026-10-21" in validate("messages", BODY, headers={})
    newest = {"anthropic-version": "2026-10-21"}
    assert validate("messages", BODY, headers=newest) == ["temperature: is not taken in version 2026-10-21"]
    edited = changed(changed(BODY, "context_management", {"edits": []}), "temperature", GONE)
    assert validate("messages", edited, headers=newest) == ["context_management: unknown without its anthropic-beta"]
    beta = {**newest, "anthropic-beta": "context-management-2025-06-27"}
    assert validate("messages", edited, headers=beta) == []
    wide = changed(changed(BODY, "thinking.budget_tokens", 9000), "temperature", GONE)
    assert validate("messages", wide, headers={**newest, "anthropic-beta": "interleaved-thinking-2025-05-14"}) == []


def test_proofs_are_known_or_refused() -> None:
    found = validate("messages", BODY, proofs=["UkVE"])
    assert found == ["messages[1].content[0].signature: this upstream has not given out such a proof"]
