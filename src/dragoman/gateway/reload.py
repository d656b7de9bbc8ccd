"""Another configuration in the place of the one in force: what can change, what waits for a restart, what is told.

All or nothing: a configuration with mistakes changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from dragoman.exceptions import ConfigurationError
from dragoman.gateway.accesslog import AccessLog
from dragoman.gateway.app import Gateway
from dragoman.gateway.connect import connect, serve_alone
from dragoman.gateway.discovery import Found
from dragoman.gateway.settings import Settings
from dragoman.gateway.turn import Service
from dragoman.toolsets.connect import connect as connect_tools


def services_of(settings: Settings) -> dict[str, Service]:
    """The upstreams; without any the demo is meant. Nothing is opened yet."""
    if settings.upstreams:
        return connect(settings)
    from dragoman.upstreams.demo import DemoUpstream

    return serve_alone("demo", DemoUpstream(), settings)


def demand_keys(settings: Settings) -> None:
    """Raises ``ConfigurationError`` if other machines could ask without a key."""
    if not settings.listen.loopback and not settings.keys:
        reached = f"listen: {settings.listen} can be reached from other machines"
        raise ConfigurationError([f"{reached}: configure client keys (keys: [$DRAGOMAN_KEY])"])


def in_place(old: Settings, new: Settings) -> tuple[Settings, list[str]]:
    """The new settings as far as a running gateway can take them, and the keys that wait for a restart."""
    waiting = [key for key in ("listen", "workers") if getattr(old, key) != getattr(new, key)]
    if old.state.url != new.state.url:
        waiting.append("state.url")
    state = msgspec.structs.replace(new.state, url=old.state.url)
    return msgspec.structs.replace(new, listen=old.listen, workers=old.workers, state=state), waiting


async def apply(gateway: Gateway, found: Found) -> None:
    """Serves what comes by this configuration from now on. Raises ``ConfigurationError``, having changed nothing."""
    settings = found.settings
    # In a thread: a Python module with tools may take long to import.
    toolbox = await asyncio.to_thread(
        connect_tools, settings.tools, settings.tool_loop, found.folder, running=gateway.toolbox
    )
    await gateway.reload(settings, services_of(settings), toolbox)


class Reloading:
    """What is done at ``SIGHUP``. ``found`` is in force, ``read`` says what the file says now, ``apply`` makes it so."""

    def __init__(
        self, found: Found, read: Callable[[], Found], apply: Callable[[Found], Awaitable[None]], log: AccessLog
    ) -> None:
        self.found = found
        self._read = read
        self._apply = apply
        self._log = log
        self._one = asyncio.Lock()

    async def __call__(self) -> None:
        """Reads and applies, and tells how that went in one line of the log."""
        async with self._one:
            try:
                read = self._read()
                settings, waiting = in_place(self.found.settings, read.settings)
                demand_keys(settings)
                found = msgspec.structs.replace(read, settings=settings)
                await self._apply(found)
            except ConfigurationError as error:
                self._log.note({"reload": "refused", "mistakes": list(error.mistakes)})
                return
            self.found = found
            self._log.note({"reload": "done", **({"needs_restart": waiting} if waiting else {})})
