"""The agents themselves, launched from an empty home: one prompt, a tool of their own, an answer.

They are taken from where ``make .clients`` puts them, or from ``$CLIENTS_HOME``; who is not there is skipped.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.clients import install
from tests.launch.stage import DRAGOMAN, Stage, plain, run

MODEL = "local/demo/agent"
PROMPT = "Read the notes."
NO_PROXY_BUT = {"HTTP_PROXY": "http://127.0.0.1:1", "HTTPS_PROXY": "http://127.0.0.1:1"}
"""What asks outside of this machine meets a proxy that is not there."""

AGENTS: dict[str, tuple[str, list[str], set[str]]] = {
    "claude": ("claude-code", ["-p", PROMPT, "--dangerously-skip-permissions"], {".claude", ".claude.json"}),
    "codex": (
        "codex",
        ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", PROMPT],
        {".codex"},
    ),
    "gemini": ("gemini-cli", ["--yolo", "--skip-trust", "-p", PROMPT], {".local/state/dragoman"}),
    "opencode": (
        "opencode",
        ["run", PROMPT],
        {".config/opencode", ".local/share/opencode", ".local/state/opencode", ".cache/opencode", ".npm"},
    ),
    "pi": ("pi", ["-p", PROMPT], {".pi"}),
    "qwen": ("qwen", [PROMPT, "--yolo"], {".qwen"}),
}
"""Where each is installed, how it takes a prompt, and where in a home it keeps what is its own."""


def folder(*parts: str) -> Path:
    """A folder of programs; the test is skipped if it is at neither place."""
    homes = [os.environ.get("CLIENTS_HOME"), str(install.HOME)]
    found = [Path(home, *parts, "node_modules", ".bin") for home in homes if home]
    for one in found:
        if one.is_dir():
            return one
    pytest.skip(f"{parts[-1]} is not installed: make .clients, or set CLIENTS_HOME")


@pytest.mark.parametrize("agent", AGENTS)
def test_it_works_from_an_empty_home(stage: Stage, agent: str) -> None:
    group, arguments, own = AGENTS[agent]
    path = os.pathsep.join([str(folder("npm", group)), str(folder("node24")), "/usr/bin", "/bin"])
    command = [*DRAGOMAN, "launch", agent, "--log", str(stage.log), "--model", MODEL, "--", *arguments]
    environment = {**plain(), "HOME": str(stage.home), "PATH": path, "IS_SANDBOX": "1", **NO_PROXY_BUT}
    done = run(command, stage.work, environment)
    assert done.returncode == 0, done.stderr
    assert "This is what came back" in done.stdout
    finishes = [one.get("finish") for one in stage.requests()]
    assert finishes.count("tool_calls") == 1
    assert [file for file in written(stage.home) if not file.startswith(tuple(own))] == []


def written(home: Path) -> list[str]:
    return [
        one.relative_to(home).as_posix() for one in sorted(home.rglob("*")) if not stat.S_ISDIR(one.lstat().st_mode)
    ]
