"""The toolbox: who is offered what, and what stops a call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from dragoman.canonical.request import Text
from dragoman.exceptions import ConfigurationError
from dragoman.toolloop.loop import ToolOutcome
from dragoman.toolloop.offer import GatewayTool
from dragoman.toolsets import connect as connecting
from dragoman.toolsets.connect import connect
from dragoman.toolsets.interface import ToolsetState, offer
from dragoman.toolsets.registry import Member, Toolbox, Wanted
from dragoman.toolsets.results import ResultLimits
from dragoman.toolsets.schemas import ArgumentChecker
from dragoman.toolsets.settings import Approval, FunctionPath, LoopBounds, ToolsetSettings

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "maximum": 9}},
    "required": ["city"],
    "additionalProperties": False,
}


class Scripted:
    """A toolset that notes its calls; ``act`` says what they give."""

    def __init__(self, name: str, *tools: str, act: Callable[[str], Any] | None = None) -> None:
        self.name = name
        self.about = "scripted"
        self.state = ToolsetState("ready")
        self.tools: tuple[GatewayTool, ...] = tuple(offer(name, tool, f"{tool}s", SCHEMA) for tool in tools)
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.life: list[str] = []
        self._act = act

    async def start(self) -> None:
        self.life.append("start")

    async def settled(self) -> None:
        self.life.append("settled")

    async def aclose(self) -> None:
        self.life.append("closed")

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolOutcome:
        self.calls.append((name, arguments))
        if self._act is not None:
            await self._act(name)
        return ToolOutcome(parts=(Text(text=f"{name} {arguments['city']}"),))


def box(toolset: Scripted, **facts: Any) -> Toolbox:
    return Toolbox([Member(toolset=toolset, **facts)])


def wanted(arguments: str = '{"city": "Utrecht"}', tool: str = "look") -> Wanted:
    return Wanted("lab", tool, arguments)


async def test_a_call() -> None:
    toolset = Scripted("lab", "look")
    assert (await box(toolset).call(wanted())).text == "look Utrecht"
    assert toolset.calls == [("look", {"city": "Utrecht"})]


async def test_tools_are_offered_to_the_models_that_are_named() -> None:
    fast, every, gone = Scripted("a", "x"), Scripted("b", "y"), Scripted("c")
    toolbox = Toolbox(
        [Member(toolset=fast, models=("fast", "claude-*")), Member(toolset=every), Member(toolset=gone, models=())]
    )
    assert [tool.offered for tool in toolbox.offered("fast")] == ["a__x", "b__y"]
    assert [tool.offered for tool in toolbox.offered("claude-opus")] == ["a__x", "b__y"]
    assert [tool.offered for tool in toolbox.offered("slow")] == ["b__y"]
    every.tools = ()
    assert toolbox.offered("slow") == ()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("{", "no JSON"),
        ("[]", "no JSON object"),
        ("null", "no JSON object"),
        ("", "'city' is a required property"),
        ('{"city": 5}', "city: 5 is not of type 'string'"),
        ('{"city": "x", "days": 10}', "days: 10 is greater than the maximum of 9"),
        ('{"city": "x", "dyas": 1}', "'dyas' was unexpected"),
    ],
)
async def test_arguments_that_do_not_fit_are_told_and_nothing_is_run(arguments: str, words: str) -> None:
    toolset = Scripted("lab", "look")
    outcome = await box(toolset).call(wanted(arguments))
    assert outcome.error
    assert words in outcome.text
    assert "not run" in outcome.text
    assert toolset.calls == []


async def test_a_long_value_is_not_told_back_whole() -> None:
    outcome = await box(Scripted("lab", "look")).call(wanted('{"city": ["' + "x" * 100_000 + '"]}'))
    assert outcome.error
    assert len(outcome.text) < 1000


async def test_a_denied_tool_is_never_run() -> None:
    toolset = Scripted("lab", "look", "burn")
    toolbox = box(toolset, approval=Approval({"burn": "deny"}))
    denied, allowed = await toolbox.run([wanted(tool="burn"), wanted(tool="look")])
    assert denied.error
    assert "denies" in denied.text
    assert not allowed.error
    assert toolset.calls == [("look", {"city": "Utrecht"})]


@pytest.mark.parametrize("call", [Wanted("lab", "gone", "{}"), Wanted("gone", "look", "{}")])
async def test_a_tool_that_is_not_there(call: Wanted) -> None:
    outcome = await box(Scripted("lab", "look")).call(call)
    assert outcome.error
    assert "not there" in outcome.text


async def test_calls_run_side_by_side_and_keep_their_order() -> None:
    met = asyncio.Barrier(3)
    order = ["c", "a", "b"]

    async def act(name: str) -> None:
        await met.wait()  # returns only if all three run
        for _ in range(order.index(name)):
            await asyncio.sleep(0)

    toolbox = box(Scripted("lab", "a", "b", "c", act=act))
    outcomes = await toolbox.run([wanted(tool=name) for name in "abc"])
    assert [outcome.text for outcome in outcomes] == ["a Utrecht", "b Utrecht", "c Utrecht"]
    assert await toolbox.run([]) == ()


class Forever:
    """Waits; notes its cancellation."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.cancelled = 0

    async def __call__(self, name: str) -> None:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


