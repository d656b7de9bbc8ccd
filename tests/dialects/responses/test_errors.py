"""Errors of this dialect: in bodies, in events, towards clients."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.canonical.errors import Error, ErrorKind
from dragoman.dialects.responses.errors import error_members, failure

from .driving import DIALECT


@pytest.mark.parametrize(
    ("raw", "code", "message"),
    [
        ({"error": {"message": "No.", "type": "server_error", "code": "x", "param": "input"}}, "x", "No."),
        ({"type": "error", "code": "x", "message": "No.", "param": None}, "x", "No."),
        ({"type": "error", "error": {"code": "x", "message": "No."}}, "x", "No."),
        ({"type": "response.failed", "response": {"error": {"code": "x", "message": "No."}}}, "x", "No."),
        ("No.", None, "No."),
    ],
)
def test_errors_are_read_in_every_shape(raw: Any, code: str | None, message: str) -> None:
    error = DIALECT.parse_error(500, raw)
    assert (error.code, error.message, error.origin, error.status) == (code, message, "responses", 500)


def test_an_error_body_has_all_four_keys() -> None:
    error = Error(kind=ErrorKind.NOT_FOUND, message="There is no model x.", param="model")
    assert DIALECT.render_error(error, "req_1") == {
        "error": {
            "message": "There is no model x.",
            "type": "invalid_request_error",
            "param": "model",
            "code": "model_not_found",
        }
    }
    assert DIALECT.status_of(error) == 404


def test_words_of_another_dialect_do_not_leak() -> None:
    error = Error(kind=ErrorKind.OVERLOADED, message="Busy.", status=529, type="overloaded_error", origin="messages")
    assert error_members(error)["error"]["type"] == "service_unavailable_error"
    assert failure(error) == {"code": "server_is_overloaded", "message": "Busy."}
    assert DIALECT.status_of(error) == 503
    own = Error(kind=ErrorKind.SERVER, message="x", type="special", code="own_code", origin="responses")
    assert (error_members(own)["error"]["type"], failure(own)["code"]) == ("special", "own_code")
