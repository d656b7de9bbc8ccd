"""Errors: OpenAI's body, read and written by what both OpenAI dialects share."""

from __future__ import annotations

from typing import Any

from dragoman.canonical.errors import Error, ErrorKind
from dragoman.dialects import openai_shapes
from dragoman.dialects.chat.wire import NAME
from dragoman.dialects.error_shapes import has_failed_base, is_bare_error, is_said, message_of

render_error = openai_shapes.render_error
status_of = openai_shapes.status_of


def parse_error(status: int, body: Any) -> Error:
    """The error in a body that came with this HTTP status; never raises."""
    return openai_shapes.parse_error(status, body, NAME)


def error_in(value: dict[str, Any], event: str = "") -> Error | None:
    """The error that an event or a body of a 200 reports, wherever it stands (design/streams.md, 7).

    Looked for before anything else: beside an error, ``choices`` is empty or holds a word that
    reads like an exotic finish (cases ``error-empty-choices``, ``error-openrouter-finish-error``).
    """
    if event == "error" or value.get("object") == "error":
        return parse_error(0, value)
    if is_said(value.get("error")) or has_failed_base(value):
        return parse_error(0, value)
    empty = not (value.get("choices") or value.get("usage"))
    if empty and (value.get("type") == "error" or (event in ("", "message") and is_bare_error(value))):
        return parse_error(0, value)
    choices = value.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict):
            for holder in (choice, choice.get("delta"), choice.get("message")):
                if isinstance(holder, dict) and "error" in holder and is_said(holder["error"]):
                    return parse_error(0, holder)
    return None


def no_answer(body: dict[str, Any]) -> Error:
    """The error of a whole answer without choices: what it says, if it says anything."""
    if message_of(body, 0):
        return parse_error(0, body)
    return unreadable("the upstream's answer is empty: it has no choices")


def unreadable(message: str) -> Error:
    """An answer that cannot be read, or that is none."""
    return Error(kind=ErrorKind.BAD_UPSTREAM, message=message, origin=NAME)
