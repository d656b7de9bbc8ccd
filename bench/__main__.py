"""``make bench``: what the library and the gateway cost, beside plain proxies, and with ``--peers`` beside others.

``--write`` puts the tables and the plot into ``docs/performance.md``, between its two marks.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import tempfile
from importlib.metadata import version
from pathlib import Path

import msgspec

from bench import gateway, library, plot
from bench.tables import Table

DOCS = Path(__file__).parent.parent / "docs"
_BEGIN, _END = "<!-- figures: made by make bench -->\n", "<!-- end of figures -->\n"


def machine() -> str:
    """Where the figures come from, and how busy it was."""
    model = next(
        (line.split(":")[1].strip() for line in _read("/proc/cpuinfo").splitlines() if line.startswith("model name")),
        platform.processor(),
    )
    found = subprocess.run(["/usr/sbin/nginx", "-v"], capture_output=True, text=True, check=False) if _nginx() else None
    names = ("msgspec", "uvloop", "httptools", "uvicorn", "aiohttp")
    packages = ", ".join(f"{name} {version(name)}" for name in names)
    nginx = f", {found.stderr.strip().removeprefix('nginx version: ')}" if found else ""
    busy = " and ".join(f"{load:.1f}" for load in os.getloadavg()[:2])
    return (
        f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}, Python {platform.python_version()}, "
        f"{packages}{nginx}. Load when it began (mean of 1 and of 5 minutes): {busy}."
    )


def _nginx() -> bool:
    return Path("/usr/sbin/nginx").exists()


def _read(file: str) -> str:
    return Path(file).read_text() if Path(file).exists() else ""


def figures(rounds: list[gateway.Round]) -> list[tuple[str, float, str]]:
    """The bars of the plot: microseconds for each delta."""
    found = []
    for name in rounds[0]:
        if name != gateway.NOBODY:
            reference = name in gateway.REFERENCES
            kind = "reference" if reference else "peer" if name.startswith(tuple(gateway.PEERS)) else "gateway"
            found.append((name, sorted(one[name]["cpu"] for one in rounds)[len(rounds) // 2], kind))
    return found


def write(where: str, tables: list[Table], bars: str) -> None:
    page = DOCS / "performance.md"
    before, _, rest = page.read_text().partition(_BEGIN)
    after = rest.partition(_END)[2]
    told = "\n\n".join((where, *(table.markdown() for table in tables)))
    page.write_text(f"{before}{_BEGIN}\n{told}\n\n{_END}{after}")
    (DOCS / "performance.svg").write_text(bars)


def main() -> None:
    usual = gateway.Wanted()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=usual.rounds)
    parser.add_argument("--streams", type=int, default=usual.streams, help=f"in all, {gateway.AT_ONCE} at a time")
    parser.add_argument("--deltas", type=int, default=usual.deltas, help="of text in each stream, one every 10 ms")
    parser.add_argument("--fragments", type=int, default=0, help="of a call's arguments behind them")
    parser.add_argument("--every-pair", action="store_true", help="not only those with chat on a side")
    parser.add_argument("--open-streams", type=int, default=usual.open_streams, help="for the memory of each; 0: none")
    parser.add_argument("--peers", type=Path, help="the virtual environment with them (make bench-peers)")
    parser.add_argument("--only", choices=("library", "gateway"))
    parser.add_argument("--write", action="store_true", help="into docs/performance.md")
    told = vars(parser.parse_args())
    only, writes = told.pop("only"), told.pop("write")
    where = machine()
    print(where)
    tables: list[Table] = []
    bars = ""

    def say(*made: Table) -> None:
        tables.extend(made)
        for table in made:
            print(f"\n{table.plain()}", flush=True)

    if only != "gateway":
        for make in library.TABLES:
            say(make())
    if only != "library":
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            folder.chmod(0o755)  # nginx's worker is somebody else
            wanted = gateway.Wanted(**told)
            rounds = gateway.measured(folder, wanted, wanted.streams, wanted.deltas)
            say(gateway.deltas(rounds))
            if wanted.peers is not None:
                say(gateway.beside_peers(rounds))
            alone = msgspec.structs.replace(wanted, peers=None)
            say(gateway.requests(gateway.measured(folder, alone, 10 * wanted.streams, 1)))
            say(gateway.process_table(folder, wanted.open_streams))
            bars = plot.bars("Processor time for each streamed delta", "µs", figures(rounds))
    if writes and only is None:
        write(where, tables, bars)


if __name__ == "__main__":
    main()
