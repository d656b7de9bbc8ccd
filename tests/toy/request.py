"""The toy's requests, both ways."""

from __future__ import annotations

from typing import Any

from dragoman.canonical import request as q
from dragoman.canonical.errors import invalid_request
from dragoman.dialects.contract import Crossing, Facts, UpstreamRequest
from dragoman.exceptions import InvalidRequest
from dragoman.history import Turn

JSON = dict[str, Any]

_VOICES = {"s": q.Role.SYSTEM, "u": q.Role.USER, "a": q.Role.ASSISTANT, "r": q.Role.USER}


def parse_request(body: JSON, model: str | None, stream: bool | None) -> q.Request:
    turns = body.get("q")
    if not isinstance(turns, list):
        raise InvalidRequest(invalid_request("q: expected a list of turns", "q"))
    return q.Request(
        model=model or body["model"],
        messages=tuple(q.Message(_VOICES[turn["w"]], (_part(turn),)) for turn in turns),
        origin="toy",
        stream=bool(body.get("s")),
        tools=tuple(q.Tool(name=name, schema=schema) for name, schema in body.get("t", {}).items()),
    )


def _part(turn: JSON) -> q.Part:
    if "n" in turn:
        return q.ToolCall(id=turn["c"], name=turn["n"], arguments=turn["a"])
    text = q.Text(text=turn["x"])
    return q.ToolResult(id=turn["c"], parts=(text,)) if "c" in turn else text


def render_request(crossing: Crossing, facts: Facts) -> UpstreamRequest:
    request = crossing.request
    turns = [{"w": "s", "x": placed.part.text} for placed in crossing.history.system if isinstance(placed.part, q.Text)]
    turns += [entry for turn in crossing.history.turns for entry in _entries(turn)]
    tools = {tool.name: tool.schema for tool in request.tools}
    body = {"model": request.model, "s": request.stream, "q": turns, "t": tools}
    return UpstreamRequest(path="/toy", body=body, losses=crossing.losses)


def _entries(turn: Turn) -> list[JSON]:
    voice = "a" if turn.role is q.Role.ASSISTANT else "u"
    found: list[JSON] = [
        {"w": "r", "c": answer.id, "x": "".join(part.text for part in answer.parts if isinstance(part, q.Text))}
        for answer in turn.answers
    ]
    for placed in turn.parts:
        if isinstance(placed.part, q.Text):
            found.append({"w": voice, "x": placed.part.text})
        elif isinstance(placed.part, q.ToolCall):
            found.append({"w": voice, "c": placed.part.id, "n": placed.part.name, "a": placed.part.arguments})
    return found


def adapt_request(body: JSON, request: q.Request, facts: Facts) -> UpstreamRequest:
    return UpstreamRequest(path="/toy", body={**body, "model": request.model})
