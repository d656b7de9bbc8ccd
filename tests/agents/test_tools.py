"""An agent's tools are offered to any upstream, and what is called of them comes back in the agent's own words."""

from __future__ import annotations

import json

import pytest

from tests.agents.answering import Answer, ask
from tests.agents.sent import Sent, abroad, arguments_for, every, is_legal, tools
from tests.gateway.conftest import Lab
from tests.roundtrips.flat import Entry, flat

SAID = Answer(text="I see.")

both_forms = pytest.mark.parametrize("form", ["streamed", "whole"])


def of_kind(kind: str, dialect: str, body: dict[str, object]) -> list[Entry]:
    return [entry for entry in flat(dialect, body) if entry.kind == kind]


WITH_TOOLS = [one for one in every() if tools(one.dialect, one.body) and not one.counts]
WITH_CALLS = [one for one in WITH_TOOLS if of_kind("call", one.dialect, one.body)]


@abroad(*WITH_TOOLS)
async def test_every_tool_is_offered(lab: Lab, request_: Sent, upstream: str) -> None:
    """With all arguments that it has, and those that it demands."""
    seen = await ask(lab, request_, upstream, SAID)
    offered = {tool.name: tool.schema for tool in tools(upstream, seen.asked.body)}
    declared = tools(request_.dialect, request_.body)
    assert len(declared) > 3
    for tool in declared:
        there = offered[tool.name]
        assert set(there.get("properties") or {}) == set(tool.schema.get("properties") or {}), tool.name
        assert set(there.get("required") or []) == set(tool.schema.get("required") or []), tool.name


@abroad(*WITH_CALLS)
async def test_calls_and_results_arrive_together(lab: Lab, request_: Sent, upstream: str) -> None:
    """Of all rounds so far, in their order and by ids that the upstream takes."""
    seen = await ask(lab, request_, upstream, SAID)
    ours = of_kind("call", request_.dialect, request_.body)
    calls, results = (of_kind(kind, upstream, seen.asked.body) for kind in ("call", "result"))
    assert [call.name for call in calls] == [call.name for call in ours]
    assert [_value(call) for call in calls] == [_value(call) for call in ours]
    assert [call.id for call in calls] == [result.id for result in results]
    assert all(is_legal(call.id) for call in calls)
    given = {result.id: result.value for result in of_kind("result", request_.dialect, request_.body)}
    for call, result in zip(ours, results, strict=True):
        assert result.value == given[call.id] or not given[call.id]  # an image's comes with the image


@both_forms
@abroad(*WITH_TOOLS)
async def test_calls_come_back(lab: Lab, request_: Sent, upstream: str, form: str) -> None:
    """Two at once, behind a word of the model; of each the name and the arguments are what the agent declared."""
    declared = tools(request_.dialect, request_.body)[:2]
    calls = tuple((tool.name, arguments_for(tool.schema)) for tool in declared)
    answer = Answer(text="Let me look.", calls=calls)
    asking = request_ if form == "streamed" else request_.whole
    said = (await ask(lab, asking, upstream, answer)).said(request_.dialect)
    assert [(name, json.loads(arguments)) for _, name, arguments in said.calls] == list(calls)
    assert len({id for id, _, _ in said.calls if id}) == 2
    assert (said.text, said.finish, said.error) == ("Let me look.", "tool_calls", None)


def _value(call: Entry) -> object:
    try:
        value = json.loads(call.value)
    except ValueError:
        return call.value
    return value["input"] if value.keys() == {"input"} else value  # a freeform tool's, where there are none