async def test_a_slow_tool_is_given_up() -> None:
    forever = Forever()
    outcome = await box(Scripted("lab", "look", act=forever), timeout=0.01).call(wanted())
    assert outcome.error
    assert "no result within 0.01 seconds" in outcome.text
    assert forever.cancelled == 1


async def test_the_time_of_all_bounds_each() -> None:
    toolset = Scripted("lab", "look", act=Forever())
    (outcome,) = await box(toolset).run([wanted()], within=0.01)
    assert "0.01" in outcome.text
    (outcome,) = await box(toolset).run([wanted()], within=-1)
    assert "no time is left" in outcome.text
    assert len(toolset.calls) == 1


async def test_cancelling_cancels_all_calls() -> None:
    forever = Forever()
    toolset = Scripted("lab", "look", act=forever)
    running = asyncio.create_task(box(toolset).run([wanted(), wanted()]))
    await forever.begun.wait()
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert forever.cancelled == len(toolset.calls) == 2


async def test_a_mistake_of_a_toolset_is_an_outcome_too() -> None:
    async def act(name: str) -> None:
        raise LookupError("of ours")

    outcome = await box(Scripted("lab", "look", act=act)).call(wanted())
    assert outcome.error
    assert "of ours" not in outcome.text


async def test_results_are_limited() -> None:
    toolbox = Toolbox([Member(toolset=Scripted("lab", "look"))], ResultLimits(text=4))
    assert (await toolbox.call(wanted())).text.startswith("look\n[cut")


async def test_a_tool_that_changes_its_schema() -> None:
    toolset = Scripted("lab", "look")
    toolbox = box(toolset)
    assert not (await toolbox.call(wanted())).error
    toolset.tools = (offer("lab", "look", None, {"type": "object", "required": ["town"]}),)
    assert "'town' is a required" in (await toolbox.call(wanted())).text


async def test_life() -> None:
    toolset = Scripted("lab")
    toolbox = box(toolset)
    await toolbox.start()
    await toolbox.settled()
    await toolbox.aclose()
    assert toolset.life == ["start", "settled", "closed"]


# ---- schemas


@pytest.mark.parametrize("schema", [{"type": "objekt"}, {"properties": []}, {"type": "object", "required": "a"}])
def test_a_schema_that_is_none(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no JSON Schema"):
        ArgumentChecker(schema)


def test_references_are_resolved_inside_and_never_fetched() -> None:
    inside = {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": "integer"}}}
    assert ArgumentChecker(inside).mistakes({"a": 1}) == []
    assert ArgumentChecker(inside).mistakes({"a": "x"}) != []
    outside = {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:1/schema.json"}}}
    (mistake,) = ArgumentChecker(outside).mistakes({"a": 1})
    assert "does not have" in mistake


def test_a_schema_without_end() -> None:
    (mistake,) = ArgumentChecker({"$ref": "#"}).mistakes({})
    assert "too deeply" in mistake


def test_older_drafts_are_known() -> None:
    old = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": ["a"]}
    assert ArgumentChecker(old).mistakes({}) == ["'a' is a required property"]


# ---- from settings


def test_settings_make_members() -> None:
    entries = {
        "one": ToolsetSettings(python=FunctionPath("tests.toolsets.functions_of_mine", "add"), timeout=3, models=["x"]),
        "two": ToolsetSettings(python=FunctionPath("tests.toolsets.functions_of_mine", "several")),
    }
    toolbox = connect(entries, LoopBounds(per_tool=7))
    assert [(member.toolset.name, member.timeout, member.models) for member in toolbox.members] == [
        ("one", 3, ("x",)),
        ("two", 7, ("*",)),
    ]


def test_functions_that_are_not_there_are_mistakes_of_the_configuration() -> None:
    entries = {
        "a": ToolsetSettings(python=FunctionPath("tests.toolsets.no_such_module", "add")),
        "b": ToolsetSettings(python=FunctionPath("tests.toolsets.functions_of_mine", "nowhere")),
    }
    with pytest.raises(ConfigurationError) as caught:
        connect(entries, LoopBounds())
    assert [mistake.partition(": ")[0] for mistake in caught.value.mistakes] == ["tools.a.python", "tools.b.python"]


def test_without_the_extra_it_says_what_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "find_spec", lambda name: None)
    assert connect({}, LoopBounds()).members == ()
    with pytest.raises(ConfigurationError) as caught:
        connect({"a": ToolsetSettings(python=FunctionPath("x", "y"))}, LoopBounds())
    assert "dragoman[tools], or .venv/bin/pip install -e '.[tools]' in a checkout" in caught.value.mistakes[0]
