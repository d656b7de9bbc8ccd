"""What an upstream is to the gateway: it takes a request and gives a head, then bytes.

Everything dialect-specific is in the request already; what the bytes mean is not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from dragoman.canonical.errors import Error
from dragoman.dialects.contract import UpstreamRequest
from dragoman.exceptions import DragomanError


class UpstreamError(DragomanError):
    """No answer, or no more of it: refused, timed out while connecting, cut, not HTTP. Foreign exceptions end here.

    ``error`` is what a client may be told: it names the upstream, never its address or its key.
    """

    def __init__(self, error: Error) -> None:
        super().__init__(error.message)
        self.error = error


class UpstreamAnswer(Protocol):
    """An answer that has begun: its head is known, its body is read piece by piece."""

    @property
    def status(self) -> int:
        """The HTTP status."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, names in lower case."""

    async def read(self) -> bytes:
        """The next bytes as soon as there are any, ``b""`` once the body has ended as it should.

        A read may be cancelled and asked again: nothing is lost by that. Nothing is taken from
        the upstream beyond a small buffer while nobody reads. Raises ``UpstreamError``, after
        all bytes that came before the failure were given.
        """

    def close(self) -> None:
        """Ends the request at once if the answer is not over; may be called twice."""


@runtime_checkable
class FlowingAnswer(UpstreamAnswer, Protocol):
    """An answer that can do what ``flow`` does without waking a task for each piece."""

    async def flow(self, sink: Callable[[bytes], bool]) -> bool:
        """As ``flow``."""


async def flow(answer: UpstreamAnswer, sink: Callable[[bytes], bool]) -> bool:
    """Gives pieces to ``sink`` as they come, for as long as it returns ``True``.

    Returns whether the body is over; if not, ``sink`` wanted no more for now. Raises ``UpstreamError`` as
    ``read`` does, and what ``sink`` raises. Cancelling loses nothing; ``sink`` may get pieces until it takes effect.
    """
    if isinstance(answer, FlowingAnswer):
        return await answer.flow(sink)
    while data := await answer.read():
        if not sink(data):
            return False
    return True


class Upstream(Protocol):
    """Takes requests of one dialect. Used by many exchanges at the same time."""

    @property
    def dialect(self) -> str:
        """The name of the dialect that it speaks."""

    @property
    def models(self) -> Sequence[str]:
        """The models that it is known to have; empty where that is not known."""

    async def send(self, request: UpstreamRequest) -> UpstreamAnswer:
        """The answer's head. Raises ``UpstreamError``. Cancelling ends the request."""

    async def aclose(self) -> None:
        """Gives back connections; open answers are cut."""
