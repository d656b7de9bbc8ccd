"""The work for a delta does not depend on how many came before it. Work is counted, not timed."""

from __future__ import annotations

import sys
from types import FrameType

import pytest
from bench.streams import STREAMS

from dragoman import dialects
from dragoman.streaming.arguments import JSONArguments
from dragoman.streaming.json_prefix import JSONPrefix
from dragoman.translate import Exchange

WORDS = [f" word{n % 97}" for n in range(2000)]
ARGUMENTS = {
    "in pieces of 4": ['{"command": "', *["abcd"] * 1998, '"}'],
    "in single characters": list('{"command": "' + "a\\n" * 662 + '"}'),
    "of numbers": ["[", *["1", ","] * 999, "1]"],
    "in no JSON": ["x"] * 2000,
}


def calls_for(upstream: str, client: str, reads: list[bytes]) -> int:
    """How many functions are called, ours and others."""
    exchange = Exchange(dialects.get(client), dialects.get(upstream), seed="growth", now=0)
    exchange.begin(streaming=True)
    exchange.receive_head(200, {})
    calls = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        for read in reads:
            exchange.receive_data(read)
            exchange.data_to_send()
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize("client", STREAMS)
@pytest.mark.parametrize("upstream", STREAMS)
def test_of_text(upstream: str, client: str) -> None:
    _hold(upstream, client, STREAMS[upstream](WORDS, []))


@pytest.mark.parametrize("client", STREAMS)
@pytest.mark.parametrize("upstream", [name for name in STREAMS if name != "gemini"])  # which sends calls whole
@pytest.mark.parametrize("fragments", ARGUMENTS)
def test_of_arguments(upstream: str, client: str, fragments: str) -> None:
    _hold(upstream, client, STREAMS[upstream]([], ARGUMENTS[fragments]))


def _hold(upstream: str, client: str, reads: list[bytes]) -> None:
    middle = len(reads) // 2
    half, whole = calls_for(upstream, client, reads[:middle]), calls_for(upstream, client, reads[: 2 * middle])
    assert whole < 2.1 * half


def test_no_character_of_arguments_is_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0
    original = JSONPrefix.advance

    def advance(self: JSONPrefix, text: str) -> bool:
        nonlocal read
        read += len(text)
        return original(self, text)

    monkeypatch.setattr(JSONPrefix, "advance", advance)
    pieces = ARGUMENTS["in single characters"]
    arguments = JSONArguments(lambda slug: None)
    for piece in pieces:
        arguments.feed(piece)
    assert arguments.whole
    assert len(pieces) <= read < len(pieces) + 10
