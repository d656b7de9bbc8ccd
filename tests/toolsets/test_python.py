"""Python functions as tools."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dragoman.canonical.request import Image, Text
from dragoman.toolloop.loop import ToolOutcome
from dragoman.toolsets.docstrings import described
from dragoman.toolsets.python import PythonToolset
from dragoman.toolsets.schemas import ArgumentChecker
from dragoman.toolsets.settings import FunctionPath
from tests.toolsets import functions_of_mine as mine
from tests.toolsets.servers import until

MODULE = "tests.toolsets.functions_of_mine"


def toolset(attribute: str, module: str = MODULE) -> PythonToolset:
    return PythonToolset("mine", FunctionPath(module, attribute))


def schema_of(attribute: str) -> dict[str, Any]:
    (tool,) = toolset(attribute).tools
    ArgumentChecker(tool.schema)
    return tool.schema


async def called(attribute: str, **arguments: Any) -> ToolOutcome:
    return await toolset(attribute).call(attribute.rpartition(".")[2], arguments)


def test_a_function_is_described_by_itself() -> None:
    (tool,) = toolset("add").tools
    assert (tool.server, tool.name, tool.offered) == ("mine", "add", "mine__add")
    assert tool.description == "Adds.\n\nTwo lines of it."
    assert tool.schema == {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "description": "The first number, which is whole."},
            "b": {"type": "number", "description": "The second: a number.", "default": 1.5},
        },
        "required": ["a"],
        "additionalProperties": False,
    }


def test_annotations_of_every_kind() -> None:
    schema = schema_of("everything")
    properties = schema["properties"]
    assert properties["text"] == {"type": "string", "description": "The text."}
    assert properties["on"] == {"type": "boolean"}
    assert properties["numbers"] == {"type": "array", "items": {"type": "integer"}}
    assert properties["facts"] == {"type": "object", "additionalProperties": {"type": "number"}}
    assert properties["mode"] == {"enum": ["fast", "slow"], "description": "How, and how fast."}
    assert properties["place"] == {"$ref": "#/$defs/Place"}
    assert schema["$defs"]["Place"]["required"] == ["city"]
    assert sorted(schema["$defs"]["Unit"]["enum"]) == ["imperial", "metric"]
    assert schema["$defs"]["Trip"]["properties"]["stops"]["items"] == {"$ref": "#/$defs/Place"}
    assert properties["maybe"] == {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}
    assert properties["perhaps"]["default"] == "x"
    assert properties["described"] == {
        "type": "integer",
        "description": "Between.",
        "minimum": 0,
        "maximum": 9,
        "default": 5,
    }
    assert schema["required"] == ["text", "on", "numbers", "facts", "mode", "unit", "place", "trip"]


async def test_arguments_come_in_the_types_of_the_signature() -> None:
    trip = {"stops": [{"city": "Delft"}]}
    outcome = await called(
        "everything",
        text="x",
        on=True,
        numbers=[1],
        facts={"a": 1},
        mode="fast",
        unit="metric",
        place={"city": "Utrecht"},
        trip=trip,
    )
    assert outcome.text == (
        '{"text":"str","on":"bool","numbers":"list","facts":"dict","mode":"str","unit":"Unit","place":"Place",'
        '"trip":"Trip","maybe":"NoneType","perhaps":"str","described":"int","anything":"NoneType"}'
    )
    assert (await called("positional", a=1, b=2)).text == "[1,2]"
    assert (await called("bare", what={"x": None})).text == '[{"x":null},[1,2]]'


@pytest.mark.parametrize("arguments", [{}, {"a": "1"}, {"a": 1, "c": 2}])
async def test_arguments_that_do_not_fit(arguments: dict[str, Any]) -> None:
    outcome = await called("add", **arguments)
    assert outcome.error
    assert "do not fit" in outcome.text


@pytest.mark.parametrize(
    ("attribute", "arguments", "text"),
    [
        ("add", {"a": 1}, "2.5"),
        ("later", {"text": "x"}, "x, later"),
        ("awaited", {"text": "x"}, "x, later"),
        ("thread", {}, "tools mine"),
        ("nothing", {}, ""),
        ("place", {}, '{"city":"Utrecht","country":"NL"}'),
        ("weather.now", {}, "sunny in Utrecht"),
    ],
)
async def test_results(attribute: str, arguments: dict[str, Any], text: str) -> None:
    outcome = await called(attribute, **arguments)
    assert (outcome.text, outcome.error) == (text, False)


async def test_pictures_and_own_outcomes() -> None:
    assert (await called("picture")).parts == (Text(text="a pixel"), Image(media_type="image/png", data="iVBO"))
    assert await called("refuses") == ToolOutcome(parts=(Text(text="not today"),), error=True)


@pytest.mark.parametrize(
    ("attribute", "words"), [("breaks", "drawer"), ("stops", "3"), ("stops_later", "3"), ("interrupts", "by hand")]
)
async def test_a_function_that_fails(attribute: str, words: str) -> None:
    outcome = await called(attribute)
    assert outcome.error
    assert words in outcome.text


async def test_a_call_of_nothing() -> None:
    assert (await toolset("add").call("subtract", {})).error


async def test_a_thread_that_hangs_holds_up_nobody() -> None:
    """And calls that hang do not pile up without end."""
    one = toolset("holds")
    calls = [asyncio.create_task(one.call("holds", {})) for _ in range(40)]
    await until(lambda: sum(call.done() for call in calls) == 8)
    assert all("running already" in call.result().text for call in calls if call.done())
    for call in calls:
        call.cancel()
    await asyncio.wait(calls)
    mine.hold.set()
    try:
        await until(lambda: one._threads == 0)
        assert (await one.call("holds", {})).text == "let go"
    finally:
        mine.hold.clear()


async def test_life() -> None:
    one = toolset("add")
    await one.start()
    await one.settled()
    assert one.state.condition == "ready"
    assert one.about == f"python {MODULE}:add"
    await one.aclose()
    assert one.tools == ()


@pytest.mark.parametrize(
    ("attribute", "names"),
    [
        ("weather", ["now", "tomorrow"]),
        ("several", ["add", "later"]),
        ("named", ["plus", "plus_two"]),
        ("weather.now", ["now"]),
    ],
)
def test_objects_with_several(attribute: str, names: list[str]) -> None:
    assert [tool.name for tool in toolset(attribute).tools] == names


@pytest.mark.parametrize(
    ("attribute", "words"),
    [
        ("nobody", "has no nobody"),
        ("Weather", "is a class"),
        ("empty", "no functions"),
        ("number", "no functions|no tool|JSON Schema|signature"),
        ("rest", r"rest: it takes \*numbers"),
        ("unknown", "annotations cannot be read"),
        ("strange", "no JSON Schema"),
    ],
)
def test_what_can_be_no_tool(attribute: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        toolset(attribute)


def test_a_module_that_breaks(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken_module_of_mine.py").write_text("1 / 0")
    with pytest.raises(ValueError, match="cannot be imported: ZeroDivisionError"):
        toolset("f", "broken_module_of_mine")
    (tmp_path / "whole_module_of_mine.py").write_text("def f(x: int) -> int: return x")
    assert [tool.name for tool in toolset("f", "whole_module_of_mine").tools] == ["f"]


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        (None, ("", {})),
        ("Does it.", ("Does it.", {})),
        ("Note this: it works.", ("Note this: it works.", {})),
        ("Does it.\n\n    Raises:\n        ValueError: never\n", ("Does it.", {})),
        (
            "Does.\n\n    Args:\n        a: One.\n        *b: Two.\n    Returns:\n        x: no\n",
            ("Does.", {"a": "One.", "b": "Two."}),
        ),
        ("Does.\n\n    :param a: One.\n    :type a: int\n    :return: x\n", ("Does.", {"a": "One."})),
    ],
)
def test_docstrings(docstring: str | None, expected: tuple[str, dict[str, str]]) -> None:
    assert described(docstring) == expected
