"""``make bench``: deltas per second on one core for each pair, in process, and what an import costs.

Each read holds one event, as from a model that streams. The best of three runs counts.
"""

from __future__ import annotations

import subprocess
import sys
import time

from bench.streams import STREAMS
from dragoman import dialects
from dragoman.translate import Exchange

DELTAS = 20_000
TARGET = 50_000  # text deltas a second for each pair


def measured(upstream: str, client: str, reads: list[bytes]) -> float:
    """Seconds for decode, assembly and encode of a whole stream."""
    best = float("inf")
    for _ in range(3):
        exchange = Exchange(dialects.get(client), dialects.get(upstream), seed="bench", now=0)
        exchange.begin(streaming=True)
        exchange.receive_head(200, {})
        start = time.perf_counter()
        for read in reads:
            exchange.receive_data(read)
            exchange.data_to_send()
        exchange.receive_eof()
        exchange.data_to_send()
        best = min(best, time.perf_counter() - start)
        if exchange.error is not None:
            raise SystemExit(f"{upstream} to {client}: {exchange.error.message}")
    return best


def table(title: str, text: list[str], arguments: list[str]) -> None:
    """One figure for each pair: thousands of deltas a second."""
    names = dialects.names()
    print(f"\n{title} (thousand a second)\n{'':12}" + "".join(f"{'to ' + name:>14}" for name in names))
    for upstream in names:
        reads = STREAMS[upstream](text, arguments)
        speeds = [DELTAS / measured(upstream, client, reads) / 1000 for client in names]
        print(
            f"{'from ' + upstream:14}"
            + "".join(f"{speed:12.0f}{'' if speed * 1000 >= TARGET else '!':2}" for speed in speeds)
        )


def import_time() -> None:
    """Seconds from a bare interpreter to ``import dragoman`` and to its Translator."""
    for statement in ("pass", "import dragoman", "from dragoman import Translator"):
        code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
        runs = (
            subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)
        )
        print(f"{statement:34} {min(float(run.stdout) for run in runs) * 1000:7.1f} ms")


def main() -> None:
    text = [f" word{n % 97}" for n in range(DELTAS)]
    arguments = ['{"command": "', *["abcd" for _ in range(DELTAS - 2)], '"}']
    table("text deltas", text, [])
    table("argument fragments (gemini upstreams send calls whole)", [], arguments)
    print()
    import_time()


if __name__ == "__main__":
    main()
