"""``dragoman tools``: the configured tool servers, their state and their tools; calls one by hand."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dragoman.canonical.request import Text
from dragoman.commands import pipes
from dragoman.commands.mistakes import complain
from dragoman.exceptions import ConfigurationError

if TYPE_CHECKING:
    from dragoman.canonical.request import ResultPart
    from dragoman.toolloop.loop import ToolOutcome
    from dragoman.toolsets.registry import Member, Toolbox
    from dragoman.toolsets.settings import ToolSections

_WIDTH = 100  # characters of a description that are shown


def tools(config: str | None, name: str | None = None, arguments: str = "{}") -> int:
    """Lists, or with a ``name`` calls that tool; returns the exit status. Raises ``UsageError``.

    0: all servers are there; the tool gave a result. 1: one is not there; the tool failed.
    2: wrong configuration.
    """
    from dragoman.toolsets.connect import connect

    try:
        sections, folder = _sections(config, os.environ, Path.cwd())
        entries = sections.tools
        if name is not None:
            server = name.partition("__")[0]
            if server not in entries:
                raise pipes.UsageError(f"no configured server has a tool {name}: expected SERVER__TOOL")
            entries = {server: entries[server]}
        toolbox = connect(entries, sections.tool_loop, folder)
    except ConfigurationError as error:
        return complain(error)
    silence = logging.NullHandler()
    logging.getLogger().addHandler(silence)  # what there is to say of a server is in its state
    try:
        return asyncio.run(_list(toolbox) if name is None else _call(toolbox, name, arguments))
    finally:
        logging.getLogger().removeHandler(silence)


def _sections(named: str | None, environment: Mapping[str, str], folder: Path) -> tuple[ToolSections, Path]:
    """The sections on tools of the configuration that ``serve`` would find, and its folder; the rest is not looked at.

    Raises ``ConfigurationError``, and ``UsageError`` if there is no file.
    """
    from dragoman.gateway import config
    from dragoman.gateway.discovery import FILE
    from dragoman.toolsets.settings import ToolSections, check

    file = Path(named or environment.get("DRAGOMAN_CONFIG") or folder / FILE)
    try:
        raw = config.parse(file.read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "not a text in UTF-8"
        hint = "" if named else " (--config FILE names another)"
        raise pipes.UsageError(f"{file}: {why}{hint}") from None
    wanted = {key: raw[key] for key in ToolSections.__struct_fields__ if key in raw} if isinstance(raw, dict) else {}
    mistakes: list[str] = []
    expanded = config.expand(wanted, "", environment, mistakes)
    sections = config.read(ToolSections, expanded, "", mistakes)
    mistakes.extend(check(expanded))
    if mistakes:
        raise ConfigurationError(mistakes, str(file))
    assert isinstance(sections, ToolSections)
    return sections, file.resolve().parent


# ---- listing


async def _list(toolbox: Toolbox) -> int:
    if not toolbox.members:
        click.echo("no tools are configured")
        return pipes.CLEAN
    try:
        await toolbox.start()
        await toolbox.settled()
        for member in toolbox.members:
            _show(member)
        ready = all(member.toolset.state.condition == "ready" for member in toolbox.members)
    finally:
        await toolbox.aclose()
    return pipes.CLEAN if ready else pipes.VIOLATIONS


def _show(member: Member) -> None:
    toolset, state = member.toolset, member.toolset.state
    models = "" if "*" in member.models else f", for {', '.join(member.models)}"
    detail = f": {state.detail}" if state.detail else ""
    click.echo(f"{toolset.name}  {state.condition}  ({toolset.about}{models}){detail}")
    for tool in toolset.tools:
        mark = "" if member.approval.allows(tool.name) else "  [denied]"
        first = (tool.description or "").strip().partition("\n")[0]
        click.echo(f"  {tool.offered}{mark}  {first[:_WIDTH]}".rstrip())


# ---- calling


async def _call(toolbox: Toolbox, name: str, arguments: str) -> int:
    from dragoman.toolsets.registry import Wanted

    (member,) = toolbox.members
    try:
        await toolbox.start()
        await toolbox.settled()
        if member.toolset.state.condition != "ready":
            _show(member)
            return pipes.VIOLATIONS
        known = {tool.offered: tool for tool in member.toolset.tools}
        if name not in known:
            raise pipes.UsageError(f"{member.toolset.name} has no tool {name}; it has {', '.join(known) or 'none'}")
        outcome = await toolbox.call(Wanted(member.toolset.name, known[name].name, arguments))
    finally:
        await toolbox.aclose()
    _tell(outcome)
    return pipes.VIOLATIONS if outcome.error else pipes.CLEAN


def _tell(outcome: ToolOutcome) -> None:
    for part in outcome.parts:
        click.echo(part.text if isinstance(part, Text) else _in_words(part), err=outcome.error)


def _in_words(part: ResultPart) -> str:
    size = len(getattr(part, "data", None) or "")
    return f"[{type(part).__name__.lower()} {getattr(part, 'media_type', None) or ''}, {size} bytes of base64]"
