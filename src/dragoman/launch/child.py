"""The gateway of a launch, as a process of its own: ``python -m dragoman.launch.child [FILE]``.

It ends when its standard input does, which is when the launching process is no more, however that ended.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

from dragoman.commands.serve import serve

HOST = "127.0.0.1"


def main(arguments: list[str]) -> int:
    """Serves on a free loopback port; returns the exit status of ``dragoman serve``."""
    threading.Thread(target=_end_with_input, daemon=True).start()
    return serve(arguments[0] if arguments else None, demo=False, host=HOST, port=0, workers=1)


def _end_with_input() -> None:
    while os.read(0, 1024):  # not sys.stdin: its lock would be held at the end of the interpreter
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
