"""What dragoman raises. An *error* that travels on the wire is a value, see ``canonical.errors``.

DragomanError
├── ConfigurationError      the operator's configuration is wrong; carries every mistake at once
├── LocalProtocolError      the caller of this library broke its contract (a bug on our side of the wire)
├── InvalidRequest          a client's request cannot be served; carries the error for the client
└── RemoteProtocolError     what an upstream sent breaks every reading of its dialect
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.canonical.errors import Error


class DragomanError(Exception):
    """Base of all exceptions of this package."""


class ConfigurationError(DragomanError):
    """Every mistake of a configuration, each as ``place: what is wrong``; ``source``: the file, if it is one's."""

    def __init__(self, mistakes: Sequence[str], source: str | None = None) -> None:
        super().__init__("\n".join(mistakes))
        self.mistakes = tuple(mistakes)
        self.source = source


class LocalProtocolError(DragomanError):
    """An encoder was fed events in an illegal order, or an object was used after its end."""


class InvalidRequest(DragomanError):  # noqa: N818 - says whose fault it is, as h11 names its two
    """A client's request that cannot be served; ``error`` is what the client is told."""

    def __init__(self, error: Error) -> None:
        super().__init__(error.message)
        self.error = error


class RemoteProtocolError(DragomanError):
    """An upstream's bytes cannot be read; ``str()`` says why in words fit for the client."""
