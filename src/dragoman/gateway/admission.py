"""How many requests of one client are under way at the same time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from dragoman.canonical.errors import Error, ErrorKind
from dragoman.exceptions import InvalidRequest

_RETRY_AFTER = 1.0
"""Seconds after which a client may try again: it has to wait for its own answers to end."""


class Admission:
    """Counts them for each client key (``scope``); those without keys are one client."""

    def __init__(self) -> None:
        self._open: dict[str, int] = {}

    @contextlib.contextmanager
    def admitted(self, scope: str, most: int) -> Iterator[None]:
        """One more request, if so many are not exceeded. Raises ``InvalidRequest``."""
        count = self._open.get(scope, 0)
        if count >= most:
            message = f"{most:,} requests are under way for this client already"
            raise InvalidRequest(Error(kind=ErrorKind.RATE_LIMIT, message=message, retry_after=_RETRY_AFTER))
        self._open[scope] = count + 1
        try:
            yield
        finally:
            self._open[scope] -= 1
            if not self._open[scope]:
                del self._open[scope]
