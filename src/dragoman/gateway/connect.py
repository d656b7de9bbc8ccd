"""From settings to services: each configured upstream joined to its dialect, its key and its facts."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from dragoman import dialects
from dragoman.gateway.facts import ModelFacts, presets
from dragoman.gateway.settings import Secret, Settings, UpstreamSettings
from dragoman.gateway.turn import Service
from dragoman.upstreams.http import HttpUpstream
from dragoman.upstreams.interface import Upstream

_SECRET_LENGTH = 8
"""Characters from which a key is one: servers without keys get a word such as ``none``."""
_SECRET_HEADER = re.compile("auth|key|token|secret|cookie", re.IGNORECASE)


def connect(settings: Settings) -> dict[str, Service]:
    """A service for each upstream in the settings. Nothing is opened yet."""
    services = {}
    for name, wanted in settings.upstreams.items():
        dialect = dialects.get(wanted.dialect)
        timeouts = wanted.timeouts.over(settings.timeouts)
        key = dialect.authorize(wanted.api_key.reveal()) if wanted.api_key else {}
        upstream = HttpUpstream(
            name=name,
            dialect=dialect.name,
            base_url=wanted.base_url,
            headers={**key, **wanted.headers},
            connect=timeouts.connect,
            connections=settings.limits.connections,
            head_bytes=int(settings.limits.response_header_kib * 1024),
        )
        services[name] = Service(
            name=name,
            dialect=dialect,
            upstream=upstream,
            facts=model_facts(wanted),
            timeouts=timeouts,
            strict=settings.strict if wanted.strict is None else wanted.strict,
            secrets=_secrets(wanted),
        )
    return services


def model_facts(wanted: UpstreamSettings) -> ModelFacts:
    """What is known of the models of this upstream."""
    return ModelFacts(
        wanted.dialect,
        urlsplit(wanted.base_url).hostname or "",
        wanted.accepts.given,
        {pattern: model.accepts.given for pattern, model in wanted.models.items()},
        presets(),
    )


def _secrets(wanted: UpstreamSettings) -> tuple[Secret, ...]:
    """What an upstream might repeat in an error: its key, and the values of headers that hold one."""
    key = [wanted.api_key.reveal()] if wanted.api_key else []
    values = [*key, *(value for name, value in wanted.headers.items() if _SECRET_HEADER.search(name))]
    words = [word for value in values for word in value.split()]
    return tuple(Secret(word) for word in words if len(word) >= _SECRET_LENGTH)


def serve_alone(name: str, upstream: Upstream, settings: Settings) -> dict[str, Service]:
    """One upstream that is no server, such as the demo."""
    dialect = dialects.get(upstream.dialect)
    return {name: Service(name=name, dialect=dialect, upstream=upstream, timeouts=settings.timeouts)}
