"""``python -m bench.gateway``: what the gateway costs for each streamed delta, beside proxies that only copy.

All of it runs on this machine, over loopback: ``bench.upstream`` writes one delta at a time, ``bench.load`` reads.
A busy machine makes every figure larger, so each round measures everybody, one right after the other, and it is
the ratios within a round that count; the table has their medians. Processor time is that of the process and its
children, in user and kernel mode. Delays are those through the process less those without one.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bench import processes
from bench.processes import Process, free_port, running

DIALECTS = ("chat", "messages", "responses", "gemini")
AROUND_CHAT = [("chat", "chat"), *((a, b) for one in DIALECTS[1:] for a, b in (("chat", one), (one, "chat")))]
EVERY = [(client, upstream) for client in DIALECTS for upstream in DIALECTS]
NGINX, AIOHTTP = "nginx", "uvicorn + aiohttp"
SAME, CROSSING = 2.0, 2.5  # times the processor time of nginx: chat to chat, and any other pair
DELAY = 1.0  # milliseconds that a delta may take longer, at the median
LISTENING = 0.6  # seconds
STREAM_MEMORY = 60  # KiB


def load(port: int, *options: str) -> dict[str, Any]:
    """What ``bench.load`` found."""
    command = [sys.executable, "-m", "bench.load", "--port", str(port), *options]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(run.stdout)
    if found["failed"]:
        raise SystemExit(f"{found['failed']} streams failed: {' '.join(command)}")
    return found


class Subject:
    """Whoever stands between the load and the upstream; ``process`` is ``None`` for nobody."""

    def __init__(self, name: str, port: int, process: Process | None, client: str = "chat", model: str = "m") -> None:
        self.name = name
        self._port = port
        self._process = process
        self._asked = ("--dialect", client, "--model", model)

    def measure(self, streams: int, deltas: int) -> dict[str, float]:
        before = self._process.cpu if self._process else 0.0
        found = load(self._port, *self._asked, "--streams", str(streams), "--deltas", str(deltas))
        used = self._process.cpu - before if self._process else 0.0
        return {"cpu": used / found["deltas"] * 1e6, "p50": found["p50_ms"], "p99": found["p99_ms"]}


@contextlib.contextmanager
def subjects(folder: Path, behind: int, pairs: Sequence[tuple[str, str]]) -> Iterator[list[Subject]]:
    """Nobody, the points of reference, and the gateway for each pair; all of them are running."""
    with contextlib.ExitStack() as stack:
        found = [Subject("", behind, None)]
        port = free_port()
        if command := processes.nginx(folder, port, behind):
            found.append(Subject(NGINX, port, stack.enter_context(running(command, port))))
        port = free_port()
        process = stack.enter_context(running(processes.passthrough(port, behind), port))
        found.append(Subject(AIOHTTP, port, process))
        port = free_port()
        process = stack.enter_context(running(processes.gateway(folder, port, behind), port))
        for client, upstream in pairs:
            found.append(Subject(f"{client} to {upstream}", port, process, client, f"{upstream}/m"))
        yield found


Round = dict[str, dict[str, float]]


def measured(folder: Path, wanted: argparse.Namespace) -> list[Round]:
    """What everybody took, round by round."""
    behind = free_port()
    pace = ("--deltas", str(wanted.deltas), "--interval-ms", "10", "--fragments", str(wanted.fragments))
    pairs = EVERY if wanted.pairs == "all" else AROUND_CHAT
    rounds: list[Round] = []
    with running(processes.upstream(behind, *pace), behind), subjects(folder, behind, pairs) as every:
        for subject in every:  # the first requests load code and open connections
            subject.measure(32, wanted.deltas)
        for _ in range(wanted.rounds):
            rounds.append({subject.name: subject.measure(wanted.streams, wanted.deltas) for subject in every})
    return rounds


def table(rounds: list[Round]) -> None:
    """Medians over the rounds, of figures and of ratios within a round."""
    has_nginx = NGINX in rounds[0]
    print(
        f"{'':24}{'µs a delta':>12}{'x nginx':>10}{'x aiohttp':>10}{'added p50':>13}{'added p99':>13}{'p99 x aiohttp':>15}"
    )
    for name in rounds[0]:
        if not name:
            continue
        cpu = median(one[name]["cpu"] for one in rounds)
        by_nginx = median(one[name]["cpu"] / one[NGINX]["cpu"] for one in rounds) if has_nginx else 0.0
        by_aiohttp = median(one[name]["cpu"] / one[AIOHTTP]["cpu"] for one in rounds)
        p50, p99 = (median(one[name][key] - one[""][key] for one in rounds) for key in ("p50", "p99"))
        late = median(one[name]["p99"] / one[AIOHTTP]["p99"] for one in rounds)
        target = SAME if name == "chat to chat" else CROSSING
        over = "!" if by_nginx > target and name not in (NGINX, AIOHTTP) else " "
        slow = "!" if p50 > DELAY else " "
        print(
            f"{name:24}{cpu:12.1f}{by_nginx:9.2f}{over}{by_aiohttp:10.2f}{p50:10.2f} ms{slow[:1]}{p99:9.2f} ms{late:15.2f}"
        )
    if not has_nginx:
        print("nginx is not installed: no ratios to it")


def memory(folder: Path, streams: int) -> None:
    """Resident memory before any request, and what it grows by while this many streams are open."""
    behind, port = free_port(), free_port()
    pace = ("--deltas", "10", "--interval-ms", "500")
    with (
        running(processes.upstream(behind, *pace), behind),
        running(processes.gateway(folder, port, behind), port) as process,
    ):
        idle = process.memory
        load(port, "--model", "chat/m", "--streams", "1", "--at-once", "1", "--deltas", "10")
        before = process.memory
        options = ("--model", "chat/m", "--streams", str(streams), "--at-once", str(streams), "--deltas", "10")
        command = [sys.executable, "-m", "bench.load", "--port", str(port), *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as asking:
            most = before
            while asking.poll() is None:
                most = max(most, process.memory)
                time.sleep(0.05)
        each = (most - before) / streams / 1024
    print(
        f"memory: {idle / 2**20:.0f} MiB idle, {each:.0f} KiB for each of {streams} open streams{_mark(each, STREAM_MEMORY)}"
    )


def start(folder: Path) -> None:
    """Seconds from the start of the process to the first connection that it takes."""
    best = 20.0
    for _ in range(3):
        port = free_port()
        with running(processes.gateway(folder, port, 9), port) as process:
            best = min(best, process.ready_after)
    print(f"start: {best:.2f} s to listening{_mark(best, LISTENING)}")


def _mark(figure: float, target: float) -> str:
    return " !" if figure > target else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--streams", type=int, default=128, help="in all, 32 at a time")
    parser.add_argument("--deltas", type=int, default=100, help="of text in each stream, one every 10 ms")
    parser.add_argument("--fragments", type=int, default=0, help="of a call's arguments behind them")
    parser.add_argument("--pairs", choices=("chat", "all"), default="chat", help="those with chat on a side, or all 16")
    parser.add_argument("--memory", type=int, default=1000, metavar="STREAMS", help="0: leave it out")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # nginx's worker is somebody else
        print(f"32 streams, 100 deltas a second each; client to upstream; medians of {wanted.rounds} rounds")
        table(measured(folder, wanted))
        if wanted.memory:
            memory(folder, wanted.memory)
        start(folder)


if __name__ == "__main__":
    main()
