"""How every command tells the mistakes of a configuration."""

from __future__ import annotations

import click

from dragoman.commands.pipes import USAGE
from dragoman.exceptions import ConfigurationError


def complain(error: ConfigurationError) -> int:
    """Tells the mistakes, and the file that has them; returns the exit status for them."""
    click.echo(f"dragoman: {error.source or 'the configuration'} has mistakes:", err=True)
    for mistake in error.mistakes:
        click.echo(f"  {mistake}", err=True)
    return USAGE
