"""Each official SDK over upstreams of each dialect, with a tool of its own beside those that the gateway runs."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.sdks.chain import in_thread, listening
from tests.sdks.talking import SDK
from tests.sdks.test_sdks import every_sdk, speaking, streamed_or_not
from tests.toolloop import shelf
from tests.toolloop.lab import SHELF, every_upstream, over
from tests.toolloop.model import Model, Says

CITY = {"city": "Utrecht"}
QUERY = {"query": "wind"}


class Tools:
    """A gateway with tools, over a model that says what it is told."""

    def __init__(self) -> None:
        self.model = Model()
        self.url = ""

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        async with self.model.server, listening(over(self.model, SHELF, [])) as url:
            yield url


@pytest.fixture(scope="session")
def tools() -> Iterator[Tools]:
    lab = Tools()
    with in_thread(lab.serving) as lab.url:
        yield lab
    assert lab.model.faults == []


@streamed_or_not
@every_upstream
@every_sdk
def test_a_turn_with_a_tool_of_each(sdk: type[SDK], upstream: str, stream: bool, tools: Tools) -> None:
    """The gateway's call is run, the client's handed over; the client goes on, and asks once more."""
    shelf.journal.clear()
    tools.model.play(
        Says(text="Looking. ", calls=(("shelf__search", QUERY),)),
        Says(text="And outside. ", calls=(("shelf__count", {}), ("get_weather", CITY))),
        Says(text="It is sunny."),
        Says(text="You are welcome."),
    )
    talk = speaking(sdk, tools.url)
    history = [talk.user("What is the weather in Utrecht?")]
    first = talk.turn(f"{upstream}/m", history, ["get_weather"], stream=stream)
    assert (first.text, first.finish) == ("Looking. And outside. ", talk.called)
    (call,) = first.calls
    assert (call.name, call.arguments) == ("get_weather", CITY)
    history += [*first.kept, *talk.results([(call, "18 C")])]
    second = talk.turn(f"{upstream}/m", history, ["get_weather"], stream=stream)
    assert (second.text, second.calls, second.finish) == ("It is sunny.", [], talk.over)
    history += [*second.kept, talk.user("Thank you!")]
    assert talk.turn(f"{upstream}/m", history, ["get_weather"], stream=stream).text == "You are welcome."
    found = [
        ("shelf__search", QUERY, "Found for wind: 21 degrees."),
        ("shelf__count", {}, "Call number 1."),
        ("get_weather", CITY, "18 C"),
    ]
    assert [seen.calls for seen in tools.model.seen] == [[], found[:1], found, found]
    assert shelf.journal == ["search wind", "count"]
