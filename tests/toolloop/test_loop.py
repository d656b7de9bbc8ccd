"""The loop's transitions (design/streams.md, 12), each by the events that lead to it."""

from __future__ import annotations

import pytest

from dragoman.canonical import events as e
from dragoman.canonical import request as q
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.canonical.opaque import Opaque
from dragoman.exceptions import LocalProtocolError
from dragoman.streaming.order import LegalOrder
from dragoman.toolloop.loop import LoopState
from tests.toolloop.turns import call, end_of, found, loop, said, text, turn


def test_a_turn_without_gateway_calls_is_the_answer() -> None:
    tools = loop()
    events = tools.receive(turn(text("Hello."), finish="stop"))
    assert said(events) == "Hello."
    assert end_of(events).finish is e.FinishReason.STOP
    assert tools.state is LoopState.OVER


def test_gateway_calls_are_kept_from_the_client_and_run() -> None:
    tools = loop()
    events = tools.receive(turn(text("Let me look. "), call("docs__search", "c1", '{"query":"x"}')))
    assert [type(event) for event in events] == [e.ResponseStart, e.TextStart, e.TextDelta, e.TextEnd]
    assert tools.state is LoopState.RUNNING
    (wanted,) = tools.calls
    assert (wanted.tool.name, wanted.arguments) == ("search", '{"query":"x"}')


def test_results_are_shown_and_the_upstream_is_asked_again() -> None:
    tools = loop()
    tools.receive(turn(call("docs__search", "c1", '{"query":"x"}')))
    shown = tools.fold([found("21 degrees")])
    (id,) = (event.id for event in shown if isinstance(event, e.ToolRun))
    assert shown == [
        e.ResponseStart(id="r"),
        e.ToolRun(id=id, server="docs", name="search", arguments='{"query":"x"}', output="21 degrees"),
    ]
    assert tools.shown == [id]
    assert tools.state is LoopState.ASKING
    model, results = tools.messages
    assert model.parts == (q.ToolCall(id="c1", name="docs__search", arguments='{"query":"x"}'),)
    assert results == q.Message(q.Role.USER, (q.ToolResult(id="c1", parts=(q.Text(text="21 degrees"),)),))


def test_all_rounds_are_one_legal_answer_with_summed_usage() -> None:
    tools, order = loop(), LegalOrder()
    events = tools.receive(turn(text("A"), call("docs__search", "c1"), usage=(100, 10)))
    events += tools.fold([found()])
    events += tools.receive(turn(text("B"), call("docs__search", "c2"), usage=(200, 20)))
    events += tools.fold([found()])
    events += tools.receive(turn(text("C"), finish="stop", usage=(300, 30)))
    for event in events:
        order.advance(event)
    assert said(events) == "ABC"
    assert e.UsageUpdate(e.Usage(input=600, output=60)) in events
    assert (tools.ran, tools.rounds) == ({"docs__search": 2}, 3)
    assert end_of(events).finish is e.FinishReason.STOP


def test_what_only_the_origin_counts_is_told_of_a_single_turn() -> None:
    counted = e.UsageUpdate(e.Usage(input=1, output=2), {"queue_time": 3}, "chat")
    end = e.ResponseEnd(finish=e.FinishReason.STOP)
    tools = loop()
    assert tools.receive([e.ResponseStart(), *text("A"), counted, end])[-2:] == [counted, end]
    tools = loop()
    tools.receive(turn(call("docs__search", "c1"), usage=(10, 1)))
    tools.fold([found()])
    assert tools.receive([e.ResponseStart(), *text("A"), counted, end])[-2] == e.UsageUpdate(
        e.Usage(input=11, output=3), origin="chat"
    )


def test_calls_of_the_same_id_are_shown_apart() -> None:
    tools = loop()
    for _ in range(2):
        tools.receive(turn(call("docs__search", "search:0")))
        tools.fold([found()])
    assert len(set(tools.shown)) == 2


