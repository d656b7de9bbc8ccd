from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.launch.stage import Stage, serving


@pytest.fixture(scope="session")
def upstream() -> Iterator[str]:
    """A model server: the demo."""
    with serving("--demo") as address:
        yield address


@pytest.fixture
def stage(tmp_path: Path, upstream: str) -> Stage:
    return Stage(tmp_path, upstream)
