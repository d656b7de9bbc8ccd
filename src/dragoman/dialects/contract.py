"""What a dialect is: the table of contents that each dialect folder fills in as ``DIALECT``.

A folder under ``dialects`` holds ``wire`` (its words), ``endpoints``, ``request``, ``response``,
``decode``, ``encode``, ``errors`` and ``check``, and exports ``DIALECT``. Everything else (routes,
the command line, the pairs) is found through this table; no dialect knows another one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from dragoman.canonical.errors import Error
from dragoman.canonical.request import Loss, Request
from dragoman.canonical.response import Response
from dragoman.streaming.answer import AnswerAssembler
from dragoman.streaming.encoder import EncodeContext, StreamEncoder
from dragoman.streaming.sse import ServerSentEvent

JSON = dict[str, Any]


class Operation(StrEnum):
    """What a client's route asks for."""

    GENERATE = "generate"
    COUNT_TOKENS = "count_tokens"


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """A POST route of a dialect: a path pattern in which ``{model}`` stands for one or more segments.

    ``stream`` is set where the path alone decides whether the answer streams (gemini).
    """

    path: str
    operation: Operation = Operation.GENERATE
    stream: bool | None = None


class Violation(msgspec.Struct, frozen=True):
    """One thing that a strict client of the dialect would reject, mangle or lose."""

    rule: str
    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.rule} @ {self.where}: {self.message}"


class UpstreamRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What goes to an upstream: a path below its base URL, headers of the dialect, the body.

    ``losses`` names what could not cross. Secrets are not in here: the IO shell adds them.
    """

    path: str
    body: JSON
    headers: dict[str, str] = {}
    losses: tuple[Loss, ...] = ()
    method: str = "POST"


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """``accepts``: facts about an upstream that change a request (design/requests.md, 7)."""

    stream_usage: bool = True
    reasoning_model: bool = False
    max_output_tokens: int | None = None


class Decoder(Protocol):
    """Reads an upstream's records and tells the assembler what they say. It never raises for odd input."""

    def decode(self, record: ServerSentEvent) -> None:
        """One event of a stream; its data may be anything."""

    def decode_body(self, body: Any) -> None:
        """The whole answer as one JSON value (already parsed)."""

    def finish(self) -> None:
        """The upstream's bytes are over: what was still held at this level is told."""


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """One wire dialect, both as a client's and as an upstream's."""

    name: str
    title: str
    """The vendor's name of the API, for people."""
    routes: tuple[Route, ...]
    heartbeat: bytes
    """Bytes that a waiting client of this dialect reads over (between events)."""

    parse_request: Callable[[JSON, str | None, bool | None], Request]
    """A client's body; model and stream where the route's path holds them. Raises ``InvalidRequest``."""
    render_request: Callable[[Request, Facts], UpstreamRequest]
    """The request in this dialect, for an upstream. Raises ``InvalidRequest`` where the meaning would change."""
    adapt_request: Callable[[JSON, Request, Facts], UpstreamRequest]
    """A client's body of this very dialect with the least change: model, and what the upstream needs."""

    decoder: Callable[[AnswerAssembler], Decoder]
    encoder: Callable[[EncodeContext], StreamEncoder]
    render_response: Callable[[Response, EncodeContext], JSON]

    parse_error: Callable[[int, Any], Error]
    """The error in an upstream's body (parsed JSON, or text) that came with this HTTP status."""
    render_error: Callable[[Error, str], JSON]
    """The body of an error for a client, with the request id where the dialect has a place for it."""
    status_of: Callable[[Error], int]
    """The HTTP status that this dialect gives an error."""

    render_models: Callable[[list[str], int], JSON]
    """The list of models for a client of this dialect; the Unix time for fields that demand one."""
    render_model: Callable[[str, int], JSON]

    authorize: Callable[[str], dict[str, str]]
    """The headers that carry an API key to an upstream of this dialect."""
    client_headers: Callable[[str], dict[str, str]]
    """Headers that an answer to a client of this dialect carries, from the request id."""

    check: Callable[[bytes], list[Violation]]
    """What a strict client would reject in a body, streamed or whole."""

    call_id_pattern: str | None = None
    """What a call id must match as a whole for clients of this dialect; ``None``: anything goes."""
    base_path: str = ""
    """What the dialect's official SDK has in its base URL beyond the host (``/v1``, or nothing)."""
    forward_headers: tuple[str, ...] = ()
    """Client headers that go on to an upstream of the same dialect (lower case)."""
    model_headers: tuple[str, ...] = ()
    """Headers whose presence tells that a request for the model list is of this dialect (lower case)."""
    quirks: dict[str, str] = {}
    """The oddities of this dialect's servers that its decoder repairs: slug and sentence (``streaming.quirks``)."""
    array_stream: bool = False
    """Whether a stream without ``alt=sse`` is a JSON array (Google)."""

    def error_headers(self, error: Error) -> Mapping[str, str]:
        """Headers that go with an error."""
        if error.retry_after is None:
            return {}
        return {"retry-after": f"{max(0, round(error.retry_after))}"}
