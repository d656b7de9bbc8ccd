"""How many tokens a prompt has: an upstream of another dialect is not asked, and the agent gets a number all the same."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.upstreams.scripted import ScriptedAnswer
from tests.agents.sent import Sent, abroad, sent
from tests.gateway.asgi import Call
from tests.gateway.conftest import Lab

COUNTS = {"claude-count": "input_tokens", "gemini-count": "totalTokens"}


async def counted(lab: Lab, request: Sent, upstream: str, answer: bytes = b"") -> Call:
    gateway = lab.gateway(up=ScriptedAnswer([answer], headers={}), dialect=upstream)
    call = Call("POST", request.path, request.body, request.headers, request.query)
    return await call.answered(gateway)


@abroad(*map(sent, COUNTS))
async def test_counts_are_estimated(lab: Lab, request_: Sent, upstream: str) -> None:
    """The tools and images of a prompt count too."""
    call = await counted(lab, request_, upstream)
    assert (call.status, call.headers["x-dragoman-count"], lab.asked("up")) == (200, "estimate", 0)
    less = await counted(lab, request_.with_members(**_less(request_)), upstream)
    member = COUNTS[request_.name]
    assert call.json[member] > less.json[member] > 0


def _less(request: Sent) -> dict[str, Any]:
    if request.dialect == "messages":
        return {"tools": request.body["tools"][:1]}
    (content,) = request.body["contents"]
    return {"contents": [{**content, "parts": content["parts"][:1]}]}


@pytest.mark.parametrize("name", COUNTS)
async def test_an_upstream_of_its_own_dialect_counts(lab: Lab, name: str) -> None:
    request, member = sent(name), COUNTS[name]
    call = await counted(lab, request, request.dialect, b'{"%b": 4711}' % member.encode())
    assert (call.status, call.json, lab.asked("up")) == (200, {member: 4711}, 1)
    (seen,) = lab.upstreams["up"].seen
    history = "messages" if request.dialect == "messages" else "contents"
    assert seen.body[history] == request.body[history]
