"""What a request for a chat upstream says beside its turns: tools, limits, reasoning, the form of the answer."""

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
    ToolCall,
    ToolChoice,
)
from dragoman.dialects.contract import Facts, UpstreamRequest
from dragoman.exceptions import InvalidRequest
from dragoman.structured import JSON_ONLY, instruction

from .asking import HI, assistant, lost, made, result, user
from .driving import JSON


def test_sampling_and_limits() -> None:
    members: dict[str, Any] = {"temperature": 0.5, "top_p": 0.9, "seed": 1, "stop": ("a",), "max_output_tokens": 100}
    body = made(**members, choices=2, user="u", top_k=5).body
    assert {name: body[name] for name in ("temperature", "top_p", "seed", "stop", "max_tokens", "n", "user")} == {
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 1,
        "stop": ["a"],
        "max_tokens": 100,
        "n": 2,
        "user": "u",
    }
    assert "top_k" not in body


def test_reasoning_models_refuse_sampling() -> None:
    request = made(facts=Facts(reasoning_model=True), temperature=0.5, stop=("x",), max_output_tokens=100)
    assert request.body["max_completion_tokens"] == 100
    assert not {"temperature", "stop", "max_tokens"} & set(request.body)
    assert lost(request) == {"temperature", "stop"}


def test_the_upstreams_limit_is_the_cap() -> None:
    lowered = made(max_output_tokens=100, facts=Facts(max_output_tokens=50))
    assert (lowered.body["max_tokens"], lost(lowered)) == (50, {"max_output_tokens"})
    assert made(facts=Facts(max_output_tokens=50)).body["max_tokens"] == 50


@pytest.mark.parametrize(
    ("asked", "most", "effort"),
    [
        (ReasoningRequest(effort="high"), None, "high"),
        (ReasoningRequest(budget=4_000), None, "medium"),
        (ReasoningRequest(budget=60_000), None, "high"),
        (ReasoningRequest(budget=60_000), 2_000, "low"),
        (ReasoningRequest(adaptive=True), None, None),
        (ReasoningRequest(visible=True), None, None),
    ],
)
def test_a_budget_becomes_an_effort(asked: ReasoningRequest, most: int | None, effort: str | None) -> None:
    request = made(reasoning=asked, facts=Facts(max_thinking_budget=most))
    assert request.body.get("reasoning_effort") == effort
    assert request.losses == ()


def demanded(schema: JSON, origin: str = "responses", **members: Any) -> UpstreamRequest:
    return made(output=OutputFormat(type="schema", schema=schema, **members), origin=origin)


CITY: JSON = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CLOSED: JSON = {**CITY, "additionalProperties": False}
LOOSE: JSON = {"type": "object", "properties": {"city": {"type": "string"}}}


def test_a_schema_from_openais_clients_goes_as_it_is() -> None:
    for strict in (True, False):
        assert demanded(LOOSE, strict=strict, description="d").body["response_format"] == {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": LOOSE, "strict": strict, "description": "d"},
        }
    assert "strict" not in demanded(LOOSE).body["response_format"]["json_schema"]


def test_a_schema_from_apis_that_enforce_it_is_strict_where_that_is_possible() -> None:
    request = demanded(CITY, "gemini")
    assert request.body["response_format"]["json_schema"] == {"name": "answer", "schema": CLOSED, "strict": True}
    assert request.losses == ()
    request = demanded(LOOSE, "gemini")
    assert request.body["response_format"]["json_schema"] == {"name": "answer", "schema": LOOSE}
    assert lost(request) == {"output.strict"}
    assert demanded(CITY, "messages", strict=False).losses == ()


def test_a_schema_of_something_else_than_objects_is_an_instruction() -> None:
    request = demanded({"type": "array"}, "gemini")
    assert "response_format" not in request.body
    assert request.body["messages"][0] == {"role": "system", "content": instruction({"type": "array"})}
    assert lost(request) == {"output"}


def test_any_json_is_asked_for_in_words_too() -> None:
    output = OutputFormat(type="json")
    request = made(output=output)
    assert request.body["response_format"] == {"type": "json_object"}
    assert request.body["messages"][0] == {"role": "system", "content": JSON_ONLY}
    assert request.losses == ()
    said = [Message(Role.SYSTEM, (Text(text="Speak JSON."),)), HI]
    assert len(made(*said, output=output).body["messages"]) == 2
    assert made(*said, output=output).body["messages"][0]["content"] == "Speak JSON."


def test_what_has_no_form_is_a_loss() -> None:
    request = made(
        top_k=5,
        service_tier="standard_only",
        metadata={"a": "b"},
        cache_key="k",
        unknown=("future",),
        hosted_tools=(HostedTool(origin="responses", type="web_search", value={}),),
    )
    assert lost(request) == {"top_k", "service_tier", "metadata", "cache_key", "future", "hosted_tools[0]"}
    assert set(request.body) == {"model", "messages"}


def test_the_key_of_a_cache_goes_to_servers_that_are_known_to_take_it() -> None:
    assert made(cache_key="k", facts=Facts(reasoning_model=True)).body["prompt_cache_key"] == "k"


