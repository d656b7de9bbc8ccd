"""What the two OpenAI dialects share: error bodies of servers of any make, and the list of models."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.canonical.errors import Error, ErrorKind
from dragoman.dialects import openai_shapes as shapes

K = ErrorKind


@pytest.mark.parametrize(
    ("status", "body", "kind", "sent"),
    [
        (
            401,
            {"error": {"message": "x", "type": "invalid_request_error", "code": "invalid_api_key"}},
            K.AUTHENTICATION,
            401,
        ),
        (429, {"error": {"message": "x", "type": "insufficient_quota"}}, K.BILLING, 429),
        (429, {"error": {"message": "x", "type": "requests", "code": "rate_limit_exceeded"}}, K.RATE_LIMIT, 429),
        (400, {"error": {"message": "x", "code": "context_length_exceeded"}}, K.CONTEXT_LENGTH, 400),
        (400, {"error": {"message": "This model's maximum context length is 8 tokens"}}, K.CONTEXT_LENGTH, 400),
        (400, {"error": {"message": "x", "type": "BadRequestError"}}, K.INVALID_REQUEST, 400),
        (404, {"object": "error", "message": "x", "type": "NotFoundError", "code": 404}, K.NOT_FOUND, 404),
        (422, {"detail": [{"loc": ["body"], "msg": "x"}]}, K.INVALID_REQUEST, 422),
        (500, {"error": {"message": "x", "type": "server_error"}}, K.SERVER, 500),
        (502, "<html><title>x</title></html>", K.BAD_UPSTREAM, 502),
        (503, {"error": {"message": "x", "code": "server_is_overloaded"}}, K.OVERLOADED, 503),
        (0, {"error": {"message": "x", "code": 502}}, K.BAD_UPSTREAM, 502),
        (0, {"error": {"message": "x", "code": "429"}}, K.RATE_LIMIT, 429),
        (0, {"error": "x"}, K.SERVER, 500),
        (0, [{"error": {"message": "x", "code": 400}}], K.INVALID_REQUEST, 400),
        (200, {"message": "x", "type": "invalid_request_error"}, K.INVALID_REQUEST, 400),
        (0, {"message": "x", "type": "overloaded_error"}, K.OVERLOADED, 503),
    ],
)
def test_errors_of_servers_of_any_make(status: int, body: Any, kind: ErrorKind, sent: int) -> None:
    error = shapes.parse_error(status, body, "chat")
    assert (error.kind, error.status, error.origin) == (kind, sent, "chat")
    assert "x" in error.message


@pytest.mark.parametrize(
    "body", [None, "", {}, [], {"error": None}, {"error": {}}, {"error": []}, 7, {"detail": [None]}]
)
def test_errors_that_say_nothing_still_have_a_message(body: Any) -> None:
    assert shapes.parse_error(500, body, "chat").message


def test_error_words_of_openai_servers_pass_and_others_do_not() -> None:
    own = Error(kind=K.SERVER, message="x", type="special", code="7", origin="chat")
    assert shapes.render_error(own, "") == {"error": {"message": "x", "type": "special", "param": None, "code": "7"}}
    foreign = Error(kind=K.RATE_LIMIT, message="x", type="rate_limit_error", origin="messages", status=429)
    assert shapes.render_error(foreign, "")["error"]["type"] == "rate_limit_exceeded"


@pytest.mark.parametrize("kind", list(ErrorKind))
def test_every_kind_has_words_and_a_status(kind: ErrorKind) -> None:
    error = Error(kind=kind, message="x")
    body = shapes.render_error(error, "")["error"]
    assert body["type"]
    assert set(body) == {"message", "type", "param", "code"}
    assert 400 <= shapes.status_of(error) < 600


def test_models_and_headers() -> None:
    model = {"id": "a", "object": "model", "created": 7, "owned_by": "dragoman"}
    assert shapes.render_model("a", 7) == model
    assert shapes.render_models(["a"], 7) == {"object": "list", "data": [model]}
    assert shapes.authorize("k") == {"authorization": "Bearer k"}
    assert shapes.client_headers("req_1") == {"x-request-id": "req_1"}
