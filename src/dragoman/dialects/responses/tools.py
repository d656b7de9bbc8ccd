"""Tools and the choice among them, both ways. They are flat here: no ``function`` object inside.

A namespace is a tool that holds tools; each of those becomes a tool that knows its namespace. Tools that this vendor
defines and the client runs are a namespace too (``builtins``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from dragoman.canonical.request import HostedTool, Loss, Request, Tool, ToolChoice
from dragoman.dialects.contract import Facts
from dragoman.dialects.openai_schema import fits_strict, object_schema
from dragoman.dialects.openai_shapes import ORIGINS, read_cache
from dragoman.dialects.responses import builtins
from dragoman.dialects.responses.errors import refused
from dragoman.dialects.responses.wire import JSON, NAME, list_of, object_of, text_of
from dragoman.names import BUILTIN

_CLIENT_TOOLS = ("function", "custom")
_READ = frozenset(
    {
        *("type", "name", "description", "parameters", "strict", "format", "function", "custom"),
        *("cache_control", "prompt_cache_breakpoint"),
    }
)
_NOTHING: tuple[Any, ...] = (None, False, "", [], {}, ["direct"])
"""Values of further members that ask for nothing (``allowed_callers`` is ``["direct"]`` by default)."""


class Tools:
    """What the ``tools`` of a body say; ``unknown`` are the paths of what was not understood."""

    def __init__(self) -> None:
        self.tools: list[Tool] = []
        self.hosted: list[HostedTool] = []
        self.unknown: list[str] = []

    def parse(self, raw: Any, path: str = "tools", namespace: str | None = None, about: str | None = None) -> None:
        """Reads a list of tools; one that is known already stays as it is. Raises ``InvalidRequest``."""
        if raw is None:
            return
        if not isinstance(raw, list):
            raise refused("expected a list", path)
        for number, tool in enumerate(raw):
            self._tool(tool, f"{path}[{number}]", namespace, None if number else about)

    def _tool(self, raw: Any, path: str, namespace: str | None, about: str | None) -> None:
        kind = raw.get("type") if isinstance(raw, dict) else None
        if not isinstance(kind, str) or not kind:
            raise refused("expected an object with a type", path)
        if kind in _CLIENT_TOOLS:
            self._client_tool(raw, path, namespace, about)
        elif (found := builtins.declared(raw)) is not None:
            self._add(*found)
        elif kind == "namespace" and namespace is None:
            name = text_of(raw.get("name"))
            if name is None or name == BUILTIN:
                raise refused("expected a name", f"{path}.name")
            self.parse(raw.get("tools"), f"{path}.tools", name, text_of(raw.get("description")))
        else:
            self.hosted.append(HostedTool(origin=NAME, type=kind, value=raw))

    def _client_tool(self, raw: JSON, path: str, namespace: str | None, about: str | None) -> None:
        # the chat dialect's form, which many clients send here too
        raw = {**raw, **object_of(raw.get(raw["type"]))}
        name = raw.get("name")
        if not isinstance(name, str) or not name.strip():
            raise refused("expected a name", f"{path}.name")
        schema, form, strict = raw.get("parameters"), raw.get("format"), raw.get("strict")
        if schema is not None and not isinstance(schema, dict):
            raise refused("expected a JSON Schema object", f"{path}.parameters")
        tool = Tool(
            name=name,
            description=text_of(raw.get("description")),
            schema=schema,
            strict=strict if isinstance(strict, bool) else None,
            kind="custom" if raw["type"] == "custom" else "function",
            format=form if isinstance(form, dict) else None,
            namespace=namespace,
            about=about,
            cache=read_cache(raw),
        )
        self._add(tool, {member: value for member, value in raw.items() if member not in _READ})

    def _add(self, tool: Tool, further: JSON) -> None:
        """``further``: what the declaration says besides."""
        if tool in self.tools:
            return
        place = f"tools[{len(self.tools)}]"
        self.unknown += [f"{place}.{member}" for member, value in further.items() if value not in _NOTHING]
        self.tools.append(tool)


def parse_choice(raw: Any, tools: Sequence[Tool]) -> tuple[ToolChoice | None, list[str]]:
    """The choice, and the paths of what was not understood: a forced hosted tool has no form elsewhere."""
    match raw:
        case None:
            return None, []
        case "none" | "auto" | "required":
            return ToolChoice(raw), []
        case str():
            raise refused("expected none, auto, required or an object", "tool_choice")
        case {"type": "allowed_tools"}:
            inner = object_of(raw.get("allowed_tools")) or raw
            return _allowed(inner, tools)
        case {"type": str(kind)}:
            found = _named(raw, tools)
            if not found and kind in _CLIENT_TOOLS:
                raise refused("expected a name", "tool_choice.name")
            return _choice("required", found), [] if found else ["tool_choice"]
        case _:
            raise refused("expected a word or an object with a type", "tool_choice")


def _allowed(raw: JSON, tools: Sequence[Tool]) -> tuple[ToolChoice | None, list[str]]:
    """The allowed tools. If all of them are hosted ones, none of the client's may be called."""
    entries = list_of(raw.get("tools"))
    found = [_named(entry, tools) if isinstance(entry, dict) else [] for entry in entries]
    unknown = [f"tool_choice.tools[{number}]" for number, names in enumerate(found) if not names]
    names = list(dict.fromkeys(pair for pairs in found for pair in pairs))
    if not names:
        return (ToolChoice("none") if entries else None), unknown or ["tool_choice"]
    return _choice("required" if raw.get("mode") == "required" else "auto", names), unknown


