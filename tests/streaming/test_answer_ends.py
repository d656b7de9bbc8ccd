"""How an answer ends: design/streams.md, 3, 6 and 7. And what holds whatever a decoder tells."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.canonical import events as e
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.canonical.opaque import Opaque
from dragoman.streaming.accumulate import Accumulator
from tests.streaming.building import JSON_OBJECTS, as_sent, assembler, cut, legal, texts_of, written
from tests.streaming.calling import PARIS, at
from tests.streaming.telling import Step, shorts, tell
from tests.streaming.test_toolcalls_any import WIRE

F = e.FinishReason
FAULT = Error(kind=ErrorKind.RATE_LIMIT, message="slow down", code="rate")
RUN: Step = ("call", at(0, "a", "run", PARIS))
HALF: Step = ("call", at(0, "a", "run", '{"city":'))
NAMELESS: Step = ("call", at(0, "a", None, PARIS))
TEXT: Step = ("text", "a")
CLOSE: Step = ("close",)
DONE: Step = ("terminate",)

ROWS: dict[str, tuple[list[Step], str]] = {
    # ---- completion is proven by a finish word, a terminal event or [DONE]; not by the end of the bytes
    "finish": ([TEXT, ("finish", F.STOP), CLOSE], "^ text( a ) stop"),
    "finish-missing-with-done": ([TEXT, DONE], "^ text( a ) stop"),
    "finish-missing-with-done-tool": ([RUN, DONE], f"^ run( {PARIS} ) tool_calls"),
    "finish-missing-no-done-text": ([TEXT, CLOSE], "^ text( a error:truncated"),
    "finish-missing-no-done-tool": ([RUN, CLOSE], f"^ run( {PARIS} ) error:truncated"),
    "finish-missing-no-done-tool-partial": ([HALF, CLOSE], '^ run( {"city": error:truncated'),
    "finish-missing-with-done-tool-partial": ([HALF, DONE], '^ run( {"city": error:truncated'),
    "done after a snapshot that is whole": ([HALF, ("call", at(0, arguments=PARIS)), DONE], '^ run( {"city": "Paris"} ) tool_calls'),
    "done with a header alone": ([("call", at(0, "a", "list_tasks")), DONE], "^ list_tasks( {} ) tool_calls"),
    # ---- a reason is recorded, not obeyed
    "finish-then-late-text": ([("finish", F.STOP), TEXT, CLOSE], "^ text( a ) stop"),
    "finish-premature-stop": ([("finish", F.STOP), RUN, ("finish", F.TOOL_CALLS), CLOSE], f"^ run( {PARIS} ) tool_calls"),
    "finish-double-length-then-stop": ([TEXT, ("finish", F.LENGTH), ("finish", F.STOP), CLOSE], "^ text( a ) length"),
    "finish-tool-calls-without-calls": ([TEXT, ("finish", F.TOOL_CALLS), CLOSE], "^ text( a ) stop"),
    "args-truncated-finish-length": ([HALF, ("finish", F.LENGTH), CLOSE], '^ run( {"city": half) length'),
    "unterminated at tool_calls": ([HALF, ("finish", F.TOOL_CALLS), CLOSE], '^ run( {"city": half) length'),
    "a header cut by length": ([("call", at(0, "a", "run")), ("finish", F.LENGTH), CLOSE], "^ run( half) length"),
    "a header at a normal end": ([("call", at(0, "a", "run")), ("finish", F.STOP), CLOSE], "^ run( {} ) tool_calls"),
    "filtered": ([TEXT, ("finish", F.CONTENT_FILTER), CLOSE], "^ text( a ) content_filter"),
    "paused": ([TEXT, ("finish", F.PAUSED), CLOSE], "^ text( a ) paused"),
    "not JSON is whole at a normal end": ([("call", at(0, "a", "run", "{'a'")), ("finish", F.STOP), CLOSE], "^ run( {'a' ) tool_calls"),
    # ---- B: a call never named
    "name-never": ([NAMELESS, ("finish", F.TOOL_CALLS), CLOSE], "error:unnamed_tool_call"),
    "name-never, done": ([NAMELESS, DONE], "error:unnamed_tool_call"),
    "name-never, with text": ([TEXT, NAMELESS, ("finish", F.TOOL_CALLS), CLOSE], "^ text( a ) stop"),
    "name-never, with text, at a plain stop": ([TEXT, NAMELESS, ("finish", F.STOP), CLOSE], "^ text( a ) stop"),
    "name-never, cut by length": ([TEXT, NAMELESS, ("finish", F.LENGTH), CLOSE], "^ text( a ) length"),
    "an entry that says nothing": ([TEXT, ("call", at(0, "a")), ("finish", F.STOP), CLOSE], "^ text( a ) stop"),
    "name-never-with-sibling": ([NAMELESS, ("call", at(1, "b", "run", PARIS)), ("finish", F.TOOL_CALLS), CLOSE], f"^ run( {PARIS} ) tool_calls"),
    # ---- nothing
    "empty": ([CLOSE], "error:empty_answer"),
    "done alone": ([DONE], "error:empty_answer"),
    "an envelope alone": ([("envelope", {"id": "x"}), CLOSE], "error:empty_answer"),
    "counts alone": ([("usage", e.Usage(input=1)), CLOSE], "error:empty_answer"),
    "an envelope and an end": ([("envelope", {}), DONE], "^ stop"),
    "control-empty-answer": ([("envelope", {}), ("finish", F.STOP), ("usage", e.Usage(input=1)), CLOSE], "^ usage stop"),
    "filtered before a word": ([("finish", F.CONTENT_FILTER), CLOSE], "^ content_filter"),
    # ---- interruptions
    "finish-interrupted-reason": ([TEXT, ("interrupt", "busy"), DONE], "^ text( a error:interrupted"),
    "interrupted, then finished": ([TEXT, ("interrupt", "busy"), ("finish", F.STOP), CLOSE], "^ text( a error:interrupted"),
    "interrupted before a word": ([("interrupt", "busy"), CLOSE], "error:interrupted"),
    # ---- failures
    "error-object-first": ([("envelope", {"id": "x"}), ("fail", FAULT), CLOSE], "error:rate"),
    "error-mid-text": ([TEXT, ("fail", FAULT), CLOSE], "^ text( a error:rate"),
    "error-mid-tool-call": ([HALF, ("fail", FAULT), CLOSE], '^ run( {"city": error:rate'),
    "an error after a whole call": ([RUN, ("fail", FAULT), CLOSE], f"^ run( {PARIS} ) error:rate"),
    "an error after the finish": ([TEXT, ("finish", F.STOP), ("fail", FAULT), CLOSE], "^ text( a ) stop"),
    "an error after finish and text": ([("finish", F.STOP), TEXT, ("fail", FAULT), CLOSE], "^ text( a error:rate"),
    "two errors": ([("fail", FAULT), ("fail", Error(kind=ErrorKind.SERVER, message="x"))], "error:rate"),
    "an abort": ([TEXT, ("abort", FAULT)], "^ text( a error:rate"),
    "an abort after the finish": ([TEXT, ("finish", F.STOP), ("abort", FAULT)], "^ text( a ) stop"),
    "an abort of nothing": ([("abort", FAULT)], "error:rate"),
    "an error beats an interruption": ([TEXT, ("interrupt", "busy"), ("fail", FAULT)], "^ text( a error:rate"),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_ends(row: str) -> None:
    steps, expected = ROWS[row]
    assert shorts(legal(tell(assembler(), *steps))) == expected


@pytest.mark.parametrize("row", ROWS)
def test_ends_taken_as_they_come(row: str) -> None:
    steps, expected = ROWS[row]
    answer = assembler()
    assert shorts(legal(event for step in steps for event in tell(answer, step))) == expected


def test_the_word_of_the_upstream() -> None:
    answer = assembler(origin="messages")
    finish: Step = ("finish", F.STOP, "stop_sequence", {"stop_sequence": "END", "native": {"x": 1}})
    *_, end = tell(answer, TEXT, finish, CLOSE)
    expected: dict[str, Any] = {"stop_sequence": "END", "native": {"x": 1}, "origin": "messages"}
    assert end == e.ResponseEnd(finish=F.STOP, raw="stop_sequence", **expected)


@pytest.mark.parametrize(
    ("step", "kind", "says"),
    [
        (("fail", FAULT), ErrorKind.RATE_LIMIT, "slow down"),  # the true type, code and message
        (("interrupt", "out of capacity"), ErrorKind.BAD_UPSTREAM, "out of capacity"),
        (("close",), ErrorKind.BAD_UPSTREAM, "cut off"),
    ],
)
def test_what_the_client_is_told(step: Step, kind: ErrorKind, says: str) -> None:
    *_, end = tell(assembler(), TEXT, step, CLOSE)
    assert isinstance(end, e.ResponseError)
    assert end.error.kind is kind
    assert says in end.error.message


# ------------------------------------------------------------------ properties

KEYS = st.sampled_from((None, None, 0, 1, 2))
PIECES = st.text(st.sampled_from("ab \ud83d\ude00"), max_size=3).map(as_sent)
PROOFS = st.builds(Opaque, st.just("messages"), st.sampled_from(("signature", "redacted")), st.just("c2ln"))

SAYING = st.one_of(
    st.tuples(st.just("text"), PIECES, KEYS),
    st.tuples(st.just("text"), PIECES, KEYS, st.just({"refusal": True})),
    st.tuples(st.just("reasoning"), PIECES, KEYS),
    st.tuples(st.just("prove"), PROOFS, KEYS),
    st.tuples(st.just("cite"), st.just(e.Citation()), KEYS),
    st.tuples(st.just("sign_text"), PROOFS, KEYS),
    st.tuples(st.just("end_block"), KEYS),
    st.tuples(st.just("server_tool"), st.just({"type": "x"})),
    st.tuples(st.just("media"), st.just(e.Media(media_type="image/png"))),
    st.tuples(st.sampled_from(("call", "call", "call", "end_call", "whole_call")), WIRE),
    st.tuples(st.just("usage"), st.builds(e.Usage, input=st.integers(0, 9))),
)
ENDING = st.one_of(
    st.tuples(st.just("finish"), st.sampled_from(F)),
    st.sampled_from([("terminate",), ("close",), ("fail", FAULT), ("abort", FAULT), ("interrupt", "busy"), ("open",)]),
)
ANY = st.lists(st.one_of(SAYING, SAYING, SAYING, ENDING, st.tuples(st.just("choice"), st.integers(-1, 3))), max_size=14)


@given(ANY, st.integers(1, 3))
def test_whatever_is_told_the_order_is_legal(steps: list[Step], choices: int) -> None:
    """``ToolCallStart`` cannot be built without name and id; here none is even tried."""
    answer = assembler(choices=choices)
    events = [event for step in [*steps, CLOSE] for event in tell(answer, step)]
    legal(events)
    assert type(events[-1]) in (e.ResponseEnd, e.ResponseError)
    accumulator = Accumulator()
    accumulator.add(events)
    assert (accumulator.response is None) == (accumulator.error is not None)


@given(ANY)
def test_events_do_not_depend_on_who_takes_them_when(steps: list[Step]) -> None:
    one, other = assembler(), assembler()
    assert [event for step in [*steps, CLOSE] for event in tell(one, step)] == tell(other, *steps, CLOSE)
    assert (one.quirks, one.losses) == (other.quirks, other.losses)


@given(st.lists(st.one_of(SAYING, st.tuples(st.sampled_from(("text", "reasoning")), PIECES)), max_size=14))
def test_no_text_is_lost_from_an_answer_that_ends_well(steps: list[Step]) -> None:
    """Halves of characters that are not in neighbouring deltas aside, which become U+FFFD."""
    answer = assembler()
    events = legal(tell(answer, *steps, ("finish", F.STOP), CLOSE))
    for name, kind in (("text", e.TextDelta), ("reasoning", e.ReasoningDelta)):
        said = "".join(step[1] for step in steps if step[0] == name)
        found = texts_of(events, kind)
        found.encode()
        assert sorted(found.translate(HALVES)) == sorted(said.translate(HALVES))
    assert "blocks behind a call that was cut" not in answer.losses


HALVES = dict.fromkeys(map(ord, "\ud83d\ude00\ufffd😀"))
UNKEYED = st.one_of(
    st.tuples(st.sampled_from(("text", "reasoning")), PIECES), st.tuples(st.sampled_from(("call", "whole_call")), WIRE)
)


@given(st.lists(UNKEYED, max_size=14))
def test_text_stays_in_order_whatever_calls_do(steps: list[Step]) -> None:
    answer = assembler()
    events = legal(tell(answer, *steps, ("finish", F.STOP), CLOSE))
    halves = 0
    for name, kind in (("text", e.TextDelta), ("reasoning", e.ReasoningDelta)):
        said = "".join(step[1] for step in steps if step[0] == name)
        said = said.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        found = texts_of(events, kind)
        halves += found != said
        assert said in (found, found + "\ufffd")
    assert answer.losses.get("half a character", 0) == halves


CALLS = st.lists(st.tuples(st.sampled_from(("run", "get_weather")), written(JSON_OBJECTS)), max_size=3)


@given(CALLS, st.text(st.sampled_from("abc"), max_size=9), st.data())
def test_the_cut_of_deltas_does_not_change_the_answer(
    calls: list[tuple[str, str]], text: str, data: st.DataObject
) -> None:
    def whole(cuts: bool) -> object:
        def pieces(of: str) -> list[str]:
            return data.draw(cut(of)) if cuts else [of]

        steps: list[Step] = [(kind, piece) for kind in ("reasoning", "text") for piece in pieces(text)]
        for place, (name, arguments) in enumerate(calls):
            steps.append(("call", at(place, f"call-{place}", name)))
            steps += [("call", at(place, None, None, piece)) for piece in pieces(arguments)]
        accumulator = Accumulator()
        accumulator.add(legal(tell(assembler(), *steps, ("finish", F.STOP), CLOSE)))
        return accumulator.response

    assert whole(cuts=True) == whole(cuts=False) is not None
