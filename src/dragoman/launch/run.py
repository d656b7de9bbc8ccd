"""Lets an agent have the terminal until it ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType

_OF_TERMINALS = ("SIGINT", "SIGQUIT")
_PASSED_ON = (*_OF_TERMINALS, "SIGTERM", "SIGHUP")


def run(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Runs a program until it ends; returns its exit status, 128 + N if signal N ended it. Raises ``OSError``.

    What is sent to this process goes on to the program. What the terminal sends (Ctrl-C) it gets anyway:
    both are in the foreground.
    """
    signals = _Signals()
    with signals.taken(), subprocess.Popen(command, env=dict(environment)) as process:
        signals.pass_to(process)
        status = process.wait()
    return 128 - status if status < 0 else status


class _Signals:
    """What this process is sent is for the program, what comes before there is one too."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        names = [name for name in _PASSED_ON if hasattr(signal, name)]
        before = {name: signal.signal(getattr(signal, name), self._take) for name in names}
        try:
            yield
        finally:
            for name, handler in before.items():
                signal.signal(getattr(signal, name), handler)

    def pass_to(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        for number in self._early:
            process.send_signal(number)

    def _take(self, number: int, _: FrameType | None) -> None:
        if signal.Signals(number).name in _OF_TERMINALS and _in_foreground():
            return
        if self._process is None:
            self._early.append(number)
        else:
            self._process.send_signal(number)


def _in_foreground() -> bool:
    """Whether a terminal sends its signals to this process and to the program alike."""
    for descriptor in (0, 1, 2):
        with contextlib.suppress(OSError, AttributeError):
            return os.tcgetpgrp(descriptor) == os.getpgrp()
    return False
