"""Whatever an answer says, what is written of it is in form, and reads as it was meant."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from dragoman import dialects, jsontext
from dragoman.canonical import events as e
from dragoman.dialects.contract import Dialect
from dragoman.exceptions import LocalProtocolError
from dragoman.streaming.accumulate import Accumulator
from dragoman.streaming.encoder import EncodeContext
from dragoman.streaming.ids import Ids
from tests import neighbour
from tests.asking import CLIENTS, ask
from tests.decoding import decoded
from tests.reading import Said, read
from tests.strategies import legal_streams

every_client = pytest.mark.parametrize("client", CLIENTS)

SILENT = "gemini.finish.silent"
"""The one rule that an answer itself can break: it may say nothing that anybody sees."""


@every_client
@given(events=legal_streams())
def test_a_stream_is_in_form(client: str, events: list[e.Event]) -> None:
    body = streamed(client, events)
    broken = [str(one) for one in dialects.get(client).check(body) if one.rule != SILENT or visible(events)]
    assert broken == []


@every_client
@given(events=legal_streams())
def test_a_stream_says_what_was_meant(client: str, events: list[e.Event]) -> None:
    meant, body = meaning(events), streamed(client, events)
    for said in (read(client, body), decoded(client, body)):
        assert said.text == meant.text
        assert said.reasoning == meant.reasoning
        if meant.error is not None:
            assert meant.error in (said.error or "")
        else:
            assert said.error is None
            assert said.finish == meant.finish
            assert values(said.calls) == values(meant.calls)


@every_client
@given(events=legal_streams(failing=False))
def test_a_whole_answer_is_in_form_and_says_the_same(client: str, events: list[e.Event]) -> None:
    meant, body = meaning(events), whole(client, events)
    broken = [str(one) for one in dialects.get(client).check(body) if one.rule != SILENT or visible(events)]
    assert broken == []
    for said in (read(client, body), decoded(client, body)):
        assert (said.text, said.reasoning, said.finish) == (meant.text, meant.reasoning, meant.finish)
        assert values(said.calls) == values(meant.calls)


@every_client
@given(events=legal_streams(failing=False))
def test_nothing_follows_an_end(client: str, events: list[e.Event]) -> None:
    encoder = dialects.get(client).encoder(context(dialects.get(client)))
    encoder.encode(events)
    for event in events:
        with pytest.raises(LocalProtocolError):
            encoder.encode([event])


@neighbour.needed
@every_client
@given(events=legal_streams())
def test_the_judges_find_nothing(client: str, events: list[e.Event]) -> None:
    judge = neighbour.judge("check")
    silent = not visible(events) or meaning(events).error is not None
    bodies = [streamed(client, events)]
    if meaning(events).error is None:
        bodies.append(whole(client, events))
    else:
        return  # they judge what is finished
    for body in bodies:
        found = [str(one) for one in judge.check_bytes(client, body) if one.rule != "gemini.turn.silent" or not silent]
        assert found == []


def context(dialect: Dialect) -> EncodeContext:
    asked = ask(dialect.name, "m-1")
    request = dialect.parse_request(asked.body, asked.model, asked.stream)
    return EncodeContext(model="m-1", ids=Ids("any answer"), now=1_700_000_000, request=request)


def streamed(client: str, events: list[e.Event]) -> bytes:
    dialect = dialects.get(client)
    return dialect.encoder(context(dialect)).encode(events)


def whole(client: str, events: list[e.Event]) -> bytes:
    dialect, accumulator = dialects.get(client), Accumulator()
    accumulator.add(events)
    assert accumulator.response is not None
    return jsontext.render(dialect.render_response(accumulator.response, context(dialect)))


def meaning(events: list[e.Event]) -> Said:
    """What the events say."""
    said = Said()
    for event in events:
        match event:
            case e.TextDelta(text):
                said.text += text
            case e.ReasoningDelta(text):
                said.reasoning += text
            case e.ToolCallStart(id=id, name=name):
                said.calls.append((id, name, ""))
            case e.ToolCallDelta(text):
                id, name, before = said.calls[-1]
                said.calls[-1] = (id, name, before + text)
            case e.ResponseEnd(finish=finish):
                said.finish = finish.value
            case e.ResponseError(error):
                said.error = error.message
    return said


def visible(events: list[e.Event]) -> bool:
    """Whether a person or a program sees anything of it."""
    meant = meaning(events)
    return bool(meant.text.strip() or meant.calls)


def values(calls: list[tuple[str, str, str]]) -> list[tuple[str, Any]]:
    """Name and arguments of each call. Gemini's calls need no id."""
    return [(name, json.loads(text)) for _, name, text in calls]
