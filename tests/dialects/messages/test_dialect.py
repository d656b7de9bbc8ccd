"""The table of contents, the routes and the model list."""

from __future__ import annotations

import re

from dragoman import dialects
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.dialects.contract import Operation
from dragoman.dialects.messages import DIALECT


def test_the_dialect_is_found_by_its_folder() -> None:
    assert dialects.get("messages") is DIALECT
    assert DIALECT.name == "messages"
    assert DIALECT.base_path == ""


def test_routes() -> None:
    assert {route.path: route.operation for route in DIALECT.routes} == {
        "/v1/messages": Operation.GENERATE,
        "/v1/messages/count_tokens": Operation.COUNT_TOKENS,
    }


def test_headers() -> None:
    assert DIALECT.authorize("sk-1") == {"x-api-key": "sk-1"}
    assert DIALECT.client_headers("req_1") == {"request-id": "req_1"}
    assert set(DIALECT.forward_headers) == {"anthropic-version", "anthropic-beta"}
    error = Error(kind=ErrorKind.RATE_LIMIT, message="m", retry_after=3.2)
    assert DIALECT.error_headers(error) == {"retry-after": "3"}


def test_a_heartbeat_is_a_comment() -> None:
    assert DIALECT.heartbeat.startswith(b":")
    assert DIALECT.heartbeat.endswith(b"\n\n")


def test_call_ids() -> None:
    assert DIALECT.traits.call_id is not None
    assert re.fullmatch(DIALECT.traits.call_id, "toolu_01-A")
    assert not re.fullmatch(DIALECT.traits.call_id, "get_weather:0")


def test_models() -> None:
    model = {
        "type": "model",
        "id": "a",
        "display_name": "a",
        "created_at": "1970-01-02T00:00:00Z",
        "lifecycle": "active",
    }
    assert DIALECT.render_model("a", 86400) == model
    listed = DIALECT.render_models(["a", "b"], 86400)
    assert listed["data"][0] == model
    assert (listed["has_more"], listed["first_id"], listed["last_id"]) == (False, "a", "b")
    assert DIALECT.render_models([], 0) == {"data": [], "has_more": False, "first_id": None, "last_id": None}
