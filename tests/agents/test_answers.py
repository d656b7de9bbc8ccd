"""What a model thinks and says, and what it cost, is what the agent gets, streamed or in one piece."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agents.answering import Answer, ask
from tests.agents.sent import Sent, abroad, every, sent
from tests.gateway.conftest import Lab

JSON = dict[str, Any]

THINKING = {
    "claude-budget": "high",
    "claude-image": "high",
    "claude-rounds": "high",
    "codex-patch": "medium",
    "gemini-rounds": "medium",
    "pi-chat": "high",
    "pi-responses": "high",
    "pi-messages": "high",
    "qwen-messages": "high",
}
"""How hard a model is to think, where the agent says so, in words or by a budget of tokens."""
ASKING = [one for one in every() if not one.counts]

both_forms = pytest.mark.parametrize("form", ["streamed", "whole"])


@abroad(*map(sent, THINKING))
async def test_the_model_is_asked_to_think(lab: Lab, request_: Sent, upstream: str) -> None:
    seen = await ask(lab, request_, upstream, Answer(text="It is red."))
    assert _effort(upstream, seen.asked.body) == THINKING[request_.name]


def _effort(upstream: str, body: JSON) -> str:
    match upstream:
        case "chat":
            return str(body["reasoning_effort"])
        case "responses":
            return str(body["reasoning"]["effort"])
        case "messages":
            assert body["thinking"]["type"] == "adaptive"
            return str(body["output_config"]["effort"])
    return str(body["generationConfig"]["thinkingConfig"]["thinkingLevel"]).lower()


@both_forms
@abroad(*ASKING)
async def test_thoughts_come_back(lab: Lab, request_: Sent, upstream: str, form: str) -> None:
    """As thoughts, and apart from what is said."""
    answer = Answer(reasoning="A glance shows it.", text="It is red.")
    asking = request_ if form == "streamed" else request_.whole
    said = (await ask(lab, asking, upstream, answer)).said(request_.dialect)
    assert (said.reasoning, said.text, said.finish) == ("A glance shows it.", "It is red.", "stop")


@both_forms
@abroad(*(one for one in ASKING if one.name != "aider"))
async def test_tokens_are_counted(lab: Lab, request_: Sent, upstream: str, form: str) -> None:
    """Those of an answer; aider does not ask for them."""
    asking = request_ if form == "streamed" else request_.whole
    said = (await ask(lab, asking, upstream, Answer(text="It is red."))).said(request_.dialect)
    assert said.usage is not None
    assert (said.usage["input"], said.usage["output"]) == (1200, 34)


@abroad(sent("opencode-title"), sent("aider"))
async def test_a_prompt_without_tools(lab: Lab, request_: Sent, upstream: str) -> None:
    """Every word of it arrives, and nothing is offered to call."""
    seen = await ask(lab, request_, upstream, Answer(text="Reading the notes"))
    asked = str(seen.asked.body)
    assert all(one["content"].strip() in asked.replace("\\n", "\n") for one in request_.body["messages"])
    assert "tools" not in seen.asked.body
    assert seen.said("chat").text == "Reading the notes"
