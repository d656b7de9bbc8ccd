"""Imports point down or stay in the folder, and below the line there is no IO, clock, chance or environment."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from dragoman import dialects
from tests.sources import Source, sources

FOLDERS = tuple(f"dialects.{name}" for name in dialects.names())

PURE = (
    ("cache", "jsontext", "imagesize", "dataurl", "patterns", "testing"),
    ("canonical",),
    ("dialects.error_shapes",),
    ("exceptions", "names", "effort", "structured", "scrub", "failures", "history", "memory", "counting", "compaction"),
    ("streaming",),
    ("dialects.contract", "dialects.openai_schema", "dialects.openai_shapes"),
    ("crossing", "turn", "clientanswer", *FOLDERS),
    ("dialects", "toolloop"),
    ("translate",),
    ("translator",),
)
SHELLS = (("upstreams", "toolsets"), ("gateway",), ("commands",), ("launch",), ("cli",))
"""What does IO stands above all that does none."""
LAYERS = {unit: number for number, units in enumerate((*PURE, *SHELLS)) for unit in units}
PURE_UNITS = {unit for units in PURE for unit in units}

STANDARD = {
    *(
        "__future__",
        "base64",
        "binascii",
        "collections",
        "collections.abc",
        "contextlib",
        "datetime",
        "enum",
        "functools",
    ),
    *("hashlib", "itertools", "json", "math", "re", "typing", "urllib.parse", "weakref"),
}
"""What the pure layers may use of the standard library."""
FINDING = {"importlib", "pkgutil"}
"""And what only the table of dialects may, to find their folders."""
IMPURE_FUNCTIONS = {"open", "print", "input", "exec", "eval", "__import__"}
IMPURE_METHODS = {"now", "today", "utcnow"}
"""Calls that need no import of what is forbidden."""

IO_MODULES = {
    *("socket", "ssl", "select", "selectors", "asyncio", "http", "http.client", "urllib.request", "subprocess"),
    *("multiprocessing", "threading", "tempfile", "logging", "signal", "random", "secrets", "mimetypes"),
    *("aiohttp", "uvicorn", "uvloop", "httptools", "click", "yaml", "importlib.metadata"),
}

every_source = pytest.mark.parametrize("source", sources(), ids=repr)


def unit_of(module: str) -> str:
    """The part of the package that a module belongs to: a folder or file of the first level, or one dialect."""
    parts = module.split(".")[1:]
    if len(parts) > 1 and parts[0] == "dialects":
        return ".".join(parts[:2])
    return parts[0] if parts else ""


def is_pure(source: Source) -> bool:
    return unit_of(source.module) in {*PURE_UNITS, ""}


@every_source
def test_every_module_has_a_layer(source: Source) -> None:
    assert unit_of(source.module) in {*LAYERS, ""}, "a new part of the package needs its place in tests/test_layers.py"


@every_source
def test_imports_point_down(source: Source) -> None:
    unit = unit_of(source.module)
    for line, module in source.imports():
        other = unit_of(module)
        if module.partition(".")[0] != "dragoman" or other == unit or not unit:
            continue
        assert LAYERS[other] < LAYERS[unit], f"{source}:{line}: {unit} imports {module}"


def test_dialects_never_import_each_other() -> None:
    for source in sources():
        unit = unit_of(source.module)
        if unit in FOLDERS:
            met = {unit_of(module) for _, module in source.imports()} & set(FOLDERS)
            assert met <= {unit}, f"{source} imports another dialect"


@every_source
def test_nothing_above_the_dialects_knows_one(source: Source) -> None:
    """Whatever is joined is found through the table of dialects."""
    if unit_of(source.module) not in FOLDERS:
        assert [module for _, module in source.imports() if unit_of(module) in FOLDERS] == []


@every_source
def test_pure_layers_import_nothing_impure(source: Source) -> None:
    if not is_pure(source):
        return
    allowed = STANDARD | {"msgspec"} | (FINDING if source.module == "dragoman.dialects" else set())
    for line, module in source.imports():
        known = module.startswith("dragoman") or module in allowed or module.rpartition(".")[0] in allowed
        assert known, f"{source}:{line} imports {module}"


@every_source
def test_pure_layers_do_nothing_impure(source: Source) -> None:
    if not is_pure(source):
        return
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call):
            name, method = getattr(node.func, "id", ""), getattr(node.func, "attr", "")
            assert name not in IMPURE_FUNCTIONS, f"{source}:{node.lineno} calls {name}"
            assert method not in IMPURE_METHODS, f"{source}:{node.lineno} calls {method}"


@pytest.mark.parametrize(
    "statement",
    [
        "import dragoman",
        "from dragoman import Translator; Translator(client='messages', upstream='chat')",
        "from dragoman import dialects; [dialects.get(name) for name in dialects.names()]",
    ],
)
def test_the_library_loads_nothing_that_does_io(statement: str) -> None:
    code = f"import sys; before = set(sys.modules); {statement}; print(*sorted(set(sys.modules) - before))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(run.stdout.split()) & IO_MODULES == set()


def test_the_package_itself_loads_next_to_nothing() -> None:
    """The front door is opened when somebody comes: an import for the version alone is quick."""
    code = "import sys; before = set(sys.modules); import dragoman; print(*sorted(set(sys.modules) - before))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "msgspec" not in run.stdout.split()


def test_the_test_sees_what_it_forbids() -> None:
    """The reading of imports and names is not blind."""
    found = {module for source in sources() for _, module in source.imports()}
    assert {"dragoman.dialects.contract", "dragoman.streaming.answer", "asyncio", "httptools"} <= found
    assert any(not is_pure(source) for source in sources())
    assert {unit_of(source.module) for source in sources()} >= {*FOLDERS, "gateway", "cli", "streaming"}
