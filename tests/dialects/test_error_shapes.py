"""Errors of proxies, frameworks and clouds before an upstream: every dialect reads every form of them."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman import dialects
from dragoman.canonical.errors import ErrorKind
from dragoman.dialects.error_shapes import members_of, message_of
from dragoman.translate import Exchange

K = ErrorKind

FORMS: list[tuple[int, Any, ErrorKind, str]] = [
    (422, {"detail": [{"loc": ["body", "model"], "msg": "field required"}]}, K.INVALID_REQUEST, "field required"),
    (404, {"detail": "Not Found"}, K.NOT_FOUND, "Not Found"),
    (400, {"errors": [{"message": "one"}, {"message": "two"}]}, K.INVALID_REQUEST, "one"),
    (500, {"msg": "broke"}, K.SERVER, "broke"),
    (500, {"error": "broke"}, K.SERVER, "broke"),
    (500, {"error": {"error": {"message": "broke"}}}, K.SERVER, "broke"),
    (400, {"__type": "com.amazon#ThrottlingException", "message": "slow"}, K.RATE_LIMIT, "slow"),
    (402, {"error": {"message": "pay", "type": "insufficient_quota"}}, K.BILLING, "pay"),
    (429, {"error": {"message": "pay", "code": "insufficient_quota"}}, K.BILLING, "pay"),
    (400, {"error": {"message": "maximum context length is 8 tokens"}}, K.CONTEXT_LENGTH, "maximum context length"),
    (0, {"error": {"message": "broke", "code": 503}}, K.OVERLOADED, "broke"),
    (0, {"error": {"message": "broke", "code": "429"}}, K.RATE_LIMIT, "broke"),
    (502, "<html><head><title>Bad  Gateway</title></head></html>", K.BAD_UPSTREAM, "Bad Gateway"),
    (502, "<p>broke</p>", K.BAD_UPSTREAM, "the upstream answered 502 with an HTML or XML page"),
    (500, {"Message": "broke"}, K.SERVER, "broke"),
    (500, {"error_code": 18, "error_msg": "broke"}, K.SERVER, "broke"),
    (500, {"err": "broke"}, K.SERVER, "broke"),
    (500, {"fault": {"faultstring": "broke"}}, K.SERVER, "broke"),
    (500, {"base_resp": {"status_code": 1, "status_msg": "broke"}}, K.SERVER, "broke"),
    (500, {"error": {"type": "x", "details": "broke"}}, K.SERVER, "broke"),
    (400, {"error": "invalid", "error_description": "broke"}, K.INVALID_REQUEST, "broke"),
    (0, {"statusCode": 429, "message": "broke"}, K.RATE_LIMIT, "broke"),
    (500, {"error": {"trace": 7}}, K.SERVER, "server"),
    (500, None, K.SERVER, "server"),
]


@pytest.mark.parametrize("dialect", dialects.names())
@pytest.mark.parametrize(("status", "body", "kind", "message"), FORMS)
def test_every_dialect_reads_them(dialect: str, status: int, body: Any, kind: ErrorKind, message: str) -> None:
    error = dialects.get(dialect).parse_error(status, body)
    assert error.kind is kind
    assert error.message.startswith(message)
    assert error.status >= 400


def test_an_object_that_only_says_something_odd_is_shown_whole() -> None:
    assert message_of(members_of({"error": {"message": {"odd": 1}}}), 500) == '{"odd":1}'


IN_STREAMS = [
    (b'{"detail":"broke"}', K.SERVER),
    (b'{"errors":[{"message":"broke"}]}', K.SERVER),
    (b'{"msg":"broke","code":500}', K.SERVER),
    (b'{"message":"broke","code":400}', K.INVALID_REQUEST),
    (b'{"success":false,"message":"broke"}', K.SERVER),
    (b'{"object":"error","message":"broke","code":404}', K.NOT_FOUND),
    (b'{"error":"broke"}', K.SERVER),
    (b'[{"error":{"message":"broke"}}]', K.SERVER),
    (b'{"message":"broke"}', K.SERVER),
    (b'{"Message":"broke"}', K.SERVER),
    (b'{"err":"broke"}', K.SERVER),
    (b'{"statusCode":400,"message":"broke"}', K.INVALID_REQUEST),
    (b'{"error_code":18,"error_msg":"broke"}', K.SERVER),
    (b'{"type":"exception","message":"broke"}', K.SERVER),
    (b'{"type":"error","message":"broke"}', K.SERVER),
    (b'{"__type":"com.x#ThrottlingException","message":"broke"}', K.RATE_LIMIT),
    (b'{"fault":{"faultstring":"broke"}}', K.SERVER),
    (b'{"response":{"error":{"message":"broke"}}}', K.SERVER),
    (b'{"base_resp":{"status_code":1,"status_msg":"broke"}}', K.SERVER),
    (b'{"error":"invalid","error_description":"broke"}', K.SERVER),
    (b'{"message":"broke","type":null,"param":null,"code":null}', K.SERVER),
    (b'{"errcode":"rate_limit_exceeded","errMsg":"broke"}', K.RATE_LIMIT),
    (b'{"Response":{"Error":{"Code":"InternalError","Message":"broke"}}}', K.SERVER),
    (b'{"status":"failed","reason":"broke"}', K.SERVER),
    (b'{"status":"429","message":"broke","link":"x"}', K.RATE_LIMIT),
    (b'{"type":"about:blank","title":"broke","status":503}', K.OVERLOADED),
]


@pytest.mark.parametrize("upstream", dialects.names())
@pytest.mark.parametrize("frame", [b"%b", b"data: %b\n\n", b"event: error\ndata: %b\n\n"])
@pytest.mark.parametrize(("body", "kind"), [*IN_STREAMS, (b"error: broke", K.SERVER)])
def test_every_decoder_finds_them_in_a_200(upstream: str, frame: bytes, body: bytes, kind: ErrorKind) -> None:
    if frame == b"%b" and body.startswith(b"error"):
        pytest.skip("a body with one line of text is a stream with one field")
    exchange = Exchange(dialects.get("chat"), dialects.get(upstream), seed="s", now=0)
    exchange.begin(streaming=True)
    exchange.receive_head(200, {})
    exchange.receive_data(frame % body)
    exchange.receive_eof()
    assert exchange.error is not None
    assert (exchange.error.kind, exchange.error.message.removeprefix("error: ")) == (kind, "broke")


@pytest.mark.parametrize("upstream", dialects.names())
@pytest.mark.parametrize("data", [b"broke", b'"broke"', b'["broke"]'])
def test_an_event_that_is_called_an_error_is_one(upstream: str, data: bytes) -> None:
    exchange = Exchange(dialects.get("chat"), dialects.get(upstream), seed="s", now=0)
    exchange.begin(streaming=True)
    exchange.receive_head(200, {})
    exchange.receive_data(b"event: error\ndata: %b\n\n" % data)
    assert exchange.error is not None
    assert (exchange.error.kind, exchange.error.message) == (K.SERVER, "broke")


@pytest.mark.parametrize("upstream", dialects.names())
@pytest.mark.parametrize(
    "data",
    [
        b'{"type":"ping"}',
        b'{"message":""}',
        b'{"type":"status","message":"working"}',
        b'{"id":"x","message":"searching","step":1}',
        b'{"x_groq":{"id":"r"}}',
        b'{"base_resp":{"status_code":0,"status_msg":"ok"}}',
        b'{"error":null,"errors":[]}',
        b'{"error":{"code":null,"message":""}}',
        b'{"error_code":0,"error_msg":"success"}',
        b'{"status":200,"title":"found"}',
        b'{"message":{"role":"assistant","content":"Hi"}}',
        b'{"message":{"content":"Hi"}}',
    ],
)
def test_what_servers_say_besides_is_no_error(upstream: str, data: bytes) -> None:
    exchange = Exchange(dialects.get("chat"), dialects.get(upstream), seed="s", now=0)
    exchange.begin(streaming=True)
    exchange.receive_head(200, {})
    exchange.receive_data(b"data: " + data + b"\n\n")
    assert exchange.error is None


@pytest.mark.parametrize("upstream", dialects.names())
@pytest.mark.parametrize(
    "data", [b'{"foo":1}', b'{"id":"x","message":"searching","step":1}', b'event: x\ndata: {"a":1}']
)
def test_what_is_not_understood_is_a_loss(upstream: str, data: bytes) -> None:
    assert sum(losses(upstream, data).values()) == 1


@pytest.mark.parametrize("upstream", ["chat", "messages", "gemini"])
@pytest.mark.parametrize("data", [b"7", b'"broke"', b'["broke"]', b'[null,"broke"]'])
def test_an_event_that_is_no_object_is_a_loss(upstream: str, data: bytes) -> None:
    assert losses(upstream, data) == {"an event that is no object": 1}


@pytest.mark.parametrize("upstream", dialects.names())
@pytest.mark.parametrize("data", [b'{"type":"ping"}', b"null", b"[]"])
def test_what_tells_nothing_is_no_loss(upstream: str, data: bytes) -> None:
    assert losses(upstream, data) == {}


@pytest.mark.parametrize("chunk", [b'{"id":"x","object":"y"}', b'{"x_groq":{"id":"r"}}', b'{"choices":[],"cost":"0"}'])
def test_a_chunk_without_content_is_no_loss(chunk: bytes) -> None:
    assert losses("chat", chunk) == {}


def losses(upstream: str, data: bytes) -> dict[str, int]:
    exchange = Exchange(dialects.get("chat"), dialects.get(upstream), seed="s", now=0)
    exchange.begin(streaming=True)
    exchange.receive_head(200, {})
    exchange.receive_data((data if data.startswith(b"event") else b"data: " + data) + b"\n\n")
    assert exchange.error is None
    return dict(exchange.dropped)
