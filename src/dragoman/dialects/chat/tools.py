"""Tools and the choice among them."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.canonical.request import HostedTool, Loss, Request, Tool, ToolChoice
from dragoman.dialects.chat.parts import JSON, need_object, need_text, refuse
from dragoman.dialects.chat.wire import NAME
from dragoman.dialects.contract import Facts
from dragoman.dialects.openai_schema import fits_strict, object_schema
from dragoman.dialects.openai_shapes import ORIGINS, known_choice, read_cache

_MODES: dict[Any, Any] = {"none": "none", "auto": "auto", "required": "required", "any": "required"}
_READ = frozenset({"type", "function", "custom", "cache_control", "prompt_cache_breakpoint"})
_READ_INSIDE = frozenset({"name", "description", "parameters", "strict", "format"})
_NOTHING: tuple[Any, ...] = (None, False, "", [], {})
"""Values of further members that ask for nothing."""

# ------------------------------------------------------------------ reading


def parse_tools(body: JSON, unknown: list[str]) -> tuple[tuple[Tool, ...], tuple[HostedTool, ...]]:
    """The client's tools, those of the old ``functions`` too, and those that OpenAI's servers run.

    The paths of members that have no canonical form are added to ``unknown``. Raises ``InvalidRequest``.
    """
    tools: list[Tool] = []
    hosted: list[HostedTool] = []
    for number, entry in enumerate(_list(body.get("tools"), "tools")):
        tool = _parse_tool(need_object(entry, f"tools[{number}]"), f"tools[{number}]")
        if isinstance(tool, Tool):
            unknown += _unread(entry, _READ, f"tools[{len(tools)}]")
            unknown += _unread(entry[tool.kind], _READ_INSIDE, f"tools[{len(tools)}]")
            tools.append(tool)
        else:
            hosted.append(tool)
    for number, entry in enumerate(_list(body.get("functions"), "functions")):
        tool = _parse_function(need_object(entry, f"functions[{number}]"), f"functions[{number}]")
        unknown += _unread(entry, _READ_INSIDE, f"tools[{len(tools)}]")
        tools.append(msgspec.structs.replace(tool, legacy=True))
    if isinstance(options := body.get("web_search_options"), dict):
        hosted.append(HostedTool(origin=NAME, type="web_search", value=options))
    return tuple(tools), tuple(hosted)


def _unread(entry: JSON, known: frozenset[str], place: str) -> list[str]:
    return [f"{place}.{name}" for name, value in entry.items() if name not in known and value not in _NOTHING]


def _list(value: Any, where: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise refuse("expected a list", where)
    return value


def _parse_tool(entry: JSON, where: str) -> Tool | HostedTool:
    match entry.get("type"):
        case "function":
            tool = _parse_function(need_object(entry.get("function"), f"{where}.function"), f"{where}.function")
            return msgspec.structs.replace(tool, cache=read_cache(entry))
        case "custom":
            body = need_object(entry.get("custom"), f"{where}.custom")
            return Tool(
                name=_name(body, f"{where}.custom"),
                description=_description(body, f"{where}.custom"),
                kind="custom",
                format=_parse_format(body.get("format")),
                cache=read_cache(entry),
            )
        case str(kind) if kind:
            return HostedTool(origin=NAME, type=kind, value=entry)
    raise refuse("expected function or custom", f"{where}.type")


def _name(body: JSON, where: str) -> str:
    name = need_text(body.get("name"), f"{where}.name")
    if not name:
        raise refuse("expected a name", f"{where}.name")
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
    raise refuse("expected none, auto, required, or a tool by its name", where)


def _named(choice: Any) -> str:
    """The tool that ``{"type": "function", "function": {"name": …}}``, or a flat form, names."""
    if not isinstance(choice, dict):
        return ""
    for holder in (choice.get("function"), choice.get("custom"), choice):
        if isinstance(holder, dict) and isinstance(name := holder.get("name"), str) and name:
            return name
    return ""


# ------------------------------------------------------------------ writing


def render_tools(request: Request, facts: Facts, losses: list[Loss]) -> JSON:
    """``tools``, ``tool_choice`` and ``parallel_tool_calls``. Raises ``InvalidRequest`` for a refused hosted tool.

    Of tools that are not allowed nothing is said: many servers refuse the choice ``allowed_tools``, and none
    minds a history that calls what is not offered. Freeform tools are functions by now: most servers know
    nothing else.
    """
    for number, hosted in enumerate(request.hosted_tools):
        reason = f"the tool {hosted.type} is run by another API's servers"
        if facts.on_server_tool == "refuse":
            raise refuse(f"{reason}, and cannot be served here", "tools")
        losses.append(Loss(f"hosted_tools[{number}]", reason))
    choice = known_choice(request, losses)
    allowed = choice.names if choice is not None and len(choice.names) > (choice.mode == "required") else ()
    tools: dict[str, JSON] = {}
    for number, tool in enumerate(request.tools):
        if tool.name in tools:
            losses.append(Loss(f"tools[{number}]", "a tool of this name came before"))
        elif not allowed or tool.name in allowed:
            tools[tool.name] = _render_tool(tool, f"tools[{number}]", request.origin, losses)
    if not tools:
        return {}
    body: JSON = {"tools": list(tools.values())}
    if choice is not None:
        forced = choice.mode == "required" and len(choice.names) == 1
        body["tool_choice"] = {"type": "function", "function": {"name": choice.names[0]}} if forced else choice.mode
    if request.parallel_tool_calls is not None:
        body["parallel_tool_calls"] = request.parallel_tool_calls
    return body


def _render_tool(tool: Tool, path: str, origin: str, losses: list[Loss]) -> JSON:
    schema = object_schema(tool.schema)
    function: JSON = {"name": tool.name, "parameters": schema}
    if tool.description is not None:
        function["description"] = tool.description
    if tool.strict and origin not in ORIGINS and not fits_strict(schema):
        losses.append(Loss(f"{path}.strict", "the schema has what strict mode does not take"))
    elif tool.strict is not None:
        function["strict"] = tool.strict
    return {"type": "function", "function": function}
