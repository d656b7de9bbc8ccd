"""Real MCP servers: two from PyPI, and the lab's where it is there."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

from dragoman.canonical.request import Image
from dragoman.toolsets.interface import Toolset
from dragoman.toolsets.registry import Member, Toolbox, Wanted
from dragoman.toolsets.settings import McpSettings, ServerUrl
from tests import neighbour
from tests.toolsets.servers import QUICK, names, opened, running

GIT = """
import sys
from pathlib import Path
from mcp_server_git.server import create_server
create_server(Path(sys.argv[1])).run("streamable-http", host="127.0.0.1", port=0)
"""
LAB = str(neighbour.PLACE / "conformance" / "mcp_lab.py")


def box(toolset: Toolset) -> Toolbox:
    return Toolbox([Member(toolset=toolset)])


async def test_mcp_server_time_over_stdio() -> None:
    settings = McpSettings(command=[sys.executable, "-m", "mcp_server_time", "--local-timezone", "UTC"])
    async with opened(settings, QUICK) as toolset:
        assert names(toolset) == {"get_current_time", "convert_time"}
        asked = {"source_timezone": "Europe/Amsterdam", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        outcome = await box(toolset).call(Wanted("lab", "convert_time", json.dumps(asked)))
        assert not outcome.error
        assert json.loads(outcome.text)["source"]["timezone"] == "Europe/Amsterdam"
        wrong = await box(toolset).call(Wanted("lab", "convert_time", json.dumps({**asked, "time": "noon"})))
        assert wrong.error
        unfit = await box(toolset).call(Wanted("lab", "convert_time", "{}"))
        assert "required property" in unfit.text


async def test_mcp_server_git_over_http(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "-b", "trunk", str(tmp_path)], check=True)
    (tmp_path / "new.txt").write_text("hello")
    async with (
        running("-c", GIT, str(tmp_path)) as server,
        opened(McpSettings(url=ServerUrl(server.url)), QUICK) as toolset,
    ):
        assert {"git_status", "git_log", "git_diff"} <= names(toolset)
        asked = json.dumps({"repo_path": str(tmp_path)})
        outcomes = await box(toolset).run([Wanted("lab", "git_status", asked), Wanted("lab", "git_log", "{}")])
        assert "trunk" in outcomes[0].text
        assert "new.txt" in outcomes[0].text
        assert outcomes[1].error


@neighbour.needed
async def test_the_lab() -> None:
    async with opened(McpSettings(command=[sys.executable, LAB]), QUICK) as toolset:
        toolbox = box(toolset)
        calls = [("search", '{"query": "wind"}'), ("fail", "{}"), ("image", ""), ("json", "{}"), ("count", "{}")]
        outcomes = await toolbox.run([Wanted("lab", name, arguments) for name, arguments in calls])
        assert [outcome.error for outcome in outcomes] == [False, True, False, False, False]
        assert outcomes[0].text == "Found for wind: 21 degrees."
        assert isinstance(outcomes[2].parts[1], Image)
        assert outcomes[3].text.count("Utrecht") == 1
        (slow, found) = await asyncio.gather(
            toolbox.call(Wanted("lab", "slow", '{"seconds": 60}'), within=0.5),
            toolbox.call(Wanted("lab", "search", '{"query": "x"}')),
        )
        assert slow.error
        assert not found.error
        assert (await toolbox.call(Wanted("lab", "crash", "{}"))).error
