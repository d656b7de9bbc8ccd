"""Errors as values: design/streams.md, 7."""

from __future__ import annotations

import msgspec
import pytest

from dragoman.canonical.errors import MESSAGE_BYTES, STATUS, Error, ErrorKind, invalid_request, kind_of_status


@pytest.mark.parametrize("kind", ErrorKind)
def test_each_kind_has_a_status(kind: ErrorKind) -> None:
    assert Error(kind=kind, message="x").status == STATUS[kind]
    if kind is not ErrorKind.CONTEXT_LENGTH:  # a status alone cannot tell it
        assert kind_of_status(STATUS[kind]) is kind


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (422, ErrorKind.INVALID_REQUEST),
        (418, ErrorKind.INVALID_REQUEST),
        (499, ErrorKind.INVALID_REQUEST),
        (529, ErrorKind.OVERLOADED),
        (520, ErrorKind.SERVER),
        (0, ErrorKind.SERVER),
        (200, ErrorKind.SERVER),
        (302, ErrorKind.SERVER),
    ],
)
def test_other_statuses(status: int, kind: ErrorKind) -> None:
    assert kind_of_status(status) is kind


@pytest.mark.parametrize(("given", "status"), [(429, 429), (418, 418), (0, 500), (200, 500), (600, 500), (-1, 500)])
def test_a_true_status_is_kept(given: int, status: int) -> None:
    assert Error(kind=ErrorKind.SERVER, message="x", status=given).status == status


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("  no \n", "no"),
        ("", "rate limit"),
        (" \n", "rate limit"),
        ("x" * 3000, "x" * MESSAGE_BYTES),
        ("é" * 2000, "é" * (MESSAGE_BYTES // 2)),
        ("x" + "é" * 2000, "x" + "é" * (MESSAGE_BYTES // 2 - 1)),  # no half character
        ("a\ud83d", "a?"),
    ],
)
def test_a_message_is_short_and_never_empty(message: str, kept: str) -> None:
    assert Error(kind=ErrorKind.RATE_LIMIT, message=message).message == kept


def test_a_changed_error_keeps_its_rules() -> None:
    error = Error(kind=ErrorKind.RATE_LIMIT, message="slow down", status=429)
    changed = msgspec.structs.replace(error, message=" ", status=7)
    assert (changed.message, changed.status) == ("rate limit", 429)


def test_a_request_at_fault_names_the_field() -> None:
    error = invalid_request("must be a number", "temperature")
    assert (error.kind, error.status, error.param) == (ErrorKind.INVALID_REQUEST, 400, "temperature")
