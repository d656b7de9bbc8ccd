"""A canonical request as the body for an upstream of this dialect.

Source: design/requests.md and protocols/anthropic-google.md, 1.3.
"""

from __future__ import annotations

from typing import Any

from dragoman.canonical import request as q
from dragoman.canonical.errors import invalid_request
from dragoman.dialects.contract import Facts, UpstreamRequest
from dragoman.dialects.messages import endpoints, wire
from dragoman.dialects.messages.content import ContentWriter, marked
from dragoman.dialects.messages.turns import render_turns
from dragoman.exceptions import InvalidRequest

JSON = dict[str, Any]

DEFAULT_MAX_TOKENS = 4096

_EFFORT: dict[q.Effort, str] = {
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "xhigh",
    "max": "max",
}
_BUDGETS = ((2048, "low"), (8192, "medium"))
"""Thinking budgets (tokens) up to which an effort is meant; beyond them it is ``high``."""

_FORMLESS = (
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "logprobs",
    "top_logprobs",
    "verbosity",
    "metadata",
    "cache_key",
)
"""Members of the canonical request for which this API has nothing."""


def render_request(request: q.Request, facts: Facts) -> UpstreamRequest:
    """The request in this dialect. Raises ``InvalidRequest`` for several choices and for a foreign file."""
    if request.choices > 1:
        message = f"n: this upstream gives one answer, {request.choices} were asked for"
        raise InvalidRequest(invalid_request(message, "n"))
    writer = ContentWriter()
    for path in request.unknown:
        writer.lose(path, "it has no canonical form")
    system, messages = render_turns(request, writer)
    body: JSON = {
        "model": request.model,
        "max_tokens": max_tokens(request.max_output_tokens, facts),
        "messages": messages,
    }
    if system:
        body["system"] = system
    body |= _tools(request, messages, writer)
    body |= _reasoning(request, body.get("tool_choice", {}), writer)
    body |= _sampling(request, "thinking" in body and body["thinking"]["type"] != "disabled", writer)
    body |= _rest(request, body.get("output_config", {}), writer)
    for name in _FORMLESS:
        if getattr(request, name) not in (None, False):
            writer.lose(name, "messages has no such member")
    if request.stream:
        body["stream"] = True
    return UpstreamRequest(
        path=wire.PATH, body=body, headers=endpoints.request_headers(), losses=tuple(dict.fromkeys(writer.losses))
    )


def max_tokens(wanted: int | None, facts: Facts) -> int:
    """The limit that this API demands: the client's, at most the upstream's; if there is none, a default."""
    if wanted is None:
        return facts.max_output_tokens or DEFAULT_MAX_TOKENS
    return wanted if facts.max_output_tokens is None else min(wanted, facts.max_output_tokens)


# ---- tools


def _tools(request: q.Request, messages: list[JSON], writer: ContentWriter) -> JSON:
    choice = request.tool_choice
    allowed = choice.names if choice is not None and len(choice.names) > (choice.mode == "required") else ()
    tools = [
        _tool(tool, number, writer) for number, tool in enumerate(request.tools) if not allowed or tool.name in allowed
    ]
    for hosted in request.hosted_tools:
        if hosted.origin == wire.NAME:
            tools.append(hosted.value)
        else:
            writer.lose("tools", f"{hosted.type} is run by another API's servers")
    if not tools:
        if choice is not None and choice.mode == "required":
            writer.lose("tool_choice", "there is no tool to choose")
        return _tools_of_history(messages)
    body: JSON = {"tools": tools}
    if rendered := _choice(choice, request.parallel_tool_calls):
        body["tool_choice"] = rendered
    return body


def _tool(tool: q.Tool, number: int, writer: ContentWriter) -> JSON:
    if tool.kind == "custom":
        schema: JSON = {
            "type": "object",
            "properties": {wire.CUSTOM_INPUT: {"type": "string"}},
            "required": [wire.CUSTOM_INPUT],
        }
        if tool.format and tool.format.get("type") != "text":
            writer.lose(f"tools.{number}.format", "messages has no grammars")
    else:
        schema = {"type": "object", **(tool.schema or {"properties": {}})}
    rendered: JSON = {"name": tool.name, "input_schema": schema}
    if tool.description:
        rendered["description"] = tool.description
    if tool.strict:
        rendered["strict"] = True
    return marked(rendered, tool.cache)


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


def _tools_of_history(messages: list[JSON]) -> JSON:
    """A history with calls is refused without tools: those that were called are declared, and not offered."""
    blocks = [block for message in messages for block in message["content"]]
    names = dict.fromkeys(block["name"] for block in blocks if block["type"] == "tool_use")
    if not names:
        return {}
    tools = [{"name": name, "input_schema": {"type": "object", "properties": {}}} for name in names]
    return {"tools": tools, "tool_choice": {"type": "none"}}


# ---- reasoning


def _reasoning(request: q.Request, choice: JSON, writer: ContentWriter) -> JSON:
    """Adaptive thinking with an effort. A forced choice of tools wins over thinking (design/requests.md, 5)."""
    wanted = request.reasoning
    if wanted is None:
        return {}
    effort = _effort(wanted)
    if effort == "none":
        return {"thinking": {"type": "disabled"}}
    body: JSON = {"output_config": {"effort": effort}} if effort else {}
    if choice.get("type") in ("any", "tool"):
        writer.lose("reasoning", "thinking does not go with a forced tool choice")
        return body
    thinking = {"type": "adaptive"}
    if wanted.visible is not None:
        thinking["display"] = "summarized" if wanted.visible else "omitted"
    return {"thinking": thinking, **body}


def _effort(wanted: q.ReasoningRequest) -> str | None:
    if wanted.effort is not None:
        return _EFFORT.get(wanted.effort, "none")
    budget = wanted.budget
    if budget is None or budget < 0:
        return None
    if budget == 0:
        return "none"
    return next((effort for most, effort in _BUDGETS if budget <= most), "high")


# ---- the rest


def _sampling(request: q.Request, thinking: bool, writer: ContentWriter) -> JSON:
    given = {name: getattr(request, name) for name in ("temperature", "top_p", "top_k")}
    given = {name: value for name, value in given.items() if value is not None}
    if thinking:
        for name in given:
            writer.lose(name, "thinking does not go with sampling parameters")
        return {}
    temperature = given.get("temperature")
    if temperature is not None and not 0 <= temperature <= 1:
        writer.lose("temperature", "messages takes 0 to 1")
        given["temperature"] = min(1, max(0, temperature))
    return given


def _rest(request: q.Request, config: JSON, writer: ContentWriter) -> JSON:
    body: JSON = {}
    if stop := [text for text in request.stop if text.strip()]:
        body["stop_sequences"] = stop
    if len(stop) < len(request.stop):
        writer.lose("stop", "messages refuses blank stop sequences")
    if request.user is not None:
        body["metadata"] = {"user_id": request.user}
    if request.output is not None:
        if request.output.type == "schema" and request.output.schema is not None:
            body["output_config"] = {**config, "format": {"type": "json_schema", "schema": request.output.schema}}
        else:
            writer.lose("response_format", "messages has no JSON mode without a schema")
    if request.service_tier in ("auto", "standard_only"):
        body["service_tier"] = request.service_tier
    elif request.service_tier is not None:
        writer.lose("service_tier", f"messages has no tier {request.service_tier}")
    return body
