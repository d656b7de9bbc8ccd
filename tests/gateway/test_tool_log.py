"""What the access log says of tools that the gateway ran: their names, how often, and in how many rounds."""

from __future__ import annotations

import json
from collections.abc import Iterator

from dragoman import dialects
from dragoman.gateway.accesslog import AccessLog
from dragoman.gateway.app import Gateway
from dragoman.gateway.settings import Settings
from dragoman.gateway.turn import Service
from dragoman.toolsets.connect import connect
from dragoman.toolsets.settings import FunctionPath, LoopBounds, ToolsetSettings
from dragoman.upstreams.scripted import ScriptedAnswer, ScriptedUpstream
from tests.gateway.asgi import Call
from tests.gateway.wires import CHAT, DONE, chunk, say


def calling(*ids: str) -> ScriptedAnswer:
    arguments = json.dumps({"a": 1, "text": "private"})
    called = [
        {"index": index, "id": id, "type": "function", "function": {"name": "mine__add", "arguments": arguments}}
        for index, id in enumerate(ids)
    ]
    return ScriptedAnswer([chunk({"tool_calls": called}), chunk({}, "tool_calls"), b"data: [DONE]\n\n"])


def playing(answers: Iterator[ScriptedAnswer]) -> ScriptedUpstream:
    return ScriptedUpstream("chat", lambda _: next(answers))


async def test_it_names_the_tools_that_ran() -> None:
    lines: list[str] = []
    upstream = playing(iter([calling("c1", "c2"), calling("c3"), ScriptedAnswer([say("Two."), DONE])]))
    service = Service(name="up", dialect=dialects.get("chat"), upstream=upstream)
    entries = {"mine": ToolsetSettings(python=FunctionPath("tests.toolsets.functions_of_mine", "add"))}
    toolbox = connect(entries, LoopBounds())
    gateway = Gateway(Settings(), {"up": service}, AccessLog(lines.append), toolbox)
    await gateway.start()
    body = {"model": "up/m", "messages": [{"role": "user", "content": "1 + 1?"}]}
    answer = await Call("POST", CHAT, body).answered(gateway)
    await gateway.aclose()
    assert answer.status == 200
    (line,) = map(json.loads, lines)
    assert (line["tools"], line["rounds"]) == ({"mine__add": 3}, 3)
    assert "private" not in lines[0]


async def test_without_tools_it_says_nothing_of_them() -> None:
    lines: list[str] = []
    upstream = playing(iter([ScriptedAnswer([say("Two."), DONE])]))
    service = Service(name="up", dialect=dialects.get("chat"), upstream=upstream)
    gateway = Gateway(Settings(), {"up": service}, AccessLog(lines.append))
    await Call("POST", CHAT, {"model": "up/m", "messages": [{"role": "user", "content": "Hi"}]}).answered(gateway)
    assert not {"tools", "rounds"} & set(json.loads(lines[0]))
