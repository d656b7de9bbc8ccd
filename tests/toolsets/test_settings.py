"""The sections ``tools`` and ``tool_loop``: what is read, and that every mistake is told at once with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.commands.tools import _sections
from dragoman.exceptions import ConfigurationError
from dragoman.toolsets.settings import Approval, LoopBounds, ToolSections

FULL = """
tools:
  files:  {mcp: {command: [uvx, mcp-server-files, $ROOT], env: {TOKEN: $TOKEN, MODE: "read only"}}}
  docs:   {mcp: {url: "http://127.0.0.1:9000/mcp?key=sesame-q", headers: {authorization: $BEARER}},
           models: [fast, "claude-*"], approval: {search: allow, "*": deny}, timeout: 5}
  my_own: {python: "my_tools.weather:forecast", approval: deny}
tool_loop: {rounds: 4, per_tool: 2, total: 20.5, error_rounds: 1}
"""
ENVIRONMENT = {"ROOT": "/srv", "TOKEN": "sesame-t", "BEARER": "Bearer sesame-b"}


def load(text: str, folder: Path) -> ToolSections:
    (folder / "dragoman.yaml").write_text(text)
    sections, found = _sections(None, ENVIRONMENT, folder)
    assert found == folder
    return sections


def test_everything_that_is_documented_is_read(tmp_path: Path) -> None:
    sections = load(FULL, tmp_path)
    files, docs, own = sections.tools.values()
    assert files.mcp is not None
    assert files.mcp.command == ["uvx", "mcp-server-files", "/srv"]
    assert {name: value.reveal() for name, value in files.mcp.env.items()} == {"TOKEN": "sesame-t", "MODE": "read only"}
    assert (files.models, files.timeout) == (["*"], None)
    assert docs.mcp is not None
    assert docs.mcp.url is not None
    assert docs.mcp.url.reveal() == "http://127.0.0.1:9000/mcp?key=sesame-q"
    assert docs.mcp.headers["authorization"].reveal() == "Bearer sesame-b"
    assert (docs.models, docs.timeout) == (["fast", "claude-*"], 5)
    assert [docs.approval.allows(tool) for tool in ("search", "delete")] == [True, False]
    assert str(own.python) == "my_tools.weather:forecast"
    assert not own.approval.allows("forecast")
    assert sections.tool_loop == LoopBounds(rounds=4, per_tool=2, total=20.5, error_rounds=1)


def test_a_secret_is_never_printed(tmp_path: Path) -> None:
    shown = repr(load(FULL, tmp_path))
    assert "sesame" not in shown
    assert "***" in shown


def test_defaults(tmp_path: Path) -> None:
    assert load("listen: 127.0.0.1:1", tmp_path) == ToolSections()
    assert LoopBounds() == LoopBounds(rounds=10, per_tool=30, total=120, error_rounds=3)


@pytest.mark.parametrize(
    ("entry", "mistake"),
    [
        ("{}", "tools.a: expected either mcp or python"),
        ("{mcp: {command: [x]}, python: 'a:b'}", "tools.a: expected either mcp or python"),
        ("{mcp: {}}", "tools.a.mcp: expected either command or url"),
        ("{mcp: {command: [x], url: 'http://x/'}}", "tools.a.mcp: expected either command or url"),
        ("{mcp: {command: uvx}}", "tools.a.mcp.command: expected a list"),
        ("{mcp: {command: []}}", "tools.a.mcp.command: expected a program and its arguments"),
        ("{mcp: {command: [x, 5]}}", "tools.a.mcp.command[1]: expected a text, got a whole number"),
        ("{mcp: {command: [x], headers: {a: b}}}", "tools.a.mcp.headers: goes with url"),
        ("{mcp: {url: 'http://x/', env: {a: b}}}", "tools.a.mcp.env: goes with command"),
        ("{mcp: {command: [x], env: {PORT: 5}}}", "tools.a.mcp.env.PORT: expected a text (put it in quotes)"),
        ("{mcp: {command: [x], env: {'A=B': c}}}", "tools.a.mcp.env.A=B: not the name of a variable"),
        ("{mcp: {command: [x], env: {A: $NOWHERE}}}", "tools.a.mcp.env.A: the environment has no variable NOWHERE"),
        ("{mcp: {url: 'http://x/', headers: {'a b': c}}}", "tools.a.mcp.headers.a b: not the name of a header"),
        (
            "{mcp: {url: 'http://x/', headers: {a: 'ü'}}}",
            "tools.a.mcp.headers.a: expected a text of printable ASCII characters",
        ),
        ("{mcp: {url: 'ftp://x/'}}", "tools.a.mcp.url: expected a URL, such as http://127.0.0.1:9000/mcp"),
        (
            "{mcp: {url: 'http://me:sesame@x/'}}",
            "tools.a.mcp.url: expected a URL without user and fragment; a key belongs in headers",
        ),
        ("{mcp: {comand: [x]}}", "tools.a.mcp.comand: unknown key; did you mean command?"),
        ("{python: 'weather'}", "tools.a.python: expected MODULE:FUNCTION, such as my_tools.weather:forecast"),
        ("{python: 'a:b', models: ['a*b*']}", "tools.a.models[0]: expected a name, or a pattern with one *"),
        ("{python: 'a:b', approval: maybe}", "tools.a.approval: expected allow or deny (for *)"),
        ("{python: 'a:b', approval: {x: yes, y: deny}}", "tools.a.approval: expected allow or deny (for x)"),
        (
            "{python: 'a:b', approval: [x]}",
            "tools.a.approval: expected allow, deny, or names of tools with allow or deny",
        ),
        ("{python: 'a:b', approval: {'*x*': deny}}", "tools.a.approval.*x*: a pattern has one *"),
        ("{python: 'a:b', timeout: 0}", "tools.a.timeout: expected a number above 0"),
    ],
)
def test_mistakes_have_their_place(entry: str, mistake: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(f"tools: {{a: {entry}}}", tmp_path)
    assert mistake in caught.value.mistakes
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize("name", ["a__b", "a_", "_a", "1a", "a.b", "ä", "x" * 41])
def test_a_name_that_could_make_names_of_tools_meet(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(f"tools: {{{name}: {{python: 'a:b'}}}}", tmp_path)
    assert caught.value.mistakes[0].startswith(f"tools.{name}: a name begins with a letter")


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    text = "tools: {a: {mcp: {comand: [x]}, tiemout: 3}, b_: {python: 5}}\ntool_loop: {rounds: 0, per_tol: 3}"
    with pytest.raises(ConfigurationError) as caught:
        load(text, tmp_path)
    places = {mistake.partition(":")[0] for mistake in caught.value.mistakes}
    assert places == {
        "tools.a.mcp.comand",
        "tools.a.mcp",
        "tools.a.tiemout",
        "tools.b_",
        "tools.b_.python",
        "tool_loop.rounds",
        "tool_loop.per_tol",
    }


def test_the_longest_pattern_decides() -> None:
    verdicts: dict[str, Any] = {"*": "deny", "read_*": "allow", "read_secret*": "deny", "read_secrets_list": "allow"}
    approval = Approval.read(verdicts)
    assert [approval.allows(name) for name in ("write", "read_file", "read_secret_file", "read_secrets_list")] == [
        False,
        True,
        False,
        True,
    ]
    assert Approval().allows("anything")
