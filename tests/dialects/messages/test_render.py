"""The members of a body that the Messages API accepts."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.canonical import request as q
from dragoman.dialects.contract import Facts
from dragoman.dialects.messages.render import render_request
from dragoman.exceptions import InvalidRequest

from .asking import TOOL, assistant, body_of, call, losses_of, result, system, text, user

# ---- members


def test_a_small_request() -> None:
    request = q.Request(model="m", messages=(system("Be brief."), user("Hi")), origin="chat", stream=True)
    rendered = render_request(request, Facts())
    assert (rendered.path, rendered.headers, rendered.losses) == (
        "/v1/messages",
        {"anthropic-version": "2023-06-01"},
        (),
    )
    assert rendered.body == {
        "model": "m",
        "max_tokens": 4096,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": [text("Hi")]}],
        "stream": True,
    }


@pytest.mark.parametrize(
    ("wanted", "limit", "sent"), [(None, None, 4096), (None, 64000, 64000), (100, None, 100), (100, 50, 50), (0, 50, 0)]
)
def test_the_limit(wanted: int | None, limit: int | None, sent: int) -> None:
    assert body_of(max_output_tokens=wanted, facts=Facts(max_output_tokens=limit))["max_tokens"] == sent


def test_sampling() -> None:
    body = body_of(temperature=1.5, top_p=0.9, top_k=5, stop=("END", " "), user="u", service_tier="auto")
    assert (body["temperature"], body["top_p"], body["top_k"]) == (1, 0.9, 5)
    assert (body["stop_sequences"], body["metadata"], body["service_tier"]) == (["END"], {"user_id": "u"}, "auto")


def test_what_has_no_form_is_a_loss() -> None:
    lost = losses_of(
        seed=1, frequency_penalty=0.5, logprobs=True, verbosity="low", metadata={"a": "b"}, temperature=2, stop=(" ",),
        service_tier="flex", output=q.OutputFormat(type="json"), unknown=("future",),
        hosted_tools=(q.HostedTool(origin="responses", type="web_search", value={}),),
    )  # fmt: skip
    assert lost == {
        "seed",
        "frequency_penalty",
        "logprobs",
        "verbosity",
        "metadata",
        "temperature",
        "stop",
        "service_tier",
        "response_format",
        "future",
        "tools",
    }
    assert losses_of(logprobs=False) == set()


def test_several_choices_are_refused() -> None:
    with pytest.raises(InvalidRequest) as caught:
        body_of(choices=2)
    assert caught.value.error.param == "n"


def test_structured_output_and_effort_share_their_member() -> None:
    schema = {"type": "object"}
    body = body_of(
        output=q.OutputFormat(type="schema", name="x", schema=schema), reasoning=q.ReasoningRequest(effort="high")
    )
    assert body["output_config"] == {"effort": "high", "format": {"type": "json_schema", "schema": schema}}


# ---- reasoning


@pytest.mark.parametrize(
    ("wanted", "thinking", "effort"),
    [
        (q.ReasoningRequest(effort="minimal"), {"type": "adaptive"}, "low"),
        (q.ReasoningRequest(effort="none"), {"type": "disabled"}, None),
        (q.ReasoningRequest(budget=0), {"type": "disabled"}, None),
        (q.ReasoningRequest(budget=-1, visible=True), {"type": "adaptive", "display": "summarized"}, None),
        (q.ReasoningRequest(budget=1024), {"type": "adaptive"}, "low"),
        (q.ReasoningRequest(budget=8192), {"type": "adaptive"}, "medium"),
        (q.ReasoningRequest(budget=30000, visible=False), {"type": "adaptive", "display": "omitted"}, "high"),
    ],
)
def test_reasoning(wanted: q.ReasoningRequest, thinking: dict[str, Any], effort: str | None) -> None:
    body = body_of(reasoning=wanted)
    assert body["thinking"] == thinking
    assert body.get("output_config", {}).get("effort") == effort


def test_thinking_excludes_sampling_and_a_forced_choice() -> None:
    wanted = q.ReasoningRequest(effort="low")
    assert "temperature" not in body_of(reasoning=wanted, temperature=0.3)
    assert losses_of(reasoning=wanted, temperature=0.3) == {"temperature"}
    forced: dict[str, Any] = {"reasoning": wanted, "tools": (TOOL,), "tool_choice": q.ToolChoice("required")}
    assert "thinking" not in body_of(**forced)
    assert losses_of(**forced) == {"reasoning"}


# ---- tools


def test_tools_and_their_schema() -> None:
    custom = q.Tool(name="patch", kind="custom", format={"type": "grammar", "definition": "x"})
    bare = q.Tool(name="bare", strict=True, cache={"type": "ephemeral"})
    hosted = q.HostedTool(
        origin="messages", type="web_search_20250305", value={"type": "web_search_20250305", "name": "web_search"}
    )
    tools = body_of(tools=(TOOL, custom, bare), hosted_tools=(hosted,))["tools"]
    assert tools == [
        {"name": "run", "description": "d", "input_schema": TOOL.schema},
        {
            "name": "patch",
            "input_schema": {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]},
        },
        {
            "name": "bare",
            "input_schema": {"type": "object", "properties": {}},
            "strict": True,
            "cache_control": {"type": "ephemeral"},
        },
        hosted.value,
    ]
    assert losses_of(tools=(custom,)) == {"tools.0.format"}


@pytest.mark.parametrize(
    ("choice", "parallel", "rendered"),
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
def test_tool_choice(choice: q.ToolChoice | None, parallel: bool | None, rendered: Any) -> None:
    tools = (TOOL, q.Tool(name="b"), q.Tool(name="c"))
    assert body_of(tools=tools, tool_choice=choice, parallel_tool_calls=parallel).get("tool_choice") == rendered


@pytest.mark.parametrize("choice", [q.ToolChoice("auto", ("run",)), q.ToolChoice("required", ("run", "b"))])
def test_only_allowed_tools_are_offered(choice: q.ToolChoice) -> None:
    tools = (TOOL, q.Tool(name="b"), q.Tool(name="c"))
    assert tuple(tool["name"] for tool in body_of(tools=tools, tool_choice=choice)["tools"]) == choice.names


def test_without_tools_there_is_no_choice() -> None:
    assert "tool_choice" not in body_of(tool_choice=q.ToolChoice("auto"), parallel_tool_calls=False)
    assert losses_of(tool_choice=q.ToolChoice("required")) == {"tool_choice"}


def test_tools_of_the_history_are_declared() -> None:
    body = body_of(user("Hi"), assistant(call("c1")), user(result("c1")))
    assert [tool["name"] for tool in body["tools"]] == ["run"]
    assert body["tool_choice"] == {"type": "none"}
