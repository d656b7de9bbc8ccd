"""Requests of other dialects' clients, built for an upstream of this one: everything but the history."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.canonical.request import (
    HostedTool,
    Message,
    OutputFormat,
    ReasoningRequest,
    Role,
    Text,
    Tool,
    ToolChoice,
)
from dragoman.dialects.contract import Facts, UpstreamRequest
from dragoman.exceptions import InvalidRequest

from .driving import HI, JSON, rendered

RUN = Tool(name="run", schema={"type": "object", "properties": {}})


def lost(made: UpstreamRequest) -> list[str]:
    return [loss.path for loss in made.losses]


# ---- reasoning


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        (ReasoningRequest(effort="low"), {"effort": "low"}),
        (ReasoningRequest(effort="max"), {"effort": "max"}),
        (ReasoningRequest(effort="low", summary="detailed", visible=True), {"effort": "low", "summary": "detailed"}),
        (ReasoningRequest(effort="low", visible=True), {"effort": "low", "summary": "auto"}),
        (ReasoningRequest(effort="none", visible=True), {"effort": "none"}),
        (ReasoningRequest(effort="high", budget=1024), {"effort": "high", "summary": "auto"}),
        (ReasoningRequest(budget=8000), {"effort": "medium", "summary": "auto"}),
        (ReasoningRequest(budget=1024, visible=False), {"effort": "low"}),
        (ReasoningRequest(budget=32000, visible=True), {"effort": "high", "summary": "auto"}),
        (ReasoningRequest(budget=0), {"effort": "none"}),
        (ReasoningRequest(adaptive=True), {"summary": "auto"}),
        (ReasoningRequest(adaptive=True, effort="xhigh"), {"effort": "xhigh", "summary": "auto"}),
        (ReasoningRequest(summary="none"), None),
    ],
)
def test_reasoning_parameters(asked: ReasoningRequest, sent: JSON | None) -> None:
    body = rendered(reasoning=asked).body
    assert (body.get("reasoning"), body["include"]) == (sent, ["reasoning.encrypted_content"])


def test_the_cap_of_budgets_counts() -> None:
    made = rendered(reasoning=ReasoningRequest(budget=32000), facts=Facts(max_thinking_budget=2000))
    assert made.body["reasoning"]["effort"] == "low"


def test_the_ciphertext_is_asked_for_only_where_a_model_may_reason() -> None:
    assert "include" not in rendered().body
    assert rendered(facts=Facts(reasoning_model=True)).body["include"] == ["reasoning.encrypted_content"]


# ---- tools


def test_tools_and_choices() -> None:
    schema = {"type": "object", "properties": {"a": {}}}
    tools = (
        Tool(name="run", description="Runs.", schema=schema),
        Tool(name="strict", strict=True),
        Tool(name="patch", kind="custom", format={"type": "text"}),
        Tool(name="loose", schema={"description": "none"}),
        Tool(name="any", schema={"anyOf": [schema]}),
        Tool(name="run", description="Again."),
    )
    made = rendered(tools=tools, tool_choice=ToolChoice("auto", ("run", "patch")), parallel_tool_calls=False)
    empty = {"type": "object", "properties": {}}
    assert made.body["tools"] == [
        {"type": "function", "name": "run", "description": "Runs.", "parameters": schema, "strict": False},
        {"type": "function", "name": "strict", "parameters": empty, "strict": True},
        {"type": "custom", "name": "patch", "format": {"type": "text"}},
        {"type": "function", "name": "loose", "parameters": {"description": "none", **empty}, "strict": False},
        {"type": "function", "name": "any", "parameters": {"anyOf": [schema]}, "strict": False},
    ]
    assert made.body["tool_choice"] == {
        "type": "allowed_tools",
        "mode": "auto",
        "tools": [{"type": "function", "name": "run"}, {"type": "custom", "name": "patch"}],
    }
    assert made.body["parallel_tool_calls"] is False
    assert lost(made) == ["tools[5]"]


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        (ToolChoice("none"), "none"),
        (ToolChoice("required"), "required"),
        (ToolChoice("required", ("run",)), {"type": "function", "name": "run"}),
        (
            ToolChoice("auto", ("run",)),
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "run"}]},
        ),
    ],
)
def test_choices(choice: ToolChoice, sent: Any) -> None:
    assert rendered(tools=(RUN,), tool_choice=choice).body["tool_choice"] == sent


def test_a_choice_among_no_tools() -> None:
    made = rendered(tool_choice=ToolChoice("required"), parallel_tool_calls=False)
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & set(made.body)
    assert lost(made) == ["tool_choice"]
    assert lost(rendered(tool_choice=ToolChoice("auto"))) == []


def test_names_that_are_illegal_here_are_aliases_everywhere() -> None:
    made = rendered(tools=(Tool(name="a.b"),), tool_choice=ToolChoice("required", ("a.b",)))
    assert made.body["tools"][0]["name"] == made.body["tool_choice"]["name"] == "a_b"


OPEN = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
CLOSED = {"additionalProperties": False, **OPEN}
OPTIONAL = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("origin", "schema", "strict"),
    [
        ("chat", OPTIONAL, True),  # the same rules hold there
        ("messages", CLOSED, True),
        ("messages", OPTIONAL, False),
        ("messages", OPEN, False),
    ],
)
def test_strict_tools(origin: str, schema: JSON, strict: bool) -> None:
    made = rendered(origin=origin, tools=(Tool(name="run", schema=schema, strict=True),))
    assert made.body["tools"][0]["strict"] is strict
    assert lost(made) == ([] if strict else ["tools[0].strict"])


def test_hosted_tools_are_dropped_or_refused() -> None:
    hosted = (HostedTool(origin="messages", type="web_search_20250305", value={}),)
    made = rendered(hosted_tools=hosted, tools=(RUN,))
    assert [tool["name"] for tool in made.body["tools"]] == ["run"]
    assert lost(made) == ["hosted_tools[0]"]
    with pytest.raises(InvalidRequest, match="web_search_20250305") as raised:
        rendered(hosted_tools=hosted, facts=Facts(on_server_tool="refuse"))
    assert raised.value.error.param == "tools"


# ---- parameters


def test_parameters_and_losses() -> None:
    made = rendered(
        stream=True,
        max_output_tokens=300,
        temperature=0.5,
        top_p=0.9,
        top_logprobs=2,
        top_k=5,
        seed=1,
        stop=("END",),
        presence_penalty=0.1,
        frequency_penalty=0.2,
        user="u",
        cache_key="k",
        metadata={"a": "b"},
        service_tier="flex",
        verbosity="low",
        unknown=("logit_bias",),
    )
    body = {name: value for name, value in made.body.items() if name not in ("model", "input")}
    assert body == {
        "store": False,
        "stream": True,
        "max_output_tokens": 300,
        "temperature": 0.5,
        "top_p": 0.9,
        "top_logprobs": 2,
        "text": {"verbosity": "low"},
        "include": ["message.output_text.logprobs"],
        "metadata": {"a": "b"},
        "safety_identifier": "u",
        "prompt_cache_key": "k",
        "service_tier": "flex",
    }
    assert lost(made) == ["logit_bias", "top_k", "seed", "presence_penalty", "frequency_penalty", "stop"]


@pytest.mark.parametrize(
    ("asked", "most", "sent", "losses"),
    [
        (None, None, None, []),
        (None, 100, 100, []),
        (900, 100, 100, ["max_output_tokens"]),
        (50, 100, 50, []),
        (1, None, 16, ["max_output_tokens"]),  # the least that OpenAI takes
    ],
)
def test_limits(asked: int | None, most: int | None, sent: int | None, losses: list[str]) -> None:
    made = rendered(max_output_tokens=asked, facts=Facts(max_output_tokens=most))
    assert (made.body.get("max_output_tokens"), lost(made)) == (sent, losses)


@pytest.mark.parametrize(
    ("facts", "members", "losses"),
    [
        (Facts(), {"temperature", "top_p", "top_logprobs"}, []),
        (Facts(exclusive_sampling=True), {"temperature", "top_logprobs"}, ["top_p"]),
        (Facts(reasoning_model=True), set(), ["temperature", "top_p", "top_logprobs"]),
    ],
)
def test_sampling(facts: Facts, members: set[str], losses: list[str]) -> None:
    made = rendered(temperature=1.0, top_p=0.5, top_logprobs=2, facts=facts)
    assert {"temperature", "top_p", "top_logprobs"} & set(made.body) == members
    assert lost(made) == losses
    assert ("message.output_text.logprobs" in made.body["include"]) is not facts.reasoning_model
    assert "top_p" in rendered(top_p=0.5, facts=Facts(exclusive_sampling=True)).body


def test_what_is_too_long_is_a_digest_or_goes() -> None:
    made = rendered(
        user="u" * 65, cache_key="k" * 65, metadata={"a": "b" * 513, "c": "d"}, service_tier="standard_only"
    )
    assert len(made.body["safety_identifier"]) == len(made.body["prompt_cache_key"]) == 64
    assert made.body["safety_identifier"] == rendered(user="u" * 65).body["safety_identifier"]
    assert (made.body["metadata"], made.body.get("service_tier")) == ({"c": "d"}, None)
    assert lost(made) == ["metadata.a", "user", "cache_key", "service_tier"]


# ---- the form of the answer


def output(schema: JSON, strict: bool | None = None) -> OutputFormat:
    return OutputFormat(type="schema", name="x", schema=schema, strict=strict)


@pytest.mark.parametrize(
    ("origin", "strict", "schema", "sent", "losses"),
    [
        ("chat", True, CLOSED, (CLOSED, True), []),
        ("chat", None, OPEN, (OPEN, False), []),
        ("messages", None, CLOSED, (CLOSED, True), []),
        ("gemini", None, OPEN, (CLOSED, True), []),
        ("messages", None, OPTIONAL, (OPTIONAL, False), ["output.strict"]),
    ],
)
def test_schemas(origin: str, strict: bool | None, schema: JSON, sent: tuple[JSON, bool], losses: list[str]) -> None:
    made = rendered(origin=origin, output=output(schema, strict))
    form = made.body["text"]["format"]
    assert form == {"type": "json_schema", "name": "x", "schema": sent[0], "strict": sent[1]}
    assert lost(made) == losses


@pytest.mark.parametrize(
    ("facts", "schema"), [(Facts(structured_output=False), OPEN), (Facts(), {"type": "array", "items": {}})]
)
def test_a_schema_that_cannot_be_demanded_is_an_instruction(facts: Facts, schema: JSON) -> None:
    system = Message(Role.SYSTEM, (Text(text="Be brief."),))
    made = rendered(system, HI, output=output(schema), facts=facts)
    assert "text" not in made.body
    assert made.body["instructions"].startswith("Be brief.\n\nAnswer with JSON")
    assert f'"type":"{schema["type"]}"' in made.body["instructions"]
    assert lost(made) == ["output"]


def test_json_is_spoken_of_where_it_is_demanded() -> None:
    system = Message(Role.SYSTEM, (Text(text="Answer in JSON."),))
    made = rendered(system, HI, output=OutputFormat(type="json"))
    assert made.body["text"] == {"format": {"type": "json_object"}}
    assert made.body["input"][-1]["role"] == "developer"
    assert "JSON" in made.body["input"][-1]["content"][0]["text"]
    asked = rendered(Message(Role.USER, (Text(text="As json."),)), output=OutputFormat(type="json"))
    assert len(asked.body["input"]) == 1


# ---- refusals


def test_what_would_change_the_meaning_is_refused() -> None:
    with pytest.raises(InvalidRequest) as raised:
        rendered(choices=2)
    assert raised.value.error.param == "n"
    with pytest.raises(InvalidRequest) as raised:
        rendered(bound=("previous_response_id",))
    assert raised.value.error.param == "previous_response_id"
