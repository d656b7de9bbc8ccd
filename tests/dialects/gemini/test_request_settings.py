"""Requests: settings, schemas and tools, both ways."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.canonical import request as q
from dragoman.dialects.gemini import DIALECT

from .driving import asked

HELLO = [{"role": "user", "parts": [{"text": "Hello"}]}]


def parsed(body: Any = None, **members: Any) -> q.Request:
    return DIALECT.parse_request({"contents": HELLO, **members} if body is None else body, "m", False)


# ---- settings and tools


def test_generation_config_both_ways() -> None:
    config = {
        "temperature": 0.5,
        "topP": 0.9,
        "topK": 20,
        "maxOutputTokens": 100,
        "stopSequences": ["END"],
        "candidateCount": 2,
        "seed": 7,
        "presencePenalty": 0.1,
        "frequencyPenalty": 0.2,
        "responseLogprobs": True,
        "logprobs": 3,
        "thinkingConfig": {"thinkingLevel": "HIGH", "includeThoughts": True},
        "responseMimeType": "application/json",
        "responseJsonSchema": {"type": "object"},
    }
    request = parsed(generationConfig=config)
    assert (request.choices, request.top_logprobs, request.stop) == (2, 3, ("END",))
    assert asked(request).body["generationConfig"] == config


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"thinkingBudget": 0}, q.ReasoningRequest(effort="none")),
        ({"thinkingBudget": -1}, q.ReasoningRequest(adaptive=True)),
        ({"thinkingBudget": "2048"}, q.ReasoningRequest(budget=2048)),
        ({"thinkingLevel": "high", "includeThoughts": False}, q.ReasoningRequest(effort="high", visible=False)),
        ({"thinkingLevel": "THINKING_LEVEL_UNSPECIFIED", "includeThoughts": True}, q.ReasoningRequest(visible=True)),
        ({}, None),
    ],
)
def test_thinking(config: Any, expected: Any) -> None:
    assert parsed(generationConfig={"thinkingConfig": config}).reasoning == expected


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"responseMimeType": "text/plain"}, None),
        ({"responseMimeType": "application/json"}, q.OutputFormat(type="json")),
        (
            {"responseMimeType": "application/json", "responseSchema": {"type": "OBJECT"}},
            q.OutputFormat(type="schema", schema={"type": "object"}),
        ),
        (
            {"responseJsonSchema": {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}}},
            q.OutputFormat(type="schema", schema={"type": "object", "properties": {"a": {"type": "string"}}}),
        ),
    ],
)
def test_output(config: Any, expected: Any) -> None:
    assert parsed(generationConfig=config).output == expected


def test_an_output_of_another_kind_is_named() -> None:
    assert parsed(generationConfig={"responseMimeType": "text/x.enum"}).unknown == (
        "generationConfig.responseMimeType",
    )


def test_schemas_in_googles_spelling() -> None:
    schema = {
        "type": "OBJECT",
        "propertyOrdering": ["type"],
        "properties": {
            "type": {"type": "STRING", "nullable": True, "enum": ["A"], "description": "STRING"},
            "nullable": {"anyOf": [{"type": "INTEGER"}, {"type": "NUMBER"}], "nullable": True},
            "list": {"type": "ARRAY", "items": {"type": "BOOLEAN"}, "min_items": "1", "maxItems": 3, "example": [True]},
            "any": {"type": "TYPE_UNSPECIFIED"},
        },
        "required": ["type"],
    }
    tool = parsed(tools=[{"functionDeclarations": [{"name": "f", "description": "d", "parameters": schema}]}]).tools[0]
    assert tool.schema == {
        "type": "object",
        "properties": {
            "type": {"type": ["string", "null"], "enum": ["A", None], "description": "STRING"},
            "nullable": {"anyOf": [{"type": "integer"}, {"type": "number"}, {"type": "null"}]},
            "list": {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 3, "examples": [[True]]},
            "any": {},
        },
        "required": ["type"],
    }


def test_json_schema_is_left_alone() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/x", "nullable": True}},
        "$defs": {"x": {"const": "OBJECT"}},
    }
    request = parsed(tools=[{"functionDeclarations": [{"name": "f", "parametersJsonSchema": schema}]}])
    assert request.tools[0].schema == schema
    assert asked(request).body["tools"] == [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": schema}]}]


def test_hosted_tools_go_back_to_google_alone() -> None:
    request = parsed(tools=[{"googleSearch": {}, "functionDeclarations": [{"name": "f"}]}, {"codeExecution": {}}])
    assert [tool.type for tool in request.hosted_tools] == ["googleSearch", "codeExecution"]
    assert asked(request).body["tools"] == [
        {"functionDeclarations": [{"name": "f"}]},
        {"googleSearch": {}},
        {"codeExecution": {}},
    ]


@pytest.mark.parametrize(
    ("calling", "expected"),
    [
        ({"mode": "AUTO"}, q.ToolChoice("auto")),
        ({"mode": "ANY", "allowedFunctionNames": ["f"]}, q.ToolChoice("required", ("f",))),
        ({"mode": "NONE"}, q.ToolChoice("none")),
        ({"mode": "VALIDATED", "allowedFunctionNames": ["f"]}, q.ToolChoice("auto", ("f",))),
        ({"mode": "MODE_UNSPECIFIED"}, None),
        ({}, None),
    ],
)
def test_tool_choice(calling: Any, expected: Any) -> None:
    assert parsed(toolConfig={"functionCallingConfig": calling}).tool_choice == expected


def test_that_calls_keep_to_their_schemas_is_named() -> None:
    path = "toolConfig.functionCallingConfig.mode"
    assert parsed(toolConfig={"functionCallingConfig": {"mode": "VALIDATED"}}).unknown == (path,)
