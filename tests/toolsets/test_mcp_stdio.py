"""MCP servers over standard input and output, of both generations of the protocol."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
from pathlib import Path

import pytest
import uvloop

from dragoman.canonical.request import Audio, Image, Text
from dragoman.toolsets.interface import offered_name
from dragoman.toolsets.mcp import McpToolset, Patience
from dragoman.toolsets.settings import McpSettings
from tests.toolsets.lab_server import PIXEL
from tests.toolsets.servers import LAB, OLD, QUICK, children, lines, names, nothing_left, opened, stdio, until

either = pytest.mark.parametrize("script", [LAB, OLD], ids=["new", "old"])


@either
async def test_tools_are_listed_and_called(script: str) -> None:
    async with opened(stdio(script)) as toolset:
        assert toolset.state.condition == "ready"
        echo = next(tool for tool in toolset.tools if tool.name == "echo")
        assert (echo.server, echo.offered, echo.description) == ("lab", "lab__echo", "Says it again.")
        assert echo.schema["required"] == ["text"]
        outcome = await toolset.call("echo", {"text": "schön 🌍\n"})
        assert (outcome.text, outcome.error) == ("schön 🌍\n", False)


async def test_all_pages_are_read_and_unsound_tools_left_out() -> None:
    async with opened(stdio(OLD)) as toolset:
        assert names(toolset) == {"echo", "wait", "learn", "die", "hang"}
        assert "odd" in toolset.state.detail
        assert next(tool for tool in toolset.tools if tool.name == "learn").schema == {
            "type": "object",
            "properties": {},
        }


@either
async def test_calls_run_side_by_side(script: str) -> None:
    async with opened(stdio(script)) as toolset:
        slow = asyncio.create_task(toolset.call("wait", {"seconds": 60}))
        assert (await toolset.call("echo", {"text": "first"})).text == "first"
        assert not slow.done()
        slow.cancel()
        await asyncio.wait([slow])


@either
async def test_a_changed_list_is_followed(script: str) -> None:
    async with opened(stdio(script)) as toolset:
        assert "learnt" not in names(toolset)
        await toolset.call("learn", {"name": "learnt"} if script == LAB else {})
        await until(lambda: "learnt" in names(toolset))
        assert (await toolset.call("learnt", {"text": "new"})).text in ("new", "None")


@either
async def test_a_cancelled_call_is_cancelled_at_the_server(script: str, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    async with opened(stdio(script, "--journal", str(journal))) as toolset:
        call = asyncio.create_task(toolset.call("wait", {"seconds": 60}))
        await until(lambda: "wait start" in lines(journal))
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await until(lambda: "wait cancelled" in lines(journal))
        assert (await toolset.call("echo", {"text": "still there"})).text == "still there"


async def test_content_of_every_kind() -> None:
    async with opened(stdio(LAB)) as toolset:
        outcome = await toolset.call("media", {})
        assert outcome.parts == (
            Text(text="a pixel"),
            Image(media_type="image/png", data=PIXEL),
            Audio(media_type="audio/wav", data=base64.b64encode(b"RIFF").decode()),
            Text(text="inside"),
        )
        assert (await toolset.call("weather", {"city": "Utrecht"})).text.count("degrees") == 1


async def test_errors_are_told() -> None:
    async with opened(stdio(LAB)) as toolset:
        jammed = await toolset.call("fail", {})
        assert (jammed.text, jammed.error) == ("the drawer is jammed", True)
        unknown = await toolset.call("nothing", {})
        assert unknown.error
        assert "nothing" in unknown.text


async def test_the_environment_is_the_configured_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-gateway")
    async with opened(stdio(LAB, TOKEN="for the server")) as toolset:
        assert (await toolset.call("variable", {"name": "TOKEN"})).text == "for the server"
        assert (await toolset.call("variable", {"name": "OPENAI_API_KEY"})).text == "not set"
        assert (await toolset.call("variable", {"name": "PATH"})).text == os.environ["PATH"]


async def test_a_server_that_dies_in_a_call_comes_back(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    async with opened(stdio(OLD, "--journal", str(journal))) as toolset:
        waiting = asyncio.create_task(toolset.call("wait", {"seconds": 60}))
        await until(lambda: "wait start" in lines(journal))
        for outcome in (await toolset.call("die", {}), await waiting):
            assert outcome.error
            assert "lab" in outcome.text
            assert "ended" in outcome.text
        assert toolset.tools == ()
        assert toolset.state.condition == "down"
        assert (await toolset.call("echo", {"text": "?"})).error
        await until(lambda: "echo" in names(toolset))
        assert (await toolset.call("echo", {"text": "back"})).text == "back"


async def test_a_server_that_is_killed_comes_back(tmp_path: Path) -> None:
    journal, others = tmp_path / "journal", children()
    async with opened(stdio(OLD, "--journal", str(journal))) as toolset:
        call = asyncio.create_task(toolset.call("wait", {"seconds": 60}))
        await until(lambda: "wait start" in lines(journal))
        for child in children() - others:
            os.kill(child, signal.SIGKILL)
        assert (await call).error
        await until(lambda: toolset.state.condition == "ready")
        assert (await toolset.call("echo", {"text": "back"})).text


async def test_a_server_that_hangs_is_not_offered_and_started_anew() -> None:
    others = children()
    async with opened(stdio(OLD)) as toolset:
        before = children() - others
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await toolset.call("hang", {"seconds": 600})
        await until(lambda: toolset.tools == ())
        await until(lambda: "echo" in names(toolset))
        assert (await toolset.call("echo", {"text": "back"})).text == "back"
        assert not before & children()


async def test_running_calls_get_their_time_while_a_server_does_not_answer(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    async with opened(stdio(OLD, "--journal", str(journal))) as toolset:
        call = asyncio.create_task(toolset.call("hang", {"seconds": 3}))
        await until(lambda: "hang start" in lines(journal))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await toolset.call("echo", {"text": "?"})
        await until(lambda: toolset.tools == ())
        assert (await call).text == "None"
        await until(lambda: "echo" in names(toolset))


async def test_a_server_that_ends_at_once_is_not_offered_and_tried_again() -> None:
    code = "import sys; sys.stderr.write('no licence for sesame-token\\n'); raise SystemExit(3)"
    settings = stdio("-c", code, TOKEN="sesame-token")
    async with opened(settings) as toolset:
        assert toolset.tools == ()
        assert toolset.state.condition == "down"
        assert "no licence for [key]" in toolset.state.detail
        outcome = await toolset.call("echo", {})
        assert outcome.error
        assert "not there" in outcome.text


async def test_a_program_that_is_not_there() -> None:
    async with opened(McpSettings(command=["/nowhere/at-all"])) as toolset:
        assert "cannot be started: No such file" in toolset.state.detail


async def test_an_answer_that_is_not_of_the_protocol(tmp_path: Path) -> None:
    """The SDK refuses the whole list for one such tool; the operator is told which."""
    program = tmp_path / "server.py"
    program.write_text(
        Path(OLD).read_text().replace('"learn", "inputSchema": {"type": "object"}', '"learn", "inputSchema": {}')
    )
    async with opened(stdio(str(program))) as toolset:
        assert toolset.state.condition == "down"
        assert "tools.0.inputSchema.type" in toolset.state.detail


async def test_a_server_that_comes_up_late_is_offered_then(tmp_path: Path) -> None:
    program = tmp_path / "server.py"
    program.write_text("raise SystemExit(1)")
    async with opened(stdio(str(program))) as toolset:
        assert toolset.state.condition == "down"
        program.write_text(Path(OLD).read_text())
        await until(lambda: "echo" in names(toolset))


async def test_a_server_that_does_not_come_up_in_time() -> None:
    patience, others = Patience(start=1, answer=1, pause=60), children()
    async with opened(stdio(OLD, "--deaf"), patience) as toolset:
        assert toolset.state.condition == "down"
        assert "did not come up within 1 s" in toolset.state.detail
        await until(lambda: children() <= others)


async def test_closing_while_it_starts() -> None:
    async with nothing_left():
        toolset = McpToolset("lab", stdio(OLD, "--deaf"), QUICK)
        others = children()
        await toolset.start()
        await until(lambda: not children() <= others)
        await toolset.aclose()
        await toolset.settled()


async def test_closing_before_it_starts() -> None:
    toolset, others = McpToolset("lab", stdio(LAB), QUICK), children()
    await toolset.aclose()
    await toolset.start()
    assert children() <= others


async def test_closing_ends_a_call_and_a_server_that_will_not_end(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    async with opened(stdio(OLD, "--stubborn", "--journal", str(journal))) as toolset:
        call = asyncio.create_task(toolset.call("hang", {"seconds": 600}))
        await until(lambda: "hang start" in lines(journal))
    assert (await call).error


async def test_a_name_that_no_dialect_takes_is_called_by_its_own() -> None:
    async with opened(stdio(LAB)) as toolset:
        await toolset.call("learn", {"name": "files/read.all"})
        await until(lambda: "files/read.all" in names(toolset))
        tool = next(tool for tool in toolset.tools if tool.name == "files/read.all")
        assert tool.offered == offered_name("lab", "files/read.all")
        assert (await toolset.call(tool.name, {"text": "read"})).text == "read"


def test_all_of_it_runs_on_uvloop() -> None:
    """The gateway does."""

    async def life() -> None:
        async with opened(stdio(LAB)) as toolset:
            assert (await toolset.call("echo", {"text": "fast"})).text == "fast"
            assert (await toolset.call("die", {})).error
            await until(lambda: "echo" in names(toolset))

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(life())
