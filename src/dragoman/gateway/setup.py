"""What one configuration sets up, and the change to the next one without dropping an answer under way.

Whoever began under a configuration ends under it: its upstreams and tool servers are closed when its
last request is over, those that a later configuration still has excepted.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Protocol

import msgspec

from dragoman.gateway.auth import ClientKeys
from dragoman.gateway.exchange import Services
from dragoman.gateway.settings import Timeouts


class _Closable(Protocol):
    async def aclose(self) -> None: ...


class Setup(msgspec.Struct, frozen=True, eq=False):
    """One configuration, ready to serve."""

    keys: ClientKeys
    exchanges: Services
    timeouts: Timeouts
    header_bytes: int
    """What the names and values of a client's headers may have in all."""

    @property
    def opened(self) -> tuple[_Closable, ...]:
        """What has to be closed at its end."""
        services = self.exchanges.services.values()
        members = self.exchanges.tools.toolbox.members
        return (*(service.upstream for service in services), *(member.toolset for member in members))


class Setups:
    """The configuration in force, and those before it that still have requests."""

    def __init__(self, first: Setup) -> None:
        self.current = first
        self._users: dict[Setup, int] = {first: 0}
        self._closing: set[asyncio.Task[None]] = set()

    def replace(self, setup: Setup) -> None:
        """Requests from now on are served by this one."""
        before, self.current = self.current, setup
        self._users[setup] = 0
        if not self._users[before]:
            self._retire(before)

    @contextlib.contextmanager
    def used(self) -> Iterator[Setup]:
        """The current one, held for a request."""
        setup = self.current
        self._users[setup] += 1
        try:
            yield setup
        finally:
            self._users[setup] -= 1
            if not self._users[setup] and setup is not self.current:
                self._retire(setup)

    async def aclose(self) -> None:
        """Closes all, tool servers first, side by side."""
        every = dict.fromkeys(one for setup in self._users for one in reversed(setup.opened))
        self._users = dict.fromkeys(self._users, 0)
        await asyncio.gather(*self._closing, *(one.aclose() for one in every))

    def _retire(self, setup: Setup) -> None:
        del self._users[setup]
        kept = {id(one) for other in self._users for one in other.opened}
        gone = [one for one in setup.opened if id(one) not in kept]
        task = asyncio.create_task(_close(gone), name="close what is configured no more")
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


async def _close(gone: list[_Closable]) -> None:
    await asyncio.gather(*(one.aclose() for one in gone))
