"""Another configuration in the place of the one in force, in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman import dialects
from dragoman.exceptions import ConfigurationError
from dragoman.gateway.accesslog import AccessLog
from dragoman.gateway.app import Gateway
from dragoman.gateway.discovery import Found
from dragoman.gateway.reload import Reloading, apply, demand_keys, in_place
from dragoman.gateway.settings import Address, Secret, Settings, StateSettings, StateUrl, Timeouts
from dragoman.gateway.turn import Service
from dragoman.toolloop.loop import ToolOutcome
from dragoman.toolloop.offer import GatewayTool
from dragoman.toolsets.connect import connect as connect_tools
from dragoman.toolsets.interface import ToolsetState
from dragoman.toolsets.registry import Member, Toolbox
from dragoman.toolsets.settings import FunctionPath, Hidden, LoopBounds, McpSettings, ServerUrl, ToolsetSettings
from dragoman.upstreams.scripted import ScriptedAnswer, ScriptedUpstream
from tests.gateway.asgi import Call
from tests.gateway.conftest import Lab
from tests.gateway.wires import CHAT, DONE, ROLE, chat, say, text_of

AWAY = Address("0.0.0.0", 4180)


class Upstream(ScriptedUpstream):
    """Knows whether it was closed."""

    closed = False

    async def aclose(self) -> None:
        self.closed = True


class Tools:
    """A toolset without tools."""

    about = "nothing"
    tools: tuple[GatewayTool, ...] = ()

    def __init__(self, name: str, state: str = "ready") -> None:
        self.name = name
        self.state = ToolsetState(state)  # type: ignore[arg-type]
        self.closed = 0

    async def start(self) -> None: ...
    async def settled(self) -> None: ...
    async def call(self, name: str, arguments: dict[str, Any]) -> ToolOutcome:
        raise NotImplementedError

    async def aclose(self) -> None:
        self.closed += 1


class Stream(ScriptedAnswer):
    """Ends when it is told to."""

    def __init__(self) -> None:
        super().__init__([])
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()
        self._left = [ROLE + say("under "), say("way") + DONE]

    async def read(self) -> bytes:
        if len(self._left) == 1:
            self.begun.set()
            await self.go_on.wait()
        return self._left.pop(0) if self._left else b""


def services(upstream: Upstream) -> Mapping[str, Service]:
    return {"up": Service(name="up", dialect=dialects.get("chat"), upstream=upstream)}


def speaking(text: str) -> Upstream:
    return Upstream("chat", lambda _: ScriptedAnswer([ROLE, say(text), DONE]))


async def said(gateway: Gateway) -> str:
    return text_of((await Call("POST", CHAT, chat()).answered(gateway)).body)


async def test_requests_from_now_on() -> None:
    first, second = speaking("first"), speaking("second")
    gateway = Gateway(Settings(), services(first), AccessLog(lambda _: None))
    assert await said(gateway) == "first"
    await gateway.reload(Settings(), services(second), Toolbox())
    assert await said(gateway) == "second"
    assert (first.closed, second.closed) == (True, False)
    await gateway.aclose()
    assert second.closed


async def test_a_stream_under_way_ends_as_it_began() -> None:
    stream = Stream()
    first, second = Upstream("chat", lambda _: stream), speaking("second")
    gateway = Gateway(Settings(), services(first), AccessLog(lambda _: None))
    under_way = asyncio.create_task(said(gateway))
    await stream.begun.wait()
    await gateway.reload(Settings(), services(second), Toolbox())
    assert await said(gateway) == "second"
    assert not first.closed
    stream.go_on.set()
    assert await under_way == "under way"
    await asyncio.sleep(0)
    assert first.closed
    await gateway.aclose()


async def test_a_stop_closes_what_is_still_under_way() -> None:
    stream = Stream()
    first = Upstream("chat", lambda _: stream)
    gateway = Gateway(Settings(), services(first), AccessLog(lambda _: None))
    under_way = asyncio.create_task(said(gateway))
    await stream.begun.wait()
    await gateway.reload(Settings(), services(speaking("")), Toolbox())
    await gateway.aclose()
    assert first.closed
    stream.go_on.set()
    await under_way


async def test_tool_servers_that_both_have_go_on() -> None:
    stream = Stream()
    old, kept, new = Tools("old"), Tools("kept"), Tools("new")
    boxes = [Toolbox([Member(toolset=one) for one in members]) for members in ([old, kept], [kept, new], [new])]
    gateway = Gateway(Settings(), services(Upstream("chat", lambda _: stream)), AccessLog(lambda _: None), boxes[0])
    under_way = asyncio.create_task(said(gateway))
    await stream.begun.wait()
    await gateway.reload(Settings(), services(speaking("")), boxes[1])
    await gateway.reload(Settings(), services(speaking("")), boxes[2])
    await asyncio.sleep(0)
    assert (old.closed, kept.closed, new.closed) == (0, 0, 0)  # the stream began with the first two
    stream.go_on.set()
    await under_way
    await asyncio.sleep(0)
    assert (old.closed, kept.closed, new.closed) == (1, 1, 0)
    await gateway.aclose()
    assert (old.closed, kept.closed, new.closed) == (1, 1, 1)


async def test_keys_and_models() -> None:
    gateway = Gateway(Settings(keys=[Secret("sk-one")]), services(speaking("hi")), AccessLog(lambda _: None))
    await gateway.reload(
        Settings(keys=[Secret("sk-two")], models={"fast": ["up/m"]}), services(speaking("hi")), Toolbox()
    )
    assert (await Call("GET", "/v1/models", headers={"x-api-key": "sk-one"}).answered(gateway)).status == 401
    listed = (await Call("GET", "/v1/models", headers={"x-api-key": "sk-two"}).answered(gateway)).json
    assert [one["id"] for one in listed["data"]] == ["fast"]


async def test_what_was_kept_stays(lab: Lab) -> None:
    gateway = lab.gateway(up=lambda _: ScriptedAnswer([ROLE, say("hi"), DONE]))
    asked = {"model": "up/m", "input": "one", "stream": True}
    made = (await Call("POST", "/v1/responses", asked).answered(gateway)).body
    id = made.split(b'"id":"')[1].split(b'"')[0].decode()
    await gateway.reload(Settings(), services(speaking("ho")), Toolbox())
    assert (await Call("GET", f"/v1/responses/{id}").answered(gateway)).status == 200
    await gateway.reload(Settings(state=StateSettings(answers=1)), services(speaking("ho")), Toolbox())
    await Call("POST", "/v1/responses", asked).answered(gateway)
    assert (await Call("GET", f"/v1/responses/{id}").answered(gateway)).status == 404


# ---- tool servers are compared by their settings


def box(running: Toolbox | None = None, folder: Path | None = None, **tools: ToolsetSettings) -> Toolbox:
    return connect_tools(tools, LoopBounds(), folder, running)


def command(*arguments: str, **env: str) -> ToolsetSettings:
    return ToolsetSettings(mcp=McpSettings(command=list(arguments), env={k: Hidden(v) for k, v in env.items()}))


def test_toolsets_are_taken_over_where_nothing_of_theirs_changed() -> None:
    url = ServerUrl("http://127.0.0.1:1/mcp?key=a")
    first = box(
        a=command("x", KEY="1"),
        b=command("x", KEY="1"),
        c=ToolsetSettings(mcp=McpSettings(url=url)),
        d=ToolsetSettings(python=FunctionPath("tests.toolsets.functions_of_mine", "add")),
    )
    second = box(
        first,
        a=msgspec.structs.replace(command("x", KEY="1"), models=["fast"], timeout=5.0),
        b=command("x", KEY="2"),
        c=ToolsetSettings(mcp=McpSettings(url=ServerUrl("http://127.0.0.1:1/mcp?key=a"))),
        d=ToolsetSettings(python=FunctionPath("tests.toolsets.functions_of_mine", "add")),
        e=command("x", KEY="1"),
    )
    before = {member.toolset.name: member.toolset for member in first.members}
    same = {member.toolset.name: member.toolset is before.get(member.toolset.name) for member in second.members}
    assert same == {"a": True, "b": False, "c": True, "d": True, "e": False}
    assert (second.members[0].models, second.members[0].timeout) == (("fast",), 5.0)


# ---- what can change, and what is told


def test_what_waits_for_a_restart() -> None:
    old = Settings(state=StateSettings(answers=5))
    new = Settings(
        listen=AWAY,
        workers=3,
        strict=True,
        timeouts=Timeouts(drain=1),
        state=StateSettings(url=StateUrl("sqlite:///x.db"), answers=7),
    )
    settings, waiting = in_place(old, new)
    assert waiting == ["listen", "workers", "state.url"]
    assert settings == msgspec.structs.replace(
        new, listen=old.listen, workers=1, state=StateSettings(answers=7, url=StateUrl("memory"))
    )
    assert in_place(old, old) == (old, [])


def test_where_other_machines_can_ask_keys_are_demanded() -> None:
    demand_keys(Settings())
    demand_keys(Settings(listen=AWAY, keys=[Secret("sk-one")]))
    with pytest.raises(ConfigurationError, match="configure client keys"):
        demand_keys(Settings(listen=AWAY))


class Told(Lab):
    """A gateway that reloads what ``next`` is."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.gateway_now = self.gateway(up=lambda _: ScriptedAnswer([ROLE, say("up"), DONE]))
        self.next: Settings | ConfigurationError = settings
        log = AccessLog(self.lines.append)
        self.reloading = Reloading(Found(settings, "test"), self._read, self._apply, log)

    def _read(self) -> Found:
        if isinstance(self.next, ConfigurationError):
            raise self.next
        return Found(self.next, "test")

    async def _apply(self, found: Found) -> None:
        await apply(self.gateway_now, found)

    async def reloaded(self, settings: Settings | ConfigurationError) -> dict[str, Any]:
        self.next = settings
        await self.reloading()
        return self.log[-1]


