"""Tool names that another dialect takes: design/requests.md, 3."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import dialects
from dragoman.names import ToolIdentity, ToolNames

PLAIN = re.compile("[A-Za-z0-9_-]+")
LONG = "x" * 64


def names(*tools: ToolIdentity | str, longest: int = 64, pattern: re.Pattern[str] = PLAIN) -> ToolNames:
    return ToolNames(pattern, longest, [ToolIdentity(tool) if isinstance(tool, str) else tool for tool in tools])


@pytest.mark.parametrize(
    ("name", "namespace", "alias"),
    [
        ("run", None, "run"),  # a legal name stays
        ("-run_2", None, "-run_2"),
        (LONG, None, LONG),
        ("run", "mcp", "mcp__run"),
        ("files.read", None, "files_read"),
        ("read file", "my.files", "my_files__read_file"),
        ("été", None, "t__t_"),  # an alias begins with a letter
        ("2.5", None, "t_2_5"),
        ("", None, "t_"),
    ],
)
def test_aliases_that_can_be_read(name: str, namespace: str | None, alias: str) -> None:
    assert names().alias(ToolIdentity(name, namespace=namespace)) == alias


@pytest.mark.parametrize("name", [LONG + "y", LONG + ".y", "\ud800" * 65])
def test_what_is_too_long_ends_in_a_digest(name: str) -> None:
    alias = names().alias(ToolIdentity(name))
    assert re.fullmatch(r"[a-z_]{55}_[0-9a-f]{8}", alias)
    assert names().alias(ToolIdentity(name)) == alias
    assert names().alias(ToolIdentity(name + "z")) != alias


@pytest.mark.parametrize("first", [0, 1])
def test_declared_legal_names_come_first_whatever_the_order(first: int) -> None:
    tools = [ToolIdentity("a.b"), ToolIdentity("a_b")]
    known = names(*(tools if first == 0 else reversed(tools)))
    assert known.alias(ToolIdentity("a_b")) == "a_b"
    assert re.fullmatch("a_b_[0-9a-f]{8}", known.alias(ToolIdentity("a.b")))


def test_two_tools_never_share_an_alias() -> None:
    alike = ["a.b", "a b", "a:b", "a_b"]
    known = names(*alike)
    assert len({known.alias(ToolIdentity(name)) for name in alike}) == len(known.identities) == 4
    # not even with one that is called as the alias of another would be
    taken = names(*alike).alias(ToolIdentity("a b"))
    known = names(*alike, taken)
    assert known.alias(ToolIdentity(taken)) == taken
    assert len({known.alias(ToolIdentity(name)) for name in (*alike, taken)}) == 5


def test_the_same_name_in_two_namespaces() -> None:
    one, other = ToolIdentity("run", namespace="a"), ToolIdentity("run", namespace="b")
    known = names("run", one, other)
    assert known.identities == {"run": ToolIdentity("run"), "a__run": one, "b__run": other}


def test_aliases_are_undone_by_the_identities() -> None:
    tools = [ToolIdentity("files.read"), ToolIdentity("patch", "custom", "dev")]
    known = names(*tools)
    assert [known.identities[known.alias(tool)] for tool in tools] == tools


def test_names_that_only_the_history_has_get_theirs_as_they_come() -> None:
    known = names("run")
    assert known.alias(ToolIdentity("old.tool")) == "old_tool"
    assert known.identities["old_tool"] == ToolIdentity("old.tool")
    assert known.alias(ToolIdentity("old_tool")) != "old_tool"


NAME = st.text(st.sampled_from("ab_.-: é2\ud800"), max_size=5) | st.integers(1, 200).map("x.".__mul__)
TOOL = st.builds(ToolIdentity, NAME, st.just("function"), st.none() | st.sampled_from(("n", "n.m", LONG)))


@given(st.lists(TOOL, max_size=8), st.lists(TOOL, max_size=4), st.sampled_from(dialects.names()))
def test_whatever_tools_are_called(declared: list[ToolIdentity], later: list[ToolIdentity], target: str) -> None:
    """Every alias is legal for its target, has one tool, and is found again."""
    traits = dialects.get(target).traits
    pattern, longest = re.compile(traits.tool_name), traits.tool_name_longest
    known = names(*declared, pattern=pattern, longest=longest)
    before = {tool: known.alias(tool) for tool in declared}
    aliases = before | {tool: known.alias(tool) for tool in later}
    assert all(aliases[tool] == alias for tool, alias in before.items())
    assert len(set(aliases.values())) == len(aliases)
    for tool, alias in aliases.items():
        assert pattern.fullmatch(alias)
        assert len(alias) <= longest
        assert known.identities[alias] == tool
        if tool.namespace is None and tool in declared and pattern.fullmatch(tool.name) and len(tool.name) <= longest:
            assert alias == tool.name
