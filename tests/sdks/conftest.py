"""One chain of gateways for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.sdks.chain import chain


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    with chain() as outer:
        yield outer
