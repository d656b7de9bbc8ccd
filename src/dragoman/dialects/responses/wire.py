"""The words of the OpenAI Responses API, and how to read its values whatever their types.

Source: protocols/openai.md, part 2.
"""

from __future__ import annotations

import re
from typing import Any

from dragoman.canonical.events import FinishReason
from dragoman.jsontext import render
from dragoman.streaming.ids import Ids

NAME = "responses"
CALL_ID_LONGEST = 64
"""Characters of a ``call_id`` that OpenAI takes (decolua/9router#393)."""

JSON = dict[str, Any]

# ---- output items

MESSAGE, REASONING, CALL, TOOL, OTHER = "message", "reasoning", "call", "tool", "other"
"""Families of output items: each family has its own events, and its own names for its items."""

CLIENT_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
"""Calls that the client runs, and the member that holds what the model wrote."""

IMAGE_CALL = "image_generation_call"

HOSTED = frozenset(
    {
        "additional_tools",
        "apply_patch_call",
        "apply_patch_call_output",
        "code_interpreter_call",
        "compaction",
        "computer_call",
        "computer_call_output",
        "custom_tool_call_output",
        "file_search_call",
        "function_call_output",
        "image_generation_call",
        "local_shell_call",
        "local_shell_call_output",
        "mcp_approval_request",
        "mcp_approval_response",
        "mcp_call",
        "mcp_list_tools",
        "program",
        "program_output",
        "shell_call",
        "shell_call_output",
        "tool_search_call",
        "tool_search_output",
        "web_search_call",
    }
)
"""Items that no other dialect has: what OpenAI's servers ran, or want to be run in a form of their own."""

FAMILIES = {
    "message": MESSAGE,
    "reasoning": REASONING,
    **dict.fromkeys(CLIENT_CALLS, CALL),
    **dict.fromkeys(HOSTED, TOOL),
}

PREFIXES = {
    "message": "msg_",
    "reasoning": "rs_",
    "function_call": "fc_",
    "custom_tool_call": "ctc_",
    "local_shell_call": "lsh_",
    "shell_call": "sh_",
    "apply_patch_call": "apc_",
    IMAGE_CALL: "ig_",
    "web_search_call": "ws_",
    "file_search_call": "fs_",
    "code_interpreter_call": "ci_",
    "computer_call": "cu_",
    "mcp_call": "mcp_",
    "mcp_list_tools": "mcpl_",
    "mcp_approval_request": "mcpr_",
    "compaction": "cmp_",
}

ENCRYPTED = "reasoning.encrypted_content"
LOGPROBS = "message.output_text.logprobs"
"""Words of ``include``."""

BOUND = ("previous_response_id", "conversation", "prompt", "background")
"""State and templates that only the upstream which holds them can serve."""

LEAST_OUTPUT = 16
"""The least ``max_output_tokens`` that OpenAI takes; clients probe with 1 (farion1231/cc-switch#7287)."""

PARAGRAPH = "\n\n"
"""What stands between the parts of one reasoning item where they are one text."""

MARK = "dgm"
RESPONSE_PREFIX = "resp_" + MARK
RUN_ID = f"mcp_{MARK}run_"
"""Begins the ids under which clients are shown the calls that the gateway ran (``events.ToolRun``)."""
_MINTED = re.compile("[a-z]+_" + MARK + "[0-9a-f]{24}")


def mint(ids: Ids, prefix: str) -> str:
    """An item id of our own, with OpenAI's prefix and a mark.

    No upstream knows it. OpenAI refuses unknown item ids, and a ciphertext whose item has another
    id than the one it was made for (maximhq/bifrost#5186), so ``is_minted`` takes them out of what
    a client echoes.
    """
    return ids(prefix + MARK)


def is_minted(id: Any) -> bool:
    """Whether ``mint`` made this id."""
    return isinstance(id, str) and _MINTED.fullmatch(id) is not None


# ---- ends

INCOMPLETE = {
    "max_output_tokens": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "length": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
}
"""``incomplete_details.reason``; a missing or an unknown one counts as a length."""

REASONS = {
    FinishReason.LENGTH: "max_output_tokens",
    FinishReason.CONTENT_FILTER: "content_filter",
    # no word for "send the same turn again": the answer is not whole, and must not look so
    FinishReason.PAUSED: "max_output_tokens",
}

TERMINAL = {
    "response.completed": "completed",
    "response.done": "completed",  # the name that some relays took over from the realtime API
    "response.incomplete": "incomplete",
    "response.failed": "failed",
    "response.cancelled": "cancelled",
}
STATUSES = ("completed", "incomplete", "cancelled", "failed")
"""How a response ends; what is told later here is the stronger word."""

QUIRKS = {
    "args-before-item": "a call's arguments came before its item was added",
    "item-added-twice": "an output item was added twice",
    "item-id-rotates": "the id of an output item changed from event to event",
    "output-is-text": "the output was a text, or stood in output_text alone, in place of items",
}
"""Oddities of servers that the decoder repairs: slug and sentence."""

# ---- liberal reading: ``null``, "" and absent are the same


def text_of(value: Any) -> str | None:
    """A string with something in it, or a number as a string; else ``None``."""
    if isinstance(value, str):
        return value or None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    return None


def id_of(value: Any) -> str | None:
    """The same for ids and names, of which a blank one is none."""
    text = text_of(value)
    return text if text is not None and text.strip() else None


def index_of(value: Any) -> int | None:
    """A whole number from 0, also spelt as a float or a decimal string."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def count_of(*values: Any) -> int | None:
    """The first of these that is a count of tokens."""
    return next((count for value in values if (count := index_of(value)) is not None), None)


def object_of(value: Any) -> JSON:
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def delta_of(value: Any) -> str:
    """Text of a delta or a snapshot; servers also send it as ``{"text": …}`` or as the JSON value itself."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and isinstance(value.get("text"), str) and len(value) <= 2:
        return str(value["text"])
    return render(value).decode() if isinstance(value, (dict, list)) else text_of(value) or ""
