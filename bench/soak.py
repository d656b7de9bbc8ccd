"""``python -m bench.soak``: many streams through one gateway process, and what is left of them.

Two rounds, over all pairs of dialects. *Together*: streams that are all open at once; each carries a number of its own
in every delta, and none may fail, miss one, or hold another's. *Dropped*: clients that leave at a random place. After
each the gateway's tasks, its open files and its memory are those of before: tasks and Python's blocks are counted
inside of the process by a signal that only this program sets up, after a collection of garbage (what dropped streams
leave is tied to tracebacks), the rest from outside (Linux only). CPython keeps what it once took from the system for
its next objects, so resident memory is compared after a first round like the second: what is used again does not
grow. Exit status: 0 all held, 1 something did not.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable
from pathlib import Path

import msgspec
import uvloop

from bench import processes
from bench.load import asked
from bench.processes import Process, free_port, running

DIALECTS = ("chat", "messages", "responses", "gemini")
PAIRS = [(client, upstream) for client in DIALECTS for upstream in DIALECTS]
ENDS = {
    "chat": b"data: [DONE]\n\n",
    "messages": b'"type":"message_stop"',
    "responses": b'"type":"response.completed"',
    "gemini": b'"finishReason":"STOP"',
}
GROWTH = 1.10
"""Memory after a round, as a share of that before."""
SETTLE = 45
"""Seconds within which a gateway has let go of what it held; it keeps connections to upstreams for 30."""
_MARK = re.compile(rb"@(\d+)@")

_COUNTING = """
import asyncio, gc, signal, sys
def told(*_):
    gc.collect()
    held = [one for one in gc.get_objects() if isinstance(one, asyncio.Task) and not one.done()]
    with open(FILE, "w") as out:
        out.write(f"{len(held)} {sys.getallocatedblocks()}\\n")
signal.signal(signal.SIGUSR1, told)
"""


class Held(msgspec.Struct):
    """What a process holds: tasks, open files, Python's blocks of memory in use, and bytes that are resident."""

    tasks: int
    files: int
    blocks: int
    memory: int

    def __str__(self) -> str:
        return f"{self.tasks} tasks, {self.files} files, {self.blocks:,} blocks, {self.memory / 2**20:.1f} MiB"


class Gateway:
    """The gateway's process, looked at."""

    def __init__(self, process: Process, pid: int, told: Path) -> None:
        self.process = process
        self._pid = pid
        self._told = told

    def held(self) -> Held:
        self._told.unlink(missing_ok=True)
        os.kill(self._pid, signal.SIGUSR1)
        until = time.monotonic() + 10
        while not (self._told.exists() and self._told.read_text().endswith("\n")):
            if time.monotonic() > until:
                raise SystemExit("the gateway does not count its tasks")
            time.sleep(0.05)
        files = len(list(Path(f"/proc/{self._pid}/fd").iterdir()))
        tasks, blocks = map(int, self._told.read_text().split())
        return Held(tasks, files, blocks, self.process.memory)

    def rested(self) -> Held:
        """What it holds once its last connections have rested long enough to be closed."""
        time.sleep(SETTLE - 10)
        return self.held()

    def settled(self, before: Held) -> Held:
        """What it holds once it has let go, or the time for it is over."""
        until = time.monotonic() + SETTLE
        while True:
            now = self.held()
            if not _leaks(before, now) or time.monotonic() > until:
                return now
            time.sleep(0.5)


def _leaks(before: Held, now: Held) -> list[str]:
    found = []
    if now.tasks > before.tasks:
        found.append(f"{now.tasks - before.tasks} tasks")
    if now.files > before.files:
        found.append(f"{now.files - before.files} files")
    if now.blocks > before.blocks * GROWTH:
        found.append(f"{(now.blocks / before.blocks - 1) * 100:.0f} % more blocks")
    if now.memory > before.memory * GROWTH:
        found.append(f"{(now.memory / before.memory - 1) * 100:.0f} % more memory")
    return found


def request(number: int) -> tuple[str, bytes]:
    """The client's dialect and its request; the number stands in the prompt."""
    client, upstream = PAIRS[number % len(PAIRS)]
    path, body = asked(client, f"{upstream}/m")
    raw = json.dumps(body).replace("What is the weather", f"#{number}# What is the weather").encode()
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n"
    return client, head.encode() + b"content-length: %d\r\n\r\n" % len(raw) + raw


async def whole(port: int, number: int, deltas: int) -> str:
    """Reads one stream to its end; what is wrong with it, in words."""
    client, sent = request(number)
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        got = await reader.read(-1)
        writer.close()
    except OSError as fault:
        return f"failed: {fault}"
    if not got.startswith(b"HTTP/1.1 200"):
        return f"failed: {got[:80]!r}"
    marks = Counter(_MARK.findall(got))
    if set(marks) - {b"%d" % number}:
        return f"mixed up: {number} holds {sorted(marks)[:3]}"
    if marks[b"%d" % number] < deltas:
        return f"incomplete: {marks[b'%d' % number]} of {deltas} deltas"
    return "" if ENDS[client] in got else "no end"


