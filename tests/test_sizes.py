"""Files and functions that a reader can hold in the head."""

from __future__ import annotations

import ast

import pytest

from tests.sources import Source, sources

FILE_LINES = 400
FUNCTION_LINES = 40


@pytest.mark.parametrize("source", sources(), ids=repr)
def test_files_and_functions_are_short(source: Source) -> None:
    lines = source.text.count("\n")
    assert lines <= FILE_LINES, f"{source} has {lines} lines"
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= FUNCTION_LINES, f"{source}:{node.lineno} {node.name} has {length} lines"
