"""Several workers behind one address: starts them, starts them again, passes on what it is told, ends them.

It takes no connection itself. Workers are programs of their own, not forks: nothing of this process is in them.
The configuration in force is told to each at its start, so one that is started again serves by it too, whatever
the file says by then. See docs/decisions/0014-workers.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from dragoman.exceptions import ConfigurationError, DragomanError
from dragoman.gateway.accesslog import AccessLog
from dragoman.gateway.channel import Begin, Channel, Configure, Configured, Up
from dragoman.gateway.discovery import Found
from dragoman.gateway.hangup import HANGUP, Terminal
from dragoman.gateway.listeners import Listeners
from dragoman.gateway.reload import Reloading
from dragoman.gateway.server import LAST_WORDS, log_in_lines
from dragoman.gateway.stores import Stores

_PROGRAM = (sys.executable, "-P", "-m", "dragoman.gateway.worker")
"""``-P``: a file that lies in the current folder is not imported instead."""
_PAUSE, _LONGEST_PAUSE, _STEADY = 0.1, 30.0, 10.0
"""Seconds before a worker is started again, doubling up to the second while it lives shorter than the third."""
_GRACE = 5.0
"""Seconds over those that a worker has to drain, after which it is killed."""


class WorkerError(DragomanError):
    """A worker could not begin to serve; ``str()`` says why."""


def run(found: Found, listeners: Listeners, ready: Callable[[], None], read: Callable[[], Found]) -> None:
    """Serves until a signal ends it; ``ready`` is called once every worker takes requests.

    ``read``: the configuration as it is now. Raises ``ConfigurationError`` and ``WorkerError`` if the start fails.
    """
    log_in_lines()
    folder = Path(tempfile.mkdtemp(prefix="dragoman-"))  # for this user alone
    try:
        _hold(folder)
        Stores(found.settings, folder).close()  # made here, so that workers do not make them at the same time
        asyncio.run(_Supervisor(found, listeners, folder, read).run(ready))
    finally:
        listeners.close()
        shutil.rmtree(folder, ignore_errors=True)


def _hold(folder: Path) -> None:
    """Keeps it, until this process ends, from what clears temporary folders of old files (systemd-tmpfiles)."""
    with contextlib.suppress(OSError):  # not every file system has locks
        fcntl.flock(os.open(folder, os.O_RDONLY), fcntl.LOCK_SH)


class _Worker:
    """One process. ``up``: it has begun to serve; ``found``: by this."""

    def __init__(self, number: int, found: Found, process: asyncio.subprocess.Process, channel: Channel) -> None:
        self.number = number
        self.found = found
        self.process = process
        self.up = False
        self.mistakes: tuple[str, ...] = ()
        self._channel = channel
        self._answer: asyncio.Future[Configured | None] | None = None

    async def configured(self, found: Found) -> Configured | None:
        """How it took a configuration; ``None`` if it ended meanwhile. One at a time."""
        self._answer = asyncio.get_running_loop().create_future()
        await self._channel.send(Configure(found))
        answer = await self._answer
        if answer is not None and not answer.mistakes:
            self.found = found
        return answer

    async def listen(self, up: Callable[[], None]) -> None:
        """Hears what it says, until it is gone."""
        while (message := await self._channel.receive()) is not None:
            if isinstance(message, Up):
                self.up = True
                up()
            elif isinstance(message, Configured):
                self.mistakes = message.mistakes
                self._tell(message)
        self._tell(None)
        self._channel.close()

    def signal(self, sig: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(sig)

    def _tell(self, answer: Configured | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)


class _Supervisor:
    def __init__(self, found: Found, listeners: Listeners, folder: Path, read: Callable[[], Found]) -> None:
        self._log = AccessLog()
        self._reloading = Reloading(found, read, self._configure, self._log)
        self._found = found
        self._listeners = listeners
        self._folder = folder
        self._since = int(time.time())
        self._workers: dict[int, _Worker] = {}
        self._served = False
        """Whether all have been up at the same time."""
        self._stopping = asyncio.Event()
        self._failure: DragomanError | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, ready: Callable[[], None]) -> None:
        self._ready = ready
        loop = asyncio.get_running_loop()
        for sig in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(sig, self._stop, sig)
        if HANGUP is not None:
            loop.add_signal_handler(HANGUP, self._hangup, Terminal())
        async with asyncio.TaskGroup() as group:
            for number in range(1, self._found.settings.workers + 1):
                group.create_task(self._keep(number))
            group.create_task(self._kill_late())
        if self._failure is not None:
            raise self._failure

    # ---- signals

    def _stop(self, sig: int) -> None:
        """The first one lets the workers drain; a further SIGINT ends open answers at once, as it does in one process."""
        again = self._stopping.is_set()
        self._stopping.set()
        for worker in self._workers.values():
            worker.signal(sig if again else signal.SIGTERM)

    def _hangup(self, terminal: Terminal) -> None:
        if terminal.gone:
            self._stop(signal.SIGTERM)
        elif self._served and not self._stopping.is_set():
            self._tasks.add(task := asyncio.ensure_future(self._reloading()))
            task.add_done_callback(self._tasks.discard)

    # ---- the life of a worker

    async def _keep(self, number: int) -> None:
        """Starts a worker, and again whenever it ends, until all are to end."""
        loop, pause = asyncio.get_running_loop(), _PAUSE
        while not self._stopping.is_set():
            began = loop.time()
            ended = await self._life(number)
            if self._stopping.is_set():
                return
            if not self._served:
                self._fail(ended)
                return
            if loop.time() - began >= _STEADY:
                pause = _PAUSE
            self._log.note({"worker": number, "ended": str(ended), "starts_again_in_s": pause})
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _life(self, number: int) -> DragomanError:
        """One worker from its start to its end; how that came."""
        try:
            worker = await self._start(number)
        except OSError as error:  # no more processes, say
            return WorkerError(f"the worker {number} cannot be started: {error.strerror or error}")
        if self._stopping.is_set():
            worker.signal(signal.SIGTERM)
        await worker.listen(self._up)
        status = await worker.process.wait()
        del self._workers[number]
        if worker.mistakes and not worker.up:
            return ConfigurationError(worker.mistakes)
        how = f"status {status}" if status >= 0 else signal.Signals(-status).name
        return WorkerError(f"the worker {number} ended ({how})")

    async def _start(self, number: int) -> _Worker:
        ours, theirs = socket.socketpair()
        with self._listeners.new() as listening, theirs:
            process = await asyncio.create_subprocess_exec(
                *_PROGRAM,
                str(listening.fileno()),
                str(theirs.fileno()),
                stdin=asyncio.subprocess.DEVNULL,
                pass_fds=(listening.fileno(), theirs.fileno()),
                process_group=0,  # a Ctrl-C is for the supervisor, which passes it on
            )
        channel = await Channel.over(ours)
        found = self._found  # of now: a reload reaches those workers that are known
        worker = self._workers[number] = _Worker(number, found, process, channel)
        await channel.send(Begin(number=number, found=found, folder=self._folder, since=self._since))
        return worker

    def _up(self) -> None:
        workers = self._workers.values()
        if not self._served and len(workers) == self._found.settings.workers and all(one.up for one in workers):
            self._served = True
            self._ready()

    def _fail(self, ended: DragomanError) -> None:
        """One that cannot begin will not be able to in a second attempt either."""
        self._failure = self._failure or ended
        self._stop(signal.SIGTERM)

    async def _kill_late(self) -> None:
        """Ends what has not ended by itself."""
        await self._stopping.wait()
        until = asyncio.get_running_loop().time() + self._found.settings.timeouts.drain + LAST_WORDS + _GRACE
        while self._workers and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(0.05)
        for worker in self._workers.values():
            worker.signal(signal.SIGKILL)

    # ---- another configuration

    async def _configure(self, found: Found) -> None:
        """Has every worker take it; if the first cannot, nobody does. Raises ``ConfigurationError``."""
        for worker in tuple(self._workers.values())[:1]:
            answer = await worker.configured(found)
            if answer is None:
                raise ConfigurationError([f"the worker {worker.number} ended while it took the configuration"])
            if answer.mistakes:
                raise ConfigurationError(answer.mistakes)
        self._found = found
        while late := next((one for one in self._workers.values() if one.found is not found), None):
            late.found = found
            answer = await late.configured(found)
            if answer is not None and answer.mistakes:
                late.signal(signal.SIGTERM)  # what the first one took, this one takes from its beginning
