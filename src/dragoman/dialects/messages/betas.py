"""What is in beta: ``anthropic-beta``, and the members of a body that belong to its values.

Servers that only resemble Anthropic's refuse values and members that they do not know
(anthropics/claude-code#46105). Source: the types of the official SDK (``anthropic`` 2.14).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from dragoman.canonical.request import Loss
from dragoman.dialects.contract import Facts

JSON = dict[str, Any]

HEADER = "anthropic-beta"

_STABLE: dict[str, frozenset[str]] = {
    "": frozenset(
        {
            *("model", "messages", "max_tokens", "system", "stream", "stop_sequences", "metadata", "service_tier"),
            *("temperature", "top_p", "top_k", "tools", "tool_choice", "thinking", "output_config"),
        }
    ),
    "thinking": frozenset({"type", "budget_tokens", "display"}),
    "output_config": frozenset({"effort", "format"}),
    "tools": frozenset({"type", "name", "description", "input_schema", "cache_control", "strict"}),
}
"""The members, of the body and of objects in it, that every server of this dialect may be sent."""

_OWNERS: dict[str, tuple[str, ...]] = {
    "container": ("skills", "code_execution"),
    "context_management": ("context_management", "compact"),
    "mcp_servers": ("mcp_client",),
    "fallbacks": ("server_side_fallback",),
    "speed": ("fast_mode",),
    "output_format": ("structured_outputs",),
    "thread": ("message_threads",),
    "diagnostics": ("cache_diagnosis",),
    "thinking.block_binding": ("thinking_binding_controls",),
    "thinking.display": ("thinking_display_updates",),
    "output_config.task_budget": ("task_budgets",),
    "tools.defer_loading": ("advanced_tool_use", "tool_search_tool"),
    "tools.input_examples": ("advanced_tool_use", "tool_examples"),
    "tools.allowed_callers": ("advanced_tool_use", "code_execution"),
    "tools.eager_input_streaming": ("fine_grained_tool_streaming",),
}
"""Member → the betas that it belongs to, by their names without the date; others have the name of their beta."""

_DATE = re.compile(r"-\d{4}-?\d{2}-?\d{2}$")


def fit_headers(headers: dict[str, str], facts: Facts) -> dict[str, str]:
    """Of a client's headers what the upstream takes: of the betas those that it is known to serve."""
    if not isinstance(facts.betas, list) or HEADER not in headers:
        return headers
    wanted = [value.strip() for value in headers[HEADER].split(",")]
    kept = ",".join(value for value in wanted if value in facts.betas)
    rest = {name: value for name, value in headers.items() if name != HEADER}
    return {**rest, HEADER: kept} if kept else rest


def fit_members(body: JSON, betas: Iterable[str], losses: list[Loss]) -> JSON:
    """The body without the members that belong to no stable API and to none of these betas."""
    stems = {_DATE.sub("", value).replace("-", "_") for value in betas}
    fitted = _fitted(body, "", "", stems, losses)
    for name in ("thinking", "output_config"):
        if isinstance(inner := fitted.get(name), dict):
            fitted[name] = _fitted(inner, name, f"{name}.", stems, losses)
    if isinstance(tools := fitted.get("tools"), list):
        fitted["tools"] = [
            _fitted(tool, "tools", f"tools[{number}].", stems, losses) if _is_plain(tool) else tool
            for number, tool in enumerate(tools)
        ]
    return fitted


def _fitted(value: JSON, kind: str, place: str, stems: set[str], losses: list[Loss]) -> JSON:
    kept: JSON = {}
    for name, member in value.items():
        path = f"{kind}.{name}" if kind else name
        beta = name not in _STABLE[kind] or (path == "thinking.display" and member == "updates")
        if not beta or any(stem in stems for stem in _OWNERS.get(path, (name,))):
            kept[name] = member
        elif member is not None:
            losses.append(Loss(f"{place}{name}", "it belongs to no beta that the upstream serves"))
    return kept


def _is_plain(tool: Any) -> bool:
    """Whether it is a tool with a schema; others have members by their types."""
    return isinstance(tool, dict) and tool.get("type") in (None, "custom")
