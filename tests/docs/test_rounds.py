"""The examples of a gateway that runs tools give what their page shows."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Block, blocks, matches
from tests.docs.test_examples import BIN, DEMO, serving, session

GATEWAY = "127.0.0.1:4181"
SERVE = "dragoman serve --port 4181 &"


@contextlib.contextmanager
def serving_tools(config: Path) -> Iterator[str]:
    """Where a gateway of this configuration listens."""
    with subprocess.Popen(
        [BIN / "dragoman", "serve", "--config", config, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "PATH": f"{BIN}:{os.environ['PATH']}"},
    ) as process:
        try:
            assert process.stdout
            yield process.stdout.readline().split("http://")[1].split()[0]
        finally:
            process.terminate()


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
@pytest.mark.parametrize("block", blocks("round", "console"), ids=repr)
def test_console(block: Block, tmp_path: Path) -> None:
    commands, shown = session(block.text)
    assert commands[0] == SERVE
    (config,) = (one.text for one in blocks("file", "yaml") if one.page == block.page and DEMO in one.text)
    with serving() as printed:
        file = tmp_path / "dragoman.yaml"
        file.write_text(config.replace(DEMO, printed.split("http://")[1].split()[0]))
        with serving_tools(file) as here:
            for command, expected in zip(commands[1:], shown[1:], strict=True):
                asked = command.replace(GATEWAY, here)
                done = subprocess.run(
                    ["bash", "-c", asked], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
                )
                assert matches(expected, done.stdout), f"$ {command}\n{done.stdout}"


def test_there_is_one() -> None:
    assert [block.page for block in blocks("round", "console")] == [ROOT / "docs" / "tools.md"]