async def test_how_it_went_is_told_in_one_line() -> None:
    told = Told(Settings())
    assert await told.reloaded(Settings()) == {"reload": "done"}
    assert await told.reloaded(Settings(workers=2)) == {"reload": "done", "needs_restart": ["workers"]}
    mistakes = ["models.x[0]: wrong", "keys[0]: wrong"]
    assert await told.reloaded(ConfigurationError(mistakes)) == {"reload": "refused", "mistakes": mistakes}


async def test_a_configuration_with_mistakes_changes_nothing() -> None:
    told = Told(Settings(keys=[Secret("sk-one")]))
    assert await said(told.gateway_now) == "up"
    tools = {"mine": ToolsetSettings(python=FunctionPath("no_such_module", "at_all"))}
    line = await told.reloaded(Settings(tools=tools, models={"demo/x": ["demo/chat"]}))
    assert line["reload"] == "refused"
    assert "tools.mine.python: no_such_module cannot be imported" in line["mistakes"][0]
    assert await said(told.gateway_now) == "up"
    await told.reloaded(Settings())
    assert (await Call("POST", CHAT, chat()).answered(told.gateway_now)).status == 404  # the demo's


async def test_keys_cannot_be_taken_away_from_an_address_that_is_still_in_force() -> None:
    told = Told(Settings(listen=AWAY, keys=[Secret("sk-one")]))
    line = await told.reloaded(Settings())
    assert line["reload"] == "refused"
    assert "0.0.0.0:4180 can be reached from other machines" in line["mistakes"][0]


