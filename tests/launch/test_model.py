"""Which model an agent is told, and where the names lead that it asks for by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.commands.catalogue import Catalogue
from dragoman.gateway.discovery import discover
from dragoman.launch.agents import AGENTS
from dragoman.launch.model import NoModelError, aliases, choose

OPENAI = {"OPENAI_API_KEY": "sk-1"}
CLAUDE = {"ANTHROPIC_API_KEY": "sk-1"}
GOOGLE = {"GEMINI_API_KEY": "sk-1"}


def catalogue(folder: Path, *, text: str = "", **environment: str) -> Catalogue:
    if text:
        (folder / "dragoman.yaml").write_text(text)
    return Catalogue(discover(None, environment, folder))


# ---- keys in the environment alone


@pytest.mark.parametrize(
    ("agent", "environment"),
    [
        ("codex", OPENAI),
        ("claude", CLAUDE),
        ("gemini", GOOGLE),
        ("claude", {**OPENAI, "DRAGOMAN_MODELS": '{"claude-*": [openai/gpt-5]}'}),
        ("gemini", {**OPENAI, **CLAUDE, "DRAGOMAN_MODELS": '{"gemini-*": [openai/gpt-5, claude/claude-sonnet-5]}'}),
    ],
)
def test_the_agent_s_own_choice_leads_somewhere(tmp_path: Path, agent: str, environment: dict[str, str]) -> None:
    there = catalogue(tmp_path, **environment)
    assert choose(AGENTS[agent], None, there, None) is None
    assert aliases(AGENTS[agent], None, there) == {}


@pytest.mark.parametrize(
    ("agent", "environment"),
    [("claude", OPENAI), ("codex", CLAUDE), ("gemini", {**OPENAI, **GOOGLE}), ("opencode", OPENAI), ("claude", {})],
)
def test_it_has_to_be_told(tmp_path: Path, agent: str, environment: dict[str, str]) -> None:
    """That there is one upstream does not make it know the names of another vendor."""
    with pytest.raises(NoModelError, match="which model"):
        choose(AGENTS[agent], None, catalogue(tmp_path, **environment), None)


def test_other_names_follow_the_model(tmp_path: Path) -> None:
    there = catalogue(tmp_path, **OPENAI)
    assert choose(AGENTS["claude"], "openai/gpt-5", there, None) == "openai/gpt-5"
    assert aliases(AGENTS["claude"], "openai/gpt-5", there) == {"claude-*": ["openai/gpt-5"]}
    assert aliases(AGENTS["codex"], "openai/gpt-5", there) == {}  # its names are this upstream's own


# ---- with a file


FILE = """
upstreams:
  local: {dialect: chat, base_url: http://127.0.0.1:1/v1}
  other: {dialect: chat, base_url: http://127.0.0.1:1/v1}
models:
  fast: [local/a, other/b]
  "gemini-*": [local/g-*]
"""


def test_all_targets_are_taken_over(tmp_path: Path) -> None:
    there = catalogue(tmp_path, text=FILE)
    assert aliases(AGENTS["codex"], "fast", there) == {
        "gpt-*": ["local/a", "other/b"],
        "codex-*": ["local/a", "other/b"],
    }


def test_an_entry_that_fits_stays(tmp_path: Path) -> None:
    there = catalogue(tmp_path, text=FILE)
    assert choose(AGENTS["gemini"], None, there, None) is None
    assert aliases(AGENTS["gemini"], "fast", there) == {}


def test_the_only_name_is_taken(tmp_path: Path) -> None:
    there = catalogue(tmp_path, text=FILE)
    assert choose(AGENTS["opencode"], None, there, None) == "fast"


def test_an_unknown_name_has_neighbours(tmp_path: Path) -> None:
    there = catalogue(tmp_path, text=FILE)
    with pytest.raises(NoModelError, match=r"there is no model lokal/a .*did you mean .*local/a"):
        choose(AGENTS["codex"], "lokal/a", there, None)
