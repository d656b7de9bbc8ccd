"""Errors: ``{"error": {"code", "message", "status", "details"}}``.

In a stream the error must be the only member of its frame, with an integer code from 400 to 599 and
a status word, or SDKs miss it (protocols/anthropic-google.md, 2.5).
"""

from __future__ import annotations

import re
from typing import Any

from dragoman.canonical.errors import STATUS, Error, ErrorKind
from dragoman.dialects.error_shapes import kind_of, members_of, message_of, says_too_long, text_of, told_status
from dragoman.dialects.gemini.wire import (
    JSON,
    KIND_STATUSES,
    NAME,
    STATUS_CODES,
    STATUS_KINDS,
    as_list,
    as_text,
)

_TYPE = "type.googleapis.com/google.rpc."
_DOMAIN = "generativelanguage.googleapis.com"
_SECONDS = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)s?")


def parse_error(status: int, body: Any) -> Error:
    """The error in an upstream's body (parsed JSON, or text).

    ``status`` is that of the HTTP answer; below 400 (an error in a stream) the body's code counts.
    ``type`` of the result is Google's status word, ``code`` the reason in its ``ErrorInfo``.
    """
    members = members_of(body)
    word = text_of(members.get("status")).upper()
    word = "" if word.isdigit() else word
    code = told_status(status, members) or STATUS_CODES.get(word, 0)
    details = [item for item in as_list(members.get("details")) if isinstance(item, dict)]
    reason = next((as_text(item.get("reason")) for item in details if item.get("reason")), "")
    message = message_of(members, status) or word.replace("_", " ").lower()
    return Error(
        kind=_kind(code, word, reason, members, message),
        message=message,
        status=code,
        type=word or None,
        code=reason or None,
        origin=NAME,
        retry_after=_retry_after(details),
        details=details or None,
    )


def _kind(code: int, word: str, reason: str, members: JSON, message: str) -> ErrorKind:
    if reason in ("API_KEY_INVALID", "API_KEY_EXPIRED"):  # these come as 400 INVALID_ARGUMENT
        return ErrorKind.AUTHENTICATION
    kind = STATUS_KINDS.get(word)
    if kind is None or (code and (kind is ErrorKind.SERVER or STATUS_CODES[word] // 100 != code // 100)):
        return kind_of(code, (text_of(members.get("code")), text_of(members.get("type")), word), message)
    return ErrorKind.CONTEXT_LENGTH if says_too_long(kind, message) else kind


def _retry_after(details: list[JSON]) -> float | None:
    for item in details:
        delay = item.get("retryDelay")
        if isinstance(delay, dict):
            delay = f"{delay.get('seconds', '')}s"
        if isinstance(delay, str) and (found := _SECONDS.fullmatch(delay)):
            return float(found[1])
    return None


def status_of(error: Error) -> int:
    """The error's own status, unless Google's clients do not know it."""
    return error.status if error.status in _KNOWN else STATUS[error.kind]


_KNOWN = frozenset({*STATUS.values(), *STATUS_CODES.values()})


def render_error(error: Error, request_id: str) -> JSON:
    """The body of an error; the request id goes into a ``RequestInfo`` among the details."""
    code = status_of(error)
    body: JSON = {"code": code, "message": error.message, "status": _status_word(error, code)}
    if details := _details(error, body["status"], request_id):
        body["details"] = details
    return {"error": body}


def _status_word(error: Error, code: int) -> str:
    own = error.type if error.origin == NAME and error.type in STATUS_CODES else None
    for word in (own, KIND_STATUSES[error.kind]):
        if word is not None and STATUS_CODES[word] // 100 == code // 100:
            return word
    return "INVALID_ARGUMENT" if code < 500 else "INTERNAL"


def _details(error: Error, word: str, request_id: str) -> list[JSON]:
    own = error.details if error.origin == NAME and error.details else []
    details = [item for item in own if isinstance(item, dict)]
    if error.origin == NAME and error.type and error.type not in STATUS_CODES:
        details.append({"@type": _TYPE + "ErrorInfo", "reason": error.type.upper(), "domain": _DOMAIN})
    elif error.param is not None and not details:
        violation = {"field": error.param, "description": error.message}
        details.append({"@type": _TYPE + "BadRequest", "fieldViolations": [violation]})
    if error.retry_after is not None and not any("retryDelay" in item for item in details):
        details.append({"@type": _TYPE + "RetryInfo", "retryDelay": _delay(error.retry_after)})
    if request_id:
        details.append({"@type": _TYPE + "RequestInfo", "requestId": request_id})
    return details


def _delay(seconds: float) -> str:
    return f"{max(0.0, seconds):.3f}".rstrip("0").rstrip(".") + "s"


def failure(word: str, message: str) -> Error:
    """The error in a ``finishReason`` that says that the answer failed.

    ``message`` is the upstream's ``finishMessage``, "" if it gave none.
    """
    return Error(
        kind=ErrorKind.BAD_UPSTREAM,
        message=message or f"{word.replace('_', ' ').capitalize()}: the model's turn was given up by its server",
        type=word.lower(),
        origin=NAME,
    )


def unreadable(message: str) -> Error:
    """The error for an answer that cannot be read."""
    return Error(kind=ErrorKind.BAD_UPSTREAM, message=message)
