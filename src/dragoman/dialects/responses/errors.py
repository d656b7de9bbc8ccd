"""Errors of the Responses API: bodies, and the two events that end a stream that failed."""

from __future__ import annotations

from typing import Any

from dragoman.canonical.errors import Error, invalid_request
from dragoman.dialects import openai_shapes
from dragoman.dialects.responses.wire import JSON, NAME, object_of
from dragoman.exceptions import InvalidRequest

render_error = openai_shapes.render_error
status_of = openai_shapes.status_of


def parse_error(status: int, body: Any) -> Error:
    """The error of a body, of an ``error`` event (flat or nested), or of ``response.error``."""
    members = object_of(body)
    failed = object_of(members.get("response")).get("error")
    return openai_shapes.parse_error(status, failed if failed and not members.get("error") else body, NAME)


def error_members(error: Error) -> JSON:
    """The members of an ``error`` event, flat and nested in one.

    The documented event is flat, the real one nested, and each is all that some client reads
    (openai/openai-dotnet#881, Menci/Floway#330).
    """
    word, code = openai_shapes.words_of(error)
    nested = {"type": word, "code": code, "message": error.message, "param": error.param}
    return {"code": code, "message": error.message, "param": error.param, "error": nested}


def failure(error: Error) -> JSON:
    """``response.error`` of a failed response; its code is never null."""
    word, code = openai_shapes.words_of(error)
    return {"code": code or word, "message": error.message}


def refused(message: str, param: str | None) -> InvalidRequest:
    """What to raise for a body that cannot be served: a 400 that names the field."""
    return InvalidRequest(invalid_request(f"{param}: {message}" if param else message, param))
