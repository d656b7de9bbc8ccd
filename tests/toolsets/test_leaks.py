"""The test of leaks sees what it is to find."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Callable

import pytest

from dragoman.toolsets.last_words import LastWords
from tests.toolsets.servers import nothing_left, until


def leaked_task() -> Callable[[], object]:
    task = asyncio.create_task(asyncio.Event().wait(), name="leaked")
    return task.cancel


def leaked_socket() -> Callable[[], object]:
    leaked = socket.socket()

    def undo() -> None:
        leaked.close()

    return undo


def leaked_pipe() -> Callable[[], object]:
    ends = os.pipe()

    def undo() -> None:
        for end in ends:
            os.close(end)

    return undo


def leaked_zombie() -> Callable[[], object]:
    return subprocess.Popen([sys.executable, "-c", ""]).wait


@pytest.mark.parametrize("leak", [leaked_task, leaked_socket, leaked_pipe, leaked_zombie])
async def test_a_leak_is_found(leak: Callable[[], Callable[[], object]]) -> None:
    with pytest.raises(TimeoutError):
        async with nothing_left(patience=0.1):
            undo = leak()
    undo()
    async with nothing_left():
        pass


async def test_last_words_are_kept_and_cut() -> None:
    async with nothing_left():
        words = LastWords()
        assert words.line == ""
        words.sink.write("x" * 10_000 + "\nthe \x1b[31mlast\x1b[0m line\n \n")
        words.sink.flush()
        await until(lambda: words.line != "")
        words.handed_over()
        words.close()
        assert words.line == "the [31mlast[0m line"


async def test_last_words_of_a_process_that_ended_are_read_in_the_end() -> None:
    words = LastWords()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "raise SystemExit('no such project')", stderr=words.sink
    )
    words.handed_over()
    await process.wait()
    words.close()
    assert words.line == "no such project"
