"""From settings to tools: each configured entry as a toolset, in a toolbox. Nothing is opened yet."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.exceptions import ConfigurationError
from dragoman.toolsets.settings import LoopBounds, ToolsetSettings

if TYPE_CHECKING:
    from dragoman.toolsets.interface import Toolset
    from dragoman.toolsets.registry import Toolbox

_EXTRA = ("mcp", "jsonschema")
"""What the extra ``tools`` brings. Loaded only where tools are configured: it takes half a second."""
_MISSING = (
    "tools: this needs the extra `tools`: pip install with dragoman[tools], "
    "or .venv/bin/pip install -e '.[tools]' in a checkout"
)


def connect(
    tools: Mapping[str, ToolsetSettings],
    bounds: LoopBounds,
    folder: Path | None = None,
    running: Toolbox | None = None,
) -> Toolbox:
    """A toolbox of these entries. Python modules are looked for in ``folder`` too.

    A toolset of ``running`` is taken over where the settings of its server did not change. Raises ``ConfigurationError`` with every mistake.
    """
    if tools and not all(map(find_spec, _EXTRA)):
        raise ConfigurationError([_MISSING])
    from dragoman.toolsets.registry import Member, Toolbox

    known = {member.toolset.name: member for member in running.members} if running else {}
    members, mistakes = [], []
    for name, entry in tools.items():
        source = entry.mcp or entry.python
        try:
            kept = known[name].toolset if name in known and known[name].source == source else None
            toolset = kept or _toolset(name, entry, folder)
        except ValueError as error:
            mistakes.append(f"tools.{name}.python: {error}")
            continue
        members.append(
            Member(
                toolset=toolset,
                source=source,
                models=tuple(entry.models),
                approval=entry.approval,
                timeout=bounds.per_tool if entry.timeout is None else entry.timeout,
            )
        )
    if mistakes:
        raise ConfigurationError(mistakes)
    return Toolbox(members)


def _toolset(name: str, entry: ToolsetSettings, folder: Path | None) -> Toolset:
    if entry.python is not None:
        from dragoman.toolsets.python import PythonToolset

        return PythonToolset(name, entry.python, folder)
    from dragoman.toolsets.mcp import McpToolset

    assert entry.mcp is not None
    return McpToolset(name, entry.mcp)
