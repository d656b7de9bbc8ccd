"""A gateway over scripted upstreams, in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from dragoman import dialects
from dragoman.dialects.contract import UpstreamRequest
from dragoman.gateway.accesslog import AccessLog
from dragoman.gateway.app import Gateway
from dragoman.gateway.facts import ModelFacts
from dragoman.gateway.settings import FailoverSettings, Limits, Secret, Settings, StateSettings, Timeouts
from dragoman.gateway.turn import Service
from dragoman.upstreams.interface import UpstreamError
from dragoman.upstreams.scripted import ScriptedAnswer, ScriptedUpstream
from tests.loops import Loops, loops

Play = Callable[[UpstreamRequest], ScriptedAnswer | UpstreamError]


class Lab:
    """Makes gateways whose upstreams play what the test says; ``log`` has what they logged."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.upstreams: dict[str, ScriptedUpstream] = {}
        self.now = 1000.0
        """The time by which targets cool down."""

    @property
    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]

    def gateway(
        self,
        *,
        models: Mapping[str, list[str]] | None = None,
        keys: Sequence[str] = (),
        timeouts: Timeouts | None = None,
        limits: Limits | None = None,
        dialect: str | Mapping[str, str] = "chat",
        accepts: Mapping[str, Any] | None = None,
        strict: bool = False,
        state: StateSettings | None = None,
        failover: FailoverSettings | None = None,
        known: Sequence[str] = (),
        **plays: Play | ScriptedAnswer | UpstreamError,
    ) -> Gateway:
        settings = Settings(
            keys=[Secret(key) for key in keys],
            models=dict(models or {}),
            timeouts=timeouts or Timeouts(),
            limits=limits or Limits(),
            state=state or StateSettings(),
            failover=failover or FailoverSettings(),
        )
        services = {}
        for name, play in plays.items():
            spoken = dialect if isinstance(dialect, str) else dialect[name]
            upstream = ScriptedUpstream(spoken, play if callable(play) else _always(play), models=known)
            self.upstreams[name] = upstream
            services[name] = Service(
                name=name,
                dialect=dialects.get(spoken),
                upstream=upstream,
                facts=ModelFacts(given=accepts),
                timeouts=settings.timeouts,
                strict=strict,
            )
        return Gateway(settings, services, AccessLog(self.lines.append), clock=lambda: self.now)

    def asked(self, name: str) -> int:
        """How many requests an upstream got."""
        return len(self.upstreams[name].seen)


def _always(answer: ScriptedAnswer | UpstreamError) -> Play:
    return lambda _: answer


def pytest_asyncio_loop_factories(item: pytest.Item) -> Loops:
    return loops(item, "test_sockets", "test_pressure")


@pytest.fixture
def lab() -> Lab:
    return Lab()
