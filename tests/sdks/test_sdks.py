"""Each official SDK over upstreams of each dialect: a tool loop, odd streams, refusals, failures."""

from __future__ import annotations

import json
from functools import cache

import pytest

from dragoman.upstreams.demo.arguments import arguments_for
from tests.asking import TOOLS
from tests.sdks.chain import KEY, ROUTES
from tests.sdks.talking import SDK, SDKS, Call

QUESTION = "What is the weather in Utrecht?"
ODD = ("late-name", "bare-continuation", "parallel", "index-zero", "cumulative", "placeholder", "no-id")

every_sdk = pytest.mark.parametrize("sdk", SDKS, ids=lambda sdk: sdk.name)
every_route = pytest.mark.parametrize("route", ROUTES)
streamed_or_not = pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])


@streamed_or_not
@every_route
@every_sdk
def test_a_tool_loop_of_two_turns(sdk: type[SDK], route: str, stream: bool, url: str) -> None:
    talk = speaking(sdk, url)
    history = [talk.user(QUESTION)]
    first = talk.turn(f"{route}/agent", history, ["get_weather"], stream=stream)
    assert first.text == "Let me see what get_weather says. "
    assert first.finish == talk.called
    (call,) = first.calls
    assert (call.name, call.arguments) == ("get_weather", expected("get_weather"))
    history += [*first.kept, *talk.results([(call, "18 C, and clear: \u2600")])]
    second = talk.turn(f"{route}/agent", history, ["get_weather"], stream=stream)
    assert "> 18 C, and clear: \u2600" in second.text
    assert (second.calls, second.finish) == ([], talk.over)


@every_route
@pytest.mark.parametrize("model", ODD)
@every_sdk
def test_odd_streams_come_out_straight(sdk: type[SDK], model: str, route: str, url: str) -> None:
    talk = speaking(sdk, url)
    turn = talk.turn(f"{route}/{model}", [talk.user(QUESTION)], ["get_weather", "read_file"], stream=True)
    names = ["get_weather", "read_file"] if model in ("parallel", "index-zero") else ["get_weather"]
    assert [(call.name, call.arguments) for call in turn.calls] == [(name, expected(name)) for name in names]
    assert turn.finish == sdk.called
    assert distinct(turn.calls)


@every_route
@every_sdk
def test_both_results_arrive_in_whatever_order(sdk: type[SDK], route: str, url: str) -> None:
    talk = speaking(sdk, url)
    history = [talk.user(QUESTION)]
    first = talk.turn(f"{route}/parallel", history, ["get_weather", "read_file"], stream=True)
    one, two = first.calls
    history += [*first.kept, *talk.results([(two, "the second result"), (one, "the first result")])]
    second = talk.turn(f"{route}/parallel", history, ["get_weather", "read_file"], stream=True)
    assert "the first result" in second.text
    assert "the second result" in second.text


@streamed_or_not
@every_sdk
def test_an_unknown_model(sdk: type[SDK], stream: bool, url: str) -> None:
    talk = speaking(sdk, url)
    for model in ("nowhere/agent", "demo/nobody", "messages/nobody"):
        with pytest.raises(sdk.unknown_model) as caught:
            talk.turn(model, [talk.user(QUESTION)], [], stream=stream)
        assert status(caught.value) == 404
        assert model.rpartition("/")[2] in str(caught.value)


@streamed_or_not
@every_sdk
def test_a_bad_key(sdk: type[SDK], stream: bool, url: str) -> None:
    talk = speaking(sdk, url, "sk-of-nobody")
    with pytest.raises(sdk.bad_key) as caught:
        talk.turn("demo/chat", [talk.user(QUESTION)], [], stream=stream)
    assert status(caught.value) == 401


@streamed_or_not
@every_route
@every_sdk
def test_a_failure_in_mid_stream(sdk: type[SDK], route: str, stream: bool, url: str) -> None:
    talk = speaking(sdk, url)
    with pytest.raises(sdk.failure) as caught:
        talk.turn(f"{route}/error", [talk.user(QUESTION)], [], stream=stream)
    assert "the machine that ran the model went away" in str(caught.value)


@every_route
@every_sdk
def test_a_failure_before_the_first_word(sdk: type[SDK], route: str, url: str) -> None:
    talk = speaking(sdk, url)
    with pytest.raises(sdk.rate_limit) as caught:
        talk.turn(f"{route}/early-error", [talk.user(QUESTION)], [], stream=True)
    assert status(caught.value) == 429
    assert "too many requests" in str(caught.value)


@every_route
@every_sdk
def test_an_answer_that_breaks_off(sdk: type[SDK], route: str, url: str) -> None:
    talk = speaking(sdk, url)
    with pytest.raises(sdk.failure):
        talk.turn(f"{route}/cut", [talk.user(QUESTION)], ["get_weather"], stream=True)


@cache
def speaking(sdk: type[SDK], url: str, key: str = KEY) -> SDK:
    """One client for all tests: making one takes longer than asking it."""
    return sdk(url, key)


def expected(tool: str) -> object:
    """The arguments that the demo makes up for this question."""
    return json.loads(json.dumps(arguments_for(TOOLS[tool], QUESTION)))


def distinct(calls: list[Call]) -> bool:
    return len({call.id for call in calls}) == len(calls)


def status(error: BaseException) -> object:
    """The HTTP status in an SDK's exception."""
    return getattr(error, "status_code", None) or getattr(error, "code", None)
