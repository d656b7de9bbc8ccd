"""What the package shows: names that exist, words for each, the same files for each dialect."""

from __future__ import annotations

import ast
import importlib
from importlib.metadata import version

import pytest

import dragoman
from dragoman import dialects
from tests.sources import PACKAGE, Source, modules, sources

FILES = ("__init__", "wire", "endpoints", "request", "response", "decode", "encode", "errors", "check")


def test_the_front_door() -> None:
    assert dragoman.__all__ == ["Translator", "__version__"]
    assert dragoman.Translator.__module__ == "dragoman.translator"
    assert dragoman.__version__ == version("dragoman")
    with pytest.raises(AttributeError, match="module 'dragoman' has no attribute 'Interpreter'"):
        _ = dragoman.Interpreter
    assert (PACKAGE / "py.typed").is_file(), "type checkers of users look for it"


@pytest.mark.parametrize("name", sorted(modules()))
def test_all_names_exist_once(name: str) -> None:
    if name.endswith("__main__"):
        return
    module = importlib.import_module(name)
    listed = getattr(module, "__all__", [])
    assert len(set(listed)) == len(listed)
    assert [one for one in listed if not hasattr(module, one)] == []


@pytest.mark.parametrize("source", sources(), ids=repr)
def test_what_is_public_is_explained(source: Source) -> None:
    assert ast.get_docstring(source.tree), "a module says what it is for"
    if source.module.startswith("dragoman.dialects.") and source.module.split(".")[2] in dialects.names():
        return  # what is inside of a dialect is found through its ``DIALECT``
    for node in source.tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            assert ast.get_docstring(node), f"{source}:{node.lineno} {node.name}"


@pytest.mark.parametrize("name", dialects.names())
def test_a_dialect_has_the_same_files_as_the_others(name: str) -> None:
    folder = PACKAGE / "dialects" / name
    assert [file for file in FILES if not (folder / f"{file}.py").is_file()] == []
    module = importlib.import_module(f"dragoman.dialects.{name}")
    assert module.DIALECT is dialects.get(name)
    assert module.DIALECT.name == name


def test_an_unknown_dialect_has_no_table() -> None:
    with pytest.raises(KeyError):
        dialects.get("esperanto")


def test_every_file_of_the_package_is_a_module_of_it() -> None:
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []
