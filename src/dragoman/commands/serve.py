"""``dragoman serve``: finds the configuration, listens, says where."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from dragoman.exceptions import ConfigurationError

if TYPE_CHECKING:
    from dragoman.gateway.discovery import Found
    from dragoman.gateway.settings import Address, Settings
    from dragoman.gateway.turn import Service


def serve(config: str | None, demo: bool, host: str | None, port: int | None) -> int:
    """Serves until a signal ends it; returns the exit status: 1 if it cannot listen, 2 for a wrong configuration."""
    try:
        found = _found(config, demo)
        settings = _settings(found.settings, host, port)
    except ConfigurationError as error:
        return _complain(error)
    return _listen(settings, found)


def _complain(error: ConfigurationError) -> int:
    click.echo("dragoman: the configuration has mistakes:", err=True)
    for mistake in error.mistakes:
        click.echo(f"  {mistake}", err=True)
    return 2


def _found(config: str | None, demo: bool) -> Found:
    from dragoman.gateway.discovery import Found, discover
    from dragoman.gateway.settings import Settings

    if demo:
        return Found(Settings(), "--demo")
    return discover(config, os.environ, Path.cwd())


def _settings(settings: Settings, host: str | None, port: int | None) -> Settings:
    """The settings with what the command line says, if they may be listened on."""
    from dragoman.gateway.settings import Address

    address = Address(
        settings.listen.host if host is None else host.removeprefix("[").removesuffix("]"),
        settings.listen.port if port is None else port,
    )
    if not address.loopback and not settings.keys:
        try:
            socket.getaddrinfo(address.host, address.port)
        except (OSError, UnicodeError):
            raise ConfigurationError([f"listen: the host {address.host!r} cannot be resolved"]) from None
        mistake = f"listen: {address} can be reached from other machines: configure client keys (keys: [$DRAGOMAN_KEY])"
        raise ConfigurationError([mistake])
    return msgspec.structs.replace(settings, listen=address)


def _listen(settings: Settings, found: Found) -> int:
    from dragoman.gateway import server
    from dragoman.gateway.app import Gateway
    from dragoman.gateway.settings import Address
    from dragoman.toolsets.connect import connect

    services = _services(settings)
    try:
        gateway = Gateway(settings, services, toolbox=connect(settings.tools, settings.tool_loop, found.folder))
    except ConfigurationError as error:
        return _complain(error)
    try:
        sock = server.bind(settings.listen)
    except OSError as error:
        click.echo(f"dragoman: cannot listen on {settings.listen}: {_why(error, settings.listen)}", err=True)
        return 1
    address = Address(settings.listen.host, sock.getsockname()[1])
    server.run(gateway, sock, settings.timeouts.drain, lambda: _greet(address, settings, services, found.source))
    return 0


def _why(error: OSError, address: Address) -> str:
    if isinstance(error, socket.gaierror):
        return f"the host {address.host!r} cannot be resolved: {error.strerror}"
    hint = "; --port N listens on another" if error.errno == errno.EADDRINUSE else ""
    return f"{error.strerror or error}{hint}"


def _services(settings: Settings) -> dict[str, Service]:
    from dragoman.gateway.connect import connect, serve_alone

    if settings.upstreams:
        return connect(settings)
    from dragoman.upstreams.demo import DemoUpstream

    return serve_alone("demo", DemoUpstream(), settings)


def _greet(address: Address, settings: Settings, services: dict[str, Service], source: str) -> None:
    """Where it listens, what it offers, and a line to try."""
    from dragoman import dialects
    from dragoman.gateway.routes import MODEL_LISTS

    click.echo(f"dragoman listens on http://{address} ({source})\n")
    for dialect in map(dialects.get, dialects.names()):
        for route in dialect.routes:
            click.echo(f"  {route.method:<6} {route.path:<49} {dialect.title}")
    for path in (*MODEL_LISTS, *(f"{path}/{{model}}" for path in MODEL_LISTS)):
        click.echo(f"  GET    {path:<49} models, in the client's own shape")
    click.echo("  GET    /health\n")
    click.echo("Upstreams: " + ", ".join(f"{name} ({service.dialect.name})" for name, service in services.items()))
    click.echo("Try:\n  " + _line_to_try(address, settings, services))


def _line_to_try(address: Address, settings: Settings, services: dict[str, Service]) -> str:
    named = [name for name in settings.models if "*" not in name]
    own = [f"{name}/{model}" for name, service in services.items() for model in service.upstream.models]
    model = next(iter([*named, *own]), f"{next(iter(services))}/MODEL")
    key = " -H 'authorization: Bearer YOUR_KEY'" if settings.keys else ""
    body = f'{{"model": "{model}", "stream": true, "messages": [{{"role": "user", "content": "Hello"}}]}}'
    return f"curl -N http://{address}/v1/chat/completions{key} -H 'content-type: application/json' -d '{body}'"
