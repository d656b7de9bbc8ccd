"""A turn with one tool of the gateway's and one of the client's, through each SDK, over upstreams of each dialect.

The model (a scripted chat upstream behind a second gateway, which speaks the dialect at hand) asks for both
at once; the SDK sees its own call only, returns its result, and the model then has to see both.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import AsyncIterator, Iterator

import pytest

from dragoman import dialects, jsontext
from dragoman.dialects.contract import UpstreamRequest
from dragoman.gateway.app import Gateway
from dragoman.gateway.connect import connect, serve_alone
from dragoman.gateway.settings import BaseUrl, DialectName, Secret, Settings, UpstreamSettings
from dragoman.toolsets.connect import connect as connect_tools
from dragoman.toolsets.settings import FunctionPath, LoopBounds, ToolsetSettings
from dragoman.upstreams.scripted import ScriptedAnswer, ScriptedUpstream
from tests.sdks.chain import INNER_KEY, KEY, ROUTES, in_thread, listening, silence
from tests.sdks.talking import SDK, SDKS

QUESTION = "Add two and forty, and tell the weather."
_numbers = itertools.count(1)


def _play(request: UpstreamRequest) -> ScriptedAnswer:
    """Two calls at first; once two results are there, a text that quotes them."""
    results = [message["content"] for message in request.body["messages"] if message["role"] == "tool"]
    delta: dict[str, object] = {"role": "assistant", "content": "It is " + " and ".join(results)}
    if not results:
        calls: list[tuple[str, dict[str, object]]] = [
            ("mine__add", {"a": 2, "b": 40}),
            ("get_weather", {"city": "Utrecht"}),
        ]
        delta = {
            "role": "assistant",
            "content": "One moment. ",
            "tool_calls": [_call(name, arguments) for name, arguments in calls],
        }
    finish = "stop" if results else "tool_calls"
    usage = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
    head = {"id": "chatcmpl-1", "created": 1, "model": "lab"}
    if not request.body.get("stream"):
        choice = {"index": 0, "message": delta, "finish_reason": finish}
        whole = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
        return ScriptedAnswer([jsontext.render(whole)], headers={"content-type": "application/json"})
    for number, call in enumerate(delta.get("tool_calls", [])):  # type: ignore[arg-type, var-annotated]
        call["index"] = number
    chunks = [{"index": 0, "delta": delta, "finish_reason": None}, {"index": 0, "delta": {}, "finish_reason": finish}]
    frames = [{**head, "object": "chat.completion.chunk", "choices": [chunk]} for chunk in chunks]
    frames.append({**head, "object": "chat.completion.chunk", "choices": [], "usage": usage})
    return ScriptedAnswer([*(b"data: " + jsontext.render(frame) + b"\n\n" for frame in frames), b"data: [DONE]\n\n"])


def _call(name: str, arguments: dict[str, object]) -> dict[str, object]:
    text = jsontext.render(arguments).decode()
    return {"id": f"call_{next(_numbers)}", "type": "function", "function": {"name": name, "arguments": text}}


@contextlib.asynccontextmanager
async def _both() -> AsyncIterator[str]:
    inner = Settings(keys=[Secret(INNER_KEY)])
    services = serve_alone("lab", ScriptedUpstream("chat", _play, models=["model"]), inner)
    tools = {"mine": ToolsetSettings(python=FunctionPath("tests.toolsets.functions_of_mine", "add"))}
    async with listening(Gateway(inner, services, silence())) as there:
        upstreams = {
            name: UpstreamSettings(
                dialect=DialectName(name),
                base_url=BaseUrl(there + dialects.get(name).base_path),
                api_key=Secret(INNER_KEY),
            )
            for name in ROUTES[1:]
        }
        outer = Settings(keys=[Secret(KEY)], upstreams=upstreams, tools=tools)
        gateway = Gateway(outer, connect(outer), silence(), toolbox=connect_tools(tools, LoopBounds()))
        await gateway.start()
        async with listening(gateway) as here:
            yield here


@pytest.fixture(scope="module")
def tooled() -> Iterator[str]:
    with in_thread(_both) as url:
        yield url


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("route", ROUTES[1:])
@pytest.mark.parametrize("sdk", SDKS, ids=lambda sdk: sdk.name)
def test_one_tool_of_each(sdk: type[SDK], route: str, stream: bool, tooled: str) -> None:
    talk = sdk(tooled)
    history = [talk.user(QUESTION)]
    first = talk.turn(f"{route}/lab/model", history, ["get_weather"], stream=stream)
    (call,) = first.calls
    assert (call.name, call.arguments, first.finish) == ("get_weather", {"city": "Utrecht"}, talk.called)
    history += [*first.kept, *talk.results([(call, "sunny")])]
    second = talk.turn(f"{route}/lab/model", history, ["get_weather"], stream=stream)
    assert second.text.startswith("It is 42")
    assert second.text.endswith(" and sunny")
    assert (second.calls, second.finish) == ([], talk.over)
