"""An upstream whose answers are written down beforehand, for tests of this project and of its users.

    upstream = ScriptedUpstream("chat", lambda request: ScriptedAnswer([b"data: …", 0.5, b"…"]))

No sockets: what a real connection does to bytes is not tested with it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from dragoman.dialects.contract import UpstreamRequest
from dragoman.upstreams.interface import UpstreamError

Step = bytes | float | UpstreamError
"""Bytes to give, seconds to wait before the next step, or the failure that ends it."""


class ScriptedAnswer:
    """An answer that follows a script of steps; ``closed`` tells whether it was given up or read to its end."""

    def __init__(self, steps: Iterable[Step], *, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        self.status = status
        self.headers: Mapping[str, str] = {"content-type": "text/event-stream"} if headers is None else headers
        self.closed = False
        self._steps = deque(steps)
        self._due: float | None = None

    async def read(self) -> bytes:
        while self._steps and not self.closed:
            step = self._steps[0]
            if isinstance(step, UpstreamError):
                raise step
            if isinstance(step, bytes):
                self._steps.popleft()
                if step:
                    return step
                continue
            await self._wait(step)
            self._steps.popleft()
            self._due = None
        return b""

    async def _wait(self, seconds: float) -> None:
        """Until a time, not for a time: a read that is cancelled and asked again waits no longer."""
        now = asyncio.get_running_loop().time()
        if self._due is None:
            self._due = now + seconds
        await asyncio.sleep(max(0.0, self._due - now))

    def close(self) -> None:
        self.closed = True


class ScriptedUpstream:
    """Answers each request with what ``play`` says of it; ``seen`` keeps the requests."""

    def __init__(
        self,
        dialect: str,
        play: Callable[[UpstreamRequest], ScriptedAnswer | UpstreamError],
        *,
        models: Sequence[str] = (),
    ) -> None:
        self.dialect = dialect
        self.models = models
        self.seen: list[UpstreamRequest] = []
        self.answers: list[ScriptedAnswer] = []
        self._play = play

    async def send(self, request: UpstreamRequest) -> ScriptedAnswer:
        self.seen.append(request)
        answer = self._play(request)
        if isinstance(answer, UpstreamError):
            raise answer
        self.answers.append(answer)
        return answer

    async def aclose(self) -> None:
        for answer in self.answers:
            answer.close()