def test_cache_markers_have_no_form() -> None:
    mark = {"type": "ephemeral"}
    request = made(
        Message(Role.SYSTEM, (Text(text="A"), Text(text="B", cache=mark))),
        user(Text(text="Hi", cache=mark)),
        assistant(ToolCall(id="a", name="run", arguments="{}", cache=mark)),
        user(result("a", Text(text="1"), cache=mark)),
        tools=(Tool(name="run"), Tool(name="stop", cache=mark)),
    )
    assert [loss.path for loss in request.losses] == [
        "messages[0].parts[1].cache",
        "messages[1].parts[0].cache",
        "messages[2].parts[0].cache",
        "messages[3].parts[0].cache",
        "tools[1].cache",
    ]


# ------------------------------------------------------------------ tools


def test_tools_and_choice() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    grammar = {"type": "grammar", "syntax": "lark", "definition": "start: x"}
    tools = (
        Tool(name="get_weather", description="d", schema=schema, strict=False),
        Tool(name="list_tasks"),
        Tool(name="patch", description="Edit", kind="custom", format=grammar),
    )
    body = made(tools=tools, tool_choice=ToolChoice("required", ("patch",)), parallel_tool_calls=False).body
    functions = [tool["function"] for tool in body["tools"]]
    assert functions[0] == {"name": "get_weather", "parameters": schema, "description": "d", "strict": False}
    assert functions[1] == {"name": "list_tasks", "parameters": {"type": "object", "properties": {}}}
    assert functions[2]["parameters"]["required"] == ["input"]
    assert "start: x" in functions[2]["description"]
    assert body["tool_choice"] == {"type": "function", "function": {"name": "patch"}}
    assert body["parallel_tool_calls"] is False


A_B_C = (Tool(name="a"), Tool(name="b"), Tool(name="c"))


@pytest.mark.parametrize(
    ("choice", "offered", "expected", "losses"),
    [
        (ToolChoice("none"), "abc", "none", []),
        (ToolChoice("none", ("a",)), "abc", "none", []),
        (ToolChoice("required"), "abc", "required", []),
        (ToolChoice("required", ("a",)), "abc", {"type": "function", "function": {"name": "a"}}, []),
        (ToolChoice("required", ("c", "a")), "ac", "required", []),
        (ToolChoice("auto", ("a",)), "a", "auto", []),
        (ToolChoice("auto", ("a", "z")), "a", "auto", []),
        (ToolChoice("auto", ("z",)), "abc", "none", []),
        (ToolChoice("required", ("z",)), "abc", None, ["tool_choice"]),
    ],
)
def test_only_allowed_tools_are_offered(choice: ToolChoice, offered: str, expected: Any, losses: list[str]) -> None:
    history = (HI, assistant(ToolCall(id="1", name="b", arguments="{}")), user(result("1", Text(text="ok"))))
    request = made(*history, tools=A_B_C, tool_choice=choice)
    assert [tool["function"]["name"] for tool in request.body["tools"]] == list(offered)
    assert request.body.get("tool_choice") == expected
    assert sorted(lost(request)) == losses


def test_strict_tools_of_other_vendors_must_fit_strict_mode() -> None:
    tools = (Tool(name="a", schema=CLOSED, strict=True), Tool(name="b", schema=LOOSE, strict=True))
    request = made(tools=tools)
    assert [tool["function"].get("strict") for tool in request.body["tools"]] == [True, None]
    assert lost(request) == {"tools[1].strict"}
    assert [tool["function"]["strict"] for tool in made(tools=tools, origin="responses").body["tools"]] == [True, True]


def test_a_name_is_declared_once() -> None:
    request = made(tools=(Tool(name="a", description="first"), Tool(name="a")))
    assert [tool["function"].get("description") for tool in request.body["tools"]] == ["first"]
    assert lost(request) == {"tools[1]"}


def test_a_demand_to_call_one_of_no_tools_is_a_loss() -> None:
    assert lost(made(tool_choice=ToolChoice("required"))) == {"tool_choice"}
    assert lost(made(tool_choice=ToolChoice("auto", ("a",)))) == set()


def test_a_choice_without_tools_is_left_out() -> None:
    assert "tool_choice" not in made(tool_choice=ToolChoice("auto"), parallel_tool_calls=True).body


def test_temperature_and_top_p_exclude_each_other_where_the_upstream_says_so() -> None:
    facts = Facts(exclusive_sampling=True)
    request = made(temperature=0.5, top_p=0.9, facts=facts)
    assert "top_p" not in request.body
    assert lost(request) == {"top_p"}
    assert made(top_p=0.9, facts=facts).body["top_p"] == 0.9


def test_a_schema_is_an_instruction_where_it_cannot_be_demanded() -> None:
    facts = Facts(structured_output=False)
    request = made(output=OutputFormat(type="schema", schema={"type": "object"}), facts=facts)
    assert "response_format" not in request.body
    assert [message["role"] for message in request.body["messages"]] == ["system", "user"]
    assert request.body["messages"][0]["content"] == instruction({"type": "object"})
    assert lost(request) == {"output"}


def test_hosted_tools_are_refused_where_the_operator_wants_that() -> None:
    hosted = HostedTool(origin="messages", type="web_search", value={})
    with pytest.raises(InvalidRequest) as caught:
        made(hosted_tools=(hosted,), facts=Facts(on_server_tool="refuse"))
    assert caught.value.error.param == "tools"
