"""Every example in the pages is run, and gives what the page shows."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.gateway.config import load
from tests.docs.pages import ROOT, Block, blocks, matches

BIN = Path(sys.executable).parent
DEMO = "127.0.0.1:4180"
_MARK = "\x1e"
_COMMAND = re.compile(r"^\$ (.*(?:(?<=\\)\n.*)*)\n", re.MULTILINE)


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """The demo on a port of its own; gives what it printed when it began to listen."""
    with subprocess.Popen(
        [BIN / "dragoman", "serve", "--demo", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        try:
            assert process.stdout
            printed = ""
            for line in process.stdout:
                printed += line
                if "curl" in line:
                    break
            assert "curl" in printed
            yield printed
        finally:
            process.kill()


@pytest.fixture(scope="module")
def demo() -> Iterator[str]:
    """Where the demo listens, once for all examples."""
    with serving() as printed:
        yield printed.split("http://")[1].split()[0]


@pytest.mark.parametrize("block", blocks("runs", "python"), ids=repr)
def test_python(block: Block, demo: str, tmp_path: Path) -> None:
    code = block.text.replace(DEMO, demo)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    if block.prints is not None:
        assert matches(block.prints, done.stdout), done.stdout


@pytest.mark.parametrize("block", blocks("runs", "console"), ids=repr)
def test_console(block: Block, demo: str, tmp_path: Path) -> None:
    if "curl" in block.text and shutil.which("curl") is None:
        pytest.skip("there is no curl here")
    commands, shown = session(block.text.replace(DEMO, demo))
    for name, text in block.files:
        (tmp_path / name).write_text(text, "utf-8")
    done = subprocess.run(
        ["bash", "-c", "".join(f"{{ {command}\n}} 2>&1; printf '{_MARK}'\n" for command in commands)],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    printed = done.stdout.split(_MARK)[:-1]
    assert len(printed) == len(commands)
    for command, expected, real in zip(commands, shown, printed, strict=True):
        assert matches(expected, real), f"$ {command}\n{real}"


def session(text: str) -> tuple[list[str], list[str]]:
    """The commands of a console, and what the page shows after each."""
    before, *pieces = _COMMAND.split(text)
    assert not before
    return pieces[0::2], pieces[1::2]


@pytest.mark.parametrize("block", blocks("configuration", "yaml"), ids=repr)
def test_configuration(block: Block) -> None:
    variables = re.findall(r"\$\{?([A-Z_]+)", block.text)
    assert load(block.text, dict.fromkeys(variables, "a-key")).upstreams


def test_make_serve() -> None:
    """The page shows what ``make serve`` prints: the command and the greeting."""
    (block,) = (block for block in blocks("", "console") if "make serve" in block.text)
    command, _, greeting = block.text.partition("\n")
    target = re.search(r"^serve:.*\n\t(.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert command == "$ make serve"
    assert target
    assert target[1] == "$(BIN)/dragoman serve --demo $(ARGS)"
    with serving() as printed:
        real = re.sub(r"127\.0\.0\.1:\d+", DEMO, printed)
    assert matches(greeting, real), real


def test_there_are_examples() -> None:
    found = {language: len(blocks("runs", language)) for language in ("python", "console")}
    assert min(found.values()) > 2
    assert blocks("configuration", "yaml")
