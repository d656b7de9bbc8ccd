"""Which event loops the tests of upstreams run on."""

from __future__ import annotations

import pytest

from tests.loops import Loops, loops


def pytest_asyncio_loop_factories(item: pytest.Item) -> Loops:
    return loops(item, "test_dial", "test_http", "test_connections", "test_tls")
