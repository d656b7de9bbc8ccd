"""Events to a whole response: what is streamed equals what is whole."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dragoman.canonical import events as e
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.canonical.events import FinishReason
from dragoman.canonical.opaque import Opaque
from dragoman.canonical.response import Choice, ReasoningBlock, Response, TextBlock, ToolCallBlock
from dragoman.streaming.accumulate import Accumulator

START = e.ResponseStart(id="r", model="m", created=7, origin="chat", native={"a": 1})
END = e.ResponseEnd(finish=FinishReason.STOP, raw="eos", origin="chat", stop_sequence="X", native={"b": 2})
PROOF = Opaque("messages", "signature", "c2ln")
OTHER = Opaque("messages", "redacted", "cmVk")
CITATION = e.Citation(url="https://example.com")
TOOL = e.ServerTool("messages", ({"type": "x"},))
RUN = e.ToolRun(id="a", server="s", name="run", arguments="{}", output="x")
IMAGE = e.Media(media_type="image/png", data="aQ==")


def collected(*events: e.Event) -> Accumulator:
    accumulator = Accumulator()
    accumulator.add(events)
    return accumulator


def blocks(*events: e.Event) -> tuple[object, ...]:
    response = collected(START, *events, END).response
    assert response is not None
    return response.choices[0].blocks


def test_text_blocks_stay_distinct() -> None:
    found = blocks(
        e.TextStart(), e.TextDelta("a"), e.CitationAdded(CITATION), e.TextDelta("b"), e.TextEnd(),
        e.TextStart(refusal=True), e.TextDelta("c", {"logprobs": 1}), e.TextDelta("", {"logprobs": 2}), e.TextEnd(PROOF),
        e.TextStart(), e.TextEnd(),
    )  # fmt: skip
    assert found == (
        TextBlock(text="ab", citations=(CITATION,)),
        TextBlock(text="c", refusal=True, signature=PROOF, native=({"logprobs": 1}, {"logprobs": 2})),
        TextBlock(text=""),
    )


def test_reasoning_keeps_its_proofs_in_order() -> None:
    found = blocks(
        e.ReasoningStart(), e.ReasoningDelta("a"), e.ReasoningDelta("b"), e.ReasoningEnd((PROOF, OTHER)),
        e.ReasoningStart(summary=True), e.ReasoningEnd(),
    )  # fmt: skip
    assert found == (ReasoningBlock(text="ab", opaque=(PROOF, OTHER)), ReasoningBlock(text="", summary=True))


def test_parts_of_reasoning_are_remembered_by_where_they_begin() -> None:
    found = blocks(
        e.ReasoningStart(summary=True), e.ReasoningDelta("ab"), e.ReasoningDelta("c", part=True),
        e.ReasoningDelta("d"), e.ReasoningDelta("e", part=True), e.ReasoningEnd(),
        e.ReasoningStart(), e.ReasoningDelta("f"), e.ReasoningEnd(),
    )  # fmt: skip
    assert found == (ReasoningBlock(text="abcde", summary=True, parts=(2, 4)), ReasoningBlock(text="f"))


def test_calls() -> None:
    found = blocks(
        e.ToolCallStart(id="a", name="run", signature=PROOF), e.ToolCallDelta('{"a"'), e.ToolCallDelta(":1}"),
        e.ToolCallEnd(),
        e.ToolCallStart(id="b", name="run", kind="custom", namespace="n"), e.ToolCallDelta("x", sound=False),
        e.ToolCallDelta("y"), e.ToolCallEnd(complete=False, signature=OTHER),
        e.ToolCallStart(id="c", name="run"), e.ToolCallEnd(),
    )  # fmt: skip
    assert found == (
        ToolCallBlock(id="a", name="run", arguments='{"a":1}', signature=PROOF),
        ToolCallBlock(id="b", name="run", arguments="xy", kind="custom", namespace="n", complete=False, sound=False, signature=OTHER),
        ToolCallBlock(id="c", name="run", arguments=""),
    )  # fmt: skip


def test_blocks_in_one_event() -> None:
    assert blocks(TOOL, RUN, IMAGE) == (TOOL, RUN, IMAGE)


def test_envelope_end_and_usage() -> None:
    usage = e.UsageUpdate(e.Usage(input=1, output=2), {"prompt_tokens": 1})
    assert collected(START, usage, END).response == Response(
        id="r", model="m", created=7, origin="chat", native={"a": 1},
        choices=(Choice(blocks=(), finish=FinishReason.STOP, raw="eos", origin="chat", stop_sequence="X", native={"b": 2}),),
        usage=e.Usage(input=1, output=2), usage_native={"prompt_tokens": 1},
    )  # fmt: skip
    response = collected(START, END).response
    assert response is not None
    assert (response.usage, response.usage_native) == (None, None)


def test_there_is_no_response_before_the_end() -> None:
    accumulator = collected(START, e.TextStart(), e.TextDelta("a"))
    assert accumulator.response is None
    assert accumulator.error is None
    accumulator.add([e.TextEnd()])
    assert accumulator.response is None
    accumulator.add([END])
    assert accumulator.response is not None


def test_a_failed_answer_is_no_response() -> None:
    error = Error(kind=ErrorKind.SERVER, message="no")
    for events in ([e.ResponseError(error)], [START, e.TextStart(), e.TextDelta("a"), e.ResponseError(error)]):
        accumulator = collected(*events)
        assert accumulator.response is None
        assert accumulator.error == error


def test_choices_are_apart_and_in_order() -> None:
    def of(index: int, text: str) -> list[e.Event]:
        return [e.InChoice(index, event) for event in (e.TextStart(), e.TextDelta(text), e.TextEnd())]

    half = [START, *of(2, "c"), e.TextStart(), *of(1, "b"), e.TextDelta("a"), e.TextEnd(), e.InChoice(1, END)]
    accumulator = collected(*half)
    assert accumulator.response is None
    accumulator.add([e.InChoice(2, END), END])
    assert accumulator.response is not None
    texts = [choice.blocks[0].text for choice in accumulator.response.choices]
    assert texts == ["a", "b", "c"]


@given(st.lists(st.text(max_size=4)), st.integers(0, 8))
def test_the_cut_of_deltas_and_of_calls_does_not_matter(pieces: list[str], at: int) -> None:
    events: list[e.Event] = [START, e.TextStart(), *map(e.TextDelta, pieces), e.TextEnd(), END]
    accumulator = collected(*events[:at])
    accumulator.add(events[at:])
    assert (
        accumulator.response == collected(START, e.TextStart(), e.TextDelta("".join(pieces)), e.TextEnd(), END).response
    )
