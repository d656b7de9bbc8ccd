"""What the pages of the agents say: the table, the lines to start one by hand, and what is lost on the way."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from dragoman.cli import main
from dragoman.launch import agents, command
from dragoman.launch.agents import AGENTS
from tests.docs.pages import DOCS_OF_AGENTS, blocks, matches, name_of
from tests.roundtrips.captures import LOSSES

MODEL = "local/qwen3-coder"
CONFIG = "upstreams: {local: {dialect: chat, base_url: http://127.0.0.1:8000/v1}}\n"
_MARK = re.compile(r"^<!-- losses (?P<captures>[\w -]+) -->\n\n(?P<table>(?:\|.*\n)+)", re.MULTILINE)
_CALLED = {"compat": "chat", "title": "chat", "anthropic": "messages", "google": "gemini"}
"""Endings of the names of captures that are not the name of a dialect."""
_SPOKEN = {"cli-claude": "messages", "cli-codex": "responses", "cli-gemini": "gemini", "cli-aider": "chat"}


def rows(table: str) -> list[tuple[str, ...]]:
    """The rows of a table, without its head."""
    return [tuple(cell.strip() for cell in line.split("|")[1:-1]) for line in table.splitlines()[2:]]


# ---- the table


def test_every_agent_is_in_the_table() -> None:
    page = DOCS_OF_AGENTS / "README.md"
    table = re.findall(r"^\| agent \|.*\n(?:\|.*\n)+", page.read_text("utf-8"), re.MULTILINE)[0]
    found = [row[:4] for row in rows(table)]
    assert found == [
        (
            agent.title,
            f"`{name}`",
            ", ".join(agent.dialects),
            ", ".join(f"`{pattern}`" for pattern in agent.patterns) or "–",
        )
        for name, agent in AGENTS.items()
    ]


@pytest.mark.parametrize("name", AGENTS)
def test_two_lines(name: str) -> None:
    """How to install it, and how to launch it."""
    texts = [page.read_text("utf-8") for page in DOCS_OF_AGENTS.glob("*.md")]
    lines = f"```sh\n{AGENTS[name].install}\ndragoman launch {name} --model {MODEL}\n```"
    assert sum(lines in text for text in texts) == 1


def test_help_names_all() -> None:
    assert f" {'|'.join(AGENTS)} " in CliRunner().invoke(main, ["launch", "--help"]).output


# ---- by hand


@pytest.mark.parametrize("name", AGENTS)
def test_lines_to_start_it_by_hand(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(command, "running", lambda *_: None)  # whatever may run there
    for variable in [one for one in os.environ if one.startswith(("DRAGOMAN_", "XDG_", "GEMINI_"))]:
        monkeypatch.delenv(variable)
    for variable in [one for one in os.environ if one.lower().endswith("_proxy")]:
        monkeypatch.delenv(variable)
    (tmp_path / "dragoman.yaml").write_text(CONFIG)
    done = CliRunner().invoke(main, ["launch", name, "--model", MODEL, "--print-env"])
    assert done.exit_code == 0, done.output
    printed = [line for line in done.stdout.splitlines() if not line.startswith("# first: ")]
    real = "\n".join(printed).replace(str(tmp_path), "$HOME")
    (block,) = (one for one in blocks("given", "sh") if one.name == name)
    assert matches(block.text, real.replace(str(Path(agents.__file__).parents[2]), "…")), real


# ---- what does not cross


def losses(captures: list[str]) -> Iterator[tuple[str, str, str]]:
    """The dialect that the agent asks in, what it says, and the upstream that it is lost at."""
    for title, found in json.loads(LOSSES.read_text("utf-8")).items():
        capture, _, upstream = title.partition(" to ")
        if capture in captures:
            for loss in found:
                yield dialect_of(capture), re.sub(r"\d+", "", loss.partition(": ")[0]), upstream


def dialect_of(capture: str) -> str:
    spoken = [dialect for start, dialect in _SPOKEN.items() if capture.startswith(start)]
    last = capture.rpartition("-")[2]
    return spoken[0] if spoken else _CALLED.get(last, last)


@pytest.mark.parametrize("page", sorted(DOCS_OF_AGENTS.glob("*.md")), ids=name_of)
def test_losses(page: Path) -> None:
    """Each is told, with the upstreams at which it is lost, and no other."""
    tables = list(_MARK.finditer(page.read_text("utf-8")))
    assert len(tables) == (page.name != "README.md")
    for found in tables:
        real: dict[tuple[str, str], set[str]] = {}
        for asked, what, upstream in losses(found["captures"].split()):
            real.setdefault((asked, f"`{what}`"), set()).add(upstream)
        told = {(asked, what): set(upstreams.split(", ")) for asked, what, upstreams, _ in rows(found["table"])}
        assert told == real
        assert all(meaning for *_, meaning in rows(found["table"]))


def test_captures_are_known() -> None:
    recorded = {title.partition(" to ")[0] for title in json.loads(LOSSES.read_text("utf-8"))}
    named = {
        one
        for page in DOCS_OF_AGENTS.glob("*.md")
        for found in _MARK.finditer(page.read_text("utf-8"))
        for one in found["captures"].split()
    }
    assert named <= recorded
