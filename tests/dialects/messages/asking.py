"""Short ways to write a canonical request, and to look at the body that it becomes."""

from __future__ import annotations

from typing import Any

from dragoman.canonical import request as q
from dragoman.canonical.opaque import Opaque
from dragoman.crossing import cross
from dragoman.dialects.contract import Facts, UpstreamRequest
from dragoman.dialects.messages import DIALECT

OWN = Opaque("messages", "signature", "U0lH")
GEMINI = Opaque("gemini", "signature", "R0VN")
TOOL = q.Tool(name="run", description="d", schema={"type": "object", "properties": {"a": {"type": "string"}}})


def user(*parts: q.Part | str) -> q.Message:
    return q.Message(q.Role.USER, tuple(q.Text(text=part) if isinstance(part, str) else part for part in parts))


def assistant(*parts: q.Part | str) -> q.Message:
    return q.Message(q.Role.ASSISTANT, user(*parts).parts)


def system(text: str) -> q.Message:
    return q.Message(q.Role.SYSTEM, (q.Text(text=text),))


def call(id: str, arguments: str = "{}", **members: Any) -> q.ToolCall:
    return q.ToolCall(id=id, name="run", arguments=arguments, **members)


def result(id: str, text: str = "done", **members: Any) -> q.ToolResult:
    return q.ToolResult(id=id, parts=(q.Text(text=text),), **members)


def rendered(*messages: q.Message, facts: Facts | None = None, **members: Any) -> UpstreamRequest:
    """The request of a client of another dialect, as it goes to a messages upstream with these facts."""
    request = q.Request(model="m", messages=messages or (user("Hi"),), origin="chat", **members)
    crossing, _ = cross(request, DIALECT, facts or Facts())
    return DIALECT.render_request(crossing, facts or Facts())


def body_of(*messages: q.Message, facts: Facts | None = None, **members: Any) -> dict[str, Any]:
    return rendered(*messages, facts=facts, **members).body


def losses_of(*messages: q.Message, facts: Facts | None = None, **members: Any) -> list[str]:
    """The paths of the losses."""
    return [loss.path for loss in rendered(*messages, facts=facts, **members).losses]


def turns(*messages: q.Message, facts: Facts | None = None) -> list[tuple[str, list[dict[str, Any]]]]:
    """Role and blocks of the turns; every history must alternate and begin with a user's."""
    found = body_of(*messages, facts=facts)["messages"]
    assert [turn["role"] for turn in found] == [("user", "assistant")[n % 2] for n in range(len(found))]
    assert all(turn["content"] for turn in found)
    return [(turn["role"], turn["content"]) for turn in found]


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}
