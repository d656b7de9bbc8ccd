"""An ``AnswerAssembler`` told by a script, and its events in short."""

from __future__ import annotations

from typing import Any

from dragoman.canonical import events as e
from dragoman.streaming.answer import AnswerAssembler
from tests.streaming.building import fragments

Step = tuple[Any, ...]


def tell(answer: AnswerAssembler, *steps: Step) -> list[e.Event]:
    """Calls methods by name; fragments are given as the wire has them."""
    for name, *arguments in steps:
        named = (
            arguments.pop() if arguments and isinstance(arguments[-1], dict) and name not in ("server_tool",) else {}
        )
        if name in ("call", "end_call", "whole_call"):
            arguments, named = fragments(named), {}
        getattr(answer, name)(*arguments, **named)
    return answer.take()


def short(event: e.Event) -> str:
    match event:
        case e.TextStart(refusal):
            return "refusal(" if refusal else "text("
        case e.ReasoningStart(summary):
            return "summary(" if summary else "think("
        case e.ToolCallStart(name=name):
            return f"{name}("
        case e.TextDelta(text) | e.ReasoningDelta(text) | e.ToolCallDelta(text):
            return text
        case e.CitationAdded():
            return "[1]"
        case e.TextEnd(None) | e.ReasoningEnd(()) | e.ToolCallEnd(True):
            return ")"
        case e.TextEnd() | e.ReasoningEnd():
            return "signed)"
        case e.ToolCallEnd():
            return "half)"
        case e.ResponseEnd(finish=finish):
            return finish.value
        case e.ResponseError(error):
            return f"error:{error.code}"
        case e.InChoice(index, inner):
            return f"{index}:{short(inner)}"
    return {e.ResponseStart: "^", e.ServerTool: "tool", e.Media: "media", e.UsageUpdate: "usage"}[type(event)]


def shorts(events: list[e.Event]) -> str:
    return " ".join(map(short, events))
