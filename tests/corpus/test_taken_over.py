"""Every recorded answer, given by the second upstream after the first was silent until its head had to go out."""

from __future__ import annotations

import pytest

from dragoman import dialects
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.translate import Exchange
from tests import reading
from tests.asking import CLIENTS, ask
from tests.corpus.crossing import NOW, SEED, whole_read
from tests.fixtures import Fixture, fixtures

GONE = Error(kind=ErrorKind.BAD_UPSTREAM, message="the first is gone")
FIXTURES = [one for name in dialects.names() for one in fixtures(name) if one.expected.stream]


def taken_over(fixture: Fixture, client: str, first: str) -> tuple[bytes, Exchange]:
    asked = ask(client, fixture.slug, choices=fixture.expected.choices)
    one = Exchange(dialects.get(client), dialects.get(first), seed=SEED, now=NOW, request_id="req_1")
    one.hold = True
    one.request(asked.body, "first", path_model=asked.model, path_stream=asked.stream)
    one.open_head()
    out = one.data_to_send()
    one.receive_failure(GONE)
    assert (one.withheld, one.finished, one.data_to_send()) == (GONE, True, b"")
    other = Exchange(dialects.get(client), dialects.get(fixture.dialect), seed=SEED, now=NOW, request_id="req_1")
    other.take_over(one)
    other.request(asked.body, fixture.slug, path_model=asked.model, path_stream=asked.stream)
    other.receive_head(fixture.expected.status, {"content-type": fixture.expected.content_type})
    other.receive_data(fixture.body)
    other.receive_eof()
    return out + other.data_to_send(), other


@pytest.mark.parametrize("fixture", FIXTURES, ids=repr)
def test_the_client_gets_the_same_answer(fixture: Fixture) -> None:
    for client in CLIENTS:
        if not fixture.fits(client):
            continue
        direct = whole_read(fixture, client)
        first = "chat" if fixture.dialect != "chat" or fixture.expected.choices > 1 else "messages"
        body, exchange = taken_over(fixture, client, first)
        assert (exchange.head and exchange.head.status) == 200
        known = {violation.rule for violation in dialects.get(client).check(direct.body)}
        assert {violation.rule for violation in dialects.get(client).check(body)} <= known
        there, here = reading.read(client, direct.body), reading.read(client, body)
        if direct.status != 200:
            assert here.error == there.error
        else:
            assert (here.text, here.reasoning, here.finish, here.usage) == (
                there.text,
                there.reasoning,
                there.finish,
                there.usage,
            )
            assert [call[1:] for call in here.calls] == [call[1:] for call in there.calls]


@pytest.mark.parametrize("client", CLIENTS)
def test_without_a_head_nothing_is_taken_over(client: str) -> None:
    asked = ask(client, "m")
    one = Exchange(dialects.get(client), dialects.get("chat"), seed=SEED, now=NOW)
    one.hold = True
    one.request(asked.body, "m", path_model=asked.model, path_stream=asked.stream)
    one.receive_failure(GONE)
    assert (one.withheld, one.head) == (GONE, None)
    other = Exchange(dialects.get(client), dialects.get("chat"), seed=SEED, now=NOW)
    other.take_over(one)
    other.request(asked.body, "m", path_model=asked.model, path_stream=asked.stream)
    other.receive_failure(GONE)
    assert other.head is not None
    assert other.head.status == 502


def test_a_failure_that_was_withheld_can_be_told_after_all() -> None:
    one = Exchange(dialects.get("chat"), dialects.get("chat"), seed=SEED, now=NOW)
    one.hold = True
    one.request(ask("chat", "m").body, "m")
    one.receive_failure(GONE)
    one.give_up()
    assert one.head is not None
    assert (one.head.status, one.withheld, one.error) == (502, None, GONE)
    assert b"the first is gone" in one.data_to_send()
