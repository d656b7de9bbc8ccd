"""Each promise of a page is held by tests that are there: each row of a table whose last column is *held by*."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import msgspec
import pytest

from tests.docs.pages import DOCS_OF_AGENTS, PAGES, ROOT, name_of, prose, sections, tables

HELD_BY = "held by"
_HELD = re.compile(r"\[(test_\w+)\]\(([\w./]+\.py)\)")
_NOT_TESTS = re.compile(r"\[test_\w+\]\((?![\w./]+\.py\))")


class Promise(msgspec.Struct, frozen=True):
    """A row: what is promised, and the tests that are named for it, with their files."""

    page: Path
    what: str
    held: tuple[tuple[str, str], ...]

    def __repr__(self) -> str:
        return f"{name_of(self.page)}: {self.what[:48]}"


def promises(page: Path) -> list[Promise]:
    """Those of a page."""
    return [
        Promise(page, row[0], tuple(_HELD.findall(row[-1])))
        for table in tables(prose(page))
        if table.head[-1] == HELD_BY
        for row in table.rows
    ]


PROMISES = [promise for page in PAGES for promise in promises(page)]


@pytest.mark.parametrize("promise", PROMISES, ids=repr)
def test_it_is_held(promise: Promise) -> None:
    assert promise.held, "no test is named"
    for name, file in promise.held:
        assert name in _tests_in((promise.page.parent / file).resolve()), f"{file} has no {name}"


@pytest.mark.parametrize("page", sorted({promise.page for promise in PROMISES}), ids=name_of)
def test_all_rows_are_seen(page: Path) -> None:
    """No test is named outside of such a table, or in another form than that of a link to its file."""
    seen = [held for promise in promises(page) for held in promise.held]
    assert _HELD.findall(prose(page)) == seen
    assert _NOT_TESTS.findall(prose(page)) == []


def test_every_table_of_guarantees_names_tests() -> None:
    text = (ROOT / "docs" / "guarantees.md").read_text("utf-8").partition("<!-- generated")[0]
    assert {table.head[-1] for table in tables(text)} == {HELD_BY}
    assert sum(len(table.rows) for table in tables(text)) > 50


@pytest.mark.parametrize("page", sorted(set(DOCS_OF_AGENTS.glob("*.md")) - {DOCS_OF_AGENTS / "README.md"}), ids=name_of)
def test_what_works_is_held(page: Path) -> None:
    """With each agent: a table of promises, and nothing beside it that no test holds."""
    (section,) = sections(page, "What works")
    assert all(line.startswith("|") for line in section.split("\n") if line)
    (table,) = tables(section)
    assert (table.head, bool(table.rows)) == (("what", HELD_BY), True)


@cache
def _tests_in(file: Path) -> set[str]:
    tree = ast.parse(file.read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
