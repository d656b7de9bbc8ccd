"""A scripted upstream, a gateway for each of its dialects, and real clients that are run between them.

The clients' drivers and the upstream's scenarios are those of the neighbouring folder ``../shared/clients``;
they are called, not copied.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman import dialects
from tests.neighbour import PLACE

HARNESS = PLACE / "clients"
MODEL = "scripted-model"
ERRORS = ("the upstream", "Server error mid-response")
"""In what a client says of a broken answer: the gateway's words, which name who broke it, or Claude Code's own."""
NEW_FILE = "apply_patch"
"""The freeform tool that Codex is asked to use in ``cli-codex-patch``."""

needed = pytest.mark.skipif(
    not HARNESS.is_dir(), reason=f"there is no folder of clients in {PLACE}: set DRAGOMAN_SHARED"
)
"""For tests that cannot do without the drivers of the clients."""


def driver() -> Any:
    """The neighbour's module that runs one client."""
    if str(HARNESS) not in sys.path:
        sys.path.append(str(HARNESS))
    return importlib.import_module("run_client")


class Case(msgspec.Struct, frozen=True, order=True):
    """One run: which client, what the upstream speaks and does, whether the client streams, which model it asks."""

    client: str
    upstream: str
    scenario: str = "clean"
    stream: bool = True
    model: str = MODEL

    @property
    def broken(self) -> bool:
        """Whether the upstream's answer breaks the rules of its own dialect."""
        return self.scenario.startswith("bad-")

    @property
    def calls(self) -> int:
        """How many tool calls the answer holds. Of a freeform tool there is one only: it has no scenarios."""
        if self.client == "cli-codex-patch" and self.upstream == "responses":
            return 1
        return 2 if {"parallel", "interleaved"} & set(self.scenario.split("-")) else 1


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a run. ``requests`` are those that reached the upstream: dialect, round of tools, streamed."""

    case: Case
    ok: bool
    version: str = ""
    error: str = ""
    text: str = ""
    calls: list[Any] = []
    seconds: float = 0.0
    requests: list[str] = []

    @property
    def told(self) -> bool:
        """Whether an answer that is beyond repair ended in an error that says so, and no call was made up."""
        said = any(words in self.error for words in ERRORS)
        return self.case.broken and said and len(self.calls) <= self.case.calls


class Stage:
    """An upstream and gateways that are started when they are first needed; ``home`` is where the clients are."""

    def __init__(self, home: Path, folder: Path) -> None:
        self._home = home
        self._folder = folder
        self._gateways: dict[str, tuple[subprocess.Popen[bytes], str]] = {}
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        if str(HARNESS) not in sys.path:
            sys.path.append(str(HARNESS))
        self.upstream = importlib.import_module("scripted_upstream").ScriptedUpstream()
        asyncio.run_coroutine_threadsafe(self.upstream.start(0), self._loop).result()

    def close(self) -> None:
        for process, _ in self._gateways.values():
            process.terminate()
        for process, _ in self._gateways.values():
            process.wait()
        asyncio.run_coroutine_threadsafe(self.upstream.stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)

    def run(self, case: Case, seconds: int = 60, direct: bool = False) -> Outcome:
        """Runs the client through the gateway, or ``direct`` on the upstream, as a control of the client itself."""
        self.upstream.scenario = case.scenario
        self.upstream.prefer_tool = NEW_FILE if "patch" in case.client else ""
        first = len(self.upstream.requests)
        url = f"http://127.0.0.1:{self.upstream.port}" if direct else self._gateway(case.upstream)
        told = self._told(case, url, seconds)
        return Outcome(
            case=case,
            ok=told["ok"],
            version=told.get("version", ""),
            error=told["error"],
            text=told.get("text") or "",
            calls=told.get("tool_calls", []),
            seconds=told.get("seconds", 0.0),
            requests=[_seen(request) for request in self.upstream.requests[first:]],
        )

    def _told(self, case: Case, url: str, seconds: int) -> dict[str, Any]:
        """What the driver says of one run."""
        command = [sys.executable, str(HARNESS / "run_client.py"), case.client, "--base-url", url]
        command += ["--model", case.model, "--expect-calls", str(case.calls), "--timeout", str(seconds)]
        command += [] if case.stream else ["--no-stream"]
        environment = {**os.environ, "CLIENTS_HOME": str(self._home)}
        done = subprocess.run(command, env=environment, capture_output=True, check=False)
        try:
            told: dict[str, Any] = json.loads(done.stdout)
        except ValueError:
            return {"ok": False, "error": done.stderr.decode(errors="replace")[-800:]}
        return told

    def _gateway(self, dialect: str) -> str:
        if dialect not in self._gateways:
            self._gateways[dialect] = self._start(dialect)
        process, url = self._gateways[dialect]
        assert process.poll() is None, f"the gateway ended with status {process.returncode}"
        return url

    def _start(self, dialect: str) -> tuple[subprocess.Popen[bytes], str]:
        base = f"http://127.0.0.1:{self.upstream.port}{dialects.get(dialect).base_path}"
        file = self._folder / f"{dialect}.yaml"
        file.write_text(json.dumps({"upstreams": {"scripted": {"dialect": dialect, "base_url": base}}}))
        with (self._folder / f"{dialect}.log").open("ab") as log:
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-c",
                    "from dragoman.cli import main; main()",
                    "serve",
                    "--port",
                    "0",
                    "--config",
                    str(file),
                ],
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                stdout=subprocess.PIPE,
                stderr=log,
            )
        assert process.stdout
        greeting = process.stdout.readline().decode()
        assert "http://" in greeting, f"the gateway did not start: {Path(log.name).read_text()[-2000:]}"
        threading.Thread(target=process.stdout.read, daemon=True).start()
        return process, "http://" + greeting.split("http://")[1].split()[0]


@contextlib.contextmanager
def stage(home: Path, folder: Path) -> Iterator[Stage]:
    """A stage with its logs in ``folder``."""
    made = Stage(home, folder)
    try:
        yield made
    finally:
        made.close()


def _seen(request: dict[str, Any]) -> str:
    how = " streamed" if request.get("stream") else ""
    return f"{request['dialect'] or request['path']} {request['answer']}{how}"
