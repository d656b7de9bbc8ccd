"""From settings to services: each configured upstream joined to its dialect, its key and its facts."""

from __future__ import annotations

from dragoman import dialects
from dragoman.gateway.settings import Settings
from dragoman.gateway.turn import Service
from dragoman.upstreams.http import HttpSession, HttpUpstream
from dragoman.upstreams.interface import Upstream


def connect(settings: Settings) -> dict[str, Service]:
    """A service for each upstream in the settings. Nothing is opened yet."""
    session = HttpSession()
    services = {}
    for name, wanted in settings.upstreams.items():
        dialect = dialects.get(wanted.dialect)
        timeouts = wanted.timeouts.over(settings.timeouts)
        key = dialect.authorize(wanted.api_key.reveal()) if wanted.api_key else {}
        upstream = HttpUpstream(
            session,
            name=name,
            dialect=dialect.name,
            base_url=wanted.base_url,
            headers={**key, **wanted.headers},
            connect=timeouts.connect,
        )
        services[name] = Service(name=name, dialect=dialect, upstream=upstream, facts=wanted.accepts, timeouts=timeouts)
    return services


def serve_alone(name: str, upstream: Upstream, settings: Settings) -> dict[str, Service]:
    """One upstream that is no server, such as the demo."""
    dialect = dialects.get(upstream.dialect)
    return {name: Service(name=name, dialect=dialect, upstream=upstream, timeouts=settings.timeouts)}