def test_a_mixed_turn_runs_ours_and_hands_theirs_over() -> None:
    tools = loop()
    events = tools.receive(turn(call("docs__search", "c1"), call("get_weather", "c2", '{"city":"Oslo"}')))
    assert [event.name for event in events if isinstance(event, e.ToolCallStart)] == ["get_weather"]
    assert len(tools.calls) == 1
    events = tools.fold([found()])
    assert end_of(events).finish is e.FinishReason.TOOL_CALLS
    assert tools.state is LoopState.OVER
    assert tools.handed_over == ("c2",)


@pytest.mark.parametrize("finish", ["length", "content_filter", "paused"])
def test_a_cut_turn_runs_no_call(finish: str) -> None:
    tools = loop()
    events = tools.receive(turn(text("Well"), call("docs__search", "c1", '{"qu', complete=False), finish=finish))
    assert end_of(events).finish is e.FinishReason(finish)
    assert tools.calls == ()


def test_the_last_round_ends_visibly() -> None:
    tools = loop(rounds=2)
    tools.receive(turn(call("docs__search", "c1")))
    tools.fold([found()])
    events = tools.receive(turn(text("More"), call("docs__search", "c2")))
    assert end_of(events).finish is e.FinishReason.LENGTH
    assert (tools.calls, tools.runs) == ((), 1)


def test_rounds_of_errors_alone_end_visibly() -> None:
    tools = loop(error_rounds=2)
    tools.receive(turn(call("docs__search", "c1"), call("docs__search", "c2")))
    tools.fold([found(error=True), found()])  # one worked: not a round of errors
    tools.receive(turn(call("docs__search", "c3")))
    assert not any(isinstance(event, e.ResponseEnd) for event in tools.fold([found(error=True)]))
    tools.receive(turn(call("docs__search", "c4")))
    assert end_of(tools.fold([found(error=True)])).finish is e.FinishReason.LENGTH


def test_out_of_time_ends_visibly() -> None:
    tools = loop()
    tools.receive(turn(text("Hm"), call("docs__search", "c1")))
    assert end_of(tools.stop()).finish is e.FinishReason.LENGTH


def test_out_of_time_with_a_failure() -> None:
    tools, failure = loop(), Error(kind=ErrorKind.OVERLOADED, message="stopped")
    tools.receive(turn(text("Hm"), call("docs__search", "c1")))
    assert tools.stop(failure) == [e.ResponseError(failure)]
    assert tools.state is LoopState.OVER


def test_a_failure_ends_the_loop() -> None:
    tools = loop()
    tools.receive(turn(text("A"), call("docs__search", "c1")))
    tools.fold([found()])
    failure = e.ResponseError(Error(kind=ErrorKind.SERVER, message="broke"))
    assert tools.receive([failure]) == [failure]
    assert tools.state is LoopState.OVER


def test_a_failure_before_anything_was_said_begins_no_answer() -> None:
    tools = loop()
    assert tools.receive(turn(call("docs__search", "c1"))) == []
    assert tools.open() == [e.ResponseStart(id="r")]
    assert tools.open() == []


def test_reasoning_goes_back_with_its_proof() -> None:
    proof = Opaque("messages", "signature", "c2ln")
    thought: list[e.Event] = [e.ReasoningStart(), e.ReasoningDelta("Hm."), e.ReasoningEnd((proof,))]
    tools = loop()
    tools.receive(turn(thought, call("docs__search", "c1")))
    tools.fold([found()])
    assert tools.messages[0].parts[0] == q.Reasoning(text="Hm.", opaque=(proof,))


def test_misuse_is_refused() -> None:
    tools = loop()
    with pytest.raises(LocalProtocolError):
        tools.fold([])
    with pytest.raises(LocalProtocolError):
        tools.stop()
    tools.receive(turn(call("docs__search", "c1")))
    with pytest.raises(LocalProtocolError):
        tools.receive([])
    with pytest.raises(LocalProtocolError):
        tools.fold([])
