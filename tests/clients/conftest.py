"""One stage for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.clients import install
from tests.clients.stage import HARNESS, Stage, stage


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The clients of ``.clients`` on a stage; the test is skipped where they or their drivers are not."""
    if not HARNESS.is_dir():
        pytest.skip(f"there is no folder of clients at {HARNESS}: set DRAGOMAN_SHARED")
    if not install.everything():
        pytest.skip("the clients are not installed: make .clients")
    with stage(install.HOME, tmp_path_factory.mktemp("stage")) as made:
        yield made
