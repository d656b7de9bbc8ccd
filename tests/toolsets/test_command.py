"""``dragoman tools``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.commands.pipes import UsageError
from dragoman.commands.tools import tools
from tests.toolsets.servers import OLD

MINE = "tests.toolsets.functions_of_mine"


@pytest.fixture(autouse=True)
def _quiet_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DRAGOMAN_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)


def written(folder: Path, name: str = "other.yaml", **entries: Any) -> str:
    file = folder / name
    file.write_text(json.dumps({"upstreams": {"x": {"api_key": "$NOT_SET_HERE"}}, "tools": entries}))
    return str(file)


def test_it_lists_servers_their_state_and_their_tools(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(
        tmp_path,
        old={"mcp": {"command": [sys.executable, OLD]}, "models": ["fast", "claude-*"], "approval": {"die": "deny"}},
        mine={"python": f"{MINE}:add"},
    )
    assert tools(file) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith(f"old  ready  (mcp {sys.executable}, for fast, claude-*)")
    assert "  old__echo  Says it again." in out
    assert "  old__die  [denied]" in out
    assert out[-2:] == [f"mine  ready  (python {MINE}:add)", "  mine__add  Adds."]


def test_a_server_that_is_not_there_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, gone={"mcp": {"command": ["/nowhere/at-all"]}}, mine={"python": f"{MINE}:add"})
    assert tools(file) == 1
    out = capsys.readouterr().out
    assert "gone  down  (mcp /nowhere/at-all): it cannot be started: No such file or directory" in out
    assert "mine__add" in out


def test_it_calls_one_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, old={"mcp": {"command": [sys.executable, OLD]}}, mine={"python": f"{MINE}:picture"})
    assert tools(file, "old__echo", '{"text": "hello"}') == 0
    assert capsys.readouterr().out == "hello\n"
    assert tools(file, "old__echo", "{}") == 1
    assert "'text' is a required property" in capsys.readouterr().err
    assert tools(file, "mine__picture") == 0
    assert capsys.readouterr().out == "a pixel\n[image image/png, 4 bytes of base64]\n"


def test_a_denied_tool_is_not_called(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, mine={"python": f"{MINE}:add", "approval": "deny"})
    assert tools(file, "mine__add", '{"a": 1}') == 1
    assert "denies" in capsys.readouterr().err


def test_a_call_of_a_server_that_is_down(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tools(written(tmp_path, gone={"mcp": {"command": ["/nowhere"]}}), "gone__x", "{}") == 1
    assert "cannot be started" in capsys.readouterr().out


def test_a_tool_that_there_is_not(tmp_path: Path) -> None:
    file = written(tmp_path, mine={"python": f"{MINE}:add"})
    with pytest.raises(UsageError, match="SERVER__TOOL"):
        tools(file, "search")
    with pytest.raises(UsageError, match="it has mine__add"):
        tools(file, "mine__subtract")


def test_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tools(written(tmp_path, a={}, b={"python": 5})) == 2
    err = capsys.readouterr().err
    assert "tools.a: expected either mcp or python" in err
    assert "tools.b.python: expected MODULE:FUNCTION" in err
    with pytest.raises(UsageError, match="No such file"):
        tools(str(tmp_path / "nowhere.yaml"))


def test_where_the_configuration_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError, match=r"dragoman\.yaml: .*--config FILE"):
        tools(None)
    written(tmp_path, "dragoman.yaml")
    assert tools(None) == 0
    assert capsys.readouterr().out == "no tools are configured\n"
    monkeypatch.setenv("DRAGOMAN_CONFIG", written(tmp_path, mine={"python": f"{MINE}:add"}))
    assert tools(None) == 0
    assert "mine__add" in capsys.readouterr().out


def test_functions_beside_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, elsewhere = tmp_path / "there", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    (folder / "beside_the_file.py").write_text("def nine() -> int:\n    return 9\n")
    monkeypatch.chdir(elsewhere)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert tools(written(folder, mine={"python": "beside_the_file:nine"}), "mine__nine") == 0
    assert capsys.readouterr().out == "9\n"
