"""``dragoman serve``: finds the configuration, listens, says where."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from dragoman.commands.mistakes import complain
from dragoman.exceptions import ConfigurationError

if TYPE_CHECKING:
    from dragoman.gateway.discovery import Found
    from dragoman.gateway.settings import Address, Settings
    from dragoman.gateway.turn import Service


def serve(config: str | None, demo: bool, host: str | None, port: int | None, workers: int | None = None) -> int:
    """Serves until a signal ends it; returns the exit status: 1 if it cannot listen, 2 for a wrong configuration."""
    try:
        found = _told(_found(config, demo), host, port, workers)
        _demand_keys(found.settings)
        return _serve(found, lambda: _told(found.again(os.environ), host, port, workers))
    except ConfigurationError as error:
        return complain(error)


def _found(config: str | None, demo: bool) -> Found:
    from dragoman.gateway.discovery import Found, discover
    from dragoman.gateway.settings import Settings

    if demo:
        return Found(Settings(), "--demo")
    return discover(config, os.environ, Path.cwd())


def _told(found: Found, host: str | None, port: int | None, workers: int | None) -> Found:
    """What was found, with what the command line says."""
    from dragoman.gateway.settings import Address

    settings = found.settings
    address = Address(
        settings.listen.host if host is None else host.removeprefix("[").removesuffix("]"),
        settings.listen.port if port is None else port,
    )
    settings = msgspec.structs.replace(
        settings, listen=address, workers=settings.workers if workers is None else workers
    )
    return msgspec.structs.replace(found, settings=settings)


def _demand_keys(settings: Settings) -> None:
    from dragoman.gateway.reload import demand_keys

    address = settings.listen
    if not address.loopback and not settings.keys:
        try:
            socket.getaddrinfo(address.host, address.port)
        except (OSError, UnicodeError):
            raise ConfigurationError([f"listen: the host {address.host!r} cannot be resolved"]) from None
    demand_keys(settings)


def _serve(found: Found, read: Callable[[], Found]) -> int:
    """Raises ``ConfigurationError``."""
    return _in_this_process(found, read) if found.settings.workers == 1 else _with_workers(found, read)


def _in_this_process(found: Found, read: Callable[[], Found]) -> int:
    from dragoman.gateway import reload, server
    from dragoman.gateway.accesslog import AccessLog
    from dragoman.gateway.app import Gateway
    from dragoman.toolsets.connect import connect

    settings = found.settings
    services = reload.services_of(settings)
    log = AccessLog()
    gateway = Gateway(settings, services, log, connect(settings.tools, settings.tool_loop, found.folder))
    try:
        sock = server.bind(settings.listen)
    except OSError as error:
        return _cannot_listen(settings.listen, error)
    port = sock.getsockname()[1]
    reloading = reload.Reloading(found, read, lambda found: reload.apply(gateway, found), log)
    server.run(gateway, sock, lambda: _greet(found, port, services), reloading)
    return 0


def _with_workers(found: Found, read: Callable[[], Found]) -> int:
    if os.name != "posix":
        raise ConfigurationError(["workers: several processes need Linux, macOS or another Unix"])
    from dragoman.gateway import reload, supervisor
    from dragoman.gateway.listeners import Listeners

    services = reload.services_of(found.settings)
    try:
        listeners = Listeners(found.settings.listen)
    except OSError as error:
        return _cannot_listen(found.settings.listen, error)
    try:
        supervisor.run(found, listeners, lambda: _greet(found, listeners.port, services), read)
    except supervisor.WorkerError as error:
        click.echo(f"dragoman: {error}", err=True)
        return 1
    return 0


def _cannot_listen(address: Address, error: OSError) -> int:
    click.echo(f"dragoman: cannot listen on {address}: {_why(error, address)}", err=True)
    return 1


def _why(error: OSError, address: Address) -> str:
    if isinstance(error, socket.gaierror):
        return f"the host {address.host!r} cannot be resolved: {error.strerror}"
    hint = "; --port N listens on another" if error.errno == errno.EADDRINUSE else ""
    return f"{error.strerror or error}{hint}"


def _greet(found: Found, port: int, services: dict[str, Service]) -> None:
    """Where it listens, what it offers, and a line to try."""
    from dragoman import dialects
    from dragoman.gateway.routes import MODEL_LISTS

    settings = found.settings
    address = msgspec.structs.replace(settings.listen, port=port)
    click.echo(f"dragoman listens on http://{address} ({found.source}{_of(settings.workers)})\n")
    for dialect in map(dialects.get, dialects.names()):
        for route in dialect.routes:
            click.echo(f"  {route.method:<6} {route.path:<49} {dialect.title}")
    for path in (*MODEL_LISTS, *(f"{path}/{{model}}" for path in MODEL_LISTS)):
        click.echo(f"  GET    {path:<49} models, in the client's own shape")
    click.echo("  GET    /health, /ready\n")
    click.echo("Upstreams: " + ", ".join(f"{name} ({service.dialect.name})" for name, service in services.items()))
    click.echo("Try:\n  " + _line_to_try(address, settings, services))


def _of(workers: int) -> str:
    return f", {workers} workers" if workers > 1 else ""


def _line_to_try(address: Address, settings: Settings, services: dict[str, Service]) -> str:
    named = [name for name in settings.models if "*" not in name]
    own = [f"{name}/{model}" for name, service in services.items() for model in service.upstream.models]
    model = next(iter([*named, *own]), f"{next(iter(services))}/MODEL")
    key = " -H 'authorization: Bearer YOUR_KEY'" if settings.keys else ""
    body = f'{{"model": "{model}", "stream": true, "messages": [{{"role": "user", "content": "Hello"}}]}}'
    return f"curl -N http://{address}/v1/chat/completions{key} -H 'content-type: application/json' -d '{body}'"
