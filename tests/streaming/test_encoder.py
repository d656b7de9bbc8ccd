"""The base of all encoders: legal order in, one method for each kind of event."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from dragoman.canonical import events as e
from dragoman.exceptions import LocalProtocolError
from dragoman.streaming.encoder import EncodeContext, StreamEncoder
from dragoman.streaming.ids import Ids
from tests.streaming.test_order import CALL, END, ERROR, KINDS, REASONING, START, TEXT, USAGE, WHOLE

CONTEXT = EncodeContext(model="m", ids=Ids("seed"), now=0)
METHODS = (
    "response_start", "text_start", "text_delta", "citation_added", "text_end", "reasoning_start", "reasoning_delta",
    "reasoning_end", "tool_call_start", "tool_call_delta", "tool_call_end", "server_tool", "tool_run", "media", "usage_update",
    "response_end", "response_error",
)  # fmt: skip


class Recorder(StreamEncoder):
    """Writes down which method got which event, of which choice."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int, Any]] = []
        super().__init__(CONTEXT)


def _recording(name: str) -> Any:
    def method(self: Recorder, event: Any) -> None:
        self.seen.append((name, self.choice, event))
        self.out.append(name.encode() + b";")

    return method


for _name in METHODS:
    setattr(Recorder, _name, _recording(_name))


def test_each_event_has_its_method() -> None:
    encoder = Recorder()
    events = [START, *REASONING, *TEXT, *CALL, *WHOLE, USAGE, END]
    data = encoder.encode(events)
    assert [event for _, _, event in encoder.seen] == events
    assert data == b"".join(name.encode() + b";" for name, _, _ in encoder.seen)
    assert {name for name, _, _ in encoder.seen} == set(METHODS) - {"response_error"}
    assert Recorder().encode([ERROR]) == b"response_error;"


def test_nothing_is_written_twice() -> None:
    encoder = Recorder()
    assert encoder.encode([START]) == b"response_start;"
    assert encoder.encode([]) == b""
    assert encoder.encode([END]) == b"response_end;"


def test_an_illegal_order_raises_before_it_is_written() -> None:
    encoder = Recorder()
    with pytest.raises(LocalProtocolError):
        encoder.encode([START, TEXT[1]])
    assert [event for _, _, event in encoder.seen] == [START]


def test_the_choice_is_known_while_its_event_is_written() -> None:
    encoder = Recorder()
    encoder.encode([START, e.InChoice(2, TEXT[0]), TEXT[0], e.InChoice(2, TEXT[1])])
    assert [(name, choice) for name, choice, _ in encoder.seen] == [
        ("response_start", 0),
        ("text_start", 2),
        ("text_start", 0),
        ("text_delta", 2),
    ]
    assert encoder.choice == 0


@pytest.mark.parametrize("name", [name for name in METHODS if name != "tool_run"])
def test_a_dialect_has_to_write_every_kind(name: str) -> None:
    with pytest.raises(NotImplementedError):
        getattr(StreamEncoder(CONTEXT), name)(TEXT[1])


def test_a_tool_that_the_gateway_ran_is_hidden_unless_the_dialect_has_a_form() -> None:
    encoder = StreamEncoder(CONTEXT)
    encoder.tool_run(e.ToolRun(id="a", server="s", name="run", arguments="{}", output="x"))
    assert encoder.out == []


def test_no_kind_of_event_is_forgotten() -> None:
    assert {type(event) for event in KINDS} == set(get_args(e.Event)) - {e.InChoice}
