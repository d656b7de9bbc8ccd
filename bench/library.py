"""What the library costs on one core, in process: each pair of dialects, each stage alone, growth, long histories.

Each read holds one event, as from a model that streams. Times are those of the processor; the best run counts.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

from bench.streams import STREAMS
from bench.tables import Table
from dragoman import dialects
from dragoman.canonical import events as e
from dragoman.streaming.answer import DecodeContext
from dragoman.streaming.body import BodyReader, StreamLimits
from dragoman.streaming.encoder import EncodeContext
from dragoman.streaming.ids import Ids
from dragoman.translate import Exchange
from dragoman.turn import UpstreamTurn

DELTAS = 20_000
TEXT, ARGUMENTS = 150_000, 100_000  # deltas and fragments a second, for each pair
RUNS = 3
IMPORT = 0.06  # seconds
NAMES = dialects.names()


def text(deltas: int = DELTAS) -> list[str]:
    return [f" word{n % 97}" for n in range(deltas)]


def arguments(fragments: int = DELTAS, size: int = 4) -> list[str]:
    return ['{"command": "', *["abcd"[:size]] * (fragments - 2), '"}']


def best(run: Callable[..., object], *given: object) -> float:
    """Seconds of the processor, in the best of the runs."""
    found = float("inf")
    for _ in range(RUNS):
        start = time.process_time()
        run(*given)
        found = min(found, time.process_time() - start)
    return found


def exchange(upstream: str, client: str) -> Exchange:
    made = Exchange(dialects.get(client), dialects.get(upstream), seed="bench", now=0)
    made.begin(streaming=True)
    made.receive_head(200, {})
    return made


def carry(upstream: str, client: str, reads: list[bytes]) -> None:
    """A whole stream from bytes to bytes."""
    carried = exchange(upstream, client)
    for read in reads:
        carried.receive_data(read)
        carried.data_to_send()
    carried.receive_eof()
    if carried.error is not None:
        raise SystemExit(f"{upstream} to {client}: {carried.error.message}")


# ------------------------------------------------------------------ pairs


def pairs(title: str, said: tuple[list[str], list[str]], target: float) -> Table:
    """Thousands of deltas a second."""
    table = Table(title, ["", *(f"to {name}" for name in NAMES)])
    for upstream in NAMES:
        reads = STREAMS[upstream](*said)
        if len(reads) < DELTAS:  # gemini upstreams send calls whole
            continue
        speeds = [DELTAS / best(carry, upstream, client, reads) for client in NAMES]
        table.add(f"from {upstream}", *(table.mark(speed / 1000, speed >= target, ".0f") for speed in speeds))
    return table


# ------------------------------------------------------------------ stages


def stages() -> Table:
    """Microseconds for each text delta."""
    table = Table(
        "Each stage alone, for a text delta (µs; bytes kept of each)",
        ["", "framing", "all of reading", "reading a repetition", "encoding", "kept of pair with itself"],
    )
    for name in NAMES:
        reads = STREAMS[name](text(), [])
        table.add(
            name,
            f"{best(framed, reads) / DELTAS * 1e6:.2f}",
            f"{best(assembled, name, reads, False) / DELTAS * 1e6:.2f}",
            f"{best(assembled, name, reads, True) / DELTAS * 1e6:.2f}",
            f"{best(encoded, name) / DELTAS * 1e6:.2f}",
            f"{kept(name):.0f} bytes",
        )
    return table


def framed(reads: list[bytes]) -> None:
    body = BodyReader(StreamLimits())
    for read in reads:
        body.feed(read)


def assembled(name: str, reads: list[bytes], repeats: bool) -> None:
    """``repeats``: as it is; else each event is decoded, as where none is like the last."""
    context = DecodeContext(origin=name, ids=Ids("bench"))
    turn = UpstreamTurn(dialects.get(name), context, StreamLimits(), 0)
    turn.receive_head(200, {})
    for read in reads:
        turn.receive_data(read)
        if not repeats:
            turn._go_on = None


def encoded(name: str) -> None:
    encoder = dialects.get(name).encoder(EncodeContext(model="m", ids=Ids("bench"), now=0))
    encoder.encode([e.ResponseStart(id="r", model="m", origin="chat"), e.TextStart()])
    for word in text():
        encoder.encode([e.TextDelta(word)])


def kept(name: str) -> float:
    """Bytes that are still held for each delta of an open stream."""
    reads = STREAMS[name](text(), [])
    carried = exchange(name, name)
    tracemalloc.start()
    for read in reads[: DELTAS // 2]:
        carried.receive_data(read)
        carried.data_to_send()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held / (DELTAS // 2)


# ------------------------------------------------------------------ growth


def growth() -> Table:
    """Microseconds for each delta at the beginning of a long stream and at its end."""
    table = Table("Growth: µs for each delta in the second and in the last tenth", ["", "second", "last", "ratio"])
    streams = {
        "100,000 text deltas": (text(100_000), []),
        "1 MB of arguments, 4 bytes each": ([], arguments(262_144)),
        "256 kB of arguments, 1 character each": ([], arguments(262_144, 1)),
        "the same, of numbers": ([], ["[", *["1", ","] * 131_072, "1]"]),
    }
    for title, said in streams.items():
        for upstream, client in (("chat", "messages"), ("responses", "chat")):
            times = tenths(upstream, client, STREAMS[upstream](*said))
            ratio = times[-1] / times[1]
            table.add(
                f"{title}, {upstream} to {client}",
                f"{times[1]:.2f}",
                f"{times[-1]:.2f}",
                table.mark(ratio, ratio < 1.25, ".2f"),
            )
    return table


def tenths(upstream: str, client: str, reads: list[bytes]) -> list[float]:
    """Microseconds for a delta in each tenth of a stream."""
    size = len(reads) // 10
    found = [float("inf")] * 10
    for _ in range(2):
        carried = exchange(upstream, client)
        for tenth in range(10):
            start = time.process_time()
            for read in reads[tenth * size : (tenth + 1) * size]:
                carried.receive_data(read)
                carried.data_to_send()
            found[tenth] = min(found[tenth], (time.process_time() - start) / size * 1e6)
    return found


# ------------------------------------------------------------------ requests


def history(turns: int) -> dict[str, Any]:
    """A chat request with so many turns, of 2.5 kB each, every fourth one a call and its result."""
    page = 'The quick brown fox jumps over the lazy dog; \'tis 20 °C, said "she".\n' * 36
    messages: list[dict[str, Any]] = []
    while len(messages) < turns:
        number = len(messages)
        call = {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": "run", "arguments": '{"command":"ls"}'},
        }
        messages += [
            {"role": "user", "content": page},
            {"role": "assistant", "content": page, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{number}", "content": page},
            {"role": "assistant", "content": page},
        ]
    messages.append({"role": "user", "content": page})
    schema = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
    tools = [{"type": "function", "function": {"name": "run", "description": "Runs it", "parameters": schema}}]
    return {"model": "m", "stream": True, "messages": messages, "tools": tools}


def asked(client: str, turns: int) -> dict[str, Any]:
    """The same in another dialect."""
    if client == "chat":
        return history(turns)
    body = Exchange(dialects.get("chat"), dialects.get(client), seed="bench", now=0).request(history(turns), "m").body
    return {**body, "stream": True} if client != "gemini" else dict(body)


def translated(client: str, upstream: str, raw: bytes) -> None:
    """A request from bytes to bytes."""
    made = Exchange(dialects.get(client), dialects.get(upstream), seed="bench", now=0).request(
        json.loads(raw), "m", path_model="m", path_stream=True
    )
    json.dumps(made.body)


def histories() -> Table:
    table = Table(
        "Requests of 200 turns and 500 kB (ms; in brackets: times that of half as many)",
        ["client", *(f"to {name}" for name in NAMES)],
    )
    for client in NAMES:
        whole, half = (json.dumps(asked(client, turns)).encode() for turns in (200, 100))
        cells = []
        for upstream in NAMES:
            long, short = (best(translated, client, upstream, raw) for raw in (whole, half))
            cells.append(f"{long * 1000:.1f} ({long / short:.1f})")
        table.add(client, *cells)
    return table


# ------------------------------------------------------------------ imports


def imports() -> Table:
    """Milliseconds from a bare interpreter."""
    table = Table("Imports (ms)", ["", "best of 5"])
    for statement in ("import dragoman", "from dragoman import Translator"):
        code = f"import time; t = time.process_time(); {statement}; print(time.process_time() - t)"
        runs = [
            subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)
        ]
        seconds = min(float(run.stdout) for run in runs)
        table.add(f"`{statement}`", table.mark(seconds * 1000, seconds <= IMPORT or "Translator" in statement, ".1f"))
    return table


TABLES: tuple[Callable[[], Table], ...] = (
    lambda: pairs("Text deltas, thousands a second (at least 150)", (text(), []), TEXT),
    lambda: pairs("Fragments of arguments, thousands a second (at least 100)", ([], arguments()), ARGUMENTS),
    stages,
    growth,
    histories,
    imports,
)
"""What makes each table."""
