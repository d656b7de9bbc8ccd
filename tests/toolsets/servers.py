"""MCP servers as processes, and whether anything of them is left."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from dragoman.toolsets.interface import Toolset
from dragoman.toolsets.mcp import McpToolset, Patience
from dragoman.toolsets.settings import Hidden, HiddenHeader, McpSettings, ServerUrl

HERE = Path(__file__).parent
LAB = str(HERE / "lab_server.py")
OLD = str(HERE / "old_server.py")
QUICK = Patience(start=60, answer=1, pause=0.05, longest_pause=0.5)
KEY = {"authorization": HiddenHeader("Bearer sesame")}
_PATIENCE = 60  # seconds; only a test that fails waits so long


def stdio(script: str, *options: str, **env: str) -> McpSettings:
    return McpSettings(
        command=[sys.executable, script, *options], env={name: Hidden(value) for name, value in env.items()}
    )


def over_http(url: str) -> McpSettings:
    return McpSettings(url=ServerUrl(url), headers=KEY)


class Running:
    """A server over HTTP as a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}/mcp"
        self._process = process
        self._reader = asyncio.create_task(self._drain())

    @classmethod
    async def begin(cls, *command: str) -> Running:
        process = await asyncio.create_subprocess_exec(sys.executable, *command, stderr=asyncio.subprocess.PIPE)
        assert process.stderr is not None
        async with asyncio.timeout(_PATIENCE):
            while True:
                line = await process.stderr.readline()
                assert line, "the server ended"
                if found := re.search(rb"running on http://127\.0\.0\.1:(\d+)", line):
                    return cls(process, int(found[1]))

    async def _drain(self) -> None:
        assert self._process.stderr is not None
        while await self._process.stderr.read(65536):
            pass

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    async def end(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()
        await self._reader


@contextlib.asynccontextmanager
async def running(*command: str) -> AsyncIterator[Running]:
    server = await Running.begin(*command)
    try:
        yield server
    finally:
        await server.end()


@contextlib.asynccontextmanager
async def opened(settings: McpSettings, patience: Patience = QUICK) -> AsyncIterator[McpToolset]:
    """A toolset that has tried once to come up; nothing of it is left in the end."""
    async with nothing_left():
        toolset = McpToolset("lab", settings, patience)
        await toolset.start()
        try:
            async with asyncio.timeout(_PATIENCE):
                await toolset.settled()
            yield toolset
        finally:
            await toolset.aclose()
        assert toolset.tools == ()
        assert toolset.state.condition == "closed"


def names(toolset: Toolset) -> set[str]:
    return {tool.name for tool in toolset.tools}


async def until(holds: Callable[[], bool], patience: float = _PATIENCE) -> None:
    async with asyncio.timeout(patience):
        while not holds():
            await asyncio.sleep(0.02)


def lines(journal: Path) -> list[str]:
    return journal.read_text().splitlines() if journal.exists() else []


# ---- leaks


def _tasks() -> set[str]:
    return {task.get_name() for task in asyncio.all_tasks()}


def children() -> set[int]:
    """Child processes, those that ended and were not waited for among them."""
    found: set[int] = set()
    for listing in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found.update(map(int, listing.read_text().split()))
    return found


def _files() -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    for entry in Path("/proc/self/fd").glob("*"):
        with contextlib.suppress(OSError):
            found.add((entry.name, os.readlink(entry)))
    return found


@contextlib.asynccontextmanager
async def nothing_left(patience: float = _PATIENCE) -> AsyncIterator[None]:
    """Fails if tasks, child processes, pipes or sockets are left that were not there before."""
    tasks, processes, files = _tasks(), children(), _files()
    yield
    await until(lambda: _tasks() <= tasks, patience)
    await until(lambda: children() <= processes, patience)
    await until(lambda: {file for file in _files() - files if not file[1].startswith("/")} == set(), patience)
