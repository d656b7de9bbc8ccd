"""Errors: OpenAI's body, read and written by what both OpenAI dialects share."""

from __future__ import annotations

import re
from typing import Any

from dragoman import jsontext
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.dialects import openai_shapes
from dragoman.dialects.chat.wire import NAME

_SIGNS = frozenset({"error", "type", "base_resp", "errors", "detail", "code", "status", "success", "__type"})
_SAYING = ("message", "msg", "error_message")
_SUCCESS = frozenset({"", "0", "ok", "success", "succeeded", "none"})
_FAILED = frozenset({"error", "fail", "failed", "failure"})
_ERROR_TEXT = re.compile(r"\W*(?:error|exception)\b[\s:\]>-]*(.*)", re.IGNORECASE | re.DOTALL)

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
    if not _SIGNS.isdisjoint(value):
        if _means(value.get("error")) or (value.get("type") == "error" and not value.get("choices")):
            return parse_error(0, value)
        if event in ("", "message") and not (value.get("choices") or value.get("usage")) and _is_bare(value):
            return parse_error(0, value)
        answer = value.get("base_resp")  # MiniMax; 0 is success
        if isinstance(answer, dict) and answer.get("status_code") not in (None, 0, "0", ""):
            return parse_error(0, answer)
    choices = value.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict):
            for holder in (choice, choice.get("delta"), choice.get("message")):
                if isinstance(holder, dict) and "error" in holder and _means(holder["error"]):
                    return parse_error(0, holder)
    return None


def error_text(data: bytes) -> Error | None:
    """The error in data that is no JSON but begins with the word: ``error: …``, ``[ERROR] …``."""
    found = _ERROR_TEXT.match(data.decode("utf-8", "replace"))
    if found is None:
        return None
    try:
        said = jsontext.parse(found[1])
    except ValueError:
        said = found[1]
    return parse_error(0, said or found[0])


def no_answer(body: dict[str, Any]) -> Error:
    """The error of a whole answer without choices: what it says, if it says anything."""
    if any(isinstance(said := body.get(name), str) and said.strip() for name in _SAYING):
        return parse_error(0, body)
    return unreadable("the upstream's answer is empty: it has no choices")


def _is_bare(value: dict[str, Any]) -> bool:
    """Whether an object that is no chunk is an error of another API: FastAPI's, AWS's, a gateway's before the server."""
    if _means(value.get("errors")) or _means(value.get("detail")):
        return True
    if not any(isinstance(said := value.get(name), (str, dict)) and said for name in _SAYING):
        return False
    status = value.get("status")
    return (
        "__type" in value
        or value.get("success") is False
        or _fails(value.get("code"))
        or (_fails(status) if isinstance(status, int) else isinstance(status, str) and status.lower() in _FAILED)
    )


def _fails(code: Any) -> bool:
    """Whether a code that stands beside a message tells of a failure: HTTP's, a vendor's number, or a word."""
    text = str(code).strip().lower()
    return text not in _SUCCESS and not re.fullmatch("[1-3][0-9][0-9]", text) and not isinstance(code, bool)


def _means(error: Any) -> bool:
    """Whether an ``error`` member tells of one: some servers always send it, empty."""
    if isinstance(error, dict):
        return any(error.values())
    return bool(error.strip()) if isinstance(error, str) else bool(error)


def unreadable(message: str) -> Error:
    """An answer that cannot be read, or that is none."""
    return Error(kind=ErrorKind.BAD_UPSTREAM, message=message, origin=NAME)
