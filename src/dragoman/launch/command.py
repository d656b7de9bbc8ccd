"""``dragoman launch``: finds or starts the gateway, tells the agent where it is, and runs it."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import click
import msgspec

from dragoman.commands import pipes
from dragoman.commands.catalogue import Catalogue
from dragoman.commands.mistakes import complain
from dragoman.exceptions import ConfigurationError
from dragoman.gateway.discovery import Found, discover, models_of
from dragoman.launch import homes, model, shell
from dragoman.launch.agents import AGENTS, Agent, Place, Setup
from dragoman.launch.gateway import GatewayEndedError, Running, from_here, running, started, unreachable
from dragoman.launch.run import run

NOT_INSTALLED = 127
"""The exit status of shells for a program that is not there."""
_NO_KEY = "none"
"""What an agent that insists on a key is given where none is needed."""


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for on the command line."""

    agent: str
    model: str | None = None
    config: str | None = None
    dialect: str | None = None
    print_env: bool = False
    log: str | None = None
    arguments: tuple[str, ...] = ()


def launch(wish: Wish) -> int:
    """Runs the agent; returns its exit status, or 1: no gateway or model, 2: wrong usage, 127: no such program."""
    agent = AGENTS[wish.agent]
    if not wish.print_env and shutil.which(agent.program) is None:
        click.echo(f"dragoman: {agent.title} is not installed: there is no program {agent.program!r}", err=True)
        click.echo(f"  {agent.install}", err=True)
        return NOT_INSTALLED
    try:
        plan = _plan(wish, agent)
        return _print(plan) if wish.print_env else _launch(plan)
    except ConfigurationError as error:
        return complain(error)
    except model.NoModelError as error:
        _say(str(error))
    except GatewayEndedError as error:
        _say(f"the gateway could not be started\n{error}")
    except OSError as error:
        _say(str(error))
    return pipes.VIOLATIONS


class _Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be launched, where. ``there`` is a gateway that runs already and will do."""

    wish: Wish
    agent: Agent
    found: Found
    catalogue: Catalogue
    there: Running | None
    model: str | None

    @property
    def secret(self) -> str | None:
        """A key of the gateway's clients, if it has such keys."""
        keys = self.found.settings.keys
        return keys[0].reveal() if keys else None

    def setup(self, url: str) -> Setup:
        """What the agent is given, for a gateway at this origin; its home is made if it needs one."""
        agent, names = self.agent, self.there.names() if self.there else self.catalogue.names
        dialect = self.wish.dialect or next(iter(agent.dialects))
        place = Place(
            url=url,
            key=self.secret or _NO_KEY,
            dialect=dialect,
            model=self.model,
            models=tuple(dict.fromkeys([*([self.model] if self.model else []), *names])),
        )
        setup = agent.setup(place, agent.dialects[dialect])
        further = {**_home(agent), **shell.past_proxies(os.environ)}
        return msgspec.structs.replace(setup, variables={**setup.variables, **further})

    def command(self, setup: Setup) -> list[str]:
        return [self.agent.program, *setup.arguments, *self.wish.arguments]


def _plan(wish: Wish, agent: Agent) -> _Plan:
    found = discover(wish.config, os.environ, Path.cwd())
    catalogue = Catalogue(found)
    keys = found.settings.keys
    there = running(found.settings.listen, keys[0].reveal() if keys else _NO_KEY)
    chosen = model.choose(agent, wish.model, catalogue, there)
    needed = chosen or agent.usual
    if there and needed and not there.knows(needed):
        then = "it has to be stopped first" if wish.print_env else "another one is started"
        _say(f"the gateway at {there.url} does not know {needed}, or does not take this key: {then}")
        there = None
    return _Plan(wish=wish, agent=agent, found=found, catalogue=catalogue, there=there, model=chosen)


def _home(agent: Agent) -> dict[str, str]:
    if agent.home is None:
        return {}
    home, note = homes.prepare(agent.home, agent.program, os.environ)
    if note:
        _say(note)
    return {agent.home.variable: str(home)}


def _launch(plan: _Plan) -> int:
    if plan.there:
        return _run(plan, plan.there.url, "which runs already")
    models = _added(plan)
    for pattern, targets in models.items():
        _say(f"names that fit {pattern} lead to {', '.join(targets)}")
    with _log(plan.wish.log) as log, started(plan.wish.config, _with_own(models, plan), log) as child:
        status = _run(plan, child.url, f"for this run ({plan.found.source})")
        if said := child.last_words():
            _say(f"the gateway had ended before {plan.agent.title} did\n{said}")
    return status


def _run(plan: _Plan, url: str, about: str) -> int:
    setup = plan.setup(url)
    command = plan.command(setup)
    _say(f"gateway {url}, {about}")
    if plan.there:
        _warn(plan.agent, plan.there)
    else:
        _warn_of_upstreams(plan.catalogue, plan.model or plan.agent.usual)
    for line in shell.shown(setup, command, plan.secret, os.environ):
        click.echo(f"  {line}", err=True)
    environment = {name: value for name, value in os.environ.items() if name not in setup.without}
    program = shutil.which(command[0]) or command[0]
    return run([program, *command[1:]], {**environment, **setup.variables})


def _print(plan: _Plan) -> int:
    """What a shell needs to start the agent by hand; the gateway has to run where the configuration says."""
    wish, secret = plan.wish, plan.secret
    if plan.there:
        _warn(plan.agent, plan.there)
    else:
        options = ["--config", wish.config] if wish.config else []
        click.echo(shell.serving(options, _with_own(_added(plan), plan)))
    setup = plan.setup(f"http://{from_here(plan.found.settings.listen)}")
    variable = next((name for name, value in os.environ.items() if value == secret), None)
    click.echo("\n".join(shell.lines(setup, plan.command(setup), secret, variable)))
    return pipes.CLEAN


def _added(plan: _Plan) -> dict[str, list[str]]:
    return model.aliases(plan.agent, plan.model, plan.catalogue)


def _with_own(models: dict[str, list[str]], plan: _Plan) -> dict[str, list[str]]:
    """Names for a gateway's environment, which may have some already."""
    return {**models, **models_of(os.environ, list(plan.catalogue.places))} if models else {}


def _warn(agent: Agent, there: Running) -> None:
    """A gateway that runs already is as it is: the agent may ask it for names that it does not have."""
    if unknown := [pattern for pattern in agent.patterns if not there.knows(model.example(pattern))]:
        _say(
            f"{agent.title} may also ask for {', '.join(unknown)}, which this gateway does not know: its small work would fail"
        )


def _warn_of_upstreams(catalogue: Catalogue, name: str | None) -> None:
    """An upstream where nobody listens: agents ask it again and again, and say little of it."""
    route = catalogue.find(name) if name else None
    for upstream in dict.fromkeys(target.upstream for target in route.targets) if route else ():
        address = catalogue.places[upstream].address
        if "://" in address and (why := unreachable(address)):
            _say(f"the upstream {upstream} cannot be reached at {address}: {why}")


def _say(words: str) -> None:
    click.echo(f"dragoman: {words}", err=True)


@contextlib.contextmanager
def _log(file: str | None) -> Iterator[IO[bytes]]:
    """Where the gateway's access log goes: a file that was named, or one that nobody sees."""
    with open(file, "a+b") if file else tempfile.TemporaryFile() as log:
        yield log
