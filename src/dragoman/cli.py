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


class _Port(click.ParamType[int]):
    """A port; 0: any that is free."""

    name = "port"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value)
        if not (text.isascii() and text.isdigit() and len(text) <= 5 and int(text) <= 65535):
            self.fail(f"expected a number from 0 to 65535, not {text!r}", param, ctx)
        return int(text)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("dragoman"), prog_name="dragoman")
def main() -> None:
    """Any LLM client to any LLM upstream, without mangling a streamed tool call."""


@main.command()
@click.option("--config", metavar="FILE", help="The configuration (YAML).")
@click.option("--demo", is_flag=True, help="The demo upstream alone: no network, no keys.")
@click.option("--host", metavar="H", help="The address to listen on, instead of the configured one.")
@click.option("--port", metavar="N", type=_Port(), help="The port to listen on (0: any that is free).")
@click.option("--workers", metavar="N", type=click.IntRange(1, 256), help="Processes that share the port (default 1).")
def serve(config: str | None, demo: bool, host: str | None, port: int | None, workers: int | None) -> None:
    """Run the gateway.

    Without --config the configuration is $DRAGOMAN_CONFIG, ./dragoman.yaml, or API keys in the
    environment (OPENAI_API_KEY, ANTHROPIC_API_KEY, ...); without any of them the demo upstream is served.
    """
    from dragoman.commands.serve import serve as run

    if demo and config:
        raise click.UsageError("--demo serves the demo upstream alone: leave --config out")
    sys.exit(run(config, demo, host, port, workers))


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
@click.option(
    "--model", metavar="NAME", help="Of a request: the model, where it stands in the path (gemini), or another."
)
@click.option("--stream/--no-stream", default=None, help="Of a request from gemini: what its path says. Default: no.")
@click.argument("file", default="-")
def translate(
    source: str, target: str, kind: str, request: str | None, model: str | None, stream: bool | None, file: str
) -> None:
    """Translate a stream or a body from one dialect to another.

    Reads FILE or standard input, writes to standard output as it comes. Where a request's path says
    what its body does not (to gemini), the path goes to standard error. Exit status: 0 clean, 1 the
    stream failed or was cut or the request is refused, 2 wrong usage.
    """
    from dragoman.commands import pipes
    from dragoman.commands.translate import translate_answer, translate_request

    if kind == "request" and request is not None:
        raise click.UsageError("--request goes with an answer")
    if kind == "answer" and (model is not None or stream is not None):
        raise click.UsageError("--model and --stream go with --kind request")
    try:
        status = (
            translate_request(source, target, file, model, stream)
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
@click.argument("arguments", default=None, required=False, metavar="[JSON]")
def tools(config: str | None, name: str | None, arguments: str | None) -> None:
    """List the tool servers that the gateway runs, their state and their tools; or call one by hand.

    Exit status: 0 all are there, or the call gave a result; 1 one is not there, or the call failed; 2 wrong usage.
    """
    from dragoman.commands import pipes
    from dragoman.commands.tools import tools as run

    if arguments is not None and name is None:
        raise click.UsageError("arguments go with --call NAME")
    try:
        status = run(config, name, "{}" if arguments is None else arguments)
    except pipes.UsageError as error:
        raise click.UsageError(str(error)) from None
    sys.exit(status)


@main.command()
@click.option("--config", metavar="FILE", help="The configuration (YAML).")
@click.option("--dialect", metavar="D", type=_Dialect(), help="Say whether a client of this dialect is translated.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.argument("name")
def route(name: str, config: str | None, dialect: str | None, as_json: bool) -> None:
    """Say which targets the model NAME leads to, and why, and what is known of them.

    The configuration is the one that serve would find; no upstream is asked. Exit status: 0 it leads
    somewhere, 1 nowhere, 2 wrong usage.
    """
    from dragoman.commands.route import route as run

    sys.exit(run(name, config, dialect, as_json))


@main.command()
@click.option("--config", metavar="FILE", help="The configuration (YAML).")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def models(config: str | None, as_json: bool) -> None:
    """List the names of models that clients can use, and what they lead to.

    The configuration is the one that serve would find; no upstream is asked.
    """
    from dragoman.commands.models import models as run

    sys.exit(run(config, as_json))


class _Agent(click.ParamType[str]):
    """The name of an agent that can be launched."""

    name = "agent"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from dragoman.launch.agents import AGENTS

        if value not in AGENTS:
            self.fail(f"{value!r} is none of {', '.join(AGENTS)}", param, ctx)
        return str(value)


class _Launch(click.Command):
    """Says of an option that it does not have where those of the agent go."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise click.UsageError(f"{error.format_message()} Options of the agent go behind --.", ctx) from None


@main.command(cls=_Launch)
@click.option("--model", metavar="M", help="The model that the agent shall use: a configured name, or UPSTREAM/MODEL.")
@click.option("--config", metavar="FILE", help="The configuration (YAML).")
@click.option("--dialect", metavar="D", type=_Dialect(), help="What the agent shall speak, if it speaks several.")
@click.option("--print-env", is_flag=True, help="Print lines for a shell instead, and start nothing.")
@click.option("--log", metavar="FILE", help="Where the gateway that is started writes its access log.")
@click.argument("agent", type=_Agent(), metavar="claude|codex|gemini|opencode|pi|qwen|kilo|aider")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-- ARGS...]")
def launch(
    agent: str,
    model: str | None,
    config: str | None,
    dialect: str | None,
    print_env: bool,
    log: str | None,
    arguments: tuple[str, ...],
) -> None:
    """Start an agent with its traffic on the gateway: one that runs already, or one for this run.

    What the agent needs it is given as variables and options of this run; files of yours are not
    changed. ARGS go on to it. The exit status is the agent's own; 127: it is not installed.
    """
    from dragoman.launch.agents import AGENTS
    from dragoman.launch.command import Wish
    from dragoman.launch.command import launch as run

    speaks = AGENTS[agent].dialects
    if dialect is not None and dialect not in speaks:
        raise click.UsageError(f"{AGENTS[agent].title} can be told to speak {' or '.join(speaks)}, not {dialect}")
    wish = Wish(
        agent=agent, model=model, config=config, dialect=dialect, print_env=print_env, log=log, arguments=arguments
    )
    sys.exit(run(wish))
