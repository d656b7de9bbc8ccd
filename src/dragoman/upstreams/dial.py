"""A TCP connection to a name: each of its addresses has a chance, and a dead one costs little time.

The event loops at hand take the addresses one after the other, so a name whose first address swallows
packets (IPv6 that is announced and not routed) would use up the whole connect time-out. Here the next
attempt begins while the last is still under way (RFC 8305, in its simplest form).
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from itertools import chain, zip_longest

_STAGGER = 0.25
"""Seconds after which the next address is tried as well."""

Address = tuple[socket.AddressFamily, tuple[object, ...]]


async def connected(host: str, port: int) -> socket.socket:
    """A connected socket, which does not block. Raises ``OSError``: the first failure if every address fails."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = in_turn([(family, place) for family, _, _, _, place in found])
    if len(addresses) == 1:
        return await _attempt(addresses[0])
    return await _race(addresses)


def in_turn(addresses: list[Address]) -> list[Address]:
    """The resolver's order, with the families taking turns."""
    first = [one for one in addresses if one[0] == addresses[0][0]]
    others = [one for one in addresses if one[0] != addresses[0][0]]
    return [one for one in chain.from_iterable(zip_longest(first, others)) if one is not None]


async def _race(addresses: list[Address]) -> socket.socket:
    left = list(reversed(addresses))
    attempts: set[asyncio.Task[socket.socket]] = set()
    failures: list[OSError] = []
    try:
        while left or attempts:
            if left:
                attempts.add(asyncio.ensure_future(_attempt(left.pop())))
            done, _ = await asyncio.wait(
                attempts, timeout=_STAGGER if left else None, return_when=asyncio.FIRST_COMPLETED
            )
            for attempt in done:
                attempts.remove(attempt)
                try:
                    return attempt.result()
                except OSError as failure:
                    failures.append(failure)
        raise failures[0]
    finally:
        for attempt in attempts:
            attempt.add_done_callback(_close)
            attempt.cancel()


def _close(attempt: asyncio.Task[socket.socket]) -> None:
    """Somebody else was sooner."""
    with contextlib.suppress(asyncio.CancelledError, OSError):
        attempt.result().close()


async def _attempt(address: Address) -> socket.socket:
    family, place = address
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(sock, place)
    except BaseException:
        sock.close()
        raise
    return sock
