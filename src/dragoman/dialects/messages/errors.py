"""Errors of the messages dialect: ``{"type": "error", "error": {"type", "message"}, "request_id"}``.

Source: protocols/anthropic-google.md, 1.6 and 1.8.
"""

from __future__ import annotations

import re
from typing import Any

from dragoman import jsontext
from dragoman.canonical.errors import Error, ErrorKind, kind_of_status
from dragoman.dialects.messages import wire

_TOO_LONG = "prompt is too long"
_LIMIT = re.compile(r"(?:maximum|limit|allowed|window|context)\D{0,40}?(\d{3,})", re.IGNORECASE)
_NUMBER = re.compile(r"\d{3,}")
_CONTEXT = re.compile(
    r"prompt is too long|input is too long|maximum context length|exceeds? the (?:maximum )?context|context window exceeded",
    re.IGNORECASE,
)
_TITLE = re.compile(r"<(title|h1)[^>]*>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
_HTML_BYTES = 10_000  # how far into a page its title is looked for


def parse_error(status: int, body: Any) -> Error:
    """The error in a body that came with this HTTP status (0 or 200 in a stream). Never raises."""
    members = _members(body)
    word = _text(members.get("type"))
    message = _text(members.get("message")) or _text(members.get("detail")) or ""
    details = members.get("details")
    return Error(
        kind=_kind(status, word, message),
        message=_reduced(message, status),
        status=status,
        type=word or None,
        code=_text(members.get("code")) or None,
        param=_text(members.get("param")) or None,
        origin=wire.NAME,
        details=details if isinstance(details, list) else None,
    )


def _members(body: Any) -> dict[str, Any]:
    """The object that holds type and message, however it is wrapped."""
    for _ in range(4):
        if isinstance(body, list):
            body = next((item for item in body if item), None)
        elif isinstance(body, dict) and isinstance(body.get("error"), dict | list) and body["error"]:
            body = body["error"]
        elif isinstance(body, dict) and _text(body.get("error")):
            return {"message": body["error"], **{key: value for key, value in body.items() if value and key != "error"}}
        else:
            break
    if isinstance(body, dict):
        return {key: value for key, value in body.items() if (key, value) != ("type", "error")}
    return {"message": body}


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, dict | list) and value:
        return jsontext.render(value).decode()
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def _reduced(message: str, status: int) -> str:
    """An HTML page reduced to its title; other text as it is."""
    if not message.startswith("<"):
        return message
    found = _TITLE.search(message[:_HTML_BYTES])
    if found:
        return " ".join(found[2].split())
    return f"the upstream answered{f' {status}' if status else ''} with an HTML or XML page"


def _kind(status: int, word: str, message: str) -> ErrorKind:
    kind = wire.ERROR_KINDS.get(word)
    if kind is None:
        kind = kind_of_status(status) if status >= 400 else ErrorKind.SERVER
    if kind in (ErrorKind.INVALID_REQUEST, ErrorKind.TOO_LARGE, ErrorKind.SERVER) and _CONTEXT.search(message):
        return ErrorKind.CONTEXT_LENGTH
    return kind


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
