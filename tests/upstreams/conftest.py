"""Tests with sockets run on both event loops: Python's own, and the one that the gateway serves on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import pytest
import uvloop

LOOPS: Mapping[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}
_WITH_SOCKETS = ("test_dial", "test_http", "test_tls")


def pytest_asyncio_loop_factories(item: pytest.Item) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return LOOPS if item.path.stem in _WITH_SOCKETS else {"asyncio": LOOPS["asyncio"]}
