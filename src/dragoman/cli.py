"""The command line. Each command imports what it needs when it runs, so that ``--help`` is quick."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Any

import click


class _Dialect(click.ParamType[str]):
    """The name of a known dialect."""

    name = "dialect"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from dragoman import dialects

        if value not in dialects.names():
            self.fail(f"{value!r} is no dialect; known are {', '.join(dialects.names())}", param, ctx)
        return str(value)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("dragoman"), prog_name="dragoman")
def main() -> None:
    """Any LLM client to any LLM upstream, without mangling a streamed tool call."""


@main.command()
@click.option("--config", metavar="FILE", help="The configuration (YAML).")
@click.option("--demo", is_flag=True, help="The demo upstream alone: no network, no keys.")
@click.option("--host", metavar="H", help="The address to listen on, instead of the configured one.")
@click.option("--port", metavar="N", type=click.IntRange(0, 65535), help="The port to listen on.")
def serve(config: str | None, demo: bool, host: str | None, port: int | None) -> None:
    """Run the gateway.

    Without --config the configuration is $DRAGOMAN_CONFIG, ./dragoman.yaml, or API keys in the
    environment (OPENAI_API_KEY, ANTHROPIC_API_KEY, ...); without any of them the demo upstream is served.
    """
    from dragoman.commands.serve import serve as run

    if demo and config:
        raise click.UsageError("--demo serves the demo upstream alone: leave --config out")
    sys.exit(run(config, demo, host, port))


@main.command()
@click.option("--from", "source", metavar="DIALECT", type=_Dialect(), required=True, help="What goes in.")
@click.option("--to", "target", metavar="DIALECT", type=_Dialect(), required=True, help="What comes out.")
@click.option(
    "--kind",
    type=click.Choice(["answer", "request"]),
    default="answer",
    show_default=True,
    help="Translate an upstream's answer, or a client's request.",
)
@click.option("--request", metavar="FILE", help="The client's request (declared tools, number of choices).")
@click.argument("file", default="-")
def translate(source: str, target: str, kind: str, request: str | None, file: str) -> None:
    """Translate a stream or a body from one dialect to another.

    Reads FILE or standard input, writes to standard output as it comes. Exit status: 0 clean, 1 the
    stream failed or was cut, 2 wrong usage.
    """
    from dragoman.commands import pipes
    from dragoman.commands.translate import translate_answer, translate_request

    if kind == "request" and request is not None:
        raise click.UsageError("--request goes with an answer")
    try:
        status = (
            translate_request(source, target, file)
            if kind == "request"
            else translate_answer(source, target, file, request)
        )
    except pipes.UsageError as error:
        raise click.UsageError(str(error)) from None
    sys.exit(status)


@main.command()
@click.option("--request", metavar="FILE", help="The client's request (declared tools, number of choices).")
@click.argument("dialect", type=_Dialect())
@click.argument("file", default="-")
def check(dialect: str, file: str, request: str | None) -> None:
    """Say what a strict client would reject in a stream or a body, and which quirks would be repaired.

    Reads FILE or standard input. Exit status: 0 clean, 1 violations or a failed stream, 2 wrong usage.
    """
    from dragoman.commands import pipes
    from dragoman.commands.check import check as run

    try:
        status = run(dialect, file, request)
    except pipes.UsageError as error:
        raise click.UsageError(str(error)) from None
    sys.exit(status)


@main.command()
@click.option("--config", metavar="FILE", help="The configuration (YAML).")
@click.option("--call", "name", metavar="NAME", help="Call this tool (server__tool) instead of listing all.")
@click.argument("arguments", default="{}", metavar="[JSON]")
def tools(config: str | None, name: str | None, arguments: str) -> None:
    """List the tool servers that the gateway runs, their state and their tools; or call one by hand.

    Exit status: 0 all are there, or the call gave a result; 1 one is not there, or the call failed; 2 wrong usage.
    """
    from dragoman.commands import pipes
    from dragoman.commands.tools import tools as run

    try:
        status = run(config, name, arguments)
    except pipes.UsageError as error:
        raise click.UsageError(str(error)) from None
    sys.exit(status)
