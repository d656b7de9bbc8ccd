"""The table of legal orders: design/streams.md, 1 ("feeding an encoder an illegal order … raises")."""

from __future__ import annotations

import pytest

from dragoman.canonical import events as e
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.exceptions import LocalProtocolError
from dragoman.streaming.order import TRANSITIONS, LegalOrder, StreamState

START = e.ResponseStart()
TEXT: list[e.Event] = [e.TextStart(), e.TextDelta("a"), e.CitationAdded(e.Citation()), e.TextEnd()]
REASONING: list[e.Event] = [e.ReasoningStart(), e.ReasoningDelta("a"), e.ReasoningEnd()]
CALL: list[e.Event] = [e.ToolCallStart(id="a", name="run"), e.ToolCallDelta("{}"), e.ToolCallEnd()]
WHOLE: list[e.Event] = [
    e.ServerTool("messages", ()),
    e.ToolRun(id="a", server="s", name="run", arguments="{}", output="x"),
    e.Media(media_type="image/png"),
]
USAGE = e.UsageUpdate(e.Usage(input=1))
END = e.ResponseEnd(finish=e.FinishReason.STOP)
ERROR = e.ResponseError(Error(kind=ErrorKind.SERVER, message="no"))

KINDS: list[e.Event] = [START, *TEXT, *REASONING, *CALL, *WHOLE, USAGE, END, ERROR]

TO_STATE: dict[StreamState, list[e.Event]] = {
    StreamState.IDLE: [],
    StreamState.OPEN: [START],
    StreamState.TEXT: [START, TEXT[0]],
    StreamState.REASONING: [START, REASONING[0]],
    StreamState.CALL: [START, CALL[0]],
    StreamState.COUNTED: [START, USAGE],
    StreamState.ENDED: [START, END],
}

LEGAL: dict[StreamState, set[type]] = {
    StreamState.IDLE: {e.ResponseStart, e.ResponseError},
    StreamState.OPEN: {e.TextStart, e.ReasoningStart, e.ToolCallStart, e.ServerTool, e.ToolRun, e.Media, e.UsageUpdate, e.ResponseEnd, e.ResponseError},
    StreamState.TEXT: {e.TextDelta, e.CitationAdded, e.TextEnd, e.ResponseError},
    StreamState.REASONING: {e.ReasoningDelta, e.ReasoningEnd, e.ResponseError},
    StreamState.CALL: {e.ToolCallDelta, e.ToolCallEnd, e.ResponseError},
    StreamState.COUNTED: {e.ResponseEnd, e.ResponseError},
    StreamState.ENDED: set(),  # one end, last
}  # fmt: skip


def after(events: list[e.Event]) -> LegalOrder:
    order = LegalOrder()
    for event in events:
        order.advance(event)
    return order


@pytest.mark.parametrize("event", KINDS, ids=lambda event: type(event).__name__)
@pytest.mark.parametrize("state", StreamState)
def test_every_event_in_every_state(state: StreamState, event: e.Event) -> None:
    order = after(TO_STATE[state])
    assert order.state is state
    if type(event) in LEGAL[state]:
        order.advance(event)
        assert order.state is TRANSITIONS[state, type(event)]
    else:
        with pytest.raises(LocalProtocolError, match=f"{type(event).__name__} is illegal in state {state.value}"):
            order.advance(event)
        assert order.state is state


def test_a_whole_answer() -> None:
    order = after([START, *REASONING, *TEXT, *CALL, *WHOLE, *TEXT, USAGE, END])
    assert order.state is StreamState.ENDED


def choice(index: int, *events: e.Event) -> list[e.Event]:
    return [e.InChoice(index, event) for event in events]


def test_each_choice_has_its_own_blocks_and_end() -> None:
    """Several choices may be in the middle of their blocks at the same time."""
    events = [START, TEXT[0], *choice(1, TEXT[0], TEXT[1]), TEXT[3], *choice(1, TEXT[3], *CALL), *choice(2, *TEXT)]
    order = after([*events, *choice(1, END), *choice(2, END), USAGE, END])
    assert order.choices == {1: StreamState.ENDED, 2: StreamState.ENDED}


@pytest.mark.parametrize(
    ("before", "event", "message"),
    [
        ([], TEXT[0], "TextStart of choice 1 is illegal in state idle"),
        ([START], TEXT[1], "TextDelta of choice 1 is illegal in state open"),
        ([START, TEXT[0]], TEXT[1], "TextDelta of choice 1 is illegal in state open"),
        ([START], START, "ResponseStart of choice 1 is illegal in state open"),
        ([START], USAGE, "UsageUpdate of choice 1"),
        ([START], ERROR, "ResponseError of choice 1"),
        ([START, END], TEXT[0], "TextStart of choice 1 is illegal in state ended"),
        ([START, *choice(1, END)], END, "ResponseEnd of choice 1 is illegal in state ended"),
        ([START], e.InChoice(2, TEXT[0]), "InChoice of choice 1"),
    ],
)
def test_illegal_orders_of_a_choice(before: list[e.Event], event: e.Event, message: str) -> None:
    order = after(before)
    with pytest.raises(LocalProtocolError, match=message):
        order.advance(e.InChoice(1, event))


def test_an_error_leaves_half_blocks_open() -> None:
    """Half a call must never look finished."""
    assert after([START, *CALL[:2], ERROR]).state is StreamState.ENDED
    assert after([START, *choice(1, *CALL[:2]), ERROR]).choices == {1: StreamState.CALL}