# ---- readiness


async def ready(gateway: Gateway) -> tuple[int, str]:
    call = await Call("GET", "/ready").answered(gateway)
    return call.status, call.json["status"]


async def test_readiness() -> None:
    slow = Tools("slow", "starting")
    lines: list[str] = []
    settings = Settings(keys=[Secret("sk-one")])
    box = Toolbox([Member(toolset=slow)])
    gateway = Gateway(settings, services(speaking("hi")), AccessLog(lines.append), box)
    assert await ready(gateway) == (503, "starting")
    slow.state = ToolsetState("down")
    assert await ready(gateway) == (200, "ready")
    await gateway.reload(settings, services(speaking("hi")), Toolbox([Member(toolset=Tools("new", "starting"))]))
    assert await ready(gateway) == (200, "ready")
    gateway.draining = True
    assert await ready(gateway) == (503, "stopping")
    assert (await Call("POST", "/ready").answered(gateway)).status == 405
    assert (await Call("GET", "/health").answered(gateway)).status == 200
    assert lines == []


async def test_tool_servers_that_never_come_up_are_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.toolsets.registry._PATIENCE", 0.0)
    box = Toolbox([Member(toolset=Tools("slow", "starting"))])
    gateway = Gateway(Settings(), services(speaking("hi")), AccessLog(lambda _: None), box)
    assert await ready(gateway) == (200, "ready")
