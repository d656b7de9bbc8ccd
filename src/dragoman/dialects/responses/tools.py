"""Tools and the choice among them, both ways. They are flat here: no ``function`` object inside.

A namespace is a tool that holds tools; each of those becomes a tool that knows its namespace.
"""

from __future__ import annotations

from typing import Any

from dragoman.canonical.request import HostedTool, Loss, Request, Tool, ToolChoice
from dragoman.dialects.responses.errors import refused
from dragoman.dialects.responses.wire import JSON, NAME, text_of

_CLIENT_TOOLS = {"function": "function", "custom": "custom"}
_FUNCTION_MEMBERS = frozenset({"type", "name", "description", "parameters", "strict", "format", "function"})


class Tools:
    """What the ``tools`` of a body say; ``unknown`` are the paths of what was not understood."""

    def __init__(self) -> None:
        self.tools: list[Tool] = []
        self.hosted: list[HostedTool] = []
        self.unknown: list[str] = []

    def parse(self, raw: Any, path: str = "tools", namespace: str | None = None) -> None:
        """Reads a list of tools. Raises ``InvalidRequest``."""
        if raw is None:
            return
        if not isinstance(raw, list):
            raise refused("tools must be a list", path)
        for number, tool in enumerate(raw):
            self._tool(tool, f"{path}[{number}]", namespace)

    def _tool(self, raw: Any, path: str, namespace: str | None) -> None:
        kind = raw.get("type") if isinstance(raw, dict) else None
        if not isinstance(kind, str) or not kind:
            raise refused("a tool must be an object with a type", path)
        if kind in _CLIENT_TOOLS:
            self.tools.append(self._client_tool(raw, path, namespace))
        elif kind == "namespace" and namespace is None:
            name = text_of(raw.get("name"))
            if name is None:
                raise refused("a namespace needs a name", f"{path}.name")
            if raw.get("description"):
                self.unknown.append(f"{path}.description")
            self.parse(raw.get("tools"), f"{path}.tools", name)
        else:
            self.hosted.append(HostedTool(origin=NAME, type=kind, value=raw))

    def _client_tool(self, raw: JSON, path: str, namespace: str | None) -> Tool:
        inner = raw.get(raw["type"])
        if isinstance(inner, dict):  # the chat dialect's form, which many clients send here too
            raw = {**raw, **inner}
        name = raw.get("name")
        if not isinstance(name, str) or not name.strip():
            raise refused("a tool needs a name", f"{path}.name")
        schema, form = raw.get("parameters"), raw.get("format")
        if schema is not None and not isinstance(schema, dict):
            raise refused("parameters must be a JSON Schema object", f"{path}.parameters")
        self.unknown += [f"{path}.{member}" for member in raw if member not in _FUNCTION_MEMBERS]
        strict = raw.get("strict")
        return Tool(
            name=name,
            description=text_of(raw.get("description")),
            schema=schema,
            strict=strict if isinstance(strict, bool) else None,
            kind="custom" if raw["type"] == "custom" else "function",
            format=form if isinstance(form, dict) else None,
            namespace=namespace,
        )


def parse_choice(raw: Any) -> tuple[ToolChoice | None, bool]:
    """The choice, and whether it was understood: a forced hosted tool has no form elsewhere."""
    match raw:
        case None:
            return None, True
        case "none" | "auto" | "required":
            return ToolChoice(raw), True
        case str():
            raise refused("tool_choice must be none, auto, required or an object", "tool_choice")
        case {"type": "function" | "custom" as kind}:
            name = text_of(raw.get("name")) or text_of(_inner(raw, kind).get("name"))
            if name is None:
                raise refused("the chosen tool needs a name", "tool_choice.name")
            return ToolChoice("required", (name,)), True
        case {"type": "allowed_tools"}:
            inner = _inner(raw, "allowed_tools") or raw
            entries = inner.get("tools")
            names = [_allowed(entry) for entry in entries] if isinstance(entries, list) else []
            if not any(names):
                return None, False
            mode = "required" if inner.get("mode") == "required" else "auto"
            return ToolChoice(mode, tuple(name for name in names if name)), True  # type: ignore[arg-type]
        case {"type": str()}:
            return None, False
        case _:
            raise refused("tool_choice must be a word or an object with a type", "tool_choice")


def _inner(raw: JSON, name: str) -> JSON:
    inner = raw.get(name)
    return inner if isinstance(inner, dict) else {}


def _allowed(entry: Any) -> str | None:
    if not isinstance(entry, dict):
        return None
    return text_of(entry.get("name")) or text_of(_inner(entry, "function").get("name"))


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
    schema = tool.schema if tool.schema is not None else {"type": "object", "properties": {}}
    return {"type": "function", "name": tool.name, **described, "parameters": schema, "strict": bool(tool.strict)}


def render_tools(request: Request) -> tuple[list[JSON], list[Loss]]:
    """All tools that this dialect can name: the client's, and OpenAI's own hosted ones."""
    out: list[JSON] = []
    spaces: dict[str, list[JSON]] = {}
    for tool in request.tools:
        if tool.namespace is None:
            out.append(render_tool(tool))
            continue
        if tool.namespace not in spaces:
            spaces[tool.namespace] = []
            out.append(
                {"type": "namespace", "name": tool.namespace, "description": "", "tools": spaces[tool.namespace]}
            )
        spaces[tool.namespace].append(render_tool(tool))
    losses = []
    for hosted in request.hosted_tools:
        if hosted.origin == NAME:
            out.append(hosted.value)
        else:
            losses.append(Loss("tools", f"the hosted tool {hosted.type} is unknown to this upstream"))
    return out, losses


def render_choice(request: Request) -> str | JSON | None:
    """The choice; a single required tool is forced, several are allowed ones."""
    choice = request.tool_choice
    if choice is None:
        return None
    if not choice.names:
        return choice.mode
    kinds = {tool.name: tool.kind for tool in request.tools}
    named = [{"type": kinds.get(name, "function"), "name": name} for name in choice.names]
    if len(named) == 1 and choice.mode == "required":
        return {"type": named[0]["type"], "name": named[0]["name"]}
    return {"type": "allowed_tools", "mode": choice.mode, "tools": named}
