"""``python -m dragoman.upstreams.demo MODEL``: a recorded stream as it would leave the demo, unrepaired.

    python -m dragoman.upstreams.demo late-name | dragoman translate --from chat --to messages

Without a model it lists them.
"""

from __future__ import annotations

import sys

from dragoman.upstreams.demo.answer import answer
from dragoman.upstreams.demo.recording import MODELS


def main(arguments: list[str]) -> int:
    """Returns the exit status: 2 for a model that there is not."""
    if {"-h", "--help"} & set(arguments):
        print(__doc__)
        return 0
    if not arguments:
        for name, about in MODELS.items():
            print(f"{name:20}{about}")
        return 0
    body = {"model": arguments[0], "stream": True, "messages": [{"role": "user", "content": "Hello!"}]}
    given = answer(body, token="recorded", now=0)
    sys.stdout.buffer.write(b"".join(given.pieces))
    return 0 if given.status == 200 else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
