"""Canonical turns of a model, written in one line each."""

from __future__ import annotations

from dragoman.canonical import events as e
from dragoman.canonical import request as q
from dragoman.streaming.ids import Ids
from dragoman.toolloop.loop import LoopLimits, ToolLoop, ToolOutcome
from dragoman.toolloop.offer import GatewayTool, Offer

SEARCH = GatewayTool(
    server="docs", name="search", offered="docs__search", description="Finds.", schema={"type": "object"}
)
CLIENT_TOOL = q.Tool(name="get_weather", schema={"type": "object"})


def asked(*tools: q.Tool, choice: q.ToolChoice | None = None) -> q.Request:
    messages = (q.Message(q.Role.USER, (q.Text(text="Hi"),)),)
    return q.Request(model="m", messages=messages, origin="chat", tools=tools, tool_choice=choice)


def loop(**limits: int) -> ToolLoop:
    return ToolLoop(Offer(asked(CLIENT_TOOL), [SEARCH]), LoopLimits(**limits), Ids("runs"))


def text(said: str) -> list[e.Event]:
    return [e.TextStart(), e.TextDelta(said), e.TextEnd()]


def call(name: str, id: str, arguments: str = "{}", *, complete: bool = True) -> list[e.Event]:
    return [e.ToolCallStart(id=id, name=name), e.ToolCallDelta(arguments), e.ToolCallEnd(complete)]


def turn(*blocks: list[e.Event], finish: str = "tool_calls", usage: tuple[int, int] = (10, 2)) -> list[e.Event]:
    inner = [event for block in blocks for event in block]
    end = e.ResponseEnd(finish=e.FinishReason(finish), raw=finish, origin="chat")
    return [e.ResponseStart(id="r"), *inner, e.UsageUpdate(e.Usage(input=usage[0], output=usage[1])), end]


def found(said: str = "found", *, error: bool = False) -> ToolOutcome:
    return ToolOutcome(parts=(q.Text(text=said),), error=error)


def said(events: list[e.Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, e.TextDelta))


def end_of(events: list[e.Event]) -> e.ResponseEnd:
    (end,) = [event for event in events if isinstance(event, e.ResponseEnd)]
    assert events[-1] is end
    return end
