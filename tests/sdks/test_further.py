"""What else the SDKs can do with a gateway: their asynchronous clients, thoughts, lists of models, counts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest

from tests.sdks.chain import KEY, ROUTES
from tests.sdks.talking import anthropic, genai, openai, types

QUESTION = "Who are you?"
THOUGHT = "It should show thoughts and answer apart from each other."
ANSWER = "This is the answer."

Ask = Callable[[str, str], Coroutine[Any, Any, tuple[str, str]]]


async def _chat(url: str, model: str) -> tuple[str, str]:
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as client:
        asked = [{"role": "user", "content": QUESTION}]
        stream = await client.chat.completions.create(model=model, messages=asked, stream=True)
        deltas = [chunk.choices[0].delta async for chunk in stream if chunk.choices]
    thoughts = (getattr(delta, "reasoning_content", None) or "" for delta in deltas)
    return "".join(thoughts), "".join(delta.content or "" for delta in deltas)


async def _responses(url: str, model: str) -> tuple[str, str]:
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as client:
        stream = await client.responses.create(model=model, input=QUESTION, stream=True)
        events = [event async for event in stream]
    response = events[-1].response
    told = [item for item in response.output if item.type == "reasoning"]
    thoughts = [part.text for item in told for part in [*(item.summary or []), *(item.content or [])]]
    return "".join(thoughts), response.output_text


async def _messages(url: str, model: str) -> tuple[str, str]:
    async with anthropic.AsyncAnthropic(base_url=url, api_key=KEY, max_retries=0) as client:
        asked = [{"role": "user", "content": QUESTION}]
        async with client.messages.stream(model=model, max_tokens=1000, messages=asked) as stream:
            content = (await stream.get_final_message()).content
    thoughts = "".join(block.thinking for block in content if block.type == "thinking")
    return thoughts, "".join(block.text for block in content if block.type == "text")


async def _gemini(url: str, model: str) -> tuple[str, str]:
    client = _genai(url)
    parts: list[Any] = []
    async for answer in await client.aio.models.generate_content_stream(model=model, contents=QUESTION):
        parts += answer.candidates[0].content.parts or [] if answer.candidates[0].content else []
    await client.aio.aclose()
    thoughts = "".join(part.text for part in parts if part.text and part.thought)
    return thoughts, "".join(part.text for part in parts if part.text and not part.thought)


def _genai(url: str) -> Any:
    options = types.HttpOptions(base_url=url, retry_options=types.HttpRetryOptions(attempts=1))
    return genai.Client(vertexai=False, api_key=KEY, http_options=options)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("ask", [_chat, _responses, _messages, _gemini])
def test_thoughts_and_answer_through_asynchronous_clients(ask: Ask, route: str, url: str) -> None:
    thoughts, text = asyncio.run(ask(url, f"{route}/reasoning"))
    assert thoughts.startswith(f"The user said: “{QUESTION}”")
    assert thoughts.rstrip().endswith(THOUGHT)
    assert text.endswith(ANSWER)
    assert THOUGHT not in text


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("route", ROUTES)
def test_the_form_of_calls_from_before_tools(route: str, stream: bool, url: str) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    history: list[dict[str, Any]] = [{"role": "user", "content": "What is the weather in Utrecht?"}]
    with openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as client:
        ask = partial(
            client.chat.completions.create,
            model=f"{route}/agent",
            messages=history,
            functions=[{"name": "get_weather", "parameters": schema}],
            stream=stream,
        )
        if stream:
            choices = [chunk.choices[0] for chunk in ask() if chunk.choices]
            called = [choice.delta.function_call for choice in choices if choice.delta.function_call]
            name, arguments = called[0].name, "".join(piece.arguments or "" for piece in called)
            assert not any(choice.delta.tool_calls for choice in choices)
            last = choices[-1]
        else:
            (last,) = ask().choices
            name, arguments = last.message.function_call.name, last.message.function_call.arguments
            assert not last.message.tool_calls
        assert (name, last.finish_reason) == ("get_weather", "function_call")
        assert "city" in json.loads(arguments)
        call = {"name": name, "arguments": arguments}
        history += [
            {"role": "assistant", "content": None, "function_call": call},
            {"role": "function", "name": name, "content": "18 C"},
        ]
        again = ask()
        said = "".join(chunk.choices[0].delta.content or "" for chunk in again if chunk.choices) if stream else None
    assert "18 C" in (said if said is not None else again.choices[0].message.content)


def test_the_list_of_models_in_each_form(url: str) -> None:
    with openai.OpenAI(base_url=f"{url}/v1", api_key=KEY) as one, anthropic.Anthropic(base_url=url, api_key=KEY) as two:
        three = _genai(url)
        lists = [
            [model.id for model in one.models.list()],
            [model.id for model in two.models.list()],
            [model.name.removeprefix("models/") for model in three.models.list()],
        ]
        three.close()
        assert one.models.retrieve("demo/agent").id == "demo/agent"
        assert two.models.retrieve("demo/agent").id == "demo/agent"
    assert all("demo/agent" in names and "demo/late-name" in names for names in lists)


def test_counts_of_tokens(url: str) -> None:
    asked = [{"role": "user", "content": "How many tokens are these words? " * 20}]
    with anthropic.Anthropic(base_url=url, api_key=KEY) as client:
        for route in ROUTES:
            assert client.messages.count_tokens(model=f"{route}/agent", messages=asked).input_tokens > 50
    client = _genai(url)
    for route in ROUTES:
        counted = client.models.count_tokens(model=f"{route}/agent", contents=asked[0]["content"])
        assert counted.total_tokens > 50
    client.close()
