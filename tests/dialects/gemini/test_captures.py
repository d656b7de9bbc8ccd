"""What real clients of this dialect send, recorded: it goes on within the dialect, and crosses to every other."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.neighbour import PLACE

from dragoman import dialects
from dragoman.canonical import request as q
from dragoman.crossing import cross
from dragoman.dialects.contract import Facts
from dragoman.dialects.gemini import DIALECT

CAPTURES = {path.stem: path for path in sorted((PLACE / "clients" / "captures").glob("*.json"))}
OURS = [name for name, path in CAPTURES.items() if json.loads(path.read_text())["dialect"] == "gemini"]
OTHERS = [name for name in dialects.names() if name != "gemini"]

pytestmark = pytest.mark.skipif(not OURS, reason="there are no captures beside this checkout")


def body_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(CAPTURES[name].read_text())["body"]
    return found


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("facts", [Facts(), Facts(gemini_thinking="budget", max_output_tokens=65_536)])
def test_within_the_dialect_nothing_changes(name: str, facts: Facts) -> None:
    body = body_of(name)
    made = DIALECT.adapt_request(body, DIALECT.parse_request(body, "m", True), facts)
    body.get("generationConfig", {}).pop("thinkingConfig", None)
    made.body.get("generationConfig", {}).pop("thinkingConfig", None)
    assert made.body == body
    assert made.losses == ()


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("target", OTHERS)
def test_it_crosses_with_its_tools_and_its_results(name: str, target: str) -> None:
    request = DIALECT.parse_request(body_of(name), "m", True)
    dialect = dialects.get(target)
    crossing, _ = cross(request, dialect, Facts())
    sent = json.dumps(dialect.render_request(crossing, Facts()).body)
    assert [answer.error for turn in crossing.history.turns for answer in turn.answers] == [
        False for message in request.messages for part in message.parts if isinstance(part, q.ToolResult)
    ]
    assert all(json.dumps(tool.name) in sent for tool in request.tools)


@pytest.mark.parametrize("name", OURS)
def test_what_has_no_canonical_form_is_known(name: str) -> None:
    expected = {
        "py-google-genai-auto": ("tools[0].functionDeclarations[0].responseJsonSchema",),
        "py-pydanticai-google": ("toolConfig.functionCallingConfig.mode",),
    }
    assert DIALECT.parse_request(body_of(name), "m", True).unknown == expected.get(name, ())
