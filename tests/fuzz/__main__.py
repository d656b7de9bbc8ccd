"""Searches for inputs that break a promise: ``make fuzz``.

    python -m tests.fuzz --seconds 600
    python -m tests.fuzz --target answer-chat --target framing --executions 100000
    python -m tests.fuzz --list

With atheris (Linux, a Python that it has a wheel for) libFuzzer keeps every input that reaches a new branch and goes on
from it; without it, inputs are made from the seeds and those that were kept. A target's search ends at its first
finding: the input is written to ``corpus/<target>``, where the tests find it. Exit status: 0 nothing was found, 1
something was.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.fuzz import search
from tests.fuzz.guided import LONGEST
from tests.fuzz.targets import TARGETS, Target

GUIDED = importlib.util.find_spec("atheris") is not None
_DONE = re.compile(r"stat::number_of_executed_units:\s*(\d+)|^#(\d+)", re.MULTILINE)
_BROKEN = re.compile(r"^broken: (\S+) (.*)$", re.MULTILINE)


def main() -> int:
    """Runs the targets, one after another."""
    options = _options()
    targets = [TARGETS[name] for name in options.target or TARGETS]
    if options.list:
        print("\n".join(f"{target.name:<18}{target.promise}" for target in targets))
        return 0
    print(f"{len(targets)} targets, {'guided by atheris' if GUIDED else 'without guidance'}", flush=True)
    total, findings = 0, 0
    for target in targets:
        executions, found = _searched(target, options)
        total, findings = total + executions, findings + len(found)
        print(f"{target.name:<18}{executions:>10} executions, {len(found)} findings", flush=True)
        for line in found:
            print(f"    {line}", flush=True)
    print(f"{'all':<18}{total:>10} executions, {findings} findings")
    return 1 if findings else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make fuzz", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--target", action="append", choices=list(TARGETS), help="this one; may be given several times")
    parser.add_argument("--seconds", type=float, default=60, help="for each target (60)")
    parser.add_argument(
        "--executions", type=int, default=10**9, help="for each target, if reached before its time is over"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the chance (1)")
    parser.add_argument(
        "--corpus", type=Path, help="a folder for the inputs that lead on, to begin there the next time"
    )
    parser.add_argument("--list", action="store_true", help="the targets and their promises")
    return parser.parse_args()


def _searched(target: Target, options: argparse.Namespace) -> tuple[int, list[str]]:
    """Executions and findings of one target."""
    if GUIDED:
        return _guided(target, options)
    outcome = search.search(target, seed=options.seed, executions=options.executions, seconds=options.seconds)
    if outcome.broken is None:
        return outcome.executions, []
    return outcome.executions, [f"{search.keep(target, outcome.broken)} {outcome.reason}"]


def _guided(target: Target, options: argparse.Namespace) -> tuple[int, list[str]]:
    with tempfile.TemporaryDirectory() as place:
        grown = options.corpus / target.name if options.corpus else Path(place) / "grown"
        grown.mkdir(parents=True, exist_ok=True)
        begin = Path(place) / "begin"
        begin.mkdir()
        for number, data in enumerate(target.inputs()):
            (begin / f"{number:04}").write_bytes(data[:LONGEST])
        limits = [f"-runs={options.executions}", f"-max_total_time={options.seconds:.0f}", f"-seed={options.seed}"]
        command = [sys.executable, "-m", "tests.fuzz.guided", target.name, *limits]
        ran = subprocess.run(
            [*command, f"-artifact_prefix={place}/", str(grown), str(begin)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        told = ran.stdout.decode("utf-8", "replace")
        executions = max((int(one or other) for one, other in _DONE.findall(told)), default=0)
        found = [" ".join(pair) for pair in _BROKEN.findall(told)]
        for path in Path(place).glob("*-*"):  # what libFuzzer itself calls a finding: too slow, too large
            if not found:
                found.append(f"{search.keep(target, path.read_bytes())} {path.name.partition('-')[0]}")
        if ran.returncode and not found:
            found.append(f"the search broke off: {told[-2000:]}")
        return executions, found


if __name__ == "__main__":
    sys.exit(main())
