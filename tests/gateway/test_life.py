"""The life of a gateway as a process: another configuration, its terminal, its end."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.processes import COMMAND, PATIENCE, configure, serving, until
from tests.gateway.sockets import HEAD, LAST, Connection, RawClient, RawUpstream, chunked
from tests.gateway.wires import CHAT, DONE, ROLE, chat, messages, say, text_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked at through /proc")


EVERY: list[tuple[dict[str, Any], str, bytes]] = [
    (chat(), CHAT, b"data: [DONE]\n\n"),
    (messages(), "/v1/messages", b"event: error\ndata: "),
    ({"model": "up/m", "input": "hi", "stream": True}, "/v1/responses", b"event: response.failed\ndata: "),
    (
        {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
        "/v1beta/models/up/m:streamGenerateContent?alt=sse",
        b'data: {"error":{"code":503,',
    ),
]
"""A stream for a client of each dialect: its request, and what an end in an error has in it."""


class Upstream(RawUpstream):
    """Says ``text``, and ends its answers once ``go_on`` is set."""

    def __init__(self, text: str = "hello") -> None:
        super().__init__(self._answer)
        self.go_on = asyncio.Event()
        self.text = text
        self.closed = 0

    async def _answer(self, connection: Connection) -> bool:
        await connection.send(HEAD + chunked(ROLE + say(self.text)))
        await self.go_on.wait()
        await connection.send(chunked(say(" and goodbye") + DONE) + LAST)
        if await connection.reader.read(1) == b"":
            self.closed += 1
        return False


async def opened(port: int, body: dict[str, Any] | None = None, path: str = CHAT) -> tuple[RawClient, bytes]:
    """A stream under way, and its first piece."""
    client = await RawClient.connect(port)
    await client.ask(path, body or chat())
    await client.head()
    return client, await client.piece()


async def said(port: int, model: str = "up/m") -> str:
    """The text of a whole answer."""
    client = await RawClient.connect(port)
    await client.ask(CHAT, chat(model))
    status, body = await client.answer()
    assert status == 200, body
    return text_of(body)


async def refused(port: int) -> None:
    """Returns once nothing listens on the port."""
    async with asyncio.timeout(PATIENCE):
        with contextlib.suppress(ConnectionRefusedError):
            while True:
                (await RawClient.connect(port)).close()
                await asyncio.sleep(0.02)


# ---- another configuration


async def test_a_reload_with_a_stream_under_way(tmp_path: Path) -> None:
    async with Upstream("old") as old, Upstream("new") as new:
        new.go_on.set()
        async with serving(tmp_path, "--config", configure(tmp_path, old.port)) as served:
            client, first = await opened(served.port)
            configure(tmp_path, new.port, models={"fast": ["up/m"]})
            assert await served.reload(signal.SIGHUP) == {"reload": "done"}
            assert await said(served.port, "fast") == "new and goodbye"
            assert old.closed == 0
            old.go_on.set()
            assert text_of(first + await client.body()) == "old and goodbye"
            await until(lambda: old.closed == 1)  # the connection is not kept for later: there is no later
            assert new.closed == 0


async def test_a_configuration_with_mistakes_changes_nothing(tmp_path: Path) -> None:
    async with Upstream() as upstream:
        upstream.go_on.set()
        file = configure(tmp_path, upstream.port)
        async with serving(tmp_path, "--config", file) as served:
            configure(tmp_path, 1, modells={}, timeouts={"idle": -1}, keys=["$NO_SUCH"])
            line = await served.reload(signal.SIGHUP)
            assert line["reload"] == "refused"
            assert [mistake.partition(":")[0] for mistake in line["mistakes"]] == [
                "keys[0]",
                "modells",
                "timeouts.idle",
            ]
            assert await said(served.port) == "hello and goodbye"
            Path(file).unlink()
            assert (await served.reload(signal.SIGHUP))["mistakes"] == [f"{file}: No such file or directory"]
            configure(tmp_path, upstream.port, listen="127.0.0.1:1", workers=7, state={"url": "sqlite:///x.db"})
            line = await served.reload(signal.SIGHUP)
            assert line == {
                "reload": "done",
                "needs_restart": ["workers", "state.url"],
            }  # --port is on the command line
            assert not (tmp_path / "x.db").exists()


# ---- the terminal


def _take_terminal() -> None:
    """As a shell in a new window does, whatever the tests were started by ignores."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def in_a_terminal(folder: Path, *before: str, workers: int = 1) -> tuple[subprocess.Popen[str], int]:
    """The command as the first program in a terminal, and our end of that."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*before, *COMMAND, "serve", "--demo", "--port", "0", "--workers", str(workers)],
        cwd=folder,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        preexec_fn=_take_terminal,
    )
    os.close(theirs)
    assert process.stdout
    while "curl" not in process.stdout.readline():
        assert process.poll() is None
    return process, ours


@pytest.mark.parametrize("workers", [1, 2])
def test_it_ends_with_its_terminal(tmp_path: Path, workers: int) -> None:
    process, terminal = in_a_terminal(tmp_path, workers=workers)
    process.send_signal(signal.SIGHUP)  # as long as that is there, this is a reload
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    os.close(terminal)
    assert process.wait(PATIENCE) == 0


def test_with_nohup_it_does_not(tmp_path: Path) -> None:
    process, terminal = in_a_terminal(tmp_path, "nohup")
    os.close(terminal)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0


# ---- the end


async def test_a_stop_lets_open_streams_end(tmp_path: Path) -> None:
    async with Upstream() as upstream, serving(tmp_path, "--config", configure(tmp_path, upstream.port)) as served:
        client, first = await opened(served.port)
        idle = await RawClient.connect(served.port)
        served.process.send_signal(signal.SIGTERM)
        await refused(served.port)
        assert await idle.reader.read() == b""
        upstream.go_on.set()
        assert text_of(first + await client.body()) == "hello and goodbye"
        assert await served.ended() == 0
        assert [line["finish"] for line in served.log] == ["stop"]


async def test_what_does_not_end_in_time_ends_honestly(tmp_path: Path) -> None:
    async with Upstream() as upstream:
        file = configure(tmp_path, upstream.port, timeouts={"drain": 0.2})
        async with serving(tmp_path, "--config", file) as served:
            streams = [await opened(served.port, body, path) for body, path, _ in EVERY]
            served.process.send_signal(signal.SIGTERM)
            for (client, _), (_, _, last) in zip(streams, EVERY, strict=True):
                end = await client.body()
                assert b"the gateway is being stopped" in end
                assert last in end
            assert await served.ended() == 0
            assert [line["error"] for line in served.log] == ["overloaded"] * len(EVERY)


async def test_the_time_to_drain_is_that_of_the_last_configuration(tmp_path: Path) -> None:
    async with Upstream() as upstream, serving(tmp_path, "--config", configure(tmp_path, upstream.port)) as served:
        client, _ = await opened(served.port)
        configure(tmp_path, upstream.port, timeouts={"drain": 0.1})
        await served.reload(signal.SIGHUP)
        served.process.send_signal(signal.SIGTERM)
        assert b"the gateway is being stopped" in await client.body()
        assert await served.ended() == 0


async def test_a_second_interrupt_ends_all_at_once(tmp_path: Path) -> None:
    async with Upstream() as upstream, serving(tmp_path, "--config", configure(tmp_path, upstream.port)) as served:
        client, _ = await opened(served.port)
        served.process.send_signal(signal.SIGINT)
        await refused(served.port)
        served.process.send_signal(signal.SIGINT)
        with contextlib.suppress(asyncio.IncompleteReadError):
            assert b"the gateway is being stopped" in await client.body()
        assert await served.ended() == 0
