"""Tools and the choice among them. Source: protocols/anthropic-google.md, 1.3; design/requests.md, 4."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dragoman.canonical import request as q
from dragoman.canonical.errors import invalid_request
from dragoman.dialects.contract import Facts
from dragoman.dialects.messages import wire
from dragoman.dialects.messages.client_tools import client_tool
from dragoman.dialects.messages.members import flag, list_of, object_of, refuse, text, text_at
from dragoman.dialects.messages.schema import Subset, tool_schema
from dragoman.dialects.messages.turns import Marker
from dragoman.exceptions import InvalidRequest

JSON = dict[str, Any]
Lose = Callable[[str, str], None]

_READ = frozenset({"type", "name", "description", "input_schema", "strict", "cache_control"})
_HARMLESS = frozenset({"eager_input_streaming"})
"""How this API's own servers deliver a call, not what it says."""

# ---- reading


def parse_tools(body: JSON, unknown: list[str]) -> tuple[tuple[q.Tool, ...], tuple[q.HostedTool, ...]]:
    """The client's own tools, and those that Anthropic's servers run. Raises ``InvalidRequest``."""
    tools: list[q.Tool] = []
    hosted: list[q.HostedTool] = []
    for number, value in enumerate(list_of(body, "tools")):
        path = f"tools.{number}"
        if not isinstance(value, dict):
            refuse(path, "an object")
        kind = text(value, "type", f"{path}.") or "custom"
        known = client_tool(kind, value)
        if kind != "custom" and known is None:
            hosted.append(q.HostedTool(origin=wire.NAME, type=kind, value=value))
            continue
        description, schema = known or (None, None)
        place = f"tools[{len(tools)}]"
        if known is None:
            unknown += [f"{place}.{name}" for name in value if name not in _READ and _asks(name, value[name])]
        tools.append(
            q.Tool(
                name=text_at(value, "name", path),
                description=text(value, "description", f"{path}.") or description,
                schema=object_of(value, "input_schema", f"{path}.") or schema,
                strict=flag(value, "strict", f"{path}."),
                cache=object_of(value, "cache_control", f"{path}.") or None,
            )
        )
    return tuple(tools), tuple(hosted)


def _asks(name: str, value: Any) -> bool:
    return bool(value) and name not in _HARMLESS and not (name == "allowed_callers" and value == ["direct"])


def parse_tool_choice(body: JSON) -> tuple[q.ToolChoice | None, bool | None]:
    """The choice, and whether calls may be parallel. Raises ``InvalidRequest``."""
    choice = object_of(body, "tool_choice")
    if not choice:
        return None, None
    parallel = False if flag(choice, "disable_parallel_tool_use", "tool_choice.") else None
    match choice.get("type"):
        case "auto":
            return q.ToolChoice("auto"), parallel
        case "any":
            return q.ToolChoice("required"), parallel
        case "tool":
            return q.ToolChoice("required", (text_at(choice, "name", "tool_choice"),)), parallel
        case "none":
            return q.ToolChoice("none"), parallel
    refuse("tool_choice.type", "auto, any, tool or none")


# ---- writing


def render_tools(request: q.Request, facts: Facts, marker: Marker, lose: Lose) -> JSON:
    """``tools`` and ``tool_choice``. Raises ``InvalidRequest`` for a hosted tool that may not be dropped."""
    for number, hosted in enumerate(request.hosted_tools):
        message = f"the tool {hosted.type} is run by another API's servers"
        if facts.on_server_tool == "refuse":
            raise InvalidRequest(invalid_request(f"tools: {message}, and cannot be served here", "tools"))
        lose(f"hosted_tools[{number}]", message)
    choice = request.tool_choice
    allowed = choice.names if choice is not None and len(choice.names) > (choice.mode == "required") else ()
    tools: dict[str, JSON] = {}
    for number, tool in enumerate(request.tools):
        if tool.name in tools:
            lose(f"tools[{number}]", "a tool of this name came before")
        elif not allowed or tool.name in allowed:
            tools[tool.name] = _tool(tool, f"tools[{number}]", marker, lose)
    if not tools:
        if choice is not None and choice.mode == "required":
            lose("tool_choice", "there is no tool to choose")
        return _tools_of_history(request.messages)
    body: JSON = {"tools": list(tools.values())}
    if choice is not None and len(choice.names) == 1 and choice.names[0] not in tools:
        lose("tool_choice", f"there is no tool {choice.names[0]} here")
        choice = None
    if rendered := _choice(choice, request.parallel_tool_calls):
        body["tool_choice"] = rendered
    return body


def _tool(tool: q.Tool, place: str, marker: Marker, lose: Lose) -> JSON:
    schema = tool_schema(tool.schema, lambda reason: lose(f"{place}.schema", reason))
    rendered: JSON = {"name": tool.name, "input_schema": schema}
    if tool.description:
        rendered["description"] = tool.description
    if tool.strict:
        subset = Subset(schema)
        if subset.exact:
            rendered |= {"input_schema": subset.schema, "strict": True}
        else:
            lose(f"{place}.strict", "the schema has what this API cannot enforce")
    return marker.mark(rendered, tool.cache, place)


def _choice(choice: q.ToolChoice | None, parallel: bool | None) -> JSON:
    """``disable_parallel_tool_use`` lives inside the choice; its neutral carrier is ``auto``."""
    if choice is not None and choice.mode == "none":
        return {"type": "none"}
    rendered: JSON = {}
    if choice is not None and choice.mode == "required":
        rendered = {"type": "tool", "name": choice.names[0]} if len(choice.names) == 1 else {"type": "any"}
    elif choice is not None or parallel is False:
        rendered = {"type": "auto"}
    if parallel is False:
        rendered["disable_parallel_tool_use"] = True
    return rendered


def _tools_of_history(messages: tuple[q.Message, ...]) -> JSON:
    """A history with calls is refused without tools: those that were called are declared, and not offered."""
    names = dict.fromkeys(
        part.name for message in messages for part in message.parts if isinstance(part, q.ToolCall)
    )  # fmt: skip
    if not names:
        return {}
    tools = [{"name": name, "input_schema": {"type": "object", "properties": {}}} for name in names]
    return {"tools": tools, "tool_choice": {"type": "none"}}
