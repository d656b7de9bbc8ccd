"""The words of Google's Generate Content API, and how its JSON is spelled.

Sources: protocols/anthropic-google.md, part 2; design/streams.md, 6 and 7.
"""

from __future__ import annotations

import re
from typing import Any

from dragoman.canonical.errors import ErrorKind
from dragoman.canonical.events import FinishReason
from dragoman.canonical.request import Effort

NAME = "gemini"

JSON = dict[str, Any]

_F = FinishReason

FINISH: dict[str, FinishReason] = {
    "STOP": _F.STOP,
    "MAX_TOKENS": _F.LENGTH,
    "CONTINUATION": _F.PAUSED,
    **dict.fromkeys(
        (
            "SAFETY",
            "RECITATION",
            "LANGUAGE",
            "BLOCKLIST",
            "PROHIBITED_CONTENT",
            "SPII",
            "IMAGE_SAFETY",
            "IMAGE_PROHIBITED_CONTENT",
            "IMAGE_RECITATION",
            "ESCALATION",
            "MODEL_ARMOR",
            "PUP_LIMITED_DISABLED",
        ),
        _F.CONTENT_FILTER,
    ),
    "OTHER": _F.STOP,
    "IMAGE_OTHER": _F.STOP,
    "NO_IMAGE": _F.STOP,
}
"""What an answer's last word means. There is none for tool calls: such a turn ends with ``STOP``."""

NO_FINISH = "FINISH_REASON_UNSPECIFIED"
"""The word that an enum of Google's has for nothing."""

FAILURES = frozenset(
    {
        "MALFORMED_FUNCTION_CALL",
        "MALFORMED_RESPONSE",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
        "MISSING_THOUGHT_SIGNATURE",
    }
)
"""Last words of an answer that failed: taken for an end they would look like an empty success."""

FINISH_WORDS: dict[FinishReason, str] = {
    _F.STOP: "STOP",
    _F.TOOL_CALLS: "STOP",
    _F.LENGTH: "MAX_TOKENS",
    _F.CONTENT_FILTER: "SAFETY",
    _F.PAUSED: "MAX_TOKENS",
}
"""The word for an end that another dialect named. A pause has no form that a client would resume from."""

WITH_CALLS = frozenset({"STOP", "MAX_TOKENS", "CONTINUATION"})
"""The last words with which clients run the calls of a turn."""

BLOCK_REASONS = frozenset(
    {"SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "IMAGE_SAFETY", "MODEL_ARMOR", "JAILBREAK"}
)
NO_BLOCK = frozenset({"BLOCK_REASON_UNSPECIFIED", "BLOCKED_REASON_UNSPECIFIED"})

SERVER_TOOL_PARTS: dict[str, tuple[str, ...]] = {
    "executableCode": ("language", "code"),
    "codeExecutionResult": ("outcome",),
    "toolCall": ("toolType", "id"),
    "toolResponse": ("toolType", "id"),
}
"""Parts of tools that Google's servers run, and the texts that each must hold."""

PART_DATA = frozenset(SERVER_TOOL_PARTS) | {"text", "functionCall", "functionResponse", "inlineData", "fileData"}
"""A part holds exactly one of these."""

COUNTS = ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "toolUsePromptTokenCount")
"""The counts whose sum is ``totalTokenCount``."""

BYPASS = "skip_thought_signature_validator"
"""Google's documented stand-in for a signature that is not known; no proof of anything."""

LEVELS: dict[str, Effort] = {"MINIMAL": "minimal", "LOW": "low", "MEDIUM": "medium", "HIGH": "high", "XHIGH": "xhigh"}
"""The levels of thinking."""

_K = ErrorKind

STATUS_KINDS: dict[str, ErrorKind] = {
    "INVALID_ARGUMENT": _K.INVALID_REQUEST,
    "FAILED_PRECONDITION": _K.INVALID_REQUEST,
    "OUT_OF_RANGE": _K.INVALID_REQUEST,
    "UNAUTHENTICATED": _K.AUTHENTICATION,
    "PERMISSION_DENIED": _K.PERMISSION,
    "NOT_FOUND": _K.NOT_FOUND,
    "ABORTED": _K.CONFLICT,
    "ALREADY_EXISTS": _K.CONFLICT,
    "RESOURCE_EXHAUSTED": _K.RATE_LIMIT,
    "CANCELLED": _K.TIMEOUT,
    "INTERNAL": _K.SERVER,
    "UNKNOWN": _K.SERVER,
    "DATA_LOSS": _K.SERVER,
    "UNIMPLEMENTED": _K.SERVER,
    "UNAVAILABLE": _K.OVERLOADED,
    "DEADLINE_EXCEEDED": _K.UPSTREAM_TIMEOUT,
}
"""What the status word of an error says."""

