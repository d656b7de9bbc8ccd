"""What ``SIGHUP`` means: read the configuration again, unless the terminal is gone that the gateway was started in.

Without the second, a gateway would outlive the window in which somebody tried it out.
"""

from __future__ import annotations

import os
import signal

HANGUP: signal.Signals | None = getattr(signal, "SIGHUP", None)
"""``None`` where there is no such signal."""


class Terminal:
    """The terminal at the start; with ``nohup`` it does not count."""

    def __init__(self) -> None:
        self._counts = HANGUP is not None and signal.getsignal(HANGUP) is not signal.SIG_IGN and _is_there()

    @property
    def gone(self) -> bool:
        """Whether there was one, and is no more."""
        return self._counts and not _is_there()


def _is_there() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True
