"""``dragoman models``: the names that clients can use, and what they lead to."""

from __future__ import annotations

import os
from pathlib import Path

import click
import msgspec

from dragoman import jsontext
from dragoman.commands import pipes
from dragoman.commands.catalogue import Catalogue
from dragoman.commands.mistakes import complain
from dragoman.exceptions import ConfigurationError
from dragoman.gateway.discovery import discover


def models(config: str | None, as_json: bool) -> int:
    """Lists the names; returns the exit status: 2 for a wrong configuration."""
    try:
        catalogue = Catalogue(discover(config, os.environ, Path.cwd()))
    except ConfigurationError as error:
        return complain(error)
    rows = _rows(catalogue)
    if as_json:
        click.echo(jsontext.render({"models": [msgspec.structs.asdict(row) for row in rows]}).decode())
        return pipes.CLEAN
    click.echo(f"{catalogue.source}:")
    width = max(len(row.name) for row in rows)
    for row in rows:
        click.echo(f"  {row.name:<{width}}  {row.about or ', '.join(row.targets)}")
    return pipes.CLEAN


class _Row(msgspec.Struct, frozen=True):
    """A name, or a pattern; ``about`` says more of an upstream."""

    name: str
    kind: str
    targets: list[str]
    about: str = ""


def _rows(catalogue: Catalogue) -> list[_Row]:
    """Names, then patterns, then addresses of upstreams: the order in which they count."""
    entries = sorted(catalogue.entries.items(), key=lambda entry: "*" in entry[0])
    rows = [_Row(name, "pattern" if "*" in name else "name", targets) for name, targets in entries]
    for upstream, place in catalogue.places.items():
        where = f"({place.dialect}, {place.address})"
        if place.models:
            names = [f"{upstream}/{model}" for model in place.models]
            rows += [_Row(name, "address", [name], f"a model of {upstream} {where}") for name in names]
        else:
            rows.append(_Row(f"{upstream}/*", "address", [f"{upstream}/*"], f"any model of {upstream} {where}"))
    if len(catalogue.places) == 1 and not place.models:
        rows.append(_Row("*", "only upstream", [f"{upstream}/*"], f"any other name: a model of {upstream}"))
    return rows
