"""Each promise of the page of guarantees is held by tests that are there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "guarantees.md"
_HELD = re.compile(r"\[(test_\w+)\]\(\.\./(tests/[\w/]+\.py)\)")
TEXT = PAGE.read_text("utf-8").partition("<!-- generated")[0]
_HEAD = re.compile(r"^\| .*\n\| --- .*\n", re.MULTILINE)
PROMISES = [line for line in _HEAD.sub("", TEXT).splitlines() if line.startswith("| ")]


@pytest.mark.parametrize("row", PROMISES, ids=lambda row: row[2:50])
def test_it_is_held(row: str) -> None:
    held = _HELD.findall(row)
    assert held, "no test is named"
    for name, file in held:
        assert name in _tests_in(ROOT / file), f"{file} has no {name}"


def test_all_rows_are_seen() -> None:
    assert len(PROMISES) > 50
    assert len(_HELD.findall(TEXT)) == sum(len(_HELD.findall(row)) for row in PROMISES)


@cache
def _tests_in(file: Path) -> set[str]:
    tree = ast.parse(file.read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
