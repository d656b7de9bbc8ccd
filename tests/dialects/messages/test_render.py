"""The members of a body that the Messages API accepts."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.canonical import request as q
from dragoman.dialects.contract import Facts
from dragoman.exceptions import InvalidRequest

from .asking import TOOL, assistant, body_of, call, losses_of, rendered, result, system, text, user

SEARCH = q.HostedTool(origin="responses", type="web_search", value={})

# ---- members


def test_a_small_request() -> None:
    made = rendered(system("Be brief."), user("Hi"), stream=True)
    assert (made.path, made.headers, made.losses) == ("/v1/messages", {"anthropic-version": "2026-10-21"}, ())
    assert made.body == {
        "model": "m",
        "max_tokens": 4096,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": [text("Hi")]}],
        "stream": True,
    }


@pytest.mark.parametrize("members", [{"temperature": 0}, {"top_p": 1}, {"top_k": 5}])
def test_sampling_parameters_need_the_old_version(members: dict[str, Any]) -> None:
    assert rendered(**members).headers == {"anthropic-version": "2023-06-01"}


@pytest.mark.parametrize(
    ("wanted", "limit", "sent"), [(None, None, 4096), (None, 64000, 64000), (100, None, 100), (100, 50, 50), (0, 50, 0)]
)
def test_the_limit(wanted: int | None, limit: int | None, sent: int) -> None:
    assert body_of(max_output_tokens=wanted, facts=Facts(max_output_tokens=limit))["max_tokens"] == sent


def test_the_limit_of_the_upstream_is_told() -> None:
    assert losses_of(max_output_tokens=100, facts=Facts(max_output_tokens=50)) == ["max_output_tokens"]


def test_sampling() -> None:
    body = body_of(temperature=1.5, top_p=0.9, top_k=5, stop=("END", " "), user="u", service_tier="default")
    assert (body["temperature"], body["top_p"], body["top_k"]) == (1, 0.9, 5)
    assert (body["stop_sequences"], body["metadata"], body["service_tier"]) == (
        ["END"],
        {"user_id": "u"},
        "standard_only",
    )


@pytest.mark.parametrize(
    ("members", "lost"),
    [
        ({"seed": 0}, "seed"),
        ({"frequency_penalty": 0.5}, "frequency_penalty"),
        ({"presence_penalty": 0.5}, "presence_penalty"),
        ({"logprobs": True}, "logprobs"),
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"verbosity": "low"}, "verbosity"),
        ({"metadata": {"a": "b"}}, "metadata"),
        ({"cache_key": "k"}, "cache_key"),
        ({"temperature": 2}, "temperature"),
        ({"stop": (" ",)}, "stop"),
        ({"service_tier": "flex"}, "service_tier"),
        ({"user": "u" * 257}, "user"),
        ({"unknown": ("future",)}, "future"),
        ({"hosted_tools": (SEARCH,)}, "hosted_tools[0]"),
    ],
)
def test_what_has_no_form_is_a_loss(members: dict[str, Any], lost: str) -> None:
    assert losses_of(**members) == [lost]


def test_what_asks_for_nothing_is_no_loss() -> None:
    assert losses_of(logprobs=False, service_tier="default") == []


def test_a_hosted_tool_is_refused_by_name() -> None:
    with pytest.raises(InvalidRequest, match="web_search") as caught:
        rendered(hosted_tools=(SEARCH,), facts=Facts(on_server_tool="refuse"))
    assert caught.value.error.param == "tools"


def test_several_choices_are_refused() -> None:
    with pytest.raises(InvalidRequest) as caught:
        body_of(choices=2)
    assert caught.value.error.param == "n"


def test_structured_output_and_effort_share_their_member() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    wanted = q.OutputFormat(type="schema", name="x", schema=schema)
    body = body_of(output=wanted, reasoning=q.ReasoningRequest(effort="high"))
    assert body["output_config"] == {"effort": "high", "format": {"type": "json_schema", "schema": schema}}
    assert losses_of(output=wanted) == []


@pytest.mark.parametrize(
    ("output", "lost"),
    [
        (q.OutputFormat(type="json"), "output"),
        (q.OutputFormat(type="schema", schema={"type": "object"}), "output"),
        (q.OutputFormat(type="schema", schema={"$ref": "#"}), "output"),
    ],
)
def test_what_cannot_be_enforced_is_an_instruction(output: q.OutputFormat, lost: str) -> None:
    body = body_of(system("Be brief."), user("Hi"), output=output)
    assert "output_config" not in body
    assert body["system"].startswith("Be brief.")
    assert "JSON" in body["system"]
    assert losses_of(output=output) == [lost]


def test_what_is_only_told_is_a_loss() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}}
    output = q.OutputFormat(type="schema", description="An answer.", schema=schema)
    sent = body_of(output=output)["output_config"]["format"]["schema"]
    assert sent == {
        "description": "An answer.",
        "type": "object",
        "properties": {"a": {"type": "integer", "description": "(minimum: 1)"}},
        "additionalProperties": False,
    }
    assert losses_of(output=output) == ["output.schema"]


# ---- tools


def test_tools_and_their_schema() -> None:
    custom = q.Tool(name="patch", kind="custom", format={"type": "grammar", "syntax": "lark", "definition": "x"})
    bare = q.Tool(name="bare", strict=True, cache={"type": "ephemeral"}, schema={"additionalProperties": False})
    run, patch, plain = body_of(tools=(TOOL, custom, bare))["tools"]
    assert run == {"name": "run", "description": "d", "input_schema": TOOL.schema}
    assert patch["input_schema"]["properties"] == {"input": {"type": "string"}}
    assert "lark" in patch["description"]
    assert plain == {
        "name": "bare",
        "input_schema": {"type": "object", "additionalProperties": False, "properties": {}},
        "strict": True,
        "cache_control": {"type": "ephemeral"},
    }


@pytest.mark.parametrize(
    ("tools", "lost"),
    [
        ((q.Tool(name="a", strict=True, schema={"properties": {"x": {"type": "string"}}}),), ["tools[0].strict"]),
        ((q.Tool(name="a", schema={"anyOf": [{"required": ["x"]}]}),), ["tools[0].schema"]),
        ((TOOL, TOOL), ["tools[1]"]),
    ],
)
def test_what_tools_lose(tools: tuple[q.Tool, ...], lost: list[str]) -> None:
    assert losses_of(tools=tools) == lost
    assert len(body_of(tools=tools)["tools"]) == 1


@pytest.mark.parametrize(
    ("choice", "parallel", "sent"),
    [
        (None, None, None),
        (None, True, None),
        (None, False, {"type": "auto", "disable_parallel_tool_use": True}),
        (q.ToolChoice("auto"), None, {"type": "auto"}),
        (q.ToolChoice("none"), False, {"type": "none"}),
        (q.ToolChoice("required"), False, {"type": "any", "disable_parallel_tool_use": True}),
        (q.ToolChoice("required", ("run",)), None, {"type": "tool", "name": "run"}),
        (q.ToolChoice("required", ("run", "b")), None, {"type": "any"}),
    ],
)
def test_tool_choice(choice: q.ToolChoice | None, parallel: bool | None, sent: Any) -> None:
    tools = (TOOL, q.Tool(name="b"), q.Tool(name="c"))
    assert body_of(tools=tools, tool_choice=choice, parallel_tool_calls=parallel).get("tool_choice") == sent


@pytest.mark.parametrize("choice", [q.ToolChoice("auto", ("run",)), q.ToolChoice("required", ("run", "b"))])
def test_only_allowed_tools_are_offered(choice: q.ToolChoice) -> None:
    tools = (TOOL, q.Tool(name="b"), q.Tool(name="c"))
    assert tuple(tool["name"] for tool in body_of(tools=tools, tool_choice=choice)["tools"]) == choice.names


def test_without_tools_there_is_no_choice() -> None:
    assert "tool_choice" not in body_of(tool_choice=q.ToolChoice("auto"), parallel_tool_calls=False)
    assert losses_of(tool_choice=q.ToolChoice("required")) == ["tool_choice"]
    forced = q.ToolChoice("required", ("web_search",))
    assert "tool_choice" not in body_of(tools=(TOOL,), tool_choice=forced)
    assert losses_of(tools=(TOOL,), tool_choice=forced) == ["tool_choice"]


def test_tools_of_the_history_are_declared() -> None:
    body = body_of(user("Hi"), assistant(call("c1")), user(result("c1")))
    assert [tool["name"] for tool in body["tools"]] == ["run"]
    assert body["tool_choice"] == {"type": "none"}
