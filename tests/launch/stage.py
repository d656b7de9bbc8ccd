"""Where launches are tried: an empty home, programs under the agents' names, and a model server to lead to."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from dragoman.launch.agents import AGENTS

DRAGOMAN = (sys.executable, "-c", "from dragoman.cli import main; main()")
PRETEND = Path(__file__).with_name("pretend.py")
NOWHERE = "127.0.0.1:1"
"""Nothing listens there: no gateway that runs already is found by a launch that is not meant to find one."""


@contextlib.contextmanager
def serving(*options: str, folder: Path | None = None, **variables: str) -> Iterator[str]:
    """``dragoman serve`` on a port of its own; gives ``HOST:PORT``."""
    with subprocess.Popen(
        [*DRAGOMAN, "serve", "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=folder,
        env={**plain(), **variables},
    ) as process:
        try:
            assert process.stdout
            yield process.stdout.readline().split("http://")[1].split()[0]
        finally:
            process.kill()


def plain() -> dict[str, str]:
    """This environment without what configures gateways and agents."""
    last, first = ("_API_KEY", "_BASE_URL", "_PROXY", "_proxy"), ("DRAGOMAN_", "XDG_", "GEMINI_", "CLAUDE_")
    return {name: value for name, value in os.environ.items() if not name.endswith(last) and not name.startswith(first)}


def run(command: Sequence[str], folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs a program without input, to its end."""
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


class Done(msgspec.Struct, frozen=True):
    """What came of a launch: its exit status, what the agent printed, what ``launch`` said."""

    status: int
    printed: list[Any]
    said: str


class Stage:
    """One home, with one configuration."""

    def __init__(self, folder: Path, upstream: str, listen: str = NOWHERE, **more: Any) -> None:
        self.home, self.work, self.bin = folder / "home", folder / "work", folder / "bin"
        for one in (self.home, self.work, self.bin):
            one.mkdir()
        for name in AGENTS:
            (self.bin / name).write_text(f'#!/bin/sh\nexec {sys.executable} {self.bin}/.{name}/{name} "$@"\n')
            (self.bin / name).chmod(0o755)
            (self.bin / f".{name}").mkdir()
            (self.bin / f".{name}" / name).symlink_to(PRETEND)
        settings = {
            "listen": listen,
            "upstreams": {"local": {"dialect": "chat", "base_url": f"http://{upstream}/v1"}, "other": OTHER},
            **more,
        }
        self.config = self.work / "dragoman.yaml"
        self.config.write_text(json.dumps(settings))
        self.log = folder / "gateway.log"

    def environment(self, **variables: str) -> dict[str, str]:
        places = {"HOME": str(self.home), "PATH": f"{self.bin}:/usr/bin:/bin"}
        return {**plain(), **places, **variables}

    def launch(self, agent: str, *options: str, **variables: str) -> Done:
        done = run(self.command(agent, *options), self.work, self.environment(**variables))
        assert "Traceback" not in done.stderr, done.stderr
        printed = [json.loads(line) for line in done.stdout.splitlines() if line[:1] in "[{"]
        return Done(done.returncode, printed, done.stderr)

    def command(self, agent: str, *options: str) -> list[str]:
        return [*DRAGOMAN, "launch", agent, "--log", str(self.log), *options]

    def requests(self) -> list[dict[str, Any]]:
        """The access log of the gateway that was started."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def files(self) -> list[str]:
        """What lies in the home."""
        return sorted(one.relative_to(self.home).as_posix() for one in self.home.rglob("*") if not one.is_dir())


OTHER = {"dialect": "chat", "base_url": "http://127.0.0.1:1/v1"}
"""A second upstream, so that no name leads somewhere only because there is one."""
