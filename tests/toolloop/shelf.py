"""Tools for the tests, as Python functions. ``journal`` has what was run, in order."""

from __future__ import annotations

import asyncio
from typing import Any

journal: list[str] = []
doors: list[asyncio.Event] = []
"""What ``wait`` waits for, one for each call; and who waits, ``journal`` says."""


async def search(query: str) -> str:
    """Looks things up."""
    journal.append(f"search {query}")
    return f"Found for {query}: 21 degrees."


async def count() -> str:
    """Counts its calls."""
    journal.append("count")
    return f"Call number {journal.count('count')}."


async def fail() -> str:
    """Fails."""
    journal.append("fail")
    raise ValueError("the drawer is jammed")


async def wait() -> str:
    """Waits for a door to open."""
    door = asyncio.Event()
    doors.append(door)
    journal.append("wait")
    try:
        await door.wait()
    except asyncio.CancelledError:
        journal.append("wait cancelled")
        raise
    return "The door is open."


async def table() -> dict[str, Any]:
    """Structured data."""
    journal.append("table")
    return {"city": "Utrecht", "degrees": 21}


TOOLS = [search, count, fail, wait, table]
