"""Tools and the choice among them."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.canonical.request import HostedTool, Loss, Request, Tool, ToolChoice
from dragoman.dialects.chat.parts import JSON, need_object, need_text, parse_cache, refuse
from dragoman.dialects.chat.wire import NAME
from dragoman.dialects.contract import Facts

_MODES: dict[Any, Any] = {"none": "none", "auto": "auto", "required": "required", "any": "required"}
_EMPTY_SCHEMA: JSON = {"type": "object", "properties": {}}

# ------------------------------------------------------------------ reading


def parse_tools(body: JSON) -> tuple[tuple[Tool, ...], tuple[HostedTool, ...]]:
    """The client's tools, those of the old ``functions`` too, and those that OpenAI's servers run.

    Raises ``InvalidRequest``.
    """
    tools: list[Tool] = []
    hosted: list[HostedTool] = []
    for number, entry in enumerate(_list(body.get("tools"), "tools")):
        tool = _parse_tool(need_object(entry, f"tools[{number}]"), f"tools[{number}]")
        if isinstance(tool, Tool):
            tools.append(tool)
        else:
            hosted.append(tool)
    for number, entry in enumerate(_list(body.get("functions"), "functions")):
        tools.append(_parse_function(need_object(entry, f"functions[{number}]"), f"functions[{number}]"))
    if isinstance(options := body.get("web_search_options"), dict):
        hosted.append(HostedTool(origin=NAME, type="web_search", value=options))
    return tuple(tools), tuple(hosted)


def _list(value: Any, where: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise refuse(f"{where} must be a list.", where)
    return value


def _parse_tool(entry: JSON, where: str) -> Tool | HostedTool:
    match entry.get("type"):
        case "function":
            tool = _parse_function(need_object(entry.get("function"), f"{where}.function"), f"{where}.function")
            if cache := parse_cache(entry):
                return msgspec.structs.replace(tool, cache=cache)
            return tool
        case "custom":
            body = need_object(entry.get("custom"), f"{where}.custom")
            return Tool(
                name=_name(body, f"{where}.custom"),
                description=_description(body, f"{where}.custom"),
                kind="custom",
                format=_parse_format(body.get("format")),
            )
        case str(kind) if kind:
            return HostedTool(origin=NAME, type=kind, value=entry)
    raise refuse(f"{where}.type must be function or custom.", f"{where}.type")


def _name(body: JSON, where: str) -> str:
    name = need_text(body.get("name"), f"{where}.name")
    if not name:
        raise refuse(f"{where}.name must not be empty.", f"{where}.name")
    return name


def _description(body: JSON, where: str) -> str | None:
    description = body.get("description")
    return None if description is None else need_text(description, f"{where}.description")


def _parse_function(body: JSON, where: str) -> Tool:
    schema = body.get("parameters")
    strict = body.get("strict")
    return Tool(
        name=_name(body, where),
        description=_description(body, where),
        schema=None if schema is None else need_object(schema, f"{where}.parameters"),
        strict=strict if isinstance(strict, bool) else None,
    )


def _parse_format(format: Any) -> JSON | None:
    """A custom tool's grammar, flat as ``responses`` has it: this dialect nests it once more."""
    if not isinstance(format, dict):
        return None
    inner = format.get("grammar")
    return {"type": "grammar", **inner} if isinstance(inner, dict) else format


def parse_tool_choice(body: JSON, unknown: list[str]) -> ToolChoice | None:
    """``tool_choice`` in all its forms, or the old ``function_call``. Raises ``InvalidRequest``.

    The path of a form that is not known yet is added to ``unknown``.
    """
    choice, where = body.get("tool_choice"), "tool_choice"
    if choice is None:
        choice, where = body.get("function_call"), "function_call"
    if choice is None:
        return None
    if isinstance(choice, str) and choice in _MODES:
        return ToolChoice(_MODES[choice])
    if isinstance(choice, dict):
        if isinstance(allowed := choice.get("allowed_tools"), dict) and (mode := allowed.get("mode")) in _MODES:
            tools = _list(allowed.get("tools"), f"{where}.allowed_tools.tools")
            return ToolChoice(_MODES[mode], tuple(name for tool in tools if (name := _named(tool))))
        if name := _named(choice):
            return ToolChoice("required", (name,))
        if isinstance(choice.get("type"), str):
            unknown.append(where)
            return None
    raise refuse(f"{where} must be none, auto, required, or name a tool.", where)


def _named(choice: Any) -> str:
    """The tool that ``{"type": "function", "function": {"name": …}}``, or a flat form, names."""
    if not isinstance(choice, dict):
        return ""
    for holder in (choice.get("function"), choice.get("custom"), choice):
        if isinstance(holder, dict) and isinstance(name := holder.get("name"), str) and name:
            return name
    return ""


# ------------------------------------------------------------------ writing


def refuse_hosted(request: Request, facts: Facts) -> None:
    """Raises ``InvalidRequest`` for tools of the client's own API, where the operator wants that."""
    if request.hosted_tools and facts.on_server_tool == "refuse":
        kind = request.hosted_tools[0].type
        raise refuse(f"The tool {kind} is run by its own API's servers only, and cannot be served here.", "tools")


def render_tools(request: Request, losses: list[Loss]) -> list[JSON]:
    """The tools as functions, which freeform ones are by now: most servers know nothing else."""
    losses += [Loss(f"tools.{tool.type}", "run by its own API's servers only") for tool in request.hosted_tools]
    return [_render_tool(tool) for tool in request.tools]


def _render_tool(tool: Tool) -> JSON:
    function: JSON = {"name": tool.name, "parameters": tool.schema or _EMPTY_SCHEMA}
    if tool.description is not None:
        function["description"] = tool.description
    if tool.strict is not None:
        function["strict"] = tool.strict
    return {"type": "function", "function": function}


def render_tool_choice(choice: ToolChoice | None) -> Any:
    """The choice; ``None`` to leave it out."""
    if choice is None:
        return None
    if not choice.names or choice.mode == "none":
        return choice.mode
    tools = [{"type": "function", "function": {"name": name}} for name in choice.names]
    if choice.mode == "required" and len(tools) == 1:
        return tools[0]
    return {"type": "allowed_tools", "allowed_tools": {"mode": choice.mode, "tools": tools}}
