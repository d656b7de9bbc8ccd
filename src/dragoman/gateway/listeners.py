"""The address of a gateway with several workers (docs/decisions/0014-workers.md).

On Linux each worker has a listening socket of its own (``SO_REUSEPORT``), over which the kernel spreads
connections; it ends with its worker, and the others get what comes. Elsewhere that option spreads nothing, and
all share one socket.
"""

from __future__ import annotations

import socket
import sys

from dragoman.gateway.server import bind
from dragoman.gateway.settings import Address

_SPREADS = sys.platform == "linux"


class Listeners:
    """Holds the address. Raises ``OSError`` if it is in use or not of this machine."""

    def __init__(self, address: Address, *, spread: bool = _SPREADS) -> None:
        self._spread = spread
        self._held = bind(address)
        if spread:
            # That nobody else listens there is known now: with the option, a second gateway would listen too.
            family, place = self._held.family, self._held.getsockname()
            self._held.close()
            self._held = _reusing(family, place)

    @property
    def port(self) -> int:
        port: int = self._held.getsockname()[1]
        return port

    def new(self) -> socket.socket:
        """What one worker listens on; to be closed here once the worker has it.

        It is the worker that begins to listen, once it can serve: nobody waits for one that is still starting.
        """
        return _reusing(self._held.family, self._held.getsockname()) if self._spread else self._held.dup()

    def close(self) -> None:
        """Gives the address up, as far as no worker has it."""
        self._held.close()


def _reusing(family: socket.AddressFamily, place: tuple[object, ...]) -> socket.socket:
    """A socket that is bound and does not listen yet, so that it gets no connections."""
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.bind(place)
    except BaseException:
        sock.close()
        raise
    return sock
