"""What an agent is given, as lines: to be read, or for a shell."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence

from dragoman.gateway.discovery import MODELS
from dragoman.launch.agents import Setup

_LOOPBACK = "127.0.0.1,localhost,::1"
_KEY = "DRAGOMAN_KEY"
"""The variable that lines for a shell take a key from that stands in a file."""


def past_proxies(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that keep what is for this machine from going through a proxy, if there is one."""
    if not any(
        environment.get(name) for one in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY") for name in (one, one.lower())
    ):
        return {}
    before = environment.get("NO_PROXY") or environment.get("no_proxy")
    return dict.fromkeys(("NO_PROXY", "no_proxy"), f"{before},{_LOOPBACK}" if before else _LOOPBACK)


def shown(setup: Setup, command: Sequence[str], secret: str | None, environment: Mapping[str, str]) -> list[str]:
    """Lines for somebody to read: what is changed in this environment. The secret in them is ``***``."""
    variables = [f"{name}={'***' if value == secret else value}" for name, value in setup.variables.items()]
    gone = [f"without {name}" for name in setup.without if name in environment]
    return [*variables, *gone, f"$ {shlex.join(command)}"]


def lines(setup: Setup, command: Sequence[str], secret: str | None, variable: str | None) -> list[str]:
    """Lines for a POSIX shell. The secret is not in them: it comes from a ``variable`` that holds it."""
    name = variable or _KEY
    note = [f"# {_KEY}: one of the gateway's keys"] if secret is not None and variable is None else []
    exported = [
        f'export {one}="${name}"' if value == secret else f"export {one}={shlex.quote(value)}"
        for one, value in setup.variables.items()
    ]
    unset = [f"unset {' '.join(setup.without)}"] if setup.without else []
    return [*note, *exported, *unset, shlex.join(command)]


def serving(options: Sequence[str], models: Mapping[str, list[str]]) -> str:
    """How to start the gateway that the other lines are for, as a comment."""
    before = f"{MODELS}={shlex.quote(json.dumps(models))} " if models else ""
    return f"# first: {before}{shlex.join(['dragoman', 'serve', *options])}"
