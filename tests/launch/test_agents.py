"""What each agent is given leads it to the gateway, in the dialect that it speaks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.launch.agents import AGENTS
from tests.launch.stage import Done, Stage

MODEL = "local/demo/chat"
SECRET = "sk-of-the-gateway"
EACH = [(name, dialect) for name, agent in AGENTS.items() for dialect in agent.dialects]


def asked(done: Done) -> list[dict[str, object]]:
    assert done.status == 0, done.said
    answers: list[dict[str, object]] = done.printed[1]
    return answers


@pytest.mark.parametrize(("agent", "dialect"), EACH)
def test_leads_to_the_gateway(stage: Stage, agent: str, dialect: str) -> None:
    done = stage.launch(agent, "--model", MODEL, "--dialect", dialect, "--", "--an-option", "a word")
    answers = asked(done)
    assert done.printed[0]["arguments"][-2:] == ["--an-option", "a word"]
    assert answers[0]["model"] == MODEL
    assert [one["status"] for one in answers] == [200] * len(answers), answers
    assert all("Hello" in str(one["text"]) for one in answers)  # the demo repeats what it was told
    records = stage.requests()
    assert {one["client"] for one in records} == {dialect}
    assert {one["upstream"] for one in records} == {MODEL}  # the names for small work too


@pytest.mark.parametrize("agent", AGENTS)
def test_nothing_is_written_to_the_home(stage: Stage, agent: str) -> None:
    stage.launch(agent, "--model", MODEL)
    own = [".local/state/dragoman/gemini/.gemini/settings.json"] if AGENTS[agent].home else []
    assert stage.files() == own


@pytest.mark.parametrize("agent", AGENTS)
def test_keys_are_given_and_not_shown(tmp_path: Path, upstream: str, agent: str) -> None:
    stage = Stage(tmp_path, upstream, keys=["$GATE"])
    done = stage.launch(agent, "--model", MODEL, GATE=SECRET)
    assert {one["status"] for one in asked(done)} == {200}
    assert done.printed[0]["key"] == SECRET
    assert SECRET not in done.said
    assert "=***" in done.said
    assert SECRET not in " ".join(done.printed[0]["arguments"])  # other users see what a process is called with


def test_configured_names_and_patterns(tmp_path: Path, upstream: str) -> None:
    models = {"fast": [MODEL], "claude-*": ["local/demo/usage"], "gpt-*": [MODEL], "codex-*": [MODEL]}
    stage = Stage(tmp_path, upstream, models=models)
    for agent, options, upstreams in (
        ("claude", [], ["local/demo/usage"] * 3),  # its own names, as they are
        ("claude", ["--model", "fast"], [MODEL, MODEL, "local/demo/usage"]),
        ("codex", [], [MODEL, MODEL]),
    ):
        stage.log.unlink(missing_ok=True)
        assert {one["status"] for one in asked(stage.launch(agent, *options))} == {200}
        assert [one["upstream"] for one in stage.requests()] == upstreams


@pytest.mark.parametrize(
    ("agent", "upstreams"),
    [
        ("claude", ["x-sonnet-4-5", "x-haiku-4-5-20251001", "x-of-a-later-version"]),
        ("codex", ["x-5.5", "y-auto-review"]),
        ("gemini", ["x-2.5-pro", "x-3.5-flash-lite"]),
    ],
)
def test_patterns_carry_over_what_the_agent_asks_for(
    tmp_path: Path, upstream: str, agent: str, upstreams: list[str]
) -> None:
    carried = {"claude-*": ["local/x-*"], "gpt-*": ["local/x-*"], "codex-*": ["local/y-*"], "gemini-*": ["local/x-*"]}
    stage = Stage(tmp_path, upstream, models=carried)
    asked(stage.launch(agent))
    assert [one["upstream"] for one in stage.requests()] == [f"local/{name}" for name in upstreams]


def test_the_only_name_is_taken(tmp_path: Path, upstream: str) -> None:
    stage = Stage(tmp_path, upstream, models={"fast": [MODEL]})
    assert asked(stage.launch("pi"))[0]["model"] == "fast"


# ---- what is particular to one of them


def test_claude_settings_of_the_user_do_not_lead_elsewhere(stage: Stage) -> None:
    settings = stage.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    before = json.dumps({"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:1", "ANTHROPIC_MODEL": "claude-x"}})
    settings.write_text(before)
    assert asked(stage.launch("claude", "--model", MODEL, ANTHROPIC_API_KEY="sk-own"))[0]["model"] == MODEL
    assert settings.read_text() == before


def test_gemini_has_the_user_s_settings(stage: Stage) -> None:
    own = stage.home / ".gemini"
    (own / "commands").mkdir(parents=True)
    before = json.dumps({"ui": {"theme": "Ayu"}, "security": {"auth": {"selectedType": "oauth-personal"}, "x": 1}})
    (own / "settings.json").write_text(before)
    (own / "GEMINI.md").write_text("Be brief.")
    for _ in range(2):  # made, and there already
        assert asked(stage.launch("gemini", "--model", MODEL))[0]["status"] == 200
    made = stage.home / ".local/state/dragoman/gemini/.gemini"
    assert json.loads((made / "settings.json").read_text()) == {
        "ui": {"theme": "Ayu"},
        "security": {"auth": {"selectedType": "gemini-api-key"}, "x": 1},
    }
    assert (made / "settings.json").stat().st_mode & 0o777 == 0o600
    assert (made / "GEMINI.md").read_text() == "Be brief."
    assert (made / "commands").is_dir()
    assert (own / "settings.json").read_text() == before


def test_gemini_settings_that_cannot_be_read(stage: Stage) -> None:
    own = stage.home / ".gemini"
    own.mkdir()
    (own / "settings.json").write_text("{ // a comment\n}")
    done = stage.launch("gemini", "--model", MODEL)
    assert asked(done)[0]["status"] == 200
    assert "settings.json does not count" in done.said


def test_a_proxy_is_passed_by(stage: Stage) -> None:
    """Node's clients send what is for this machine through a proxy too, unless they are told not to."""
    (stage.bin / "claude").write_text('#!/bin/sh\necho "[\\"$NO_PROXY\\", \\"$no_proxy\\"]"\n')
    proxies = {"HTTPS_PROXY": "http://127.0.0.1:1", "NO_PROXY": "llm.example"}
    done = stage.launch("claude", "--model", MODEL, **proxies)
    assert done.printed == [["llm.example,127.0.0.1,localhost,::1"] * 2]
    assert stage.launch("claude", "--model", MODEL).printed == [["", ""]]
