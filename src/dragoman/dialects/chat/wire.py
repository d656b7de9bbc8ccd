"""The words of Chat Completions, official ones and those of servers that call themselves compatible.

Sources: protocols/openai.md, part 1; design/streams.md, 6 and 8; the cases under each word's name.
"""

from __future__ import annotations

from typing import Any

from dragoman.canonical.events import FinishReason
from dragoman.canonical.opaque import Opaque

NAME = "chat"
CALL_ID_LONGEST = 40
"""Characters of a call's id that OpenAI, Azure and Copilot take (camel-ai/camel#2215, anomalyco/opencode#12653)."""
CHUNK = "chat.completion.chunk"
BODY = "chat.completion"

_F = FinishReason

FINISH: dict[str, FinishReason] = {
    "stop": _F.STOP,
    "end_turn": _F.STOP,
    "eos": _F.STOP,
    "eos_token": _F.STOP,
    "stop_sequence": _F.STOP,
    "complete": _F.STOP,
    "completed": _F.STOP,
    "tool_calls": _F.TOOL_CALLS,
    "tool_call": _F.TOOL_CALLS,
    "tool_use": _F.TOOL_CALLS,
    "function_call": _F.TOOL_CALLS,
    "length": _F.LENGTH,
    "max_tokens": _F.LENGTH,
    "max_output_tokens": _F.LENGTH,
    "max_completion_tokens": _F.LENGTH,
    "max_length": _F.LENGTH,
    "model_length": _F.LENGTH,
    "model_context_window_exceeded": _F.LENGTH,
    "context_length": _F.LENGTH,
    "truncated": _F.LENGTH,
    "content_filter": _F.CONTENT_FILTER,
    "content_filtered": _F.CONTENT_FILTER,
    "sensitive": _F.CONTENT_FILTER,
    "safety": _F.CONTENT_FILTER,
    "image_safety": _F.CONTENT_FILTER,
    "recitation": _F.CONTENT_FILTER,
    "blocklist": _F.CONTENT_FILTER,
    "prohibited_content": _F.CONTENT_FILTER,
    "spii": _F.CONTENT_FILTER,
    "refusal": _F.CONTENT_FILTER,
    "refused": _F.CONTENT_FILTER,
    "blocked": _F.CONTENT_FILTER,
    "guardrail_intervened": _F.CONTENT_FILTER,
    "pause_turn": _F.PAUSED,
}
"""What ends an answer, folded to lower case. Any other word that is in no table below means stop."""

INTERRUPTED = frozenset(
    {
        "insufficient_system_resource",
        "network_error",
        "abort",
        "aborted",
        "cancelled",
        "canceled",
        "interrupted",
        "timeout",
        "incomplete",
        "failed",
        "internal_error",
        "engine_overloaded",
        "preempted",
    }
)
"""Words of a server that broke off: what came is half an answer."""

FAILED = frozenset({"error", "server_error", "malformed_function_call", "unexpected_tool_call"})
"""Words of a failure."""

RENDERED_FINISH: dict[FinishReason, str] = {
    _F.STOP: "stop",
    _F.TOOL_CALLS: "tool_calls",
    _F.LENGTH: "length",
    _F.CONTENT_FILTER: "content_filter",
    # chat clients have no way to resume the turn: a cut that they can see
    _F.PAUSED: "length",
}
"""OpenAI's word. Its fifth one, ``function_call``, belongs to calls in the form from before tools."""


def rendered_finish(reason: FinishReason, *, legacy: bool) -> str:
    """The word for a client; ``legacy``: its call has the form from before tools."""
    return "function_call" if legacy and reason is _F.TOOL_CALLS else RENDERED_FINISH[reason]


REASONING = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
"""The fields that servers stream reasoning in; of those in one delta the first counts."""

FORMATS: dict[str, str] = {
    "anthropic-claude-v1": "messages",
    "openai-responses-v1": "responses",
    "google-gemini-v1": "gemini",
}
"""``format`` of a ``reasoning_details`` entry: whose proof it is."""

FORMAT_OF: dict[str, str] = {origin: format for format, origin in FORMATS.items()}

ENVELOPE_NATIVE = ("system_fingerprint", "service_tier", "provider")
"""Members of the envelope that clients of this dialect get as they came."""

QUIRKS: dict[str, str] = {
    "answer-wrapped": "the completion stood inside another object",
    "args-in-other-member": "a call's arguments stood in another member than arguments",
    "chunk-in-array": "a chunk was wrapped in a JSON array",
    "content-cumulative": "each text delta repeated all of the text before it",
    "content-parts": "the content of an answer was a list of typed parts",
    "finish-camel-case-key": "the finish stood under finishReason",
    "finish-foreign-word": "the finish was a word of another dialect",
    "finish-unknown-word": "the finish was an unknown word, and was read as stop",
    "legacy-function-call": "the call had the form from before tool_calls",
    "member-misplaced": "text, calls or the finish stood outside of the object that should hold them",
    "message-instead-of-delta": "chunks carried messages in place of deltas",
    "thought-mark": "thoughts stood in the content, with a mark beside it",
    "usage-in-choice": "the usage stood inside a choice",
}
"""What servers that call themselves compatible do otherwise, and the decoder repairs."""


def origin_of(format: Any) -> str:
    """The dialect of a proof of this ``format``; unknown ones belong to the chat upstream itself."""
    return FORMATS.get(format, NAME) if isinstance(format, str) else NAME


def format_of(origin: str) -> str:
    """The ``format`` for a proof of this origin."""
    return FORMAT_OF.get(origin, "unknown")


def thought_signature(extra: Any) -> Opaque | None:
    """Gemini's signature in ``extra_content``: ``{"google": {"thought_signature": …}}``, or under ``vertex``."""
    if isinstance(extra, dict):
        for vendor in extra.values():
            if isinstance(vendor, dict) and isinstance(data := vendor.get("thought_signature"), str) and data:
                return Opaque("gemini", "signature", data)
    return None


def extra_content(signature: Opaque | None) -> dict[str, Any] | None:
    """``extra_content`` for a signature of Gemini; other vendors do not sign calls or text."""
    if signature is None or signature.origin != "gemini":
        return None
    return {"google": {"thought_signature": signature.data}}
