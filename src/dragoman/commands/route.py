"""``dragoman route``: what a model's name leads to, and why."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from dragoman import jsontext
from dragoman.commands import pipes
from dragoman.commands.catalogue import Catalogue
from dragoman.commands.mistakes import complain
from dragoman.exceptions import ConfigurationError
from dragoman.gateway.discovery import discover
from dragoman.gateway.routing import Found, Reason, Target

_REASONS = {
    Reason.NAME: "the name stands under models",
    Reason.PATTERN: "the pattern {entry} under models fits",
    Reason.DIRECT: "the address of a model of the upstream {entry}",
    Reason.ONLY: "no entry fits, and there is one upstream only: {entry}",
}


def route(name: str, config: str | None, dialect: str | None, as_json: bool) -> int:
    """Says what a name means; returns the exit status: 1 if it leads nowhere, 2 for a wrong configuration."""
    try:
        catalogue = Catalogue(discover(config, os.environ, Path.cwd()))
    except ConfigurationError as error:
        return complain(error)
    found = catalogue.find(name)
    if found is None:
        return _unknown(name, catalogue, as_json)
    targets = [_described(one, catalogue, dialect) for one in found.targets]
    if as_json:
        _print_json({"name": name, "reason": found.reason, "entry": found.entry, "targets": targets})
    else:
        _print(name, found, catalogue, targets)
    return pipes.CLEAN


def _unknown(name: str, catalogue: Catalogue, as_json: bool) -> int:
    near = catalogue.near(name)
    if as_json:
        _print_json({"name": name, "reason": None, "near": near, "targets": []})
    else:
        hint = f"; did you mean {' or '.join(near)}?" if near else "; dragoman models lists what there is"
        click.echo(f"{name}: no name, no pattern and no upstream leads there ({catalogue.source}){hint}", err=True)
    return pipes.VIOLATIONS


def _described(target: Target, catalogue: Catalogue, client: str | None) -> dict[str, Any]:
    place = catalogue.places[target.upstream]
    facts = catalogue.facts(target.upstream, target.model)
    crossing = {} if client is None else {"client": client, "translated": client != place.dialect}
    return {
        "upstream": target.upstream,
        "model": target.model,
        "dialect": place.dialect,
        "address": place.address,
        **crossing,
        "facts": {one.name: {"value": one.value, "from": one.place} for one in facts},
    }


def _print(name: str, found: Found, catalogue: Catalogue, targets: list[dict[str, Any]]) -> None:
    click.echo(f"{name}: {_REASONS[found.reason].format(entry=found.entry)} ({catalogue.source})")
    for number, one in enumerate(targets, 1):
        click.echo(f"{number}. {one['upstream']}/{one['model']}  ({one['dialect']}, {one['address']})")
        if "client" in one:
            how = "translated" if one["translated"] else "in its own dialect, with the least change"
            click.echo(f"   a {one['client']} client: {how}")
        for fact, given in one["facts"].items():
            click.echo(f"   {fact}: {jsontext.render(given['value']).decode()}  ({given['from']})")
    if len(targets) > 1:
        click.echo("tried in this order")


def _print_json(value: dict[str, Any]) -> None:
    click.echo(jsontext.render(value).decode())
