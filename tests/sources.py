"""The package's sources, read as syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec

import dragoman

PACKAGE = Path(dragoman.__file__).parent


class Source(msgspec.Struct, frozen=True, eq=False):
    """One file; ``module`` is its dotted name."""

    path: Path
    module: str
    text: str
    tree: ast.Module

    def __repr__(self) -> str:
        return str(self.path.relative_to(PACKAGE.parent))

    def imports(self) -> Iterator[tuple[int, str]]:
        """The line and the full dotted name of each module that it imports, wherever in the file."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((node.lineno, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{self}:{node.lineno}: a relative import"
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    yield node.lineno, inner if inner in modules() else node.module or ""


@cache
def sources() -> tuple[Source, ...]:
    """All of them, in the order of the alphabet."""
    return tuple(_read(path) for path in sorted(PACKAGE.rglob("*.py")))


@cache
def modules() -> frozenset[str]:
    """The dotted names of all modules of the package."""
    return frozenset(_name(path) for path in PACKAGE.rglob("*.py"))


def _read(path: Path) -> Source:
    text = path.read_text("utf-8")
    return Source(path, _name(path), text, ast.parse(text))


def _name(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
