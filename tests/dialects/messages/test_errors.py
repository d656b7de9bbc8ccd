"""Errors in both directions: the documented words, the status, and the wording that Claude Code knows."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman import jsontext
from dragoman.canonical.errors import STATUS, Error, ErrorKind, invalid_request
from dragoman.dialects.messages.check import check
from dragoman.dialects.messages.errors import parse_error, render_error, status_of

K = ErrorKind


@pytest.mark.parametrize(
    ("status", "body", "kind", "message"),
    [
        (429, {"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}}, K.RATE_LIMIT, "slow"),
        (
            529,
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            K.OVERLOADED,
            "Overloaded",
        ),
        (
            400,
            {"error": {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8 maximum"}},
            K.CONTEXT_LENGTH,
            "prompt is too long: 9 tokens > 8 maximum",
        ),
        (404, {"error": "no such model"}, K.NOT_FOUND, "no such model"),
        (403, {"message": "not yours"}, K.PERMISSION, "not yours"),
        (500, {"detail": [{"msg": "odd"}]}, K.SERVER, "odd"),
        (502, "<html><head><title>Bad  Gateway</title></head></html>", K.BAD_UPSTREAM, "Bad Gateway"),
        (502, "<p>", K.BAD_UPSTREAM, "the upstream answered 502 with an HTML or XML page"),
        (503, "", K.OVERLOADED, "overloaded"),
        (429, [{"error": {"message": "wrapped"}}], K.RATE_LIMIT, "wrapped"),
        (0, {"type": "error", "error": {"type": "api_error", "message": "broken"}}, K.SERVER, "broken"),
        (0, {"type": "error", "error": None}, K.SERVER, "server"),
        (0, None, K.SERVER, "server"),
        (418, {"error": {"type": 5, "message": 7}}, K.INVALID_REQUEST, "7"),
    ],
)
def test_errors_of_upstreams(status: int, body: Any, kind: ErrorKind, message: str) -> None:
    error = parse_error(status, body)
    assert (error.kind, error.message, error.origin) == (kind, message, "messages")
    assert error.status == (status or STATUS[kind])


@pytest.mark.parametrize("kind", list(ErrorKind))
def test_every_kind_has_a_documented_word(kind: ErrorKind) -> None:
    body = render_error(Error(kind=kind, message="m"), "req_1")
    assert check(jsontext.render(body)) == []
    assert body["request_id"] == "req_1"


def test_own_words_and_details_survive() -> None:
    given = {"type": "error", "error": {"type": "not_found_error", "message": "m", "details": [{"a": 1}]}}
    assert render_error(parse_error(400, given), "") == given


def test_foreign_words_do_not_leak() -> None:
    error = Error(
        kind=K.RATE_LIMIT, message="m", type="requests", code="rate_limit_exceeded", origin="chat", details=[1]
    )
    assert render_error(error, "") == {"type": "error", "error": {"type": "rate_limit_error", "message": "m"}}


@pytest.mark.parametrize(
    ("message", "rendered"),
    [
        ("prompt is too long: 9 tokens > 8 maximum", "prompt is too long: 9 tokens > 8 maximum"),
        (
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130012 tokens.",
            "prompt is too long: 130012 tokens > 128000 maximum (This model's",
        ),
        (
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            "prompt is too long: 1200000 tokens > 1048576 maximum (The input",
        ),
        ("the request exceeds the available context size", "prompt is too long: the request exceeds"),
    ],
)
def test_an_overflow_is_told_in_anthropics_words(message: str, rendered: str) -> None:
    error = Error(kind=K.CONTEXT_LENGTH, message=message, origin="chat")
    assert render_error(error, "")["error"]["message"].startswith(rendered)


def test_a_refused_request_names_its_field() -> None:
    assert render_error(invalid_request("expected a list", "tools"), "")["error"]["message"] == "tools: expected a list"
    assert (
        render_error(invalid_request("tools: expected a list", "tools"), "")["error"]["message"]
        == "tools: expected a list"
    )


def test_the_status_is_the_upstreams() -> None:
    assert status_of(parse_error(529, {})) == 529
    assert status_of(Error(kind=K.UPSTREAM_TIMEOUT, message="m")) == 504