STATUS_CODES: dict[str, int] = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "OUT_OF_RANGE": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ABORTED": 409,
    "ALREADY_EXISTS": 409,
    "RESOURCE_EXHAUSTED": 429,
    "CANCELLED": 499,
    "UNKNOWN": 500,
    "INTERNAL": 500,
    "DATA_LOSS": 500,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}
"""The HTTP status of each status word."""

KIND_STATUSES: dict[ErrorKind, str] = {
    _K.INVALID_REQUEST: "INVALID_ARGUMENT",
    _K.CONTEXT_LENGTH: "INVALID_ARGUMENT",
    _K.AUTHENTICATION: "UNAUTHENTICATED",
    _K.BILLING: "FAILED_PRECONDITION",
    _K.PERMISSION: "PERMISSION_DENIED",
    _K.NOT_FOUND: "NOT_FOUND",
    _K.METHOD_NOT_ALLOWED: "INVALID_ARGUMENT",
    _K.TIMEOUT: "CANCELLED",
    _K.CONFLICT: "ABORTED",
    _K.TOO_LARGE: "INVALID_ARGUMENT",
    _K.RATE_LIMIT: "RESOURCE_EXHAUSTED",
    _K.SERVER: "INTERNAL",
    _K.BAD_UPSTREAM: "INTERNAL",
    _K.OVERLOADED: "UNAVAILABLE",
    _K.UPSTREAM_TIMEOUT: "DEADLINE_EXCEEDED",
}
"""The status word for a kind of error. It has the same hundred as the kind's HTTP status."""

QUIRKS: dict[str, str] = {
    "gemini-done": "the stream ended with [DONE], which this dialect does not have",
    "gemini-finish-unknown": "a finishReason outside Google's list was taken for STOP",
    "gemini-partial-args": "a call's arguments came in pieces with JSONPaths",
    "gemini-snake-case": "an answer's keys were in snake_case",
    "gemini-wrapped": "each response was wrapped in an object of its own",
}
"""Oddities that the decoder repairs."""

VERBATIM = frozenset(
    {
        "args",
        "response",
        "parameters",
        "parametersJsonSchema",
        "responseSchema",
        "responseJsonSchema",
        "labels",
        "partMetadata",
        "metadata",
    }
)
"""Members whose value is the user's own, not Google's: keys in there are never respelled."""

_SNAKE_KEY = re.compile(rb'_[a-z0-9]+"\s*:')
_UNDERSCORE = re.compile("_([a-z0-9])")
_CAPITAL = re.compile("[A-Z]")


def maybe_snake_case(data: bytes) -> bool:
    """Whether this JSON text has a key in snake_case anywhere, be it the user's own."""
    return _SNAKE_KEY.search(data) is not None


def camel_case(value: Any) -> Any:
    """The value with Google's own keys in camelCase.

    The API reads both spellings, and SDKs mix them in one request (google-genai sends
    ``parameters_json_schema`` beside ``functionDeclarations``). Where a key is there in both, the
    one in camelCase counts.
    """
    if isinstance(value, list):
        return [camel_case(item) for item in value]
    if not isinstance(value, dict):
        return value
    out: JSON = {}
    for key, item in value.items():
        name = _UNDERSCORE.sub(lambda found: found[1].upper(), key) if "_" in key else key
        if name != key and name in value:
            continue
        out[name] = item if name in VERBATIM else camel_case(item)
    return out


def spelled(body: JSON, name: str) -> str:
    """The key that a body has for a member, in either spelling."""
    if name in body:
        return name
    snake = _CAPITAL.sub(lambda found: f"_{found[0].lower()}", name)
    return snake if snake in body else name


def as_object(value: Any) -> JSON:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """The value if it is a string, else ""."""
    return value if isinstance(value, str) else ""


def as_count(value: Any) -> int | None:
    """A count from 0 up, also one that is written as a float or (protobuf's int64) as a string."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 19:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