def _choice(mode: Literal["auto", "required"], names: list[tuple[str, str | None]]) -> ToolChoice | None:
    if not names:
        return None
    spaces = tuple(space for _, space in names)
    return ToolChoice(mode, tuple(name for name, _ in names), spaces if any(spaces) else ())


def _named(raw: JSON, tools: Sequence[Tool]) -> list[tuple[str, str | None]]:
    """Name and namespace of the tools that an entry means; a bare name is of the first tool that has it."""
    kind = str(raw.get("type") or "function")
    if any(tool.namespace == BUILTIN and tool.name == kind for tool in tools):
        return [(kind, BUILTIN)]
    inner = object_of(raw.get(kind)) or raw
    name, space = text_of(inner.get("name")), text_of(inner.get("namespace"))
    if name is None or kind not in (*_CLIENT_TOOLS, "namespace"):
        return []
    if kind == "namespace":
        return [(tool.name, name) for tool in tools if tool.namespace == name]
    if space is None:
        space = next((tool.namespace for tool in tools if tool.name == name and tool.namespace != BUILTIN), None)
    return [(name, space)]


# ---- canonical to wire


def render_tool(tool: Tool) -> JSON:
    """One tool. ``strict`` is false unless the client said so.

    Left out, this API tries strict first and rewrites the schema; in the other dialects the default
    is not strict.
    """
    described: JSON = {"description": tool.description} if tool.description is not None else {}
    if tool.kind == "custom":
        form: JSON = {"format": tool.format} if tool.format is not None else {}
        return {"type": "custom", "name": tool.name, **described, **form}
    named = {"type": "function", "name": tool.name, **described}
    return {**named, "parameters": object_schema(tool.schema), "strict": bool(tool.strict)}


def declared_tools(request: Request) -> list[JSON]:
    """The tools of a client of this dialect, as its answers repeat them."""
    out: list[JSON] = []
    spaces: dict[str, JSON] = {}
    for tool in request.tools:
        if tool.namespace is None or tool.native is not None:
            out.append(tool.native or render_tool(tool))
            continue
        if tool.namespace not in spaces:
            space = {"type": "namespace", "name": tool.namespace, "description": tool.about or "", "tools": []}
            spaces[tool.namespace] = space
            out.append(space)
        spaces[tool.namespace]["tools"].append(render_tool(tool))
    return [*out, *(hosted.value for hosted in request.hosted_tools if hosted.origin == NAME)]


def render_tools(request: Request, facts: Facts, losses: list[Loss]) -> list[JSON]:
    """The tools of another dialect's client. Raises ``InvalidRequest`` for hosted ones that may not be dropped."""
    for number, hosted in enumerate(request.hosted_tools):
        if facts.on_server_tool == "refuse":
            message = f"the tool {hosted.type} is run by another API's servers, and cannot be served here"
            raise refused(message, "tools")
        losses.append(Loss(f"hosted_tools[{number}]", f"the tool {hosted.type} is run by another API's servers"))
    out: dict[str, JSON] = {}
    for number, tool in enumerate(request.tools):
        if tool.name in out:
            losses.append(Loss(f"tools[{number}]", "a tool of this name came before"))
            continue
        if tool.strict and request.origin not in ORIGINS and not fits_strict(object_schema(tool.schema)):
            losses.append(Loss(f"tools[{number}].strict", "the schema has what strict mode does not take"))
            tool = msgspec.structs.replace(tool, strict=False)
        out[tool.name] = render_tool(tool)
    return list(out.values())


def render_choice(request: Request) -> str | JSON | None:
    """The choice; a single required tool is forced, several are allowed ones."""
    choice = request.tool_choice
    if choice is None:
        return None
    if not choice.names:
        return choice.mode
    kinds = {(tool.name, tool.namespace): tool.kind for tool in request.tools}
    named = []
    for name, space in zip(choice.names, choice.namespaces or (None,) * len(choice.names), strict=True):
        if space == BUILTIN:
            named.append({"type": name})
            continue
        entry = {"type": kinds.get((name, space), "function"), "name": name}
        named.append(entry if space is None else {**entry, "namespace": space})
    if len(named) == 1 and choice.mode == "required":
        return named[0]
    return {"type": "allowed_tools", "mode": choice.mode, "tools": named}
