"""Whatever an upstream sends: an answer or an error in form, and the same in every cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import dialects
from dragoman.dialects.contract import Violation
from dragoman.translate import Exchange
from tests.asking import CLIENTS, ask
from tests.corpus.comparing import comparable
from tests.fixtures import pieces
from tests.reading import read
from tests.strategies import damaged_bytes, odd_bodies

every_upstream = pytest.mark.parametrize("upstream", CLIENTS)
clients = st.sampled_from(CLIENTS)
streams = st.booleans()

CONTENT = {
    *("chat.call.json", "responses.call.arguments", "messages.tool.json"),  # arguments that are no JSON are not mended
    *("messages.tool.name", "gemini.call.name"),  # nor is a name
    "messages.tool.id",  # nor a block of a tool that the upstream ran, and showed twice
    "gemini.finish.silent",  # the answer says nothing
    "gemini.finish.calls",  # it was blocked, calls and all
}
"""Rules of content: what an upstream gets wrong there is passed on, not repaired."""


@every_upstream
@given(data=st.data())
def test_odd_members_and_orders(upstream: str, data: st.DataObject) -> None:
    hold(upstream, data.draw(clients), data.draw(odd_bodies(upstream)), stream=data.draw(streams))


@given(body=odd_bodies("chat", "n-two-choices"), choices=st.integers(2, 3))
def test_several_choices(body: bytes, choices: int) -> None:
    hold("chat", "chat", body, stream=True, choices=choices)
    hold("chat", "chat", body, stream=False, choices=choices)


@every_upstream
@given(data=st.data())
def test_damaged_bytes(upstream: str, data: st.DataObject) -> None:
    hold(upstream, data.draw(clients), data.draw(damaged_bytes(upstream)), stream=data.draw(streams))


@every_upstream
@given(client=clients, body=st.binary(max_size=60), stream=streams)
def test_any_bytes(upstream: str, client: str, body: bytes, stream: bool) -> None:
    hold(upstream, client, body, stream=stream)


@every_upstream
@given(data=st.data())
def test_an_answer_that_breaks_off_anywhere(upstream: str, data: st.DataObject) -> None:
    body = data.draw(odd_bodies(upstream))
    body = body[: data.draw(st.integers(0, len(body)))]
    hold(upstream, data.draw(clients), body, stream=data.draw(streams))


@every_upstream
@given(data=st.data())
def test_streamed_equals_whole(upstream: str, data: st.DataObject) -> None:
    client, body = data.draw(clients), data.draw(odd_bodies(upstream))
    status, stream = answered(upstream, client, body, stream=True)
    status_of_whole, whole = answered(upstream, client, body, stream=False)
    told = read(client, stream)
    if told.error is not None:
        assert status_of_whole >= 400
        assert read(client, whole).error == told.error
    else:
        assert status == status_of_whole == 200
        assert comparable(client, told) == comparable(client, read(client, whole))


@every_upstream
@given(client=clients, body=st.binary(max_size=60), status=st.integers(300, 599))
def test_any_error_answer(upstream: str, client: str, body: bytes, status: int) -> None:
    got, answer = answered(upstream, client, body, stream=True, status=status)
    assert got >= 400
    assert dialects.get(client).check(answer) == []


def hold(upstream: str, client: str, body: bytes, *, stream: bool, choices: int = 1) -> None:
    """One end, in form, the same bytes for every cut; an illegal order raises in the encoder."""
    status, answer = answered(upstream, client, body, stream=stream, choices=choices)
    for cut in (1, 7, -1):
        assert answered(upstream, client, body, stream=stream, choices=choices, cut=cut) == (status, answer)
    assert broken(client, answer) == []
    assert status == 200 or answer.startswith(b"{"), "an error is a body of its own"


def answered(
    upstream: str, client: str, body: bytes, *, stream: bool, choices: int = 1, cut: int = 0, status: int = 200
) -> tuple[int, bytes]:
    exchange = Exchange(dialects.get(client), dialects.get(upstream), seed="any bytes", now=1_700_000_000)
    asked = ask(client, "m-1", stream=stream, choices=choices)
    exchange.request(asked.body, "m-1", path_model=asked.model, path_stream=asked.stream)
    exchange.receive_head(status, {})
    out = []
    for piece in pieces(body, cut):
        exchange.receive_data(piece)
        out.append(exchange.data_to_send())
    exchange.receive_eof()
    out.append(exchange.data_to_send())
    assert exchange.finished
    assert exchange.head is not None
    return exchange.head.status, b"".join(out)


def broken(client: str, answer: bytes) -> list[Violation]:
    return [one for one in dialects.get(client).check(answer) if one.rule not in CONTENT]
