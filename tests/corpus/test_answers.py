"""Every recorded answer for every client, in this process: content, form, cuts, streamed and whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman import dialects
from tests.asking import CLIENTS
from tests.corpus.comparing import comparable, differences
from tests.corpus.crossing import cross, whole_read
from tests.fixtures import Fixture, fixtures
from tests.reading import events, read

ALL = [
    pytest.param(fixture, client, id=f"{fixture}-to-{client}")
    for upstream in CLIENTS
    for fixture in fixtures(upstream)
    for client in CLIENTS
    if fixture.fits(client)
]
CUTS = (1, 2, 3, 7, 64, 1000, -1, -3)
"""Bytes in a read, or whole events."""

NOT_JSON = {"chat.call.json", "responses.call.arguments"}
NOTHING_TO_SEE = {"gemini.finish.silent"}


def test_the_corpus_is_whole() -> None:
    assert len(ALL) > 1000
    assert all(fixture.body for upstream in CLIENTS for fixture in fixtures(upstream))


@pytest.mark.parametrize(("fixture", "client"), ALL)
def test_the_client_gets_what_the_upstream_said(fixture: Fixture, client: str) -> None:
    answer = whole_read(fixture, client)
    assert differences(fixture, client, answer.status, answer.body) == []
    if answer.status == 200:
        assert answer.streamed is fixture.expected.stream


@pytest.mark.parametrize(("fixture", "client"), ALL)
def test_no_strict_client_would_reject_it(fixture: Fixture, client: str) -> None:
    broken = [str(one) for one in _violations(fixture, client, whole_read(fixture, client).body)]
    assert broken == []


@pytest.mark.parametrize(("fixture", "client"), ALL)
def test_how_the_bytes_are_cut_makes_no_difference(fixture: Fixture, client: str) -> None:
    whole = whole_read(fixture, client)
    for cut in CUTS:
        answer = cross(fixture, client, cut=cut)
        assert (answer.status, answer.body) == (whole.status, whole.body), f"in reads of {cut} bytes"
        assert answer.exchange.quirks == whole.exchange.quirks, f"in reads of {cut} bytes"
        assert answer.exchange.dropped == whole.exchange.dropped, f"in reads of {cut} bytes"


@pytest.mark.parametrize(("fixture", "client"), ALL)
def test_streamed_equals_whole(fixture: Fixture, client: str) -> None:
    streamed, whole = cross(fixture, client, stream=True), cross(fixture, client, stream=False)
    if streamed.status != 200:
        assert (streamed.status, streamed.body) == (whole.status, whole.body)
        return
    told = read(client, streamed.body)
    if told.error is not None:  # half an answer is no whole one
        assert whole.status >= 400
        assert read(client, whole.body).error == told.error
        return
    assert whole.status == 200
    assert comparable(client, told) == comparable(client, read(client, whole.body))
    if client == "responses":
        assert events(streamed.body)[-1]["response"] == json.loads(whole.body)


def _violations(fixture: Fixture, client: str, body: bytes) -> list[Any]:
    """The broken rules, but for those that the upstream's own content breaks."""
    expected = fixture.expected
    excused: set[str] = set()
    if any(call.raw is not None and not call.freeform for call in expected.calls):
        excused |= NOT_JSON
    if not expected.text.strip() and not expected.calls:
        excused |= NOTHING_TO_SEE
    return [one for one in dialects.get(client).check(body) if one.rule not in excused]
