"""Requests for a chat upstream, and what becomes of them."""

from __future__ import annotations

from typing import Any

from dragoman.canonical.request import (
    Message,
    Part,
    Request,
    Role,
    Text,
    ToolResult,
)
from dragoman.crossing import cross
from dragoman.dialects.chat import DIALECT
from dragoman.dialects.chat.render import render_request
from dragoman.dialects.contract import Facts, UpstreamRequest

from .driving import JSON


def user(*parts: Part) -> Message:
    return Message(Role.USER, parts)


def assistant(*parts: Part) -> Message:
    return Message(Role.ASSISTANT, parts)


HI = user(Text(text="Hi"))


def made(*messages: Message, facts: Facts | None = None, origin: str = "messages", **members: Any) -> UpstreamRequest:
    request = Request(model="m", messages=messages or (HI,), origin=origin, **members)
    crossing, _ = cross(request, DIALECT, facts or Facts())
    return render_request(crossing, facts or Facts())


def messages_of(*messages: Message, facts: Facts | None = None) -> list[JSON]:
    found: list[JSON] = made(*messages, facts=facts).body["messages"]
    return found


def lost(request: UpstreamRequest) -> set[str]:
    return {loss.path for loss in request.losses}


def result(id: str, *parts: Any, **members: Any) -> ToolResult:
    return ToolResult(id=id, parts=parts, **members)
