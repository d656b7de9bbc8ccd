"""Any bytes as the answer of an upstream, for a client of any dialect."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import msgspec

from dragoman import dialects, jsontext
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.canonical.request import Request
from dragoman.streaming.body import StreamLimits
from dragoman.translate import Exchange
from tests.asking import CLIENTS, ask
from tests.corpus.comparing import comparable
from tests.fixtures import fixtures, pieces
from tests.properties.test_any_bytes import broken
from tests.reading import Said, read

OPTIONS = 3
"""Bytes before the body: client, how it is asked and how it ends, size of the reads."""

_SAYS = rb"\"\s*:\s*(?!\s|null|\"\")"
ENDS: dict[str, re.Pattern[bytes]] = {
    "chat": re.compile(rb"finish_?reason" + _SAYS + rb"|\[DONE\]", re.I),
    "responses": re.compile(rb"response\.(?:completed|incomplete|done|cancelled)|\[DONE\]", re.I),
    "messages": re.compile(rb"stop_reason" + _SAYS + rb"|message_stop|\[DONE\]", re.I),
    "gemini": re.compile(rb"(?:finish|block)_?reason" + _SAYS + rb"|\[DONE\]", re.I),
}
"""Without one of these words an upstream of the dialect has not said that it came to its end."""
_ESCAPE = re.compile(rb"\\u00([2-7][0-9a-fA-F])")

GROWTH = 400
"""Bytes that a client gets at most for one of the upstream's, beyond ``FRAME``: an empty piece of text makes an event."""
FRAME = 100_000
"""Bytes of the events around an answer; in responses each repeats the request."""


class Options(msgspec.Struct, frozen=True):
    """How the answer is asked for and sent."""

    client: str
    stream: bool
    choices: int
    ending: str
    cut: int
    compared: bool

    @classmethod
    def of(cls, data: bytes) -> Options:
        client, asked, cut = (data + bytes(OPTIONS))[:OPTIONS]
        return cls(
            client=CLIENTS[client % 4],
            stream=not asked & 1,
            choices=2 if asked & 6 == 6 else 1,
            ending=("end", "end", "failure", "status")[asked >> 3 & 3],
            cut=1 + cut % 64,
            compared=bool(asked & 32),
        )


def answer(upstream: str, data: bytes) -> None:
    """Whatever bytes come: one answer in form, the same in every cut, clean only if the upstream finished; calls have names, ids are unique."""
    options, body = Options.of(data), data[OPTIONS:]
    exchange, got = _answered(upstream, options, [body])
    assert _answered(upstream, options, pieces(body, options.cut))[1] == got, "another cut gives another answer"
    assert exchange.finished
    assert exchange.head is not None
    assert exchange.head.status == 200 or got.startswith(b"{"), "an error is a body of its own"
    violations = broken(options.client, got)
    assert not violations, f"broken: {violations[0]}"
    assert len(got) <= FRAME + GROWTH * len(body), f"{len(body)} bytes became {len(got)}"
    if not exchange.failed and exchange.finish not in ("length", "paused"):
        assert options.ending in ("end", "failure")
        assert _ended(upstream, body), "nothing said that this is the end"
    _calls(options, got)
    if options.compared and options.ending == "end":
        _same_as_whole(upstream, options, body, exchange)


def _ended(upstream: str, body: bytes) -> bool:
    """Whether the upstream may have said that it came to its end; a whole document has one by nature."""
    plain = _ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), body)
    return bool(ENDS[upstream].search(plain)) or plain.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


def _calls(options: Options, got: bytes) -> None:
    said = read(options.client, got)
    for choice in (said, *said.further):
        assert all(name for _, name, _ in choice.calls), "a call without a name"
        ids = [id for id, _, _ in choice.calls if id or options.client != "gemini"]
        assert len({*ids, ""}) == len(ids) + 1, f"ids {ids}"


def _same_as_whole(upstream: str, options: Options, body: bytes, exchange: Exchange) -> None:
    other = msgspec.structs.replace(options, stream=not options.stream)
    again, got = _answered(upstream, other, [body])
    assert (again.error, again.finish, again.usage) == (exchange.error, exchange.finish, exchange.usage)
    if again.error is None:
        one, whole = (_meant(options.client, text) for text in (_answered(upstream, options, [body])[1], got))
        assert one == whole, "streamed and whole differ"


def _meant(client: str, got: bytes) -> Said:
    """What a client makes of it; half a character in the JSON of arguments is one that is unknown."""
    said = read(client, got)
    for choice in (said, *said.further):
        choice.calls = [(id, name, _plain(text)) for id, name, text in choice.calls]
    return comparable(client, said)


def _plain(text: str) -> str:
    try:
        return jsontext.render(jsontext.parse(text)).decode()
    except ValueError:
        return text


def _answered(upstream: str, options: Options, parts: list[bytes]) -> tuple[Exchange, bytes]:
    exchange = Exchange(
        dialects.get(options.client), dialects.get(upstream), seed="fuzz", now=1_700_000_000, limits=StreamLimits()
    )
    exchange.begin(_asked(options.client, options.stream, options.choices), streaming=options.stream)
    exchange.receive_head(503 if options.ending == "status" else 200, {})
    out = []
    for part in parts:
        exchange.receive_data(part)
        out.append(exchange.data_to_send())
    if options.ending == "failure":
        exchange.receive_failure(Error(kind=ErrorKind.BAD_UPSTREAM, message="the connection broke"))
    else:
        exchange.receive_eof()
    out.append(exchange.data_to_send())
    return exchange, b"".join(out)


@cache
def _asked(client: str, stream: bool, choices: int) -> Request:
    asked = ask(client, "m-1", stream=stream, choices=choices)
    return dialects.get(client).parse_request(asked.body, asked.model, asked.stream)


def seeds(upstream: str) -> Iterator[bytes]:
    """The recorded answers, each for another client."""
    for number, fixture in enumerate(fixtures(upstream)):
        asked = (0 if fixture.expected.stream else 1) | (32 if number % 3 == 0 else 0)
        asked |= 6 if fixture.expected.choices > 1 else 0
        yield bytes([number % 4, asked, number % 11]) + fixture.body
    yield bytes([0, 24, 0]) + b'{"error":{"message":"no"}}'
