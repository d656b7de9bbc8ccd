"""The loop as a state machine: events of upstream turns and results of tools in, actions out.

    ASKING ──turn without gateway calls, cut, or failed──▶ OVER
      │  ▲
      │  └────────── results, a round is left ───────────┐
      └──gateway calls──▶ RUNNING ──results──────────────┤
                            │                            └─ results, and client calls or no round left ──▶ OVER
                            └──stopped (time)──▶ OVER

The calls of a turn are told apart by their names: the gateway's are *candidates*, kept from the client and
*folded* into the next turn's history; the client's go to the client, live. The client sees one answer: one
start, the blocks of all turns, summed usage, one end. Reaching a bound is visible: the answer ends
with ``length``, never with a clean stop.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import msgspec

from dragoman.canonical import events as e
from dragoman.canonical import request as q
from dragoman.canonical.aliases import original
from dragoman.canonical.errors import Error
from dragoman.canonical.response import Block, ReasoningBlock, TextBlock, ToolCallBlock
from dragoman.exceptions import LocalProtocolError
from dragoman.streaming.accumulate import Accumulator
from dragoman.streaming.ids import Ids
from dragoman.toolloop.offer import GatewayTool, Offer


class LoopLimits(msgspec.Struct, frozen=True, kw_only=True):
    """``rounds``: answers asked of the upstream; ``error_rounds``: rounds in a row of which every call failed."""

    rounds: int = 10
    error_rounds: int = 3


class GatewayCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that the gateway has to run. ``arguments`` is the text as the model wrote it."""

    id: str
    tool: GatewayTool
    arguments: str


class ToolOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a call, for the model. ``error``: the tool was not run, did not end in time, or failed."""

    parts: tuple[q.ResultPart, ...] = ()
    error: bool = False

    @property
    def text(self) -> str:
        """All text of it: what people and dialects without pictures see."""
        return "\n".join(part.text for part in self.parts if isinstance(part, q.Text))


class LoopState(Enum):
    """What a loop waits for: its upstream, the calls of the gateway, or nothing any more."""

    ASKING = "asking"
    RUNNING = "running"
    OVER = "over"


_DELTAS = frozenset({e.TextDelta, e.ReasoningDelta})
"""What most of a stream is, and goes on as it is."""


class ToolLoop:
    """Follows one client answer over its upstream turns.

    ``receive`` takes a turn's events and gives those that the client gets. When ``calls`` is not empty they
    have to be run, and ``fold`` takes their outcomes. Then the state says whether the upstream is asked again,
    with ``messages`` behind the client's own. ``ids`` names the calls that the client is shown: those of
    the model may come again in the next turn.
    """

    def __init__(self, offer: Offer, limits: LoopLimits, ids: Ids) -> None:
        self.state = LoopState.ASKING
        self.calls: tuple[GatewayCall, ...] = ()
        self.messages: list[q.Message] = []
        """The turns of this answer so far, as history: what the model said, and the results that it got."""
        self.handed_over: tuple[str, ...] = ()
        """The ids of the client's calls in the last turn: its next request brings their results."""
        self.shown: list[str] = []
        """The ids of the gateway's calls as the client may have seen them (``ToolRun``)."""
        self.runs = 0
        """How many calls the gateway ran."""
        self.ran: dict[str, int] = {}
        """How often each tool of the gateway's ran, by the name under which the model is offered it."""
        self._offer = offer
        self._limits = limits
        self._ids = ids
        self._rounds = 1
        self._failing = 0
        self._turn = Accumulator()
        self._candidate = False
        self._start: e.ResponseStart | None = None
        self._started = False
        self._usage: e.UsageUpdate | None = None
        self._end: e.ResponseEnd | None = None

    @property
    def rounds(self) -> int:
        """Answers that the upstream was asked for."""
        return self._rounds

    # ---- a turn

    def receive(self, events: Sequence[e.Event]) -> list[e.Event]:
        """More of the upstream's turn; what the client gets of it."""
        if self.state is not LoopState.ASKING:
            raise LocalProtocolError(f"events of a turn in state {self.state.value}")
        self._turn.add(events)
        out: list[e.Event] = []
        for event in events:
            if type(event) in _DELTAS:
                out.append(event)
            else:
                out += self._seen(event)
        return self._begun(out)

    def open(self) -> list[e.Event]:
        """Begins the answer before anything was said of it."""
        start, self._start = self._start or e.ResponseStart(), None
        if self._started:
            return []
        self._started = True
        return [start]

    def _begun(self, events: list[e.Event]) -> list[e.Event]:
        """The answer begins with the first thing that the client gets of it, in whatever turn; a failure begins none."""
        if self._started or not events or isinstance(events[0], e.ResponseError):
            return events
        return [*self.open(), *events]

    def _seen(self, event: e.Event) -> list[e.Event]:
        match event:
            case e.ResponseStart():
                self._start = self._start or event
                return []
            case e.ToolCallStart(name=name):
                self._candidate = name in self._offer.tools
            case e.UsageUpdate():
                self._usage = event if self._usage is None else _sum(self._usage, event)
                return []
            case e.ResponseEnd():
                return self._turn_over(event)
            case e.ResponseError():
                self.state = LoopState.OVER
                return [event]
        if isinstance(event, e.ToolCallStart | e.ToolCallDelta | e.ToolCallEnd) and self._candidate:
            return []
        return [event]

    def _turn_over(self, end: e.ResponseEnd) -> list[e.Event]:
        response = self._turn.response
        blocks = response.choices[0].blocks if response is not None else ()
        called = [block for block in blocks if isinstance(block, ToolCallBlock)]
        candidates = [call for call in called if call.name in self._offer.tools]
        self.messages.append(q.Message(q.Role.ASSISTANT, tuple(_parts(blocks))))
        self.handed_over = tuple(call.id for call in called if call.name not in self._offer.tools)
        if not candidates:
            return self._over(end)
        if end.finish is not e.FinishReason.TOOL_CALLS:
            return self._over(end)  # a cut turn runs no call of it
        if self._rounds >= self._limits.rounds and not self.handed_over:
            return self._over(_cut(end))
        self.calls = tuple(
            GatewayCall(id=call.id, tool=self._offer.tools[call.name], arguments=call.arguments) for call in candidates
        )
        self._end = end
        self.state = LoopState.RUNNING
        return []

    # ---- its results

    def fold(self, outcomes: Sequence[ToolOutcome]) -> list[e.Event]:
        """The outcomes of ``calls``, in their order; what the client gets to see of them."""
        if self.state is not LoopState.RUNNING or self._end is None or len(outcomes) != len(self.calls):
            raise LocalProtocolError(
                f"{len(outcomes)} outcomes for {len(self.calls)} calls in state {self.state.value}"
            )
        out: list[e.Event] = []
        results: list[q.Part] = []
        for call, outcome in zip(self.calls, outcomes, strict=True):
            results.append(q.ToolResult(id=original(call.id), parts=outcome.parts, error=outcome.error))
            self.shown.append(self._ids(""))
            out.append(_run(self.shown[-1], call, outcome))
            self.ran[call.tool.offered] = self.ran.get(call.tool.offered, 0) + 1
        self.messages.append(q.Message(q.Role.USER, tuple(results)))
        self.runs += len(self.calls)
        self.calls = ()
        self._failing = self._failing + 1 if all(outcome.error for outcome in outcomes) else 0
        if self.handed_over:
            out += self._over(self._end)
        elif self._failing >= self._limits.error_rounds:
            out += self._over(_cut(self._end))
        else:
            self._rounds += 1
            self._turn = Accumulator()
            self.state = LoopState.ASKING
        return self._begun(out)

    def stop(self, failure: Error | None = None) -> list[e.Event]:
        """The time for tools is over: the answer ends where it stands, visibly, or in this failure."""
        if self.state is not LoopState.RUNNING or self._end is None:
            raise LocalProtocolError(f"stopped in state {self.state.value}")
        self.calls = ()
        if failure is not None:
            self.state = LoopState.OVER
            return [e.ResponseError(failure)]
        return self._begun(self._over(_cut(self._end)))

    def _over(self, end: e.ResponseEnd) -> list[e.Event]:
        self.state = LoopState.OVER
        finish = end.finish
        if finish is e.FinishReason.TOOL_CALLS and not self.handed_over:
            end = _cut(end)
        return [end] if self._usage is None else [self._usage, end]


