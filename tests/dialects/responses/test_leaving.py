"""Requests of this dialect's clients on their way to every dialect: tools of all kinds cross or are losses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman import dialects
from dragoman.crossing import cross, identities
from dragoman.dialects.contract import Facts
from dragoman.names import ToolIdentity
from dragoman.translate import Exchange

from .driving import DIALECT, JSON

SENT = Path(__file__).parents[4] / "shared" / "clients" / "captures"
CAPTURES = sorted(path for path in SENT.glob("*.json") if json.loads(path.read_text())["dialect"] == "responses")
OTHERS = [name for name in dialects.names() if name != "responses"]


def space(name: str, *tools: str) -> JSON:
    inner = [{"type": "function", "name": tool, "strict": False, "defer_loading": True} for tool in tools]
    return {"type": "namespace", "name": name, "description": f"About {name}.", "tools": inner}


AGENT: JSON = {
    "model": "m",
    "stream": True,
    "input": [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Mend it."}]},
        {"type": "tool_search_call", "call_id": "s1", "execution": "client", "arguments": {"query": "a"}},
        {"type": "tool_search_output", "call_id": "s1", "execution": "client", "tools": [space("b", "deep")]},
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "c1",
            "name": "deep",
            "namespace": "b",
            "arguments": '{"x":1}',
            "status": "completed",
        },
        {"type": "function_call_output", "id": "fco_1", "call_id": "c1", "output": "ok"},
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c2", "name": "apply_patch", "input": "*** Begin"},
        {"type": "custom_tool_call_output", "id": "ctco_1", "call_id": "c2", "output": "Done"},
    ],
    "tools": [
        {"type": "function", "name": "run", "strict": False, "parameters": {"type": "object", "properties": {}}},
        {
            "type": "custom",
            "name": "apply_patch",
            "format": {"type": "grammar", "syntax": "lark", "definition": "s: x"},
        },
        space("a", "run", "stop"),
        {"type": "tool_search", "execution": "client", "parameters": {"type": "object"}},
        {"type": "web_search", "external_web_access": True},
    ],
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "reasoning": {"effort": "medium"},
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "prompt_cache_key": "k",
    "text": {"verbosity": "low"},
    "client_metadata": {"thread_id": "t"},
}
"""What a coding agent sends."""


@pytest.mark.parametrize("name", OTHERS)
def test_a_coding_agents_request_reaches_every_upstream(name: str) -> None:
    exchange = Exchange(DIALECT, dialects.get(name), seed="s", now=1)
    made = exchange.request(AGENT, "there")
    text = json.dumps(made.body)
    for said in ("Be brief.", "Mend it.", "run", "a__run", "a__stop", "b__deep", "apply_patch", "*** Begin", "s: x"):
        assert said in text
    assert not [word for word in ("web_search", "tool_search", "namespace", "client_metadata") if word in text]
    lost = {loss.path for loss in made.losses}
    # declared: run, apply_patch, a__run, a__stop, b__deep
    assert lost >= {"client_metadata", *(f"tools[{n}].defer_loading" for n in (2, 3, 4))}
    assert sum("tool_search" in loss.reason or "tool_search" in loss.path for loss in made.losses) == 1
    assert len([path for path in lost if path.startswith("messages[")]) == 2  # the search, and what it found


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_what_real_clients_sent_crosses(path: Path) -> None:
    capture = json.loads(path.read_text())
    for name in dialects.names():
        made = Exchange(DIALECT, dialects.get(name), seed="s", now=1).request(capture["body"], "there")
        known = ("client_metadata", "cache_key", "verbosity", "hosted_tools", "tools")
        assert [loss.path for loss in made.losses if not loss.path.startswith(known)] == []


# ---- names


def crossed(tools: list[JSON], **members: object) -> tuple[list[str], dict[str, ToolIdentity], tuple[str, ...]]:
    request = DIALECT.parse_request({"model": "m", "input": "Hi", "tools": tools, **members}, None, None)
    crossing, known = cross(request, dialects.get("chat"), Facts())
    choice = crossing.request.tool_choice
    return [tool.name for tool in crossing.request.tools], dict(known), choice.names if choice else ()


def test_a_tool_is_known_again_by_its_bare_name_if_no_other_has_it() -> None:
    names, known, _ = crossed([space("a", "run", "stop"), space("b", "run")])
    assert names == ["a__run", "a__stop", "b__run"]
    assert known["a__run"] == ToolIdentity("run", namespace="a")
    assert known["stop"] == ToolIdentity("stop", namespace="a")
    assert "run" not in known


def test_a_choice_means_the_tool_of_its_namespace() -> None:
    tools = [space("a", "run"), space("b", "run")]
    assert crossed(tools, tool_choice={"type": "function", "name": "run", "namespace": "b"})[2] == ("b__run",)
    assert crossed(tools, tool_choice={"type": "function", "name": "run"})[2] == ("a__run",)


def test_the_first_tool_of_a_namespace_says_what_it_is_for() -> None:
    tools = [{**space("a", "run", "stop"), "description": "About a."}]
    tools[0]["tools"][0]["description"] = "Runs."
    request = DIALECT.parse_request({"model": "m", "input": "Hi", "tools": tools}, None, None)
    crossing, _ = cross(request, dialects.get("chat"), Facts())
    assert [tool.description for tool in crossing.request.tools] == ["About a.\n\nRuns.", None]


def test_within_the_dialect_a_bare_name_is_the_tool_without_a_namespace() -> None:
    tools = [space("a", "run", "stop"), {"type": "function", "name": "run"}, space("b", "go"), space("c", "go")]
    request = DIALECT.parse_request({"model": "m", "input": "Hi", "tools": tools}, None, None)
    known = identities(request)
    assert known == {"run": ToolIdentity("run"), "stop": ToolIdentity("stop", namespace="a")}
