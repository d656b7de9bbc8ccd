"""One of several processes of a gateway: ``python -m dragoman.gateway.worker LISTENING CHANNEL``, two file descriptors.

The supervisor starts it, tells it the configuration, and ends it with a signal. Without its supervisor it drains
and ends: no worker is left behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
import socket
import sqlite3
import sys

from dragoman.exceptions import ConfigurationError
from dragoman.gateway.accesslog import AccessLog
from dragoman.gateway.app import Gateway
from dragoman.gateway.channel import Begin, Channel, Configure, Configured, Up
from dragoman.gateway.hangup import HANGUP
from dragoman.gateway.reload import apply, services_of
from dragoman.gateway.server import Server, log_in_lines, new_loop
from dragoman.gateway.stores import Stores
from dragoman.toolsets.connect import connect as connect_tools


def main() -> None:
    """Serves until told to end; the exit status is 0 then."""
    listening, channel = (socket.socket(fileno=int(number)) for number in sys.argv[1:3])
    if HANGUP is not None:
        # A handler that does nothing: programs that the gateway starts would inherit SIG_IGN.
        signal.signal(HANGUP, lambda *_: None)
    log_in_lines()
    with asyncio.Runner(loop_factory=new_loop()) as runner:
        sys.exit(runner.run(_work(listening, channel)))


async def _work(listening: socket.socket, sock: socket.socket) -> int:
    channel = await Channel.over(sock)
    begin = await channel.receive()
    if not isinstance(begin, Begin):
        return 1
    try:
        gateway = _gateway(begin)
    except ConfigurationError as error:
        await channel.send(Configured(error.mistakes))
        return 1
    worker = _Worker(gateway, channel)
    obeying = asyncio.create_task(worker.obey())
    try:
        await gateway.start()
        await worker.server.serve(sockets=[listening])
    finally:
        await gateway.aclose()
        obeying.cancel()
        channel.close()
        if worker.abandoned:
            shutil.rmtree(begin.folder, ignore_errors=True)  # who would have done it is gone
    return 0


def _gateway(begin: Begin) -> Gateway:
    """Raises ``ConfigurationError``."""
    settings = begin.found.settings
    try:
        stores = Stores(settings, begin.folder)
    except (OSError, sqlite3.Error) as error:
        raise ConfigurationError([f"workers: what they share cannot be kept in {begin.folder}: {error}"]) from None
    toolbox = connect_tools(settings.tools, settings.tool_loop, begin.found.folder)
    log = AccessLog(worker=begin.number)
    return Gateway(settings, services_of(settings), log, toolbox, stores, begin.since)


class _Worker:
    def __init__(self, gateway: Gateway, channel: Channel) -> None:
        self.server = Server(gateway, gateway.timeouts.drain, self._tell_up)
        self.abandoned = False
        """Whether the supervisor is gone."""
        self._gateway = gateway
        self._channel = channel
        self._telling: asyncio.Task[None] | None = None

    async def obey(self) -> None:
        """Does what the supervisor says, for as long as there is one."""
        while (message := await self._channel.receive()) is not None:
            if isinstance(message, Configure):
                await self._channel.send(await self._configured(message))
        self.abandoned = True
        self.server.should_exit = True

    async def _configured(self, message: Configure) -> Configured:
        try:
            await apply(self._gateway, message.found)
        except ConfigurationError as error:
            return Configured(error.mistakes)
        self.server.drain = self._gateway.timeouts.drain
        return Configured()

    def _tell_up(self) -> None:
        self._telling = asyncio.create_task(self._channel.send(Up()))


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