def _cut(end: e.ResponseEnd) -> e.ResponseEnd:
    """The end of an answer that a bound stopped."""
    return e.ResponseEnd(finish=e.FinishReason.LENGTH, origin=end.origin)


def _sum(one: e.UsageUpdate, other: e.UsageUpdate) -> e.UsageUpdate:
    """The counts of two turns. What only the origin counts has no sum that anybody knew."""

    def both(name: str) -> int | None:
        values = [value for update in (one, other) if (value := getattr(update.usage, name)) is not None]
        return sum(values) if values else None

    return e.UsageUpdate(e.Usage(**{name: both(name) for name in e.Usage.__struct_fields__}), origin=other.origin)


def _run(id: str, call: GatewayCall, outcome: ToolOutcome) -> e.ToolRun:
    return e.ToolRun(
        id=id,
        server=call.tool.server,
        name=call.tool.name,
        arguments=call.arguments,
        output=outcome.text,
        error=outcome.error,
    )


def _parts(blocks: Sequence[Block]) -> list[q.Part]:
    """What the model said in a turn, as history."""
    parts: list[q.Part] = []
    for block in blocks:
        match block:
            case TextBlock(refusal=True):
                parts.append(q.Refusal(text=block.text))
            case TextBlock():
                parts.append(q.Text(text=block.text, signature=block.signature))
            case ReasoningBlock():
                parts.append(
                    q.Reasoning(text=block.text, summary=block.summary, opaque=block.opaque, item_id=block.item_id)
                )
            case ToolCallBlock():
                parts.append(
                    q.ToolCall(
                        id=original(block.id),
                        name=block.name,
                        arguments=block.arguments,
                        kind=block.kind,
                        signature=block.signature,
                        namespace=block.namespace,
                    )
                )
            case e.ServerTool(origin, items):
                parts += [q.Native(origin=origin, value=item) for item in items]
    return parts
