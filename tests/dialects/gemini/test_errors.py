"""Errors, both ways."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.canonical.errors import Error, ErrorKind, invalid_request
from dragoman.dialects.gemini import DIALECT
from dragoman.dialects.gemini.wire import KIND_STATUSES, STATUS_CODES, STATUS_KINDS

from .driving import frames, written


def body(code: Any = 400, status: Any = "INVALID_ARGUMENT", message: Any = "m", **more: Any) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status, **more}}


@pytest.mark.parametrize(
    ("status", "value", "kind"),
    [
        (400, body(), ErrorKind.INVALID_REQUEST),
        (400, [body()], ErrorKind.INVALID_REQUEST),
        (
            400,
            body(message="The input token count (9) exceeds the maximum number of tokens allowed (5)."),
            ErrorKind.CONTEXT_LENGTH,
        ),
        (400, body(details=[{"@type": "…ErrorInfo", "reason": "API_KEY_INVALID"}]), ErrorKind.AUTHENTICATION),
        (401, body(401, "UNAUTHENTICATED"), ErrorKind.AUTHENTICATION),
        (403, body(403, "PERMISSION_DENIED"), ErrorKind.PERMISSION),
        (404, body(404, "NOT_FOUND"), ErrorKind.NOT_FOUND),
        (429, body(429, "RESOURCE_EXHAUSTED"), ErrorKind.RATE_LIMIT),
        (500, body(500, "INTERNAL"), ErrorKind.SERVER),
        (503, body(503, "UNAVAILABLE"), ErrorKind.OVERLOADED),
        (504, body(504, "DEADLINE_EXCEEDED"), ErrorKind.UPSTREAM_TIMEOUT),
        (429, body(429, None), ErrorKind.RATE_LIMIT),
        (502, body(502, "UNKNOWN"), ErrorKind.BAD_UPSTREAM),
        (429, body(400, "INVALID_ARGUMENT"), ErrorKind.INVALID_REQUEST),
        (500, "<html><title>Broken</title></html>", ErrorKind.SERVER),
        (500, None, ErrorKind.SERVER),
        (0, body("503", "UNAVAILABLE"), ErrorKind.OVERLOADED),
        (0, {"error": "it broke"}, ErrorKind.SERVER),
        (0, body(None, "RESOURCE_EXHAUSTED"), ErrorKind.RATE_LIMIT),
    ],
)
def test_kinds(status: int, value: Any, kind: ErrorKind) -> None:
    assert DIALECT.parse_error(status, value).kind is kind


def test_words_details_and_delay_are_kept() -> None:
    details = [{"@type": "…/ErrorInfo", "reason": "QUOTA"}, {"@type": "…/RetryInfo", "retryDelay": "34.5s"}, "odd"]
    error = DIALECT.parse_error(429, body(429, "RESOURCE_EXHAUSTED", "Slow down.", details=details))
    assert (error.type, error.code, error.retry_after, error.origin) == ("RESOURCE_EXHAUSTED", "QUOTA", 34.5, "gemini")
    assert error.details == details[:2]
    assert DIALECT.render_error(error, "") == body(429, "RESOURCE_EXHAUSTED", "Slow down.", details=details[:2])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"error": "it broke"}, "it broke"),
        ({"message": "bare"}, "bare"),
        (body(message=None), "invalid argument"),
        ("<html><title>502 Bad Gateway</title></html>", "502 Bad Gateway"),
        (None, "server"),
        ([], "server"),
    ],
)
def test_messages(value: Any, message: str) -> None:
    assert DIALECT.parse_error(500, value).message == message


@pytest.mark.parametrize(
    ("delay", "seconds"), [("7s", 7.0), ({"seconds": 3}, 3.0), ("soon", None), ({}, None), (5, None)]
)
def test_delays(delay: Any, seconds: float | None) -> None:
    assert DIALECT.parse_error(429, body(429, details=[{"retryDelay": delay}])).retry_after == seconds


@pytest.mark.parametrize("kind", list(ErrorKind))
def test_every_kind_has_a_form_that_clients_read(kind: ErrorKind) -> None:
    error = Error(kind=kind, message="m")
    made = DIALECT.render_error(error, "req_1")["error"]
    assert made["code"] == DIALECT.status_of(error)
    assert STATUS_CODES[made["status"]] // 100 == made["code"] // 100
    assert made["details"][-1]["requestId"] == "req_1"


@pytest.mark.parametrize(
    ("error", "code", "word"),
    [
        (Error(kind=ErrorKind.OVERLOADED, message="m", status=529), 503, "UNAVAILABLE"),
        (Error(kind=ErrorKind.INVALID_REQUEST, message="m", status=422), 400, "INVALID_ARGUMENT"),
        (
            Error(kind=ErrorKind.SERVER, message="m", status=501, type="UNIMPLEMENTED", origin="gemini"),
            501,
            "UNIMPLEMENTED",
        ),
        (
            Error(kind=ErrorKind.BAD_UPSTREAM, message="m", status=502, type="UNAUTHENTICATED", origin="gemini"),
            502,
            "INTERNAL",
        ),
        (Error(kind=ErrorKind.RATE_LIMIT, message="m", type="UNAVAILABLE", origin="chat"), 429, "RESOURCE_EXHAUSTED"),
        (Error(kind=ErrorKind.SERVER, message="m", status=404), 404, "INVALID_ARGUMENT"),
    ],
)
def test_foreign_statuses_and_words_do_not_leak(error: Error, code: int, word: str) -> None:
    assert DIALECT.status_of(error) == code
    made = DIALECT.render_error(error, "")["error"]
    assert (made["code"], made["status"]) == (code, word)


def test_the_delay_the_field_and_the_reason_stand_in_the_details() -> None:
    delayed = DIALECT.render_error(Error(kind=ErrorKind.RATE_LIMIT, message="m", retry_after=1234567.25), "")
    assert delayed["error"]["details"][0]["retryDelay"] == "1234567.25s"
    field = DIALECT.render_error(invalid_request("m", "contents"), "")
    assert field["error"]["details"][0]["fieldViolations"] == [{"field": "contents", "description": "m"}]
    failed = Error(kind=ErrorKind.BAD_UPSTREAM, message="m", type="malformed_function_call", origin="gemini")
    assert DIALECT.render_error(failed, "")["error"]["details"][0]["reason"] == "MALFORMED_FUNCTION_CALL"


def test_in_a_stream_the_error_comes_first_in_its_frame() -> None:
    from dragoman.canonical.events import ResponseError

    data = written(ResponseError(Error(kind=ErrorKind.RATE_LIMIT, message="m", retry_after=2.0)))
    assert data.startswith(b'data: {"error":{"code":429,')
    assert list(frames(data)[0]) == ["error"]


def test_the_tables_cover_each_other() -> None:
    assert set(STATUS_KINDS) == set(STATUS_CODES)
    assert set(KIND_STATUSES) == set(ErrorKind)
    assert set(KIND_STATUSES.values()) <= set(STATUS_CODES)
