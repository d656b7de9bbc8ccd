"""What a crossing leaves out is named in one style, whoever asks and whoever answers."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from dragoman import dialects
from dragoman.canonical import request as q
from dragoman.canonical.opaque import Opaque
from dragoman.crossing import cross
from dragoman.dialects.contract import Facts

JSON = dict[str, Any]

TARGETS = ("chat", "responses", "messages", "gemini")
MARK: JSON = {"type": "ephemeral"}
LOOSE: JSON = {
    "type": "object",
    "properties": {"a": {"type": "string", "pattern": "(?=x)"}},
    "not": {"required": ["b"]},
}

STYLE = re.compile(r"[A-Za-z_]\w*(\[\d+\])*(\.[A-Za-z_]\w*(\[\d+\])*)*")
MEMBERS = {field.name for field in msgspec.structs.fields(q.Request)}

ASKED = q.Request(
    model="m",
    origin="elsewhere",
    messages=(
        q.Message(q.Role.SYSTEM, (q.Text(text="Be kind.", cache=MARK),)),
        q.Message(q.Role.USER, (q.Text(text="Hi", cache=MARK), q.Native(origin="elsewhere", value={"type": "odd"}))),
        q.Message(
            q.Role.ASSISTANT,
            (
                q.Reasoning(text="Hm.", opaque=(Opaque("elsewhere", "signature", "1"),)),
                q.ToolCall(id="1", name="run", arguments="{", cache=MARK),
            ),
        ),
        q.Message(q.Role.USER, (q.ToolResult(id="1", parts=(q.Text(text="ok"),), cache=MARK),)),
        q.Message(q.Role.USER, (q.ToolResult(id="none", parts=(q.Text(text="stray"),)),)),
    ),
    tools=(q.Tool(name="run", schema=LOOSE, strict=True, cache=MARK), q.Tool(name="run"), q.Tool(name="b", cache=MARK)),
    hosted_tools=(q.HostedTool(origin="elsewhere", type="web_search", value={}),),
    tool_choice=q.ToolChoice("required", ("nowhere",)),
    parallel_tool_calls=False,
    max_output_tokens=8_000,
    temperature=1.5,
    top_p=0.5,
    top_k=5,
    seed=1 << 40,
    presence_penalty=0.5,
    frequency_penalty=0.5,
    stop=(" ", "a", "b", "c", "d", "e", "f"),
    logprobs=True,
    top_logprobs=2,
    reasoning=q.ReasoningRequest(effort="none"),
    output=q.OutputFormat(type="schema", schema=LOOSE),
    verbosity="low",
    service_tier="nothing",
    user="u" * 300,
    metadata={f"k{number}": "v" for number in range(20)},
    cache_key="k" * 100,
)

FACTS = (
    Facts(),
    Facts(reasoning_model=True, thinking="budget", gemini_thinking="budget", max_output_tokens=4_000),
    Facts(structured_output=False, exclusive_sampling=True, gemini_schema="openapi-subset", thinking=False),
)


def lost(target: str, facts: Facts, request: q.Request = ASKED) -> list[str]:
    dialect = dialects.get(target)
    crossing, _ = cross(request, dialect, facts)
    return [loss.path for loss in dialect.render_request(crossing, facts).losses]


@pytest.mark.parametrize("facts", FACTS, ids=["plain", "reasoning", "narrow"])
@pytest.mark.parametrize("target", TARGETS)
def test_losses_of_a_crossing_have_canonical_paths(target: str, facts: Facts) -> None:
    paths = lost(target, facts)
    assert [path for path in paths if not STYLE.fullmatch(path)] == []
    assert {re.split(r"[.\[]", path)[0] for path in paths} <= MEMBERS
    for path in paths:
        if path.startswith("messages["):
            assert re.match(r"messages\[\d+\](\.parts\[\d+\](\.cache)?)?$", path), path
        if path.startswith(("tools", "hosted_tools")):
            assert re.match(r"(hosted_)?tools\[\d+\]", path), path


@pytest.mark.parametrize("target", TARGETS)
def test_the_same_loss_has_the_same_path(target: str) -> None:
    paths = lost(target, FACTS[0])
    assert {"hosted_tools[0]", "tools[1]", "tool_choice", "messages[1].parts[1]", "service_tier"} <= set(paths)
    markers = {path for path in paths if path.endswith(".cache")}
    places = {"messages[0].parts[0]", "messages[1].parts[0]", "messages[2].parts[1]", "messages[3].parts[0]"}
    everywhere = {f"{place}.cache" for place in (*places, "tools[0]", "tools[2]")}
    assert markers <= everywhere if target == "messages" else markers == everywhere
    assert "output" in lost(target, FACTS[2])


@pytest.mark.parametrize("target", TARGETS)
def test_a_lowered_limit_is_told(target: str) -> None:
    assert "max_output_tokens" in lost(target, FACTS[1])
    assert "max_output_tokens" not in lost(target, FACTS[0])


ODD = {"odd": 1}
CLIENTS: dict[str, tuple[JSON, set[str]]] = {
    "chat": (
        {
            "messages": [
                {"role": "user", "content": "Hi", **ODD},
                {"role": "assistant", "tool_calls": [
                    {"id": id, "type": "function", "function": {"name": "run", "arguments": "{}"}} for id in "ab"
                ]},
                {"role": "tool", "tool_call_id": "a", "content": "1"},
                {"role": "tool", "tool_call_id": "b", "content": "2", **ODD},
                {"role": "user", "content": "And?", **ODD},
            ],
            "tools": [
                {"type": "web_search"},
                {"type": "function", "function": {"name": "run", **ODD}},
                {"type": "custom", "custom": {"name": "patch"}, **ODD},
            ],
            "functions": [{"name": "old", **ODD}],
        },
        {"messages[0].odd", "messages[2].parts[1].odd", "messages[3].odd", "tools[0].odd", "tools[1].odd", "tools[2].odd"},
    ),
    "responses": (
        {"input": "Hi", "tools": [{"type": "web_search"}, {"type": "function", "name": "run", **ODD}]},
        {"tools[0].odd"},
    ),
    "messages": (
        {
            "max_tokens": 5,
            "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi", **ODD}], **ODD}],
            "tools": [{"type": "web_search_20250305", "name": "w"}, {"name": "run", "input_schema": {}, **ODD}],
        },
        {"messages[0].odd", "messages[0].parts[0].odd", "tools[0].odd"},
    ),
    "gemini": (
        {
            "contents": [{"role": "user", "parts": [{"text": "Hi"}], **ODD}],
            "tools": [{"googleSearch": {}}, {"functionDeclarations": [{"name": "run", **ODD}]}],
        },
        {"contents[0].odd", "tools[1].functionDeclarations[0].odd"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("client", CLIENTS)
def test_what_a_client_said_that_nobody_knows_is_named(client: str) -> None:
    """Gemini's client is told its own paths, whose tools are nested deeper."""
    body, expected = CLIENTS[client]
    request = dialects.get(client).parse_request({"model": "m", **body}, "m", False)
    assert set(request.unknown) == expected
    assert all(STYLE.fullmatch(path) for path in request.unknown)


@pytest.mark.parametrize(("budget", "effort"), [(0, "none"), (2_000, "low"), (8_192, "medium"), (24_576, "high")])
def test_a_budget_of_googles_clients_is_an_effort_for_openais_servers(budget: int, effort: str) -> None:
    body = {
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "generationConfig": {"thinkingConfig": {"thinkingBudget": budget, "includeThoughts": True}},
    }
    request = dialects.get("gemini").parse_request(body, "m", False)
    chat = dialects.get("chat")
    crossing, _ = cross(request, chat, Facts())
    made = chat.render_request(crossing, Facts())
    assert (made.body["reasoning_effort"], made.losses) == (effort, ())
