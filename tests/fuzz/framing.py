"""Any bytes as a body: events, lines of JSON, one document, or nothing of the kind."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.streaming.body import BodyReader, Record, StreamLimits
from tests.asking import CLIENTS
from tests.fixtures import fixtures, pieces

OPTIONS = 2
_EVENTS, _ANSWERS = (16, 100, 1000, 4 << 20), (64, 500, 5000, 64 << 20)


def framing(data: bytes) -> None:
    """Whatever bytes come: the same records, faults and signs in every cut, none larger than its limit, none made of nothing."""
    options, body = (data + bytes(OPTIONS))[:OPTIONS], data[OPTIONS:]
    limits = StreamLimits(event=_EVENTS[options[0] & 3], answer=_ANSWERS[options[0] >> 2 & 3])
    records, signs = _read([body], limits)
    for cut in {1, 1 + options[1] % 40}:
        assert _read(pieces(body, cut), limits) == (records, signs), f"another answer in reads of {cut}"
    sizes = [len(record.data) for record in records]
    assert sum(sizes) <= min(len(body), limits.answer)
    assert all(sizes), "an empty record"
    plain = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    found = [record.data for record in records[:50] if b"\n" not in record.data]
    assert all(data in plain or data in body for data in found), "made of nothing"


def _read(parts: list[bytes], limits: StreamLimits) -> tuple[list[Record], tuple[object, ...]]:
    notes: dict[str, int] = {}

    def note(slug: str) -> None:
        notes[slug] = notes.get(slug, 0) + 1

    reader = BodyReader(limits, note)
    records = [record for part in parts for record in reader.feed(part)]
    records += reader.finish()
    assert reader.records == len(records)
    looks = "" if records or reader.fault else reader.rubbish
    return records, (str(reader.fault), reader.cut, looks, notes)


def seeds() -> Iterator[bytes]:
    """The recorded answers of all dialects, within limits of all sizes."""
    for name in CLIENTS:
        for number, fixture in enumerate(fixtures(name)):
            if number % 5 == 0:
                yield bytes([15 if number % 10 else number % 16, number % 40]) + fixture.body