async def dropped(port: int, number: int, chance: random.Random) -> str:
    """Leaves a stream somewhere: before its head, within, or after a few deltas."""
    _, sent = request(number)
    enough, patience = chance.choice((0, 1, 300, 3000)), chance.uniform(0, 0.4)
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent[: chance.randint(1, len(sent))] if chance.random() < 0.1 else sent)
        got = 0
        try:
            async with asyncio.timeout(patience):
                while got < enough and (data := await reader.read(4096)):
                    got += len(data)
        except TimeoutError:
            pass
        writer.transport.abort()
    except OSError as fault:
        return f"failed: {fault}"
    return ""


async def limited(jobs: list[Awaitable[str]], at_once: int, ramp: float = 0.0) -> Counter[str]:
    """Runs the jobs, so many at once, each begun ``ramp`` seconds after the one before; counts what was wrong."""
    places, wrong = asyncio.Semaphore(at_once), Counter[str]()

    async def one(job: Awaitable[str]) -> None:
        async with places:
            if found := await job:
                wrong[found] += 1

    running = []
    for job in jobs:
        running.append(asyncio.create_task(one(job)))
        if ramp:
            await asyncio.sleep(ramp)
    await asyncio.gather(*running)
    return wrong


def report(name: str, count: int, wrong: Counter[str], before: Held, after: Held, seconds: float) -> bool:
    """Prints a round; whether it held."""
    leaks = _leaks(before, after)
    print(f"{name}: {count} streams in {seconds:.0f} s, {sum(wrong.values())} wrong")
    for what, times in wrong.most_common(5):
        print(f"    {times} x {what}")
    print(f"    before {before}; after {after}; left behind: {', '.join(leaks) or 'nothing'}", flush=True)
    return not (wrong or leaks)


def soak(gateway: Gateway, options: argparse.Namespace) -> bool:
    """Both rounds, after one that is like the first."""
    port, chance = gateway.process.port, random.Random(options.seed)
    cold = gateway.held()
    warm: list[Awaitable[str]] = [whole(port, number, options.deltas) for number in range(options.together)]
    peak = [cold.memory]
    wrong = uvloop.run(_watched(gateway, warm, options, peak))
    wrong += uvloop.run(limited([dropped(port, number, chance) for number in range(200)], 200))
    print(
        f"a first round: {sum(wrong.values())} wrong; at the start {cold}, at most {max(peak) / 2**20:.1f} MiB",
        flush=True,
    )
    print(f"    {(max(peak) - cold.memory) / 1024 / options.together:.0f} KiB for each open stream", flush=True)
    before, began = gateway.rested(), time.monotonic()
    numbers = range(10_000, 10_000 + options.together)
    wrong = uvloop.run(_watched(gateway, [whole(port, number, options.deltas) for number in numbers], options, peak))
    after = gateway.settled(before)
    held = report("together", options.together, wrong, before, after, time.monotonic() - began)
    before, began = gateway.rested(), time.monotonic()
    jobs: list[Awaitable[str]] = [dropped(port, 20_000 + number, chance) for number in range(options.dropped)]
    wrong = uvloop.run(limited(jobs, 200))
    after = gateway.settled(before)
    held &= report("dropped", options.dropped, wrong, before, after, time.monotonic() - began)
    last = uvloop.run(limited([whole(port, 90_000 + number, options.deltas) for number in range(16)], 16))
    print(f"afterwards: {sum(last.values())} of 16 wrong")
    return held and not last


async def _watched(
    gateway: Gateway, jobs: list[Awaitable[str]], options: argparse.Namespace, peak: list[int]
) -> Counter[str]:
    async def watch() -> None:
        while True:
            await asyncio.sleep(1)
            peak.append(gateway.process.memory)

    watching = asyncio.create_task(watch())
    try:
        return await limited(jobs, options.together, ramp=0.001)
    finally:
        watching.cancel()


def main() -> int:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--together", type=int, default=1000, help="streams that are open at once (1000)")
    parser.add_argument("--seconds", type=float, default=60, help="that each of them lasts (60)")
    parser.add_argument("--dropped", type=int, default=10_000, help="streams that are left (10000)")
    parser.add_argument("--interval-ms", type=float, default=500, help="between two deltas of a stream (500)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.deltas = max(1, round(options.seconds * 1000 / options.interval_ms))
    behind, port = free_port(), free_port()
    paced = ["--deltas", str(options.deltas), "--interval-ms", str(options.interval_ms)]
    with tempfile.TemporaryDirectory() as place, running(processes.upstream(behind, *paced), behind):
        told = Path(place) / "tasks"
        command = processes.gateway(Path(place), port, behind)
        command[2] = _COUNTING.replace("FILE", repr(str(told))) + command[2]
        with running(command, port) as process:
            gateway = Gateway(process, process._process.pid, told)
            return 0 if soak(gateway, options) else 1


if __name__ == "__main__":
    sys.exit(main())
