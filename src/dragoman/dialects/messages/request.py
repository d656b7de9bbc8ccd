"""A client's messages body to the canonical request; ``render`` and ``adapt`` are the ways back.

Source: protocols/anthropic-google.md, 1.3 and 1.8.
"""

from __future__ import annotations

from typing import Any, get_args

from dragoman.canonical import request as q
from dragoman.dialects.messages import wire
from dragoman.dialects.messages.adapt import adapt_count, adapt_request
from dragoman.dialects.messages.content import ContentReader
from dragoman.dialects.messages.members import flag, is_over, list_of, number, object_of, refuse, text, whole
from dragoman.dialects.messages.render import render_request
from dragoman.dialects.messages.tools import parse_tool_choice, parse_tools

__all__ = ["adapt_count", "adapt_request", "parse_request", "render_request"]

JSON = dict[str, Any]

_ROLES = {"user": q.Role.USER, "assistant": q.Role.ASSISTANT, "system": q.Role.SYSTEM}
_EFFORTS = get_args(q.Effort)
_VISIBLE = {"summarized": True, "updates": True, "omitted": False}

_KNOWN = frozenset(
    {
        *("model", "max_tokens", "messages", "system", "tools", "tool_choice", "thinking", "output_config"),
        *("output_format", "stop_sequences", "temperature", "top_p", "top_k", "metadata", "stream", "service_tier"),
        "thread",
    }
)

_ATTRIBUTION = "x-anthropic-billing-header"
"""Begins a text that Claude Code puts before its system prompt: it changes with each request, and
would spoil every other vendor's prompt cache."""


def parse_request(body: JSON, model: str | None = None, stream: bool | None = None) -> q.Request:
    """The request that the body asks for. Raises ``InvalidRequest`` that names the member at fault.

    ``max_tokens`` may be missing: ``count_tokens`` has none, and a default stands in for it.
    """
    reader = ContentReader()
    unknown = reader.unknown
    unknown += [name for name, value in body.items() if name not in _KNOWN and value is not None]
    tools, hosted = parse_tools(body, unknown)
    choice, parallel = parse_tool_choice(body)
    metadata = object_of(body, "metadata")
    unknown += [f"metadata.{name}" for name in metadata if name != "user_id"]
    config = object_of(body, "output_config")
    unknown += [f"output_config.{name}" for name in config if name not in ("effort", "format")]
    return q.Request(
        model=model or text(body, "model", required=True) or "",
        messages=_messages(body, reader, _system(body, reader)),
        origin=wire.NAME,
        stream=flag(body, "stream") is True if stream is None else stream,
        tools=tools,
        hosted_tools=hosted,
        tool_choice=choice,
        parallel_tool_calls=parallel,
        max_output_tokens=whole(body, "max_tokens"),
        temperature=number(body, "temperature"),
        top_p=number(body, "top_p"),
        top_k=whole(body, "top_k"),
        stop=_stop(body),
        reasoning=_reasoning(body, config, unknown),
        output=_output(body, config, unknown),
        service_tier=text(body, "service_tier"),
        user=text(metadata, "user_id", "metadata."),
        stream_usage=True,
        unknown=tuple(unknown),
        bound=_bound(body),
    )


def _bound(body: JSON) -> tuple[str, ...]:
    """A thread that goes on is the part of the conversation that Anthropic's servers hold."""
    thread = object_of(body, "thread")
    return ("thread.previous_message_id",) if thread.get("previous_message_id") else ()


# ---- the conversation


def _system(body: JSON, reader: ContentReader) -> list[q.Message]:
    system = body.get("system")
    parts = reader.parts(system, "system", "messages[0]") if system is not None else ()
    kept = tuple(part for part in parts if not (isinstance(part, q.Text) and part.text.startswith(_ATTRIBUTION)))
    if len(kept) < len(parts):
        reader.unknown.append(_ATTRIBUTION)
    return [q.Message(q.Role.SYSTEM, kept)] if kept else []


def _messages(body: JSON, reader: ContentReader, found: list[q.Message]) -> tuple[q.Message, ...]:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        refuse("messages", "a list of at least one message")
    for place, message in enumerate(messages):
        path = f"messages.{place}"
        if not isinstance(message, dict):
            refuse(path, "an object")
        role = message.get("role")
        if not isinstance(role, str) or role not in _ROLES:
            refuse(f"{path}.role", "user, assistant or system")
        if role == "system" and is_over(messages, place):
            continue
        content = message.get("content")
        if role == "system" and content is None:
            content = []  # it sets an output_config only
        where = f"messages[{len(found)}]"
        reader.unknown += [f"{where}.{name}" for name in message if name not in ("role", "content") and message[name]]
        found.append(q.Message(_ROLES[role], reader.parts(content, f"{path}.content", where)))
    return tuple(found)


def _stop(body: JSON) -> tuple[str, ...]:
    stop = list_of(body, "stop_sequences")
    for place, value in enumerate(stop):
        if not isinstance(value, str):
            refuse(f"stop_sequences.{place}", "a string")
    return tuple(stop)


# ---- reasoning and output


def _reasoning(body: JSON, config: JSON, unknown: list[str]) -> q.ReasoningRequest | None:
    thinking = object_of(body, "thinking")
    unknown += [f"thinking.{name}" for name in thinking if name not in ("type", "budget_tokens", "display")]
    effort = config.get("effort")
    if effort is not None and effort not in _EFFORTS:
        unknown.append("output_config.effort")
        effort = None
    kind = text(thinking, "type", "thinking.")
    if kind == "disabled":
        return q.ReasoningRequest(effort="none")
    if kind is None:
        return q.ReasoningRequest(effort=effort) if effort else None
    budget = whole(thinking, "budget_tokens", "thinking.")
    visible = _VISIBLE.get(text(thinking, "display", "thinking.") or "")
    if visible is None and kind == "enabled":
        visible = True  # a client that sets a budget has always got the thinking
    return q.ReasoningRequest(effort=effort, budget=budget, adaptive=budget is None, visible=visible)


def _output(body: JSON, config: JSON, unknown: list[str]) -> q.OutputFormat | None:
    """``output_format`` is the name that the beta had for ``output_config.format``."""
    form = object_of(config, "format", "output_config.") or object_of(body, "output_format")
    if not form:
        return None
    if form.get("type") != "json_schema":
        unknown.append("output_config.format")
        return None
    return q.OutputFormat(type="schema", schema=object_of(form, "schema", "output_config.format."))
