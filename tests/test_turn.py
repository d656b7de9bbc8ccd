"""One upstream turn: what a limit leaves of it, and when the upstream may be asked again."""

from __future__ import annotations

import pytest

from dragoman import dialects
from dragoman.canonical import events as e
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.streaming.answer import DecodeContext
from dragoman.streaming.body import StreamLimits
from dragoman.streaming.ids import Ids
from dragoman.turn import UpstreamTurn, retry_after
from tests.streaming.building import awkward, texts_of

NOW = 1_792_567_600  # 2026-10-21 07:26:40 UTC


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, 80.0),
        ({"retry-after": "Wed, 21 Oct 2020 07:28:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 31 Feb 2026 07:28:00 GMT"}, None),
        ({"retry-after": "Wed, 21 Okt 2026 07:28:00 GMT"}, None),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e400"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "٣"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    """Its headers say so in two ways (RFC 9110, 10.2.3)."""
    assert retry_after(headers, NOW) == seconds


def said(word: str) -> bytes:
    return b'data: {"choices":[{"delta":{"content":"%s"}}]}\n\n' % word.encode()


@pytest.mark.parametrize(
    ("limits", "text", "fault"),
    [
        (StreamLimits(event=60), "abc", "an event of more than 60 bytes"),
        (StreamLimits(answer=3 * len(said("a"))), "abc", "more than 141 bytes"),
        (StreamLimits(answer=3 * len(said("a")) - 1), "ab", "more than 140 bytes"),
    ],
)
def test_what_came_before_a_limit_counts_in_any_cut(limits: StreamLimits, text: str, fault: str) -> None:
    for pieces in awkward(said("a") + said("b") + said("c") + said("d" * 60) + said("e")):
        turn = UpstreamTurn(dialects.get("chat"), DecodeContext(origin="chat", ids=Ids("seed")), limits, NOW)
        turn.receive_head(200, {})
        events = [event for piece in pieces for event in turn.receive_data(piece)]
        assert texts_of(events) == text
        assert isinstance(events[-1], e.ResponseError)
        assert fault in events[-1].error.message
        assert turn.finished


def test_text_that_is_held_comes_before_a_failure() -> None:
    """What could have become a tag is text after all once nothing can follow it."""
    turn = UpstreamTurn(dialects.get("chat"), DecodeContext(origin="chat", ids=Ids("seed")), StreamLimits(), NOW)
    turn.receive_head(200, {})
    events = turn.receive_data(said("<thi"))
    assert texts_of(events) == ""
    events += turn.receive_failure(Error(kind=ErrorKind.UPSTREAM_TIMEOUT, message="late"))
    assert texts_of(events) == "<thi"
    assert isinstance(events[-1], e.ResponseError)


@pytest.mark.parametrize(
    "failure", [b'data: {"error":{"message":"late"}}\n\n', b'data: {"choices":\n\n', b"data: error: late\n\n"]
)
@pytest.mark.parametrize("words", [("a", "<thi"), ("0", "0\uffffll")])
def test_so_it_does_before_an_error_in_the_stream(words: tuple[str, str], failure: bytes) -> None:
    turn = UpstreamTurn(dialects.get("chat"), DecodeContext(origin="chat", ids=Ids("seed")), StreamLimits(), NOW)
    turn.receive_head(200, {})
    events = [event for word in words for event in turn.receive_data(said(word))]
    events += turn.receive_data(failure)
    assert texts_of(events) == "".join(words)
    assert isinstance(events[-1], e.ResponseError)
