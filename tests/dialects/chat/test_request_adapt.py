"""A client's own body for an upstream of the same dialect: the least change."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.canonical.aliases import alias
from dragoman.dialects.chat.adapt import adapt_request
from dragoman.dialects.chat.request import parse_request
from dragoman.dialects.contract import Facts
from dragoman.structured import instruction

from .driving import JSON


def adapted(body: JSON, facts: Facts | None = None) -> JSON:
    request = parse_request({**body, "model": "routed"})
    return adapt_request(body, request, facts or Facts()).body


SCHEMA: JSON = {"type": "object"}
TOLD = instruction(SCHEMA)
BODY: JSON = {"model": "asked", "messages": [{"role": "user", "content": "Hi"}]}


def test_a_body_of_the_same_dialect_passes_with_another_model_name() -> None:
    body = {**BODY, "future": {"a": [1]}, "temperature": 0.5, "logit_bias": {"1": 2}}
    assert adapted(body) == {**body, "model": "routed"}
    assert body["model"] == "asked"


def test_usage_is_asked_for_in_streams_where_the_upstream_can() -> None:
    body = {**BODY, "stream": True, "stream_options": {"include_obfuscation": False}}
    assert adapted(body)["stream_options"] == {"include_obfuscation": False, "include_usage": True}
    assert adapted({**BODY, "stream": True})["stream_options"] == {"include_usage": True}
    asked = {**BODY, "stream": True, "stream_options": {"include_usage": True}}
    assert "stream_options" not in adapted(asked, Facts(stream_usage=False))
    assert "stream_options" not in adapted(BODY)


def test_what_a_reasoning_model_refuses() -> None:
    body = {**BODY, "max_tokens": 100, "temperature": 1, "top_p": None, "stop": ["x"]}
    request = adapt_request(body, parse_request(body), Facts(reasoning_model=True, max_output_tokens=60))
    assert request.body == {**BODY, "max_completion_tokens": 60}
    assert {loss.path for loss in request.losses} == {"temperature", "stop", "max_completion_tokens"}


def test_the_history_gets_sound_arguments_and_its_own_ids() -> None:
    sound = {"id": "a", "type": "function", "function": {"name": "run", "arguments": '{ "x": 1 }'}}
    broken = {"id": alias("run:1"), "type": "function", "function": {"name": "run", "arguments": '{"x'}, "more": 1}
    history = [
        *BODY["messages"],
        {"role": "assistant", "content": None, "tool_calls": [sound, broken], "reasoning_content": "Hm."},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": alias("run:1"), "content": "2"},
    ]
    messages = adapted({**BODY, "messages": history})["messages"]
    assert messages[1]["tool_calls"] == [
        sound,
        {
            "id": "run:1",
            "type": "function",
            "function": {"name": "run", "arguments": '{"INVALID_JSON":"{\\"x"}'},
            "more": 1,
        },
    ]
    assert messages[1]["reasoning_content"] == "Hm."
    assert [message.get("tool_call_id") for message in messages[2:]] == ["a", "run:1"]
    assert history[1]["tool_calls"] == [sound, broken]


def test_a_schema_is_an_instruction_where_it_cannot_be_demanded() -> None:
    demanded = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}
    body = {**BODY, "response_format": demanded, "temperature": 1, "top_p": 0.5}
    own = adapted(body, Facts(structured_output=False, exclusive_sampling=True))
    assert [message["role"] for message in own["messages"]] == ["system", "user"]
    assert not {"response_format", "top_p"} & set(own)


@pytest.mark.parametrize(
    ("first", "told"),
    [
        ({"role": "system", "content": "Be kind."}, f"Be kind.\n\n{TOLD}"),
        ({"role": "developer", "content": [{"type": "text", "text": "Be kind."}]}, [
            {"type": "text", "text": "Be kind."},
            {"type": "text", "text": TOLD},
        ]),
        ({"role": "system", "content": None}, TOLD),
    ],
)  # fmt: skip
def test_an_instruction_joins_the_systems_own_message(first: JSON, told: Any) -> None:
    demanded = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}
    body = {**BODY, "messages": [first, *BODY["messages"]], "response_format": demanded}
    own = adapted(body, Facts(structured_output=False))
    assert own["messages"] == [{**first, "content": told}, *BODY["messages"]]


def test_the_form_of_calls_from_before_tools_becomes_that_of_tools() -> None:
    function = {"name": "weather", "parameters": SCHEMA}
    call = {"name": "weather", "arguments": "{}"}
    history = [
        *BODY["messages"],
        {"role": "assistant", "content": None, "function_call": call},
        {"role": "function", "name": "weather", "content": "18 C"},
    ]
    body = {**BODY, "messages": history, "functions": [function], "function_call": {"name": "weather"}}
    own = adapted(body)
    assert own["tools"] == [{"type": "function", "function": function}]
    assert own["tool_choice"] == {"type": "function", "function": {"name": "weather"}}
    assert own["parallel_tool_calls"] is False
    assert not {"functions", "function_call"} & set(own)
    assert own["messages"][1:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_1_weather", "type": "function", "function": call}],
        },
        {"role": "tool", "name": "weather", "content": "18 C", "tool_call_id": "call_1_weather"},
    ]
    assert adapted({**BODY, "function_call": "auto"})["tool_choice"] == "auto"


def test_functions_of_the_old_form_stand_beside_tools() -> None:
    tools = [{"type": "function", "function": {"name": "new"}}]
    own = adapted({**BODY, "functions": [{"name": "old"}], "tools": tools, "tool_choice": "required"})
    assert [tool["function"]["name"] for tool in own["tools"]] == ["old", "new"]
    assert own["tool_choice"] == "required"
