"""What real clients of this dialect send, on its way to each upstream. Skipped without the neighbouring folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from tests.neighbour import PLACE

from dragoman import dialects
from dragoman.canonical import request as q
from dragoman.crossing import cross
from dragoman.dialects.contract import Facts
from dragoman.dialects.messages.request import adapt_request, parse_request

FOLDER = PLACE / "clients" / "captures"
CAPTURES = {
    path.stem: capture["body"]
    for path in sorted(FOLDER.glob("*.json"))
    if (capture := json.loads(path.read_text()))["dialect"] == "messages"
}

pytestmark = pytest.mark.skipif(not CAPTURES, reason=f"there are no captures in {FOLDER}: set DRAGOMAN_SHARED")

FACTS = {
    "defaults": Facts(),
    "budget": Facts(thinking="budget", gemini_thinking="budget", max_thinking_budget=8000, max_output_tokens=16000),
    "nothing": Facts(
        thinking=False, betas=[], structured_output=False, assistant_prefill=False, exclusive_sampling=True
    ),
}


def texts(value: Any) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts(inner)


def said(asked: q.Request) -> Iterator[str]:
    """What must not be lost: the texts, the calls and their results."""
    for message in asked.messages:
        for part in message.parts:
            match part:
                case q.Text(text=text):
                    yield text
                case q.ToolCall():
                    yield part.name
                    yield from texts(json.loads(part.arguments))
                case q.ToolResult():
                    yield from (inner.text for inner in part.parts if isinstance(inner, q.Text))


@pytest.mark.parametrize("facts", FACTS)
@pytest.mark.parametrize("target", ["chat", "responses", "gemini"])
@pytest.mark.parametrize("capture", CAPTURES)
def test_it_crosses(capture: str, target: str, facts: str) -> None:
    asked = parse_request(CAPTURES[capture])
    dialect = dialects.get(target)
    crossing, tools = cross(asked, dialect, FACTS[facts])
    sent = dialect.render_request(crossing, FACTS[facts]).body
    assert set(tools) == {tool.name for tool in asked.tools}
    found = "\n".join(texts(sent))
    for text in (*said(asked), *tools):
        assert text in found or json.dumps(text)[1:-1] in found


@pytest.mark.parametrize(
    ("capture", "lost"),
    [
        ("cli-claude-code", ["context_management", "tools[10].defer_loading"]),
        ("cli-claude-code-opus", ["context_management", "tools[10].defer_loading"]),
        ("cli-claude-code-unknown-model", ["context_management", "tools[10].defer_loading"]),
        ("cli-qwen-anthropic", []),
        ("cli-cline-anthropic", []),
        ("cli-opencode-anthropic", []),
        ("cli-pi-anthropic", []),
    ],
)
def test_what_has_no_canonical_form(capture: str, lost: list[str]) -> None:
    assert list(parse_request(CAPTURES[capture]).unknown) == lost


def _adapted(capture: str, facts: Facts) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    body = CAPTURES[capture]
    made = adapt_request(body, msgspec.structs.replace(parse_request(body), model=body["model"]), facts)
    return body, made.body, [loss.path for loss in made.losses]


@pytest.mark.parametrize("capture", CAPTURES)
def test_within_the_dialect_it_stays_as_it_is(capture: str) -> None:
    body, sent, lost = _adapted(capture, Facts(mid_conversation_system=True))
    if capture == "cli-qwen-anthropic":  # its budget is its max_tokens
        assert (sent.pop("thinking")["budget_tokens"], body["thinking"]["budget_tokens"]) == (31999, 32000)
        assert lost == ["thinking.budget_tokens"]
        body = {name: value for name, value in body.items() if name != "thinking"}
    else:
        assert lost == []
    assert sent == body


@pytest.mark.parametrize("capture", [name for name in CAPTURES if name.startswith("cli-claude-code")])
def test_a_picky_upstream_gets_what_is_stable(capture: str) -> None:
    _, sent, lost = _adapted(capture, Facts(betas=[], thinking="budget", max_output_tokens=16000))
    assert sent["thinking"]["type"] == "enabled"
    assert 1024 <= sent["thinking"]["budget_tokens"] < sent["max_tokens"] == 16000
    assert all(message["role"] in ("user", "assistant") for message in sent["messages"])
    assert {"context_management", "thinking.display", "tools[10].defer_loading", "max_tokens"} <= set(lost)
    assert sent.keys() <= {"model", "messages", "system", "metadata", "max_tokens", "thinking", "stream", "tools"}
