"""The words of Anthropic Messages, as closed tables.

Source: protocols/anthropic-google.md, 1, and the types of the official SDK (``anthropic`` 2.14).
"""

from __future__ import annotations

import re
from typing import Any

from dragoman.canonical.errors import ErrorKind
from dragoman.canonical.events import FinishReason

NAME = "messages"
VERSION = "2026-10-21"
SAMPLING_VERSION = "2023-06-01"
"""The last ``anthropic-version`` that takes sampling parameters."""
SAMPLING = ("temperature", "top_p", "top_k")

PATH = "/v1/messages"
COUNT_PATH = "/v1/messages/count_tokens"

CALL_ID_PATTERN = r"[a-zA-Z0-9_-]+"
CALL_ID = re.compile(CALL_ID_PATTERN)
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")

UNKNOWN_MODEL = "unknown"
"""Where neither the upstream nor the request names a model: clients demand a name."""

INVALID_JSON = "INVALID_JSON"
"""The member under which Anthropic documents arguments that are no JSON object."""

QUIRKS: dict[str, str] = {
    "delta-type-mismatch": "a delta did not fit the block at its index; its own type decided what it is",
    "event-name-missing": "events came without their names",
    "stop-reason-foreign": "the stop reason was no word of this dialect",
}
"""The oddities of this dialect's servers that the decoder repairs (``streaming.quirks``)."""

# ---- how an answer ends

STOP_REASONS: dict[str, FinishReason] = {
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "tool_use": FinishReason.TOOL_CALLS,
    "max_tokens": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
    "refusal": FinishReason.CONTENT_FILTER,
    "pause_turn": FinishReason.PAUSED,
    "compaction": FinishReason.PAUSED,
}
"""This wire's words. After ``compaction`` as after ``pause_turn`` the client sends the turn again."""

FOREIGN_STOP_REASONS: dict[str, FinishReason] = {
    "stop": FinishReason.STOP,
    "eos": FinishReason.STOP,
    "tool_calls": FinishReason.TOOL_CALLS,
    "tool_call": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
    "length": FinishReason.LENGTH,
    "max_output_tokens": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
    "content_filtered": FinishReason.CONTENT_FILTER,
    "guardrail_intervened": FinishReason.CONTENT_FILTER,
    "safety": FinishReason.CONTENT_FILTER,
}
"""Other dialects' words, which gateways leak into this one; compared in lower case."""

INTERRUPTIONS = frozenset(
    {"abort", "aborted", "cancelled", "canceled", "error", "interrupted", "network_error", "timeout"}
)
"""Words by which servers say that the answer broke off."""

DEFAULT_STOP: dict[FinishReason, str] = {
    FinishReason.STOP: "end_turn",
    FinishReason.TOOL_CALLS: "tool_use",
    FinishReason.LENGTH: "max_tokens",
    FinishReason.CONTENT_FILTER: "refusal",
    FinishReason.PAUSED: "max_tokens",
}
"""Only this dialect's own upstreams pause a turn; for others a pause is a cut (design/streams.md, 6)."""

# ---- blocks

RUN_ID = "mcptoolu_dgm_"
"""Begins the ids under which clients are shown the calls that the gateway ran (``events.ToolRun``)."""

SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})
"""Calls that run at the upstream; their input streams like a client call's."""

SERVER_RESULTS = frozenset(
    {
        "web_search_tool_result",
        "web_fetch_tool_result",
        "code_execution_tool_result",
        "bash_code_execution_tool_result",
        "text_editor_code_execution_tool_result",
        "tool_search_tool_result",
        "mcp_tool_result",
        "advisor_tool_result",
    }
)
"""Results of such calls; whole in ``content_block_start``."""

SERVER_BLOCKS = SERVER_CALLS | SERVER_RESULTS | {"compaction", "fallback"}
"""What passes to clients of this dialect as it is.

``container_upload`` and ``mcp_tool_listing`` do not: the AI SDK's union refuses them.
"""

ENVELOPE_EXTRAS = ("container", "context_management", "diagnostics")
ENDING_EXTRAS = ("stop_details", "container", "context_management")
COUNTED = frozenset(
    {
        "input_tokens",
        "output_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
        "output_tokens_details",
    }
)
"""The members of ``usage`` that have a canonical form; the others are this dialect's own."""


def sound_server_block(block: dict[str, Any]) -> bool:
    """Whether strict clients accept the block (the members that their schemas demand)."""
    kind = block.get("type")
    if kind in SERVER_CALLS:
        id, name = block.get("id"), block.get("name")
        return (
            isinstance(id, str)
            and CALL_ID.fullmatch(id) is not None
            and isinstance(name, str)
            and TOOL_NAME.fullmatch(name) is not None
            and isinstance(block.get("input"), dict)
            and (kind != "mcp_tool_use" or _filled(block.get("server_name")))
        )
    if kind in SERVER_RESULTS:
        return _filled(block.get("tool_use_id")) and isinstance(block.get("content"), dict | list | str)
    return kind in SERVER_BLOCKS


def call_extras(block: dict[str, Any]) -> dict[str, Any]:
    """The members of a call that have no canonical form: who made it, and its tool's set."""
    caller, toolset = block.get("caller"), block.get("toolset_name")
    extras: dict[str, Any] = {}
    if isinstance(caller, dict) and _filled(caller.get("type")):
        extras["caller"] = caller
    if _filled(toolset):
        extras["toolset_name"] = toolset
    return extras


def _filled(value: Any) -> bool:
    return isinstance(value, str) and value != ""


# ---- errors

_K = ErrorKind

ERROR_KINDS: dict[str, ErrorKind] = {
    "invalid_request_error": _K.INVALID_REQUEST,
    "authentication_error": _K.AUTHENTICATION,
    "billing_error": _K.BILLING,
    "permission_error": _K.PERMISSION,
    "not_found_error": _K.NOT_FOUND,
    "conflict_error": _K.CONFLICT,
    "request_too_large": _K.TOO_LARGE,
    "rate_limit_error": _K.RATE_LIMIT,
    "timeout_error": _K.UPSTREAM_TIMEOUT,
    "api_error": _K.SERVER,
    "overloaded_error": _K.OVERLOADED,
}
"""The documented error types."""

ERROR_TYPES: dict[ErrorKind, str] = {
    **{kind: word for word, kind in ERROR_KINDS.items()},
    _K.CONTEXT_LENGTH: "invalid_request_error",
    _K.METHOD_NOT_ALLOWED: "invalid_request_error",
    _K.TIMEOUT: "timeout_error",
    _K.BAD_UPSTREAM: "api_error",
}

DELTAS = {
    "text": "text_delta",
    "partial_json": "input_json_delta",
    "thinking": "thinking_delta",
    "signature": "signature_delta",
    "citation": "citations_delta",
}
"""The type of a delta by its member."""
