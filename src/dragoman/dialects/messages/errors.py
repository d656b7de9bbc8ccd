"""Errors of the messages dialect: ``{"type": "error", "error": {"type", "message"}, "request_id"}``.

Source: protocols/anthropic-google.md, 1.6 and 1.8.
"""

from __future__ import annotations

import re
from typing import Any

from dragoman.canonical.errors import Error, ErrorKind
from dragoman.dialects.error_shapes import kind_of, members_of, message_of, says_too_long, text_of, told_status
from dragoman.dialects.messages import wire

_TOO_LONG = "prompt is too long"
_LIMIT = re.compile(r"(?:maximum|limit|allowed|window|context)\D{0,40}?(\d{3,})", re.IGNORECASE)
_NUMBER = re.compile(r"\d{3,}")


def parse_error(status: int, body: Any) -> Error:
    """The error in a body that came with this HTTP status (0 or 200 in a stream). Never raises."""
    members = members_of(body)
    word, code = text_of(members.get("type")), text_of(members.get("code"))
    if word == "error":  # what the event is called, where its members are flat
        word = ""
    message = message_of(members, status)
    status = told_status(status, members)
    details = members.get("details")
    return Error(
        kind=_kind(status, word, code, message),
        message=message,
        status=status,
        type=word or None,
        code=code or None,
        param=text_of(members.get("param")) or None,
        origin=wire.NAME,
        details=details if isinstance(details, list) else None,
    )


def _kind(status: int, word: str, code: str, message: str) -> ErrorKind:
    kind = wire.ERROR_KINDS.get(word)
    if kind is None:
        return kind_of(status, (code, word), message)
    return ErrorKind.CONTEXT_LENGTH if says_too_long(kind, message) else kind


def error_type(error: Error) -> str:
    """The documented word: the upstream's own if it is one, else that of the kind."""
    word = error.type
    if error.origin == wire.NAME and word is not None and word in wire.ERROR_KINDS:
        return word
    return wire.ERROR_TYPES[error.kind]


def render_error(error: Error, request_id: str) -> dict[str, Any]:
    """The error body; without a request id the member stays out."""
    members: dict[str, Any] = {"type": error_type(error), "message": _message(error)}
    if error.details and error.origin == wire.NAME:
        members["details"] = error.details
    body: dict[str, Any] = {"type": "error", "error": members}
    if request_id:
        body["request_id"] = request_id
    return body


def _message(error: Error) -> str:
    """The message; an overflow in the words by which Claude Code knows it, with the original after them."""
    message = error.message
    if error.kind is not ErrorKind.CONTEXT_LENGTH or _TOO_LONG in message.lower():
        return f"{error.param}: {message}" if _names_a_field(error) else message
    if limit := _LIMIT.search(message):
        asked = max(map(int, _NUMBER.findall(message)))  # an overflow: more was asked for than the limit
        if asked > int(limit[1]):
            return f"{_TOO_LONG}: {asked} tokens > {limit[1]} maximum ({message})"
    return f"{_TOO_LONG}: {message}"


def _names_a_field(error: Error) -> bool:
    """This dialect has no ``param``: Claude Code reads the field's name at the front of the message."""
    return error.param is not None and error.origin is None and error.param not in error.message


def status_of(error: Error) -> int:
    """The HTTP status: what the upstream gave, or that of the kind; Anthropic's clients retry both 503 and 529."""
    return error.status
