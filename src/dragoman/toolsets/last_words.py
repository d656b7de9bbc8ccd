"""What a child process writes to its standard error: the end of it is kept, for people."""

from __future__ import annotations

import asyncio
import os
from typing import TextIO

_KEPT = 4096  # bytes
_READ = 65536
_MOST_READS = 16
"""In the end: a process that outlives its pipe may go on writing."""
_LONGEST = 300  # characters of the line that is shown


class LastWords:
    """A pipe for a child's standard error, always read, so that the child is never held up by it.

    ``sink`` is for the child; ``handed_over`` once it has it; ``close`` in the end.
    """

    def __init__(self) -> None:
        self._source, sink = os.pipe()
        os.set_blocking(self._source, False)
        self.sink: TextIO = os.fdopen(sink, "w")
        self._tail = b""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._source, self._take)

    def _take(self) -> bool:
        """Reads what is there; whether there may be more."""
        try:
            data = os.read(self._source, _READ)
        except BlockingIOError:
            return False
        if not data:
            self._loop.remove_reader(self._source)
        self._tail = (self._tail + data)[-_KEPT:]
        return bool(data)

    def handed_over(self) -> None:
        """Closes this process' end of what the child writes to."""
        self.sink.close()

    def close(self) -> None:
        """Reads what is left and closes the pipe; the last words stay."""
        self.sink.close()
        for _ in range(_MOST_READS):
            if not self._take():
                break
        self._loop.remove_reader(self._source)
        os.close(self._source)

    @property
    def line(self) -> str:
        """The last line that says something; ``""`` if none does."""
        lines = self._tail.decode("utf-8", "replace").splitlines()
        found = next((line for line in reversed(lines) if line.strip()), "")
        return "".join(char for char in found.strip() if char.isprintable())[:_LONGEST]
