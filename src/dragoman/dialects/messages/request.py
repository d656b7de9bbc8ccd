"""A client's messages body to the canonical request; ``render`` and ``adapt`` are the ways back.

Source: protocols/anthropic-google.md, 1.3 and 1.8.
"""

from __future__ import annotations

from typing import Any, get_args

from dragoman.canonical import request as q
from dragoman.dialects.messages import wire
from dragoman.dialects.messages.adapt import adapt_request
from dragoman.dialects.messages.client_tools import CLIENT_TOOLS
from dragoman.dialects.messages.content import ContentReader, refuse, text_at
from dragoman.dialects.messages.render import render_request

__all__ = ["adapt_request", "parse_request", "render_request"]

JSON = dict[str, Any]

_ROLES = {"user": q.Role.USER, "assistant": q.Role.ASSISTANT, "system": q.Role.SYSTEM}
_EFFORTS = get_args(q.Effort)

_KNOWN = frozenset(
    {
        "model",
        "max_tokens",
        "messages",
        "system",
        "tools",
        "tool_choice",
        "thinking",
        "output_config",
        "output_format",
        "stop_sequences",
        "temperature",
        "top_p",
        "top_k",
        "metadata",
        "stream",
        "service_tier",
    }
)


def parse_request(body: JSON, model: str | None = None, stream: bool | None = None) -> q.Request:
    """The request that the body asks for. Raises ``InvalidRequest`` that names the member at fault.

    ``max_tokens`` may be missing: ``count_tokens`` has none, and a default stands in for it.
    """
    reader = ContentReader()
    reader.unknown += [name for name, value in body.items() if name not in _KNOWN and value is not None]
    tools, hosted = _tools(body)
    choice, parallel = _tool_choice(body)
    metadata = _object(body, "metadata")
    reader.unknown += [f"metadata.{name}" for name in metadata if name != "user_id"]
    config = _object(body, "output_config")
    reader.unknown += [f"output_config.{name}" for name in config if name not in ("effort", "format")]
    return q.Request(
        model=model or _text(body, "model", required=True) or "",
        messages=_system(body, reader) + _messages(body, reader),
        origin=wire.NAME,
        stream=_flag(body, "stream") is True if stream is None else stream,
        tools=tools,
        hosted_tools=hosted,
        tool_choice=choice,
        parallel_tool_calls=parallel,
        max_output_tokens=_whole(body, "max_tokens"),
        temperature=_number(body, "temperature"),
        top_p=_number(body, "top_p"),
        top_k=_whole(body, "top_k"),
        stop=_stop(body),
        reasoning=_reasoning(body, config, reader),
        output=_output(body, config),
        service_tier=_text(body, "service_tier"),
        user=_text(metadata, "user_id", "metadata."),
        stream_usage=True,
        unknown=tuple(reader.unknown),
    )


# ---- members by type; null and absent are the same


def _text(body: JSON, name: str, place: str = "", *, required: bool = False) -> str | None:
    value = body.get(name)
    if (value is None and not required) or (isinstance(value, str) and (value or not required)):
        return value
    refuse(place + name, "a non-empty string" if required else "a string")


def _number(body: JSON, name: str) -> float | None:
    value = body.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        refuse(name, "a number")
    return value


def _whole(body: JSON, name: str, place: str = "") -> int | None:
    value = body.get(name)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        refuse(place + name, "a non-negative integer")
    return value


def _flag(body: JSON, name: str, place: str = "") -> bool | None:
    value = body.get(name)
    if value is not None and not isinstance(value, bool):
        refuse(place + name, "true or false")
    return value


def _object(body: JSON, name: str, place: str = "") -> JSON:
    value = body.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        refuse(place + name, "an object")
    return value


def _list(body: JSON, name: str) -> list[Any]:
    value = body.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        refuse(name, "a list")
    return value


# ---- the conversation


def _system(body: JSON, reader: ContentReader) -> tuple[q.Message, ...]:
    system = body.get("system")
    parts = reader.parts(system, "system") if system is not None else ()
    return (q.Message(q.Role.SYSTEM, parts),) if parts else ()


def _messages(body: JSON, reader: ContentReader) -> tuple[q.Message, ...]:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        refuse("messages", "a list of at least one message")
    found = []
    for number, message in enumerate(messages):
        path = f"messages.{number}"
        if not isinstance(message, dict):
            refuse(path, "an object")
        role = message.get("role")
        if not isinstance(role, str) or role not in _ROLES:
            refuse(f"{path}.role", "user, assistant or system")
        found.append(q.Message(_ROLES[role], reader.parts(message.get("content"), f"{path}.content")))
    return tuple(found)


# ---- tools


def _tools(body: JSON) -> tuple[tuple[q.Tool, ...], tuple[q.HostedTool, ...]]:
    tools: list[q.Tool] = []
    hosted: list[q.HostedTool] = []
    for number, value in enumerate(_list(body, "tools")):
        path = f"tools.{number}"
        if not isinstance(value, dict):
            refuse(path, "an object")
        kind = _text(value, "type", f"{path}.") or "custom"
        if kind != "custom" and kind not in CLIENT_TOOLS:
            hosted.append(q.HostedTool(origin=wire.NAME, type=kind, value=value))
            continue
        description, schema = CLIENT_TOOLS.get(kind, (None, None))
        tools.append(
            q.Tool(
                name=text_at(value, "name", path),
                description=_text(value, "description", f"{path}.") or description,
                schema=_object(value, "input_schema", f"{path}.") or schema,
                strict=_flag(value, "strict", f"{path}."),
                cache=_object(value, "cache_control", f"{path}.") or None,
            )
        )
    return tuple(tools), tuple(hosted)


def _tool_choice(body: JSON) -> tuple[q.ToolChoice | None, bool | None]:
    choice = _object(body, "tool_choice")
    if not choice:
        return None, None
    parallel = False if _flag(choice, "disable_parallel_tool_use", "tool_choice.") else None
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


def _stop(body: JSON) -> tuple[str, ...]:
    stop = _list(body, "stop_sequences")
    for number, text in enumerate(stop):
        if not isinstance(text, str):
            refuse(f"stop_sequences.{number}", "a string")
    return tuple(stop)


# ---- reasoning and output


def _reasoning(body: JSON, config: JSON, reader: ContentReader) -> q.ReasoningRequest | None:
    thinking = _object(body, "thinking")
    effort = config.get("effort")
    if effort is not None and effort not in _EFFORTS:
        reader.unknown.append("output_config.effort")
        effort = None
    kind = _text(thinking, "type", "thinking.")
    if kind == "disabled":
        return q.ReasoningRequest(effort="none")
    if kind is None:
        return q.ReasoningRequest(effort=effort) if effort else None
    budget = _whole(thinking, "budget_tokens", "thinking.")
    display = _text(thinking, "display", "thinking.")
    visible = {"summarized": True, "omitted": False}.get(display or "")
    if visible is None and kind == "enabled":
        visible = True  # a client that sets a budget has always got the thinking
    return q.ReasoningRequest(effort=effort, budget=budget, adaptive=budget is None, visible=visible)


def _output(body: JSON, config: JSON) -> q.OutputFormat | None:
    """``output_format`` is the name that the beta had for ``output_config.format``."""
    form = _object(config, "format", "output_config.") or _object(body, "output_format")
    if form.get("type") != "json_schema":
        return None
    return q.OutputFormat(type="schema", schema=_object(form, "schema", "output_config.format."))
