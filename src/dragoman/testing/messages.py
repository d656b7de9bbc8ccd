"""What Anthropic's Messages API refuses in a request.

Sources: protocols/anthropic-google.md, 0 and 1; Anthropic's API reference and error texts.
"""

from __future__ import annotations

from typing import Any

from dragoman.testing import messages_turns as turns
from dragoman.testing.faults import JSON, Faults, given
from dragoman.testing.schemas import object_schema, strict_anthropic

_BETA = ("context_management", "mcp_servers", "fallbacks", "compaction", "thread", "billing_policy", "output_format")
"""Members that are unknown without an ``anthropic-beta`` header."""
_MEMBERS = {
    *("model", "max_tokens", "messages", "system", "tools", "tool_choice", "thinking", "output_config"),
    *("stop_sequences", "temperature", "top_p", "top_k", "metadata", "stream", "service_tier", "speed"),
    *("inference_geo", "container", "cache_control", "diagnostics", *_BETA),
}
_TOOL = {
    *("name", "description", "input_schema", "strict", "cache_control", "defer_loading", "eager_input_streaming"),
    *("input_examples", "allowed_callers", "type"),
}
_VERSIONS = ("2023-06-01", "2026-10-21")
_SAMPLING = {"temperature": 1.0, "top_p": 1.0, "top_k": None}
"""The members, and the greatest value of each."""
_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_LEAST_BUDGET = 1024
_MOST_MARKERS = 4


def validate(body: Any, faults: Faults) -> None:
    """Collects the faults of a body."""
    body = faults.object(body, "", _MEMBERS)
    faults.text(body.get("model"), "model")
    faults.number(body.get("max_tokens"), "max_tokens", 0, whole=True)
    _system(body, faults)
    tools = _tools(body, faults)
    _choice(body, tools, faults)
    thinks = _thinking(body, faults)
    _sampling(body, thinks, faults)
    _output(body, faults)
    _rest(body, faults)
    turns.validate(body, faults, tools=bool(body.get("tools") or body.get("mcp_servers")), thinks=thinks)
    marked = sum(1 for value in _objects(body) if given(value, "cache_control"))
    if marked > _MOST_MARKERS:
        faults.add("cache_control", f"{marked} markers, at most {_MOST_MARKERS} are taken")


def _objects(value: Any) -> list[JSON]:
    """Every object in a request, but not those in schemas and arguments."""
    if isinstance(value, list):
        return [found for item in value for found in _objects(item)]
    if not isinstance(value, dict):
        return []
    inner = (item for name, item in value.items() if name not in ("input", "input_schema", "output_config"))
    return [value, *(found for item in inner for found in _objects(item))]


def _system(body: JSON, faults: Faults) -> None:
    system = body.get("system")
    if system is None or isinstance(system, str):
        return
    for path, block in faults.list(system, "system"):
        if faults.object(block, path).get("type") != "text":
            faults.add(f"{path}.type", "only text can stand in system")
        else:
            turns.text_block(block, path, faults)


# ---- tools


def _tools(body: JSON, faults: Faults) -> set[str]:
    """The names of all tools."""
    names: set[str] = set()
    for path, tool in faults.list(body.get("tools") or [], "tools"):
        kind = faults.object(tool, path).get("type")
        own = kind in (None, "custom")
        tool = faults.object(tool, path, _TOOL if own else None)
        if kind == "mcp_toolset":
            continue
        name = faults.text(tool.get("name"), f"{path}.name", pattern=turns.NAME)
        if name in names:
            faults.add(f"{path}.name", f"there is another tool {name}")
        names.add(name)
        if own:
            schema = object_schema(tool.get("input_schema"), f"{path}.input_schema", faults)
            for word in ("anyOf", "oneOf", "allOf"):
                if word in schema:
                    faults.add(f"{path}.input_schema.{word}", "is not taken at the root")
            if tool.get("strict") is True:
                strict_anthropic(schema, f"{path}.input_schema", faults)
            if given(tool, "description"):
                faults.text(tool["description"], f"{path}.description", blank=True)
        turns.marker(tool, path, faults)
    return names


