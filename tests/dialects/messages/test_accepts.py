"""What the facts about an upstream change: in a request that crosses over, and in a client's own body."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dragoman.canonical import request as q
from dragoman.dialects.contract import Facts, UpstreamRequest
from dragoman.dialects.messages.request import adapt_count, adapt_request, parse_request

from .asking import OWN, TOOL, assistant, body_of, call, losses_of, rendered, result, user

ADAPTIVE = Facts(thinking="adaptive")
BUDGET = Facts(thinking="budget")
NOTHING = Facts(thinking=False)
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}


def adapted(facts: Facts, **members: Any) -> UpstreamRequest:
    body = {"model": "m", "max_tokens": 32000, "messages": [{"role": "user", "content": "Hi"}], **members}
    return adapt_request(body, msgspec.structs.replace(parse_request(body), model="up"), facts)


def lost(made: UpstreamRequest) -> list[str]:
    return [loss.path for loss in made.losses]


def asks(effort: q.Effort | None = None, **members: Any) -> q.ReasoningRequest:
    return q.ReasoningRequest(effort=effort, **members)


# ---- thinking, in a request that crosses over


@pytest.mark.parametrize(
    ("wanted", "facts", "thinking", "effort"),
    [
        (asks("minimal"), Facts(), {"type": "adaptive"}, "low"),
        (asks("xhigh"), ADAPTIVE, {"type": "adaptive"}, "xhigh"),
        (asks("none"), Facts(), {"type": "disabled"}, None),
        (asks(budget=0), Facts(), {"type": "disabled"}, None),
        (asks(adaptive=True, visible=True), Facts(), {"type": "adaptive", "display": "summarized"}, None),
        (asks(budget=1024), Facts(), {"type": "adaptive"}, "low"),
        (asks(budget=8192), Facts(), {"type": "adaptive"}, "medium"),
        (asks(budget=30000, visible=False), Facts(), {"type": "adaptive", "display": "omitted"}, "high"),
        (asks("low"), BUDGET, {"type": "enabled", "budget_tokens": 2048}, None),
        (asks("low", visible=True), BUDGET, {"type": "enabled", "budget_tokens": 2048}, None),
        (asks("low", visible=False), BUDGET, {"type": "enabled", "budget_tokens": 2048, "display": "omitted"}, None),
        (asks("high"), BUDGET, {"type": "enabled", "budget_tokens": 24576}, None),
        (asks(adaptive=True), BUDGET, {"type": "enabled", "budget_tokens": 24576}, None),
        (asks(budget=5000), BUDGET, {"type": "enabled", "budget_tokens": 5000}, None),
        (asks("none"), BUDGET, {"type": "disabled"}, None),
        (asks("none"), NOTHING, None, None),
    ],
)
def test_thinking(wanted: q.ReasoningRequest, facts: Facts, thinking: Any, effort: Any) -> None:
    made = rendered(reasoning=wanted, max_output_tokens=64000, facts=facts)
    assert made.body.get("thinking") == thinking
    assert made.body.get("output_config", {}).get("effort") == effort
    assert lost(made) == []


@pytest.mark.parametrize(
    ("wanted", "limit", "cap", "budget", "losses"),
    [
        (asks("high"), 2000, None, 1600, []),
        (asks("high"), 1100, None, 1024, []),
        (asks("high"), 1024, None, None, ["reasoning"]),
        (asks("high"), None, None, 3276, []),
        (asks("max"), 128000, 10000, 10000, []),
        (asks(budget=8000), 4000, None, 3200, ["reasoning.budget"]),
        (asks(budget=8000), 64000, 2000, 2000, ["reasoning.budget"]),
        (asks(budget=500), 4000, None, None, ["reasoning"]),
        (asks(budget=8000), 64000, 1000, None, ["reasoning"]),
    ],
)
def test_a_budget_stays_below_the_limit(
    wanted: q.ReasoningRequest, limit: int | None, cap: int | None, budget: int | None, losses: list[str]
) -> None:
    facts = Facts(thinking="budget", max_thinking_budget=cap)
    made = rendered(reasoning=wanted, max_output_tokens=limit, facts=facts)
    assert made.body["max_tokens"] == (limit or 4096)
    assert made.body.get("thinking", {}).get("budget_tokens") == budget
    assert lost(made) == losses


@pytest.mark.parametrize("facts", [Facts(), BUDGET])
@pytest.mark.parametrize("choice", [q.ToolChoice("required"), q.ToolChoice("required", ("run",))])
def test_a_forced_choice_wins_over_thinking(facts: Facts, choice: q.ToolChoice) -> None:
    made = rendered(reasoning=asks("medium"), tools=(TOOL,), tool_choice=choice, facts=facts)
    assert "thinking" not in made.body
    assert made.body["tool_choice"]["type"] in ("any", "tool")
    assert lost(made) == ["reasoning"]


def test_an_upstream_that_does_not_think_is_not_asked_to() -> None:
    made = rendered(reasoning=asks("high"), facts=NOTHING)
    assert "thinking" not in made.body
    assert "output_config" not in made.body
    assert lost(made) == ["reasoning"]


@pytest.mark.parametrize(
    ("history", "thinks"),
    [
        ((user("a"), assistant(call("c")), user(result("c"))), False),
        ((user("a"), assistant(call("c")), user(result("c"), "hurry")), False),
        ((user("a"), assistant("b")), False),
        ((user("a"), assistant(call("c")), user(result("c")), assistant("b"), user("d")), True),
        ((user("a"), assistant(q.Reasoning(text="Hm.", opaque=(OWN,)), call("c")), user(result("c"))), True),
    ],
)
def test_with_a_budget_a_turn_does_not_begin_to_think_in_its_middle(history: Any, thinks: bool) -> None:
    made = rendered(*history, reasoning=asks("low"), facts=BUDGET)
    assert ("thinking" in made.body) is thinks
    assert lost(made) == ([] if thinks else ["reasoning"])
    assert rendered(*history, reasoning=asks("low")).body["thinking"] == {"type": "adaptive"}


@pytest.mark.parametrize(
    ("given", "kept", "losses"),
    [
        ({"temperature": 0.3, "top_k": 5}, {}, ["temperature", "top_k"]),
        ({"temperature": 1.0}, {}, []),
        ({"top_p": 0.5}, {}, ["top_p"]),
        ({"top_p": 0.97}, {"top_p": 0.97}, []),
    ],
)
def test_thinking_has_its_own_sampling(given: dict[str, Any], kept: dict[str, Any], losses: list[str]) -> None:
    made = rendered(reasoning=asks("low"), **given)
    assert {name: made.body[name] for name in ("temperature", "top_p", "top_k") if name in made.body} == kept
    assert lost(made) == losses


# ---- thinking, in a client's own body


@pytest.mark.parametrize(
    ("facts", "members", "expected", "losses"),
    [
        (Facts(), {"thinking": {"type": "enabled", "budget_tokens": 31999}}, None, []),
        (
            Facts(),
            {"thinking": {"type": "adaptive", "display": "updates"}, "output_config": {"effort": "high"}},
            None,
            [],
        ),
        (Facts(), {"thinking": {"type": "between_tools"}}, None, []),
        (Facts(), {"thinking": {"type": "disabled"}}, None, []),
        (
            Facts(),
            {"thinking": {"type": "enabled", "budget_tokens": 32000}},
            {"thinking": {"type": "enabled", "budget_tokens": 31999}},
            ["thinking.budget_tokens"],
        ),
        (
            Facts(max_thinking_budget=8000),
            {"thinking": {"type": "enabled", "budget_tokens": 10000, "display": "omitted"}},
            {"thinking": {"type": "enabled", "budget_tokens": 8000, "display": "omitted"}},
            ["thinking.budget_tokens"],
        ),
        (
            ADAPTIVE,
            {"thinking": {"type": "enabled", "budget_tokens": 10000}},
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}},
            [],
        ),
        (
            BUDGET,
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low", "format": {"type": "future"}}},
            {"thinking": {"type": "enabled", "budget_tokens": 2048}, "output_config": {"format": {"type": "future"}}},
            [],
        ),
        (
            BUDGET,
            {"thinking": {"type": "enabled", "budget_tokens": 2000}, "output_config": {"effort": "low"}},
            {"thinking": {"type": "enabled", "budget_tokens": 2000}},
            ["output_config.effort"],
        ),
        (BUDGET, {"output_config": {"effort": "low"}}, {}, ["output_config.effort"]),
        (NOTHING, {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}, {}, ["thinking"]),
        (NOTHING, {"thinking": {"type": "disabled"}}, {}, []),
        (
            Facts(),
            {"thinking": {"type": "enabled", "budget_tokens": 2000}, "tool_choice": {"type": "any"}},
            {"tool_choice": {"type": "any"}},
            ["thinking"],
        ),
        (
            Facts(),
            {"thinking": {"type": "adaptive"}, "temperature": 1, "top_p": 0.5},
            {"thinking": {"type": "adaptive"}, "temperature": 1},
            ["top_p"],
        ),
        (Facts(exclusive_sampling=True), {"temperature": 0.2, "top_p": 0.9}, {"temperature": 0.2}, ["top_p"]),
        (Facts(exclusive_sampling=True), {"top_p": 0.9}, None, []),
        (Facts(max_output_tokens=8000), {}, {"max_tokens": 8000}, ["max_tokens"]),
    ],
)
def test_a_clients_own_body(facts: Facts, members: Any, expected: Any, losses: list[str]) -> None:
    made = adapted(facts, **members)
    base = {"model": "up", "max_tokens": 32000, "messages": [{"role": "user", "content": "Hi"}]}
    assert made.body == {**base, **(members if expected is None else expected)}
    assert lost(made) == losses


# ---- sampling and structured output


def test_of_temperature_and_top_p_one_goes() -> None:
    facts = Facts(exclusive_sampling=True)
    body = body_of(temperature=0.2, top_p=0.9, facts=facts)
    assert (body["temperature"], "top_p" in body) == (0.2, False)
    assert losses_of(temperature=0.2, top_p=0.9, facts=facts) == ["top_p"]
    assert body_of(top_p=0.9, facts=facts)["top_p"] == 0.9


def test_a_schema_becomes_an_instruction() -> None:
    facts = Facts(structured_output=False)
    made = rendered(output=q.OutputFormat(type="schema", schema=SCHEMA), reasoning=asks("low"), facts=facts)
    assert made.body["output_config"] == {"effort": "low"}
    assert '"additionalProperties":false' in made.body["system"]
    assert lost(made) == ["output"]


@pytest.mark.parametrize("name", ["output_config", "output_format"])
@pytest.mark.parametrize("system", [None, "Be brief.", [{"type": "text", "text": "Be brief."}]])
def test_a_schema_of_the_client_becomes_an_instruction(name: str, system: Any) -> None:
    form = {"type": "json_schema", "schema": SCHEMA}
    members = {name: {"format": form} if name == "output_config" else form}
    made = adapted(Facts(structured_output=False), **members, **({"system": system} if system else {}))
    assert name not in made.body
    said = made.body["system"]
    assert '"additionalProperties":false' in (said if isinstance(said, str) else said[-1]["text"])
    assert type(said) is (type(system) if system else str)
    assert lost(made) == ["output_config.format"]


# ---- counting


def test_a_count_has_neither_limit_nor_stream() -> None:
    thinking = {"type": "thinking", "thinking": "t", "signature": ""}
    turns = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [thinking, {"type": "text", "text": "a"}]},
    ]
    body = {"model": "m", "max_tokens": 5, "stream": True, "messages": [*turns, {"role": "user", "content": "b"}]}
    made = adapt_count(body, msgspec.structs.replace(parse_request(body), model="up"), Facts(max_output_tokens=3))
    assert made.path == "/v1/messages/count_tokens"
    assert made.body.keys() == {"model", "messages"}
    assert made.body["model"] == "up"
    assert made.body["messages"][1]["content"] == [{"type": "text", "text": "a"}]
    assert lost(made) == ["messages[1].content[0]"]
