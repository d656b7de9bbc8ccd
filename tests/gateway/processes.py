"""``dragoman serve`` as a process beside the test: what it says, what it logs, and its workers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from tests.canary import WATCH
from tests.gateway.sockets import RawClient

COMMAND = (sys.executable, "-c", "from dragoman.cli import main; main()")
PATIENCE = 60.0
"""Seconds after which a test that waits for something fails."""

Line = dict[str, Any]


class Served:
    """The process. ``log`` has what it wrote to standard error so far."""

    def __init__(self, process: asyncio.subprocess.Process, temporary: Path) -> None:
        self.process = process
        self.port = 0
        self.said = ""
        self.log: list[Line] = []
        self.temporary = temporary
        self._news = asyncio.Condition()
        self._reading = asyncio.ensure_future(self._read())

    async def line(self, fits: Callable[[Line], bool]) -> Line:
        """The first line of the log that fits, once it is there."""
        async with asyncio.timeout(PATIENCE), self._news:
            await self._news.wait_for(lambda: any(map(fits, self.log)))
        return next(filter(fits, self.log))

    async def reload(self, signal: int) -> Line:
        """Sends the signal; what is told of the reload then."""
        before = len(self.log)
        self.process.send_signal(signal)
        return await self.line(lambda line: "reload" in line and line in self.log[before:])

    async def ended(self) -> int:
        """The exit status, once it has ended and all is read."""
        async with asyncio.timeout(PATIENCE):
            await self._reading
            return await self.process.wait()

    async def greeted(self) -> None:
        """Returns once it listens."""
        assert self.process.stdout
        async with asyncio.timeout(PATIENCE):
            while "curl" not in self.said:
                line = (await self.process.stdout.readline()).decode()
                assert line, self.log
                self.said += line
        self.port = int(self.said.split("127.0.0.1:")[1].split()[0])

    @property
    def workers(self) -> list[int]:
        """The process ids of those that it started."""
        return children(self.process.pid)

    async def client_of(self, worker: int) -> RawClient:
        """A connection that this worker has accepted."""
        async with asyncio.timeout(PATIENCE):
            while True:
                client = await RawClient.connect(self.port)
                if await self.worker_of(client) == worker:
                    return client
                client.close()

    async def worker_of(self, client: RawClient) -> int:
        """Who is at the other end of a connection: what the log says of a request on it."""
        await client.send(b"GET /v1/models HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        _, head = await client.head()
        await client.reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r")[0]))
        id = head.split(b"x-request-id: ")[1].split(b"\r")[0].decode()
        return int((await self.line(lambda line: line.get("request_id") == id))["worker"])

    async def _read(self) -> None:
        assert self.process.stderr
        async for line in self.process.stderr:
            WATCH.look("the log of a process", line)
            async with self._news:
                self.log.append(parsed(line.decode()))
                self._news.notify_all()


def parsed(line: str) -> Line:
    try:
        return dict(json.loads(line))
    except ValueError:
        return {"text": line.rstrip()}


def children(process: int) -> list[int]:
    """The process ids of its children (Linux)."""
    with contextlib.suppress(OSError):
        return [int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text("ascii").split()]
    return []


def alive(process: int) -> bool:
    """Whether it runs (and is not just waiting to be told of its end)."""
    try:
        return Path(f"/proc/{process}/stat").read_text("ascii").rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


async def until(holds: Callable[[], bool]) -> None:
    """Returns once it holds."""
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def started(folder: Path, *arguments: str) -> AsyncIterator[Served]:
    """The command, which may not come to listen. Its temporary files are in a folder of its own."""
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    clean = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        "serve",
        "--port",
        "0",
        *arguments,
        cwd=folder,
        env={**clean, "PYTHONUNBUFFERED": "1", "TMPDIR": str(temporary)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    served = Served(process, temporary)
    try:
        yield served
    finally:
        left = served.workers
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        for one in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, 9)
        served._reading.cancel()


@contextlib.asynccontextmanager
async def serving(folder: Path, *arguments: str) -> AsyncIterator[Served]:
    """The command, once it listens."""
    async with started(folder, *arguments) as served:
        await served.greeted()
        yield served


def configure(folder: Path, port: int, dialect: str = "chat", **more: Any) -> str:
    """A configuration with one upstream on this port, ``up``; returns its file."""
    base = f"http://127.0.0.1:{port}" + ("/v1" if dialect == "chat" else "")
    file = folder / "dragoman.test.yaml"
    file.write_text(json.dumps({"upstreams": {"up": {"dialect": dialect, "base_url": base}}, **more}))
    return str(file)
