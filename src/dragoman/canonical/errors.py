"""An error as it travels on a wire, whichever dialect spells it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec


class ErrorKind(StrEnum):
    """What sort of failure it is; each dialect has one word and one HTTP status for each kind."""

    INVALID_REQUEST = "invalid_request"
    CONTEXT_LENGTH = "context_length"
    AUTHENTICATION = "authentication"
    BILLING = "billing"
    PERMISSION = "permission"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    TIMEOUT = "timeout"
    CONFLICT = "conflict"
    TOO_LARGE = "too_large"
    RATE_LIMIT = "rate_limit"
    SERVER = "server"
    BAD_UPSTREAM = "bad_upstream"
    """The upstream's answer cannot be read, was cut, or was empty."""
    OVERLOADED = "overloaded"
    UPSTREAM_TIMEOUT = "upstream_timeout"


STATUS: dict[ErrorKind, int] = {
    ErrorKind.INVALID_REQUEST: 400,
    ErrorKind.CONTEXT_LENGTH: 400,
    ErrorKind.AUTHENTICATION: 401,
    ErrorKind.BILLING: 402,
    ErrorKind.PERMISSION: 403,
    ErrorKind.NOT_FOUND: 404,
    ErrorKind.METHOD_NOT_ALLOWED: 405,
    ErrorKind.TIMEOUT: 408,
    ErrorKind.CONFLICT: 409,
    ErrorKind.TOO_LARGE: 413,
    ErrorKind.RATE_LIMIT: 429,
    ErrorKind.SERVER: 500,
    ErrorKind.BAD_UPSTREAM: 502,
    ErrorKind.OVERLOADED: 503,
    ErrorKind.UPSTREAM_TIMEOUT: 504,
}
"""The HTTP status of a kind where no truer one is known."""

_BY_STATUS = {
    **{status: kind for kind, status in STATUS.items() if kind is not ErrorKind.CONTEXT_LENGTH},
    422: ErrorKind.INVALID_REQUEST,
    529: ErrorKind.OVERLOADED,
}

MESSAGE_BYTES = 2048
"""How much of an upstream's message reaches the client (bytes of UTF-8)."""


def kind_of_status(status: int) -> ErrorKind:
    """The kind that an HTTP status alone tells."""
    if known := _BY_STATUS.get(status):
        return known
    return ErrorKind.INVALID_REQUEST if 400 <= status < 500 else ErrorKind.SERVER


class Error(msgspec.Struct, frozen=True, kw_only=True):
    """One failure: the canonical kind, and the words of the dialect that it came from.

    ``origin`` names the dialect whose words ``type`` and ``code`` are; they survive to clients of
    that dialect only. ``status`` is the upstream's HTTP status where there was one, else that of
    the kind. ``retry_after`` is in seconds.
    """

    kind: ErrorKind
    message: str
    status: int = 0
    type: str | None = None
    code: str | None = None
    param: str | None = None
    origin: str | None = None
    retry_after: float | None = None
    details: list[Any] | None = None

    def __post_init__(self) -> None:
        if not 400 <= self.status <= 599:
            msgspec.structs.force_setattr(self, "status", STATUS[self.kind])
        raw = self.message.strip().encode("utf-8", "replace")
        text = raw[:MESSAGE_BYTES].decode("utf-8", "ignore") or self.kind.value.replace("_", " ")
        msgspec.structs.force_setattr(self, "message", text)


def invalid_request(message: str, param: str | None = None) -> Error:
    """A 400 that names the field at fault."""
    return Error(kind=ErrorKind.INVALID_REQUEST, message=message, param=param)