def _choice(body: JSON, tools: set[str], faults: Faults) -> None:
    if not given(body, "tool_choice"):
        return
    if not body.get("tools") and not body.get("mcp_servers"):
        faults.add("tool_choice", "there are no tools")
    choice = faults.object(body["tool_choice"], "tool_choice", {"type", "name", "disable_parallel_tool_use"})
    kind = faults.word(choice.get("type"), "tool_choice.type", ("auto", "any", "tool", "none"))
    if (kind == "tool") != given(choice, "name"):
        faults.add("tool_choice.name", "belongs to the type tool")
    elif kind == "tool":
        faults.known(choice["name"], "tool_choice.name", tools, "tool")
    if given(choice, "disable_parallel_tool_use"):
        faults.flag(choice["disable_parallel_tool_use"], "tool_choice.disable_parallel_tool_use")
        if kind == "none":
            faults.add("tool_choice.disable_parallel_tool_use", "there is nothing to disable")


# ---- thinking and sampling


def _thinking(body: JSON, faults: Faults) -> str:
    """The type of thinking, "" for none."""
    if not given(body, "thinking"):
        return ""
    thinking = faults.object(body["thinking"], "thinking", {"type", "budget_tokens", "display"})
    kind = faults.word(thinking.get("type"), "thinking.type", ("adaptive", "enabled", "disabled", "between_tools"))
    if given(thinking, "display"):
        faults.word(thinking["display"], "thinking.display", ("summarized", "omitted", "updates"))
    limit = body.get("max_tokens")
    if kind == "enabled":
        budget = faults.number(thinking.get("budget_tokens"), "thinking.budget_tokens", _LEAST_BUDGET, whole=True)
        if budget is not None and isinstance(limit, int) and budget >= limit and not _interleaved(faults):
            faults.add("thinking.budget_tokens", f"{budget:g} is not below max_tokens")
    elif given(thinking, "budget_tokens"):
        faults.add("thinking.budget_tokens", "belongs to the type enabled")
    if kind in ("", "disabled"):
        return ""
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") in ("any", "tool"):
        faults.add("tool_choice", "cannot force a call while thinking")
    return kind


def _interleaved(faults: Faults) -> bool:
    return "interleaved-thinking" in (faults.headers or {}).get("anthropic-beta", "")


def _sampling(body: JSON, thinks: str, faults: Faults) -> None:
    version = (faults.headers or {}).get("anthropic-version")
    if faults.headers is not None and version not in _VERSIONS:
        faults.add("anthropic-version", f"{version!r} is none of {', '.join(_VERSIONS)}")
    for name, most in _SAMPLING.items():
        if not given(body, name):
            continue
        value = faults.number(body[name], name, 0, most, whole=most is None)
        if version == _VERSIONS[1]:
            faults.add(name, f"is not taken in version {version}")
        least = {"temperature": 1.0, "top_p": 0.95}.get(name)
        if thinks and value is not None and (least is None or value < least):
            faults.add(name, "is not taken while thinking")


# ---- the rest


def _output(body: JSON, faults: Faults) -> None:
    if not given(body, "output_config"):
        return
    config = faults.object(body["output_config"], "output_config")
    if given(config, "effort"):
        faults.word(config["effort"], "output_config.effort", _EFFORTS)
    if given(config, "format"):
        form = faults.object(config["format"], "output_config.format", {"type", "schema"})
        faults.word(form.get("type"), "output_config.format.type", ("json_schema",))
        strict_anthropic(form.get("schema"), "output_config.format.schema", faults)


def _rest(body: JSON, faults: Faults) -> None:
    for path, stop in faults.list(body.get("stop_sequences") or [], "stop_sequences"):
        faults.said(stop, path)
    if given(body, "metadata"):
        metadata = faults.object(body["metadata"], "metadata", {"user_id"})
        if given(metadata, "user_id"):
            faults.text(metadata["user_id"], "metadata.user_id", longest=256)
    if given(body, "service_tier"):
        faults.word(body["service_tier"], "service_tier", ("auto", "standard_only"))
    if given(body, "stream"):
        faults.flag(body["stream"], "stream")
    if faults.headers is not None and not faults.headers.get("anthropic-beta"):
        for name in _BETA:
            if given(body, name):
                faults.add(name, "unknown without its anthropic-beta")
    turns.marker(body, "", faults)
