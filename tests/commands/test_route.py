"""``dragoman route`` and ``dragoman models``: what a configuration makes of names."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dragoman.cli import main
from dragoman.gateway.discovery import discover

CONFIG = """
upstreams:
  local:
    dialect: chat
    base_url: http://127.0.0.1:8000/v1
    accepts: {structured_output: false, wants_reasoning: false}
    models: {"*-thinking": {accepts: {wants_reasoning: true}}}
  claude: {dialect: messages, base_url: https://api.anthropic.com, api_key: sk-secret}
models:
  fast: [local/qwen3-thinking, claude/claude-haiku-5]
  "claude-*": [claude/claude-*]
"""
ONE = "upstreams: {local: {dialect: chat, base_url: http://127.0.0.1:8000/v1}}"


def run(folder: Path, line: str, text: str = CONFIG) -> Result:
    file = folder / "dragoman.yaml"
    file.write_text(text)
    done = CliRunner().invoke(main, [*line.split(), "--config", str(file)])
    assert "sk-secret" not in done.output
    return done


def routed(folder: Path, line: str, text: str = CONFIG) -> Any:
    return json.loads(run(folder, f"route {line} --json", text).stdout)


# ---- route


@pytest.mark.parametrize(
    ("name", "text", "reason", "entry", "target"),
    [
        ("fast", CONFIG, "exact name", "fast", "local/qwen3-thinking"),
        ("claude-sonnet-5", CONFIG, "pattern", "claude-*", "claude/claude-sonnet-5"),
        ("local/org/model", CONFIG, "direct address", "local", "local/org/model"),
        ("anything", ONE, "only upstream", "local", "local/anything"),
    ],
)
def test_why(tmp_path: Path, name: str, text: str, reason: str, entry: str, target: str) -> None:
    found = routed(tmp_path, name, text)
    assert (found["reason"], found["entry"]) == (reason, entry)
    first = found["targets"][0]
    assert f"{first['upstream']}/{first['model']}" == target


def test_facts_say_who_says_so(tmp_path: Path) -> None:
    local, claude = routed(tmp_path, "fast")["targets"]
    assert local["facts"] == {
        "structured_output": {"value": False, "from": "accepts of the upstream"},
        "wants_reasoning": {"value": True, "from": "accepts of its models '*-thinking'"},
    }
    assert claude["facts"]["thinking"]["value"] == "adaptive"
    assert claude["facts"]["thinking"]["from"].startswith("preset: Anthropic, ")


def test_in_words(tmp_path: Path) -> None:
    done = run(tmp_path, "route fast --dialect messages")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[:3] == [
        f"fast: the name stands under models ({tmp_path}/dragoman.yaml)",
        "1. local/qwen3-thinking  (chat, http://127.0.0.1:8000/v1)",
        "   a messages client: translated",
    ]
    assert "   a messages client: in its own dialect, with the least change" in lines
    assert lines[-1] == "tried in this order"


@pytest.mark.parametrize(("name", "near"), [("fsat", "fast"), ("claud/opus", "claude/opus"), ("lokal/m", "local/m")])
def test_unknown(tmp_path: Path, name: str, near: str) -> None:
    done = run(tmp_path, f"route {name}")
    assert (done.exit_code, done.stdout) == (1, "")
    assert near in done.stderr.partition("did you mean")[2]
    assert near in routed(tmp_path, name)["near"]


def test_the_demo_knows_its_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    demo(tmp_path, monkeypatch)
    assert CliRunner().invoke(main, ["route", "demo/agent"]).exit_code == 0
    assert CliRunner().invoke(main, ["route", "agent"]).exit_code == 0
    done = CliRunner().invoke(main, ["route", "demo/agnt"])
    assert done.exit_code == 1
    assert "did you mean demo/agent" in done.stderr


# ---- models


def test_the_list(tmp_path: Path) -> None:
    assert run(tmp_path, "models").stdout.splitlines()[1:] == [
        "  fast      local/qwen3-thinking, claude/claude-haiku-5",
        "  claude-*  claude/claude-*",
        "  local/*   any model of local (chat, http://127.0.0.1:8000/v1)",
        "  claude/*  any model of claude (messages, https://api.anthropic.com)",
    ]
    listed = json.loads(run(tmp_path, "models --json").stdout)["models"]
    assert [one["kind"] for one in listed] == ["name", "pattern", "address", "address"]
    assert listed[1]["targets"] == ["claude/claude-*"]


def test_the_only_upstream_takes_any_name(tmp_path: Path) -> None:
    assert run(tmp_path, "models", ONE).stdout.splitlines()[-1] == "  *        any other name: a model of local"


def test_the_demo_lists_its_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    demo(tmp_path, monkeypatch)
    assert "  demo/agent  " in CliRunner().invoke(main, ["models"]).stdout


@pytest.mark.parametrize("line", ["route fast", "models"])
def test_a_wrong_configuration(tmp_path: Path, line: str) -> None:
    done = run(tmp_path, line, "upstreams: {}\nmodles: {}")
    assert done.exit_code == 2
    first, *rest = done.stderr.splitlines()
    assert re.fullmatch(r"dragoman: .*\.yaml has mistakes:", first)
    assert "  modles: unknown key; did you mean models?" in rest


# ---- names from the environment


KEYS = {"OPENAI_API_KEY": "sk-secret", "DRAGOMAN_MODELS": '{"claude-*": [openai/gpt-5], fast: [openai/gpt-5-mini]}'}


def test_names_beside_keys_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    demo(tmp_path, monkeypatch, **KEYS)
    done = CliRunner().invoke(main, ["route", "claude-haiku-4-5", "--json"])
    assert json.loads(done.stdout)["targets"][0]["model"] == "gpt-5"
    assert "  fast      openai/gpt-5-mini" in CliRunner().invoke(main, ["models"]).stdout


def test_names_of_the_file_count_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_MODELS", "{fast: [claude/a], slow: [claude/b]}")
    assert routed(tmp_path, "fast")["targets"][0]["model"] == "qwen3-thinking"
    assert routed(tmp_path, "slow")["targets"][0]["model"] == "b"


def test_names_are_kept_when_the_file_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "dragoman.yaml").write_text(CONFIG)
    environment = {"DRAGOMAN_MODELS": "{slow: [claude/b]}"}
    found = discover(None, environment, tmp_path).again(environment)
    assert found.settings.models["slow"] == ["claude/b"]
    assert "fast" in found.settings.models


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("{fast: [opnai/gpt-5]}", "DRAGOMAN_MODELS.fast[0]: there is no upstream 'opnai'; did you mean openai?"),
        ("{fast: []}", "DRAGOMAN_MODELS.fast: expected at least one target"),
        ("{fast: openai/gpt-5}", "DRAGOMAN_MODELS.fast: expected a list"),
        ("fast", "DRAGOMAN_MODELS: expected keys with values"),
        ("{", "DRAGOMAN_MODELS: line 1, column 2: not YAML"),
    ],
)
def test_mistakes_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, said: str) -> None:
    demo(tmp_path, monkeypatch, **{**KEYS, "DRAGOMAN_MODELS": value})
    done = CliRunner().invoke(main, ["models"])
    assert done.exit_code == 2
    assert f"  {said}" in done.stderr


def demo(folder: Path, monkeypatch: pytest.MonkeyPatch, **variables: str) -> None:
    """No file, and no variables but these."""
    monkeypatch.chdir(folder)
    for name in [name for name in os.environ if name.endswith("_API_KEY") or name.startswith("DRAGOMAN_")]:
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
