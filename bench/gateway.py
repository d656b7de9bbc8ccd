"""What the gateway costs for each streamed delta, beside proxies that only copy, and beside its peers.

All of it runs on this machine, over loopback: ``bench.upstream`` writes one delta at a time, ``bench.load`` reads.
A busy machine makes every figure larger, so each round measures everybody, one right after the other, and it is
the ratios within a round that count; the tables have their medians. Processor time is that of the process and its
children, in user and kernel mode. Delays are those through the process less those without one.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from bench import peers, processes
from bench.processes import Process, free_port, running
from bench.tables import Table

DIALECTS = ("chat", "messages", "responses", "gemini")
AROUND_CHAT = [("chat", "chat"), *((a, b) for one in DIALECTS[1:] for a, b in (("chat", one), (one, "chat")))]
EVERY = [(client, upstream) for client in DIALECTS for upstream in DIALECTS]
NOBODY, NGINX, BARE, AIOHTTP = "", "nginx", "bare uvloop + httptools", "uvicorn + aiohttp"
REFERENCES = (NGINX, BARE, AIOHTTP)
AT_ONCE = 32
SAME, CROSSING = 2.0, 2.5  # times the processor time of nginx: chat to chat, and any other pair
PEERS = {peers.LITELLM: 12.0, peers.ROSETTA: 4.0}  # so many times more than the gateway
DELAY = 1.0  # milliseconds that a delta may take longer, at the median
LATE = 2.0  # times the 99th percentile of uvicorn + aiohttp
LISTENING = 0.6  # seconds
IDLE, STREAM_MEMORY = 60, 60  # MiB, KiB


class Wanted(msgspec.Struct, frozen=True):
    """``streams`` in all, ``AT_ONCE`` at a time; ``deltas`` of text in each, one every 10 ms, ``fragments`` behind them.

    ``open_streams`` at once for the memory of each (0: left out); ``peers``: a folder of installed peers.
    """

    rounds: int = 5
    streams: int = 64
    deltas: int = 200
    fragments: int = 0
    every_pair: bool = False
    open_streams: int = 1000
    peers: Path | None = None


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
        """Microseconds of the processor for each delta and each stream, milliseconds of delay."""
        before = self._process.cpu if self._process else 0.0
        found = load(self._port, *self._asked, "--streams", str(streams), "--deltas", str(deltas))
        used = (self._process.cpu - before) * 1e6 if self._process else 0.0
        return {
            "cpu": used / found["deltas"],
            "stream": used / streams,
            "p50": found["p50_ms"],
            "p99": found["p99_ms"],
        }


@contextlib.contextmanager
def subjects(folder: Path, behind: int, wanted: Wanted) -> Iterator[list[Subject]]:
    """Nobody, the points of reference, the gateway and its peers for each pair; all of them are running."""
    pairs = EVERY if wanted.every_pair else AROUND_CHAT
    with contextlib.ExitStack() as stack:

        def started(command: list[str], port: int, path: str | None = None) -> Process:
            return stack.enter_context(running(command, port, path))

        found = [Subject(NOBODY, behind, None)]
        if command := processes.nginx(folder, port := free_port(), behind):
            found.append(Subject(NGINX, port, started(command, port)))
        for name, command_of in ((BARE, processes.bare), (AIOHTTP, processes.passthrough)):
            port = free_port()
            found.append(Subject(name, port, started(command_of(port, behind), port)))
        port = free_port()
        process = started(processes.gateway(folder, port, behind), port)
        found += [Subject(f"{client} to {up}", port, process, client, f"{up}/m") for client, up in pairs]
        for peer in peers.installed(wanted.peers, folder, behind) if wanted.peers else ():
            port = free_port()
            process = started(peer.command(port), port, peer.ready_path)
            found += [Subject(f"{peer.name}, {c} to {u}", port, process, c, peer.model(u)) for c, u in peer.pairs]
        yield found


Round = dict[str, dict[str, float]]


def measured(folder: Path, wanted: Wanted, streams: int, deltas: int) -> list[Round]:
    """What everybody took, round by round."""
    behind = free_port()
    pace = ("--deltas", str(deltas), "--interval-ms", "10", "--fragments", str(wanted.fragments))
    rounds: list[Round] = []
    with running(processes.upstream(behind, *pace), behind), subjects(folder, behind, wanted) as every:
        for subject in every:  # the first requests load code and open connections
            subject.measure(AT_ONCE, deltas)
        for _ in range(wanted.rounds):
            rounds.append({subject.name: subject.measure(streams, deltas) for subject in every})
    return rounds


def ratio(rounds: Sequence[Round], name: str, to: str, key: str = "cpu") -> float:
    """The median of the ratios within a round."""
    return median(one[name][key] / one[to][key] for one in rounds)


def deltas(rounds: list[Round]) -> Table:
    """Medians over the rounds, of figures and of ratios within a round."""
    title = f"A delta through the gateway, client to upstream ({AT_ONCE} streams, 100 deltas a second each)"
    table = Table(title, ["", "µs", "× nginx", "× aiohttp", "added p50, ms", "added p99, ms", "p99 × aiohttp"])
    reference = NGINX if NGINX in rounds[0] else AIOHTTP
    for name in rounds[0]:
        if name == NOBODY:
            continue
        ours = name not in REFERENCES and not name.startswith(tuple(PEERS))
        p50, p99 = (median(one[name][key] - one[NOBODY][key] for one in rounds) for key in ("p50", "p99"))
        by_nginx, late = ratio(rounds, name, reference), ratio(rounds, name, AIOHTTP, "p99")
        most = SAME if name == "chat to chat" else CROSSING
        table.add(
            name,
            f"{median(one[name]['cpu'] for one in rounds):.1f}",
            table.mark(by_nginx, not ours or reference is not NGINX or by_nginx <= most, ".2f")
            if reference is NGINX
            else "no nginx",
            f"{ratio(rounds, name, AIOHTTP):.2f}",
            table.mark(p50, not ours or p50 <= DELAY, ".2f"),
            f"{p99:.2f}",
            table.mark(late, not ours or late <= LATE, ".1f"),
        )
    return table


def beside_peers(rounds: list[Round]) -> Table:
    """How many times more processor time a peer takes for the same pair."""
    table = Table("Peers: times the gateway's processor time for a delta", ["", *PEERS])
    for client, upstream in EVERY:
        pair = f"{client} to {upstream}"
        cells = []
        for peer, least in PEERS.items():
            name = f"{peer}, {pair}"
            if name not in rounds[0] or pair not in rounds[0]:
                cells.append("–")
                continue
            more = ratio(rounds, name, pair)
            cells.append(table.mark(more, more >= least, ".1f"))
        if set(cells) != {"–"}:
            table.add(pair, *cells)
    return table


def requests(rounds: list[Round]) -> Table:
    """Whole exchanges of one delta: what a request costs."""
    table = Table(
        "Streams of one delta: µs of the processor, and how many a second one core carries",
        ["", "µs", "streams a second"],
    )
    for name in rounds[0]:
        if name != NOBODY:
            used = median(one[name]["stream"] for one in rounds)
            table.add(name, f"{used:.0f}", f"{1e6 / used:.0f}")
    return table


def memory(folder: Path, streams: int) -> tuple[float, float]:
    """MiB that are resident before any request, and KiB for each stream while so many are open."""
    behind, port = free_port(), free_port()
    pace = ("--deltas", "10", "--interval-ms", "500")
    with (
        running(processes.upstream(behind, *pace), behind),
        running(processes.gateway(folder, port, behind), port) as process,
    ):
        idle = process.memory
        load(port, "--model", "chat/m", "--streams", "1", "--at-once", "1", "--deltas", "10")
        most = before = process.memory
        options = ("--model", "chat/m", "--streams", str(streams), "--at-once", str(streams), "--deltas", "10")
        command = [sys.executable, "-m", "bench.load", "--port", str(port), *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as asking:
            while asking.poll() is None:
                most = max(most, process.memory)
                time.sleep(0.05)
    return idle / 2**20, (most - before) / streams / 1024


def start(folder: Path) -> tuple[float, float]:
    """Seconds from the start of the process to the first connection that it takes, and of the processor until then."""
    found = []
    for _ in range(5):
        port = free_port()
        with running(processes.gateway(folder, port, 9), port) as process:
            found.append((process.ready_after, process.cpu))
    return min(found)


def process_table(folder: Path, streams: int) -> Table:
    table = Table("The process", ["", "", "at most"])
    seconds, used = start(folder)
    table.add("start to listening, s", table.mark(seconds, seconds <= LISTENING, ".2f"), f"{LISTENING}")
    table.add("processor time of that, s", f"{used:.2f}", "")
    if streams:
        idle, each = memory(folder, streams)
        table.add("memory idle, MiB", table.mark(idle, idle <= IDLE, ".0f"), f"{IDLE}")
        table.add(
            f"memory for each of {streams} open streams, KiB",
            table.mark(each, each <= STREAM_MEMORY, ".0f"),
            f"{STREAM_MEMORY}",
        )
    return table
