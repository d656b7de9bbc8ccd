"""Sessions of several turns: each SDK thinks, calls tools and goes on, over a strict upstream of each dialect."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from tests.asking import CLIENTS
from tests.sdks.strict import ANSWERS, CITIES, QUESTIONS, StrictUpstream, strict
from tests.sdks.talking import SDK, SDKS, Call, Turn


@pytest.fixture(scope="module")
def there() -> Iterator[tuple[str, StrictUpstream]]:
    with strict() as found:
        yield found


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("upstream", CLIENTS)
@pytest.mark.parametrize("sdk", SDKS, ids=lambda sdk: sdk.name)
def test_five_turns(sdk: type[SDK], upstream: str, stream: bool, there: tuple[str, StrictUpstream]) -> None:
    url, served = there
    before, served.refusals = served.requests[upstream], []
    turns = _talked(_thinking(sdk, url), f"{upstream}/m", stream=stream)
    assert served.refusals == []
    assert served.requests[upstream] - before == len(CITIES)
    assert [tuple(call.arguments["city"] for call in turn.calls) for turn in turns] == list(CITIES)
    assert [turn.text for turn in turns if turn.text] == list(ANSWERS)
    assert [turn.finish for turn in turns] == [sdk.called if cities else sdk.over for cities in CITIES]


@cache
def _thinking(sdk: type[SDK], url: str) -> SDK:
    """One client for all sessions: making one takes longer than asking it."""
    talk = sdk(url)
    talk.wishes = sdk.thinking
    return talk


def _talked(talk: SDK, model: str, *, stream: bool) -> list[Turn]:
    history: list[Any] = [talk.user(QUESTIONS[0])]
    turns: list[Turn] = []
    for cities in CITIES:
        turn = talk.turn(model, history, ["get_weather"], stream=stream)
        turns.append(turn)
        history += turn.kept
        if cities:
            history += talk.results((call, f"It is {len(call.arguments['city'])} C") for call in turn.calls)
        else:
            history.append(talk.user(QUESTIONS[1]))
    return turns


@pytest.mark.parametrize(("sdk", "upstream"), list(zip(SDKS, CLIENTS, strict=True)), ids=CLIENTS)
def test_the_upstream_is_strict(sdk: type[SDK], upstream: str, there: tuple[str, StrictUpstream]) -> None:
    """Within a dialect the client's own mistakes reach it, and it tells."""
    url, served = there
    served.refusals = []
    talk = _thinking(sdk, url)
    history = [talk.user(QUESTIONS[0]), *talk.results([(Call("call_9", "get_weather", {}), "18 C")])]
    with pytest.raises(talk.failure):
        talk.turn(f"{upstream}/m", history, ["get_weather"], stream=False)
    assert len(served.refusals) == 1
