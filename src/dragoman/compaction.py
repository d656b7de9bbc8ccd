"""A history that is to be summed up, by an upstream that has no such service: it is asked for a text, and what the client
gets is one item that stands for the history (decisions/0018).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from dragoman.canonical import events as e
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.canonical.request import Message, Request, Role, Text, ToolChoice

INSTRUCTION = """\
The conversation has become too long to go on with. Write down what somebody needs who takes over here and sees nothing \
of it but your text: what was asked for, with all conditions; what was done and found out, with names, paths, commands \
and results that still matter; what was decided, and why; what is left to do, and the next step. Call no tool, and write \
nothing but this summary."""


def asked(request: Request) -> Request:
    """The request that makes an upstream write the summary. Tools stay declared: the history holds calls of them."""
    return msgspec.structs.replace(
        request,
        messages=(*request.messages, Message(Role.USER, (Text(text=INSTRUCTION),))),
        hosted_tools=(),
        tool_choice=ToolChoice("none") if request.tools else None,
        parallel_tool_calls=None,
        output=None,
        compact=False,
    )


class Summary:
    """An upstream's events in, those of the client's answer out: ``render`` makes the one item from the text."""

    def __init__(self, origin: str, render: Callable[[str], dict[str, Any]]) -> None:
        self._origin = origin
        self._render = render
        self._text: list[str] = []
        self._usage: list[e.Event] = []

    def receive(self, events: Sequence[e.Event]) -> list[e.Event]:
        out: list[e.Event] = []
        for event in events:
            match event:
                case e.ResponseStart() | e.ResponseError():
                    out.append(event)
                case e.TextStart() if self._text:
                    self._text.append("\n\n")
                case e.TextDelta(text):
                    self._text.append(text)
                case e.UsageUpdate():
                    self._usage.append(event)
                case e.ResponseEnd():
                    out += self._end(event)
        return out

    def _end(self, end: e.ResponseEnd) -> list[e.Event]:
        text = "".join(self._text).strip()
        if not text:
            message = "the upstream did not sum up the conversation"
            return [e.ResponseError(Error(kind=ErrorKind.BAD_UPSTREAM, message=message, code="empty_answer"))]
        if end.finish is e.FinishReason.TOOL_CALLS:
            end = e.ResponseEnd(finish=e.FinishReason.STOP)
        return [e.ServerTool(self._origin, (self._render(text),)), *self._usage, end]
