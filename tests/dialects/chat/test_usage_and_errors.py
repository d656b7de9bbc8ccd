"""Counts and errors, in the words of many servers."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.canonical import events as e
from dragoman.canonical.errors import ErrorKind
from dragoman.canonical.events import Usage
from dragoman.dialects.chat import DIALECT
from dragoman.dialects.chat.usage import parse_usage, render_usage

from .driving import chunk, events_of, of_type


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        ({}, None),
        ({"prompt_tokens": None, "completion_tokens": None}, None),
        ({"prompt_tokens": -1, "completion_tokens": True, "total_tokens": "7"}, None),
        ({"prompt_tokens": 10.0, "completion_tokens": 0}, Usage(input=10, output=0)),
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 6},
            Usage(input=10, output=5, cached=4),
        ),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 3},
                "completion_tokens_details": {"reasoning_tokens": 2},
            },
            Usage(input=10, output=5, cached=0, cache_write=3, reasoning=2),
        ),
        ({"input_tokens": "10", "output_tokens": "5", "total_tokens": "15"}, Usage(input=10, output=5)),
        (
            {"input_tokens": 10, "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 2}},
            Usage(input=10, output=5, reasoning=2),
        ),
        (  # xAI
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "total_tokens": 22,
                "completion_tokens_details": {"reasoning_tokens": 7},
            },
            Usage(input=10, output=12, reasoning=7),
        ),
    ],
)
def test_reading_counts(value: Any, expected: Usage | None) -> None:
    assert parse_usage(value) == expected


def test_zeros_after_counts_say_nothing() -> None:
    counted, none = {"prompt_tokens": 10, "completion_tokens": 5}, {"prompt_tokens": 0, "completion_tokens": 0}
    for values in ([counted, none], [none, counted], [counted, {**none, "prompt_tokens": 10}]):
        events = events_of(chunk({"content": "x"}, "stop"), *(chunk(choices=[], usage=value) for value in values))
        assert [event.usage for event in of_type(e.UsageUpdate, events)] == [Usage(input=10, output=5)]
    (update,) = of_type(e.UsageUpdate, events_of(chunk({"content": "x"}, "stop", usage=none)))
    assert update.usage == Usage(input=0, output=0)


def test_writing_counts_with_what_the_upstream_said_beyond_them() -> None:
    native = {
        "prompt_tokens": 99,
        "total_tokens": 99,
        "cost": 0.1,
        "prompt_tokens_details": {"audio_tokens": 1, "cached_tokens": 99, "text_tokens": "x"},
        "completion_tokens_details": None,
        "nothing": None,
    }
    assert render_usage(Usage(input=10, output=5, cached=4), native) == {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "total_tokens": 15,
        "prompt_tokens_details": {"audio_tokens": 1, "cached_tokens": 4},
        "cost": 0.1,
    }


def test_an_error_body_and_back() -> None:
    body = {
        "error": {"message": "bad temperature", "type": "invalid_request_error", "param": "temperature", "code": None}
    }
    error = DIALECT.parse_error(400, body)
    assert (error.kind, error.status, error.origin) == (ErrorKind.INVALID_REQUEST, 400, "chat")
    assert DIALECT.render_error(error, "req_1") == body
    assert DIALECT.status_of(error) == 400


@pytest.mark.parametrize(
    "body",
    [
        *("it broke", ["it broke"], {"message": "it broke"}, {"detail": "it broke"}),
        *(
            {"errors": ["it broke"]},
            {"errors": [{"message": "it broke"}]},
            {"error": {"message": {"text": "it broke"}}},
        ),
        *(
            {"code": 7, "msg": "it broke"},
            {"status": "error", "message": "it broke"},
            {"error": {"reason": "it broke"}},
        ),
    ],
)
def test_error_bodies_of_other_forms(body: Any) -> None:
    error = DIALECT.parse_error(503, body)
    assert (error.message, error.kind) == ("it broke", ErrorKind.OVERLOADED)
