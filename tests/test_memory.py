"""What is remembered of calls, where servers give the same id to several."""

from __future__ import annotations

from dragoman.canonical import request as q
from dragoman.memory import ReasoningMemory, Remembered


def thought(text: str) -> Remembered:
    return Remembered(origin="chat", reasoning=(q.Reasoning(text=text),))


def texts(memory: ReasoningMemory, *calls: tuple[str, str]) -> list[str]:
    """What was thought before each of these calls; "" where nothing is known."""
    known = memory.recall("me", calls, 0)
    return [known[call].reasoning[0].text if call in known else "" for call in calls]


def test_calls_with_one_id_are_told_apart_by_their_arguments() -> None:
    memory = ReasoningMemory()
    memory.keep("me", "read:0", '{"a": 1}', thought("one"), 0)
    memory.keep("me", "read:0", '{"a": 2}', thought("two"), 0)
    assert texts(memory, ("read:0", '{"a":2}'), ("read:0", '{"a":1}')) == ["two", "one"]
    assert texts(memory, ("read:0", '{"a":3}')) == [""]
    memory.keep("me", "read:0", '{"a": 2}', thought("two again"), 0)
    assert texts(memory, ("read:0", '{"a":2}'), ("read:0", '{"a":3}')) == ["two again", ""]


def test_a_client_may_write_the_arguments_anew() -> None:
    """Order and blanks never count; whatever else changed does not while the id is that of one call."""
    memory = ReasoningMemory()
    memory.keep("me", "call_1", '{"a": 1.0, "b": "\\u0041"}', thought("one"), 0)
    assert texts(memory, ("call_1", '{"b":"A","a":1.0}'), ("call_1", '{"a":1,"b":"A","c":null}')) == ["one", "one"]


def test_other_clients_and_calls_get_nothing() -> None:
    memory = ReasoningMemory()
    memory.keep("me", "call_1", "{}", thought("one"), 0)
    assert texts(memory, ("call_1", ""), ("call_2", "{}")) == ["one", ""]
    assert memory.recall("you", [("call_1", "{}")], 0) == {}
