"""Tests with sockets run on both event loops: Python's own, and the one that the gateway serves on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import pytest
import uvloop

Loops = Mapping[str, Callable[[], asyncio.AbstractEventLoop]]

PLAIN: Loops = {"asyncio": asyncio.new_event_loop}
BOTH: Loops = {**PLAIN, "uvloop": uvloop.new_event_loop}


def loops(item: pytest.Item, *files: str) -> Loops:
    """Both for the tests in these files."""
    return BOTH if item.path.stem in files else PLAIN
