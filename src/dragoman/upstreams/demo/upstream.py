"""The demo as the gateway sees it: an ``Upstream`` whose answers come at a human pace."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence

from dragoman import jsontext
from dragoman.dialects.contract import UpstreamRequest
from dragoman.upstreams.demo.answer import Answer, answer
from dragoman.upstreams.demo.recording import MODELS
from dragoman.upstreams.demo.request import BadRequestError
from dragoman.upstreams.scripted import ScriptedAnswer, Step

PACE = 0.03
"""Seconds from one chunk to the next: two thousand words a minute, a model in a hurry."""


class DemoUpstream:
    """Needs no network and no key. ``pace`` is in seconds per chunk; 0 answers at once.

    Nothing runs in the background: an answer that nobody reads does nothing.
    """

    dialect = "chat"

    def __init__(self, *, pace: float = PACE) -> None:
        self.models: Sequence[str] = tuple(MODELS)
        self._pace = pace

    async def send(self, request: UpstreamRequest) -> ScriptedAnswer:
        """Answers, if only with an error."""
        if request.method == "POST" and request.path.partition("?")[0].endswith("/chat/completions"):
            given = answer(request.body, token=secrets.token_hex(8), now=int(time.time()))
        else:
            refusal = BadRequestError(f"the demo has nothing at {request.method} {request.path}", status=404)
            given = Answer(refusal.status, "application/json", [jsontext.render(refusal.body)])
        steps: list[Step] = []
        for piece in given.pieces:
            steps += [self._pace, piece] if self._pace else [piece]
        return ScriptedAnswer(steps, status=given.status, headers={"content-type": given.content_type})

    async def aclose(self) -> None:
        """Nothing to give back."""
