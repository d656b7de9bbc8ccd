"""``make clients``: clients × upstream dialects × scenarios, through the gateway; one JSON line for each run.

A run that fails is run once more alone, since a client that ran out of time on a busy machine says nothing about the
gateway. If it fails again, it is tried without the gateway, on a clean answer of the client's own dialect.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import queue
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

import msgspec

from dragoman import dialects
from tests.clients.stage import HARNESS, Case, Outcome, Stage, driver, stage

HOME = Path(os.environ.get("CLIENTS_HOME") or Path.home() / ".cache/dragoman-clients")
"""Where the neighbour's ``install.sh`` puts the clients."""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("clients", nargs="*", help="names, or @all, @chat, @responses, @messages, @gemini")
    arguments.add_argument("--upstream", action="append", choices=dialects.names(), help="all, if none is named")
    arguments.add_argument("--scenario", action="append", help="all, and the clean one not streamed, if none is named")
    arguments.add_argument("--no-stream", action="store_true")
    arguments.add_argument("--jobs", type=int, default=2)
    arguments.add_argument("--out", type=Path, required=True)
    asked = arguments.parse_args()
    names, upstreams = clients(asked.clients or ["@all"]), asked.upstream or dialects.names()
    cases = [
        Case(client, upstream, scenario, not asked.no_stream)
        for upstream in upstreams
        for scenario in asked.scenario or scenarios(upstream)
        if scenario in scenarios(upstream)
        for client in names
    ]
    if not asked.scenario:
        sdks = [name for name in names if not name.startswith("cli-")]
        cases += [Case(client, upstream, stream=False) for upstream in upstreams for client in sdks]
    with asked.out.open("ab") as out:
        failed = run_all(cases, asked.jobs, out)
    raise SystemExit(bool(failed))


def scenarios(upstream: str) -> list[str]:
    """What the scripted upstream can do in this dialect; the clean answer comes first."""
    found = {file.stem for file in (HARNESS / "scenarios" / upstream).glob("*.sse")}
    found -= {"text", *(name for name in found if name.endswith("-custom"))}
    return sorted(found, key=lambda name: (name != "clean", name))


def clients(asked: Sequence[str]) -> list[str]:
    """Names of clients, in the neighbour's order; ``@dialect`` stands for all that speak it."""
    groups = {*asked}
    found = driver()
    return [name for name in found.ALL if name in asked or f"@{found.dialect_of(name)}" in groups or "@all" in asked]


def run_all(cases: Sequence[Case], jobs: int, out: BinaryIO) -> list[Outcome]:
    """Runs all, ``jobs`` at a time; what fails is run again, one at a time. Returns what failed both times."""
    failed: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="clients-") as folder, contextlib.ExitStack() as stack:
        free: queue.SimpleQueue[Stage] = queue.SimpleQueue()
        for number in range(jobs):
            place = Path(folder, str(number))
            place.mkdir()
            free.put(stack.enter_context(stage(HOME, place)))
        with ThreadPoolExecutor(jobs) as pool:
            outcomes = list(pool.map(lambda case: _first(case, free, out), cases))
        alone = free.get()
        for outcome in outcomes:
            if not (outcome.ok or outcome.told):
                last = controlled(alone, alone.run(outcome.case))
                _tell(last, out)
                failed += [] if last.ok or last.told else [last]
    return failed


def _first(case: Case, free: queue.SimpleQueue[Stage], out: BinaryIO) -> Outcome:
    here = free.get()
    try:
        outcome = here.run(case)
    finally:
        free.put(here)
    if outcome.ok or outcome.told:
        _tell(outcome, out)
    return outcome


def controlled(alone: Stage, outcome: Outcome) -> Outcome:
    """The outcome, with a word on the client if it fails without the gateway too."""
    if outcome.ok:
        return outcome
    without = alone.run(msgspec.structs.replace(outcome.case, scenario="clean"), direct=True)
    if without.ok:
        return outcome
    error = f"fails without the gateway too ({without.error}): {outcome.error}"
    return msgspec.structs.replace(outcome, error=error)


def _tell(outcome: Outcome, out: BinaryIO) -> None:
    case = outcome.case
    how = "" if case.stream else " unary"
    print(
        f"{'ok  ' if outcome.ok else 'told' if outcome.told else 'FAIL'} {case.client:32} {case.upstream} {case.scenario}{how} "
        f"{outcome.seconds}s {'' if outcome.ok else outcome.error[:300]!r} {'' if outcome.ok else outcome.requests}",
        flush=True,
    )
    out.write(msgspec.json.encode(outcome) + b"\n")
    out.flush()


if __name__ == "__main__":
    main()
