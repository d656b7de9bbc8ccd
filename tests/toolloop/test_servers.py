"""Tool servers that die, hang, or never come up, behind a real gateway: requests end well, and nothing is left of them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.toolsets import registry
from tests.asking import ask
from tests.gateway.sockets import RawClient
from tests.toolloop.lab import Lab, opened, send
from tests.toolloop.model import Says
from tests.toolsets.servers import LAB, children, lines, nothing_left, running, until

DONE = Says(text="Done.")


def config(*servers: str, more: str = "") -> str:
    return SHELF + "".join(f"  {server}\n" for server in servers) + more


SHELF = "tools:\n  shelf: {python: 'tests.toolloop.shelf:TOOLS'}\n"


def over_stdio(journal: Path | None = None) -> str:
    command = [sys.executable, LAB, *(["--journal", str(journal)] if journal else [])]
    return f"lab: {{mcp: {{command: {json.dumps(command)}}}}}"


def result(lab: Lab, tool: str, number: int = 1) -> str:
    """What the model was told of a call."""
    (text,) = (text for name, _, text in lab.model.seen[number].calls if name == tool)
    return text


async def offered(lab: Lab, tool: str, wanted: bool) -> None:
    """Asks until a tool is there, or is not; each answer is a good one."""
    for _ in range(600):
        lab.model.play(Says(calls=(("shelf__count", {}),)), DONE)
        assert (await lab.ask("messages", "chat")).said.text == "Done."
        if (tool in lab.model.seen[0].tools) is wanted:
            return
        await asyncio.sleep(0.05)
    pytest.fail(f"{tool} is {'not ' if wanted else ''}there")


async def test_a_server_that_dies_in_mid_call() -> None:
    """The other calls have their results, and the next request has its tools, anew or not yet."""
    async with nothing_left(), opened(config(over_stdio())) as lab:
        lab.model.play(Says(calls=(("lab__die", {}), ("shelf__count", {}))), DONE)
        assert (await lab.ask("messages", "chat")).said.text == "Done."
        assert "it ended" in result(lab, "lab__die")
        assert result(lab, "shelf__count") == "Call number 1."
        await offered(lab, "lab__echo", True)
        lab.model.play(Says(calls=(("lab__echo", {"text": "again"}),)), DONE)
        await lab.ask("messages", "chat")
        assert result(lab, "lab__echo") == "again"


async def test_a_server_that_is_killed_in_mid_call(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    async with nothing_left():
        before = children()
        async with opened(config(over_stdio(journal))) as lab:
            lab.model.play(Says(calls=(("lab__wait", {"seconds": 60}),)), DONE)
            asking = asyncio.create_task(lab.ask("chat", "messages", stream=False))
            await until(lambda: "wait start" in lines(journal))
            for process in children() - before:
                os.kill(process, signal.SIGKILL)
            assert (await asking).said.text == "Done."
            assert "it ended" in result(lab, "lab__wait")


async def test_a_server_that_hangs_in_mid_call(tmp_path: Path) -> None:
    """It does not even take the word that the call is given up."""
    journal = tmp_path / "journal"
    async with nothing_left():
        before = children()
        async with opened(config(over_stdio(journal), more="tool_loop: {per_tool: 0.5}\n")) as lab:
            lab.model.play(Says(calls=(("lab__wait", {"seconds": 60}),)), DONE)
            asking = asyncio.create_task(lab.ask("gemini", "chat"))
            await until(lambda: "wait start" in lines(journal))
            for process in children() - before:
                os.kill(process, signal.SIGSTOP)
            assert (await asking).said.text == "Done."
            assert "gave no result within 0.5 seconds" in result(lab, "lab__wait")
            for process in children() - before:
                os.kill(process, signal.SIGCONT)


async def test_a_call_is_cancelled_at_its_server_when_the_client_leaves(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    async with nothing_left(), opened(config(over_stdio(journal))) as lab:
        lab.model.play(Says(calls=(("lab__wait", {"seconds": 60}),)))
        connection = await RawClient.connect(lab.port)
        asked = ask("responses", "chat/m")
        await send(connection, asked.path, asked.body)
        await until(lambda: "wait start" in lines(journal))
        connection.close()
        await until(lambda: "wait cancelled" in lines(journal))
        assert len(lab.model.seen) == 1


async def test_a_gateway_that_ends_in_mid_call(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    async with nothing_left(), opened(config(over_stdio(journal)), drain=0.1) as lab:
        lab.model.play(Says(calls=(("lab__wait", {"seconds": 60}),)))
        asking = asyncio.create_task(lab.ask("chat", "chat", stream=False))
        await until(lambda: "wait start" in lines(journal))
        lab.server.should_exit = True
        answer = await asking
        assert answer.status == 503
        assert "being stopped" in answer.error


async def test_a_server_over_http_that_is_killed_in_mid_call(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    async with (
        nothing_left(),
        running(LAB, "--http", "0", "--journal", str(journal)) as server,
        opened(config(f"lab: {{mcp: {{url: '{server.url}'}}}}")) as lab,
    ):
        lab.model.play(Says(calls=(("lab__wait", {"seconds": 60}), ("shelf__count", {}))), DONE)
        asking = asyncio.create_task(lab.ask("messages", "messages"))
        await until(lambda: "wait start" in lines(journal))
        server.send(signal.SIGKILL)
        assert (await asking).said.text == "Done."
        assert "failed" in result(lab, "lab__wait")
        await offered(lab, "lab__wait", False)


@pytest.mark.parametrize(
    "server",
    [
        "gone: {mcp: {command: ['false']}}",
        "gone: {mcp: {command: ['no-such-program-anywhere']}}",
        "gone: {mcp: {url: 'http://127.0.0.1:9/mcp'}}",
        "gone: {mcp: {command: ['sleep', '1000']}}",
    ],
)
async def test_a_server_that_does_not_come_up(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its tools are missing, and nothing else."""
    monkeypatch.setattr(registry, "_PATIENCE", 0.3)
    async with nothing_left(), opened(config(server)) as lab:
        for _ in range(2):
            lab.model.play(Says(calls=(("shelf__count", {}),)), DONE)
            assert (await lab.ask("responses", "gemini")).said.text == "Done."
            assert not any(name.startswith("gone__") for name in lab.model.seen[0].tools)


async def test_a_real_server(tmp_path: Path) -> None:
    """``mcp-server-time`` of PyPI, over standard input and output."""
    command: list[Any] = [sys.executable, "-m", "mcp_server_time", "--local-timezone", "UTC"]
    asked = {"source_timezone": "Europe/Amsterdam", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    async with nothing_left(), opened(config(f"clock: {{mcp: {{command: {json.dumps(command)}}}}}")) as lab:
        lab.model.play(Says(calls=(("clock__convert_time", asked),)), Says(text="It is seven or eight in the evening."))
        answer = await lab.ask("messages", "responses")
        assert answer.said.text == "It is seven or eight in the evening."
        assert json.loads(result(lab, "clock__convert_time"))["target"]["timezone"] == "Asia/Tokyo"
        assert [tool for _, tool, _, _ in answer.shown] == ["convert_time"]
