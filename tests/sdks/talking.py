"""The same conversation through each SDK: a turn goes in, text and calls come out."""

from __future__ import annotations

import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import msgspec
import pytest

from tests.asking import TOOLS
from tests.sdks.chain import KEY

anthropic: Any = pytest.importorskip("anthropic")
openai: Any = pytest.importorskip("openai")
genai: Any = pytest.importorskip("google.genai")
types: Any = pytest.importorskip("google.genai.types")

JSON = dict[str, Any]


class Call(msgspec.Struct, frozen=True):
    id: str
    name: str
    arguments: JSON


class Turn(msgspec.Struct, frozen=True):
    """The model's turn; ``kept`` is what the SDK's user puts into the history."""

    text: str
    calls: list[Call]
    finish: str
    kept: list[Any]


class SDK(ABC):
    """One official SDK with a client of its own. ``turn`` raises what the SDK raises."""

    name: ClassVar[str]
    unknown_model: ClassVar[Any]
    bad_key: ClassVar[Any]
    rate_limit: ClassVar[Any]
    failure: ClassVar[Any]
    over: ClassVar[str]
    """The finish of a turn that is over."""
    called: ClassVar[str]
    """The finish of a turn with calls."""
    thinking: ClassVar[JSON]
    """What asks the model to think and to show it."""
    wishes: Mapping[str, Any] = MappingProxyType({})
    """What every turn asks for besides."""

    @abstractmethod
    def __init__(self, url: str, key: str = KEY) -> None: ...

    @abstractmethod
    def user(self, text: str) -> Any: ...

    @abstractmethod
    def results(self, results: Iterable[tuple[Call, str]]) -> list[Any]: ...

    @abstractmethod
    def turn(self, model: str, history: list[Any], tools: Iterable[str], *, stream: bool) -> Turn: ...


class Chat(SDK):
    name = "openai-chat"
    unknown_model = (openai.NotFoundError,)
    bad_key = (openai.AuthenticationError,)
    rate_limit = (openai.RateLimitError,)
    failure = (openai.APIError,)
    over, called = "stop", "tool_calls"
    thinking: ClassVar[JSON] = {"reasoning_effort": "medium"}

    def __init__(self, url: str, key: str = KEY) -> None:
        self.client = openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)

    def user(self, text: str) -> Any:
        return {"role": "user", "content": text}

    def results(self, results: Iterable[tuple[Call, str]]) -> list[Any]:
        return [{"role": "tool", "tool_call_id": call.id, "content": text} for call, text in results]

    def turn(self, model: str, history: list[Any], tools: Iterable[str], *, stream: bool) -> Turn:
        declared = [{"type": "function", "function": {"name": name, "parameters": TOOLS[name]}} for name in tools]
        asked: JSON = {"model": model, "messages": history, "tools": declared or openai.omit, **self.wishes}
        if stream:
            with self.client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as events:
                completion = events.until_done().get_final_completion()
        else:
            completion = self.client.chat.completions.create(**asked)
        assert completion.usage.total_tokens > 0
        choice = completion.choices[0]
        calls = [
            Call(call.id, call.function.name, json.loads(call.function.arguments))
            for call in choice.message.tool_calls or []
        ]
        return Turn(choice.message.content or "", calls, choice.finish_reason, [choice.message])


class Responses(SDK):
    name = "openai-responses"
    unknown_model = (openai.NotFoundError,)
    bad_key = (openai.AuthenticationError,)
    rate_limit = (openai.RateLimitError,)
    failure = (openai.APIError, RuntimeError)
    over = called = "completed"
    thinking: ClassVar[JSON] = {
        "reasoning": {"effort": "medium", "summary": "auto"},
        "include": ["reasoning.encrypted_content"],
    }

    def __init__(self, url: str, key: str = KEY) -> None:
        self.client = openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)

    def user(self, text: str) -> Any:
        return {"role": "user", "content": text}

    def results(self, results: Iterable[tuple[Call, str]]) -> list[Any]:
        return [{"type": "function_call_output", "call_id": call.id, "output": text} for call, text in results]

    def turn(self, model: str, history: list[Any], tools: Iterable[str], *, stream: bool) -> Turn:
        declared = [{"type": "function", "name": name, "parameters": TOOLS[name], "strict": False} for name in tools]
        asked: JSON = {"model": model, "input": history, "tools": declared, "store": False, **self.wishes}
        if stream:
            with self.client.responses.stream(**asked) as events:
                response = events.until_done().get_final_response()
        else:
            response = self.client.responses.create(**asked)
        assert response.usage.total_tokens > 0
        calls = [
            Call(item.call_id, item.name, json.loads(item.arguments))
            for item in response.output
            if item.type == "function_call"
        ]
        kept = [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in response.output]
        return Turn(response.output_text, calls, response.status, kept)


class Messages(SDK):
    name = "anthropic"
    unknown_model = (anthropic.NotFoundError,)
    bad_key = (anthropic.AuthenticationError,)
    rate_limit = (anthropic.RateLimitError,)
    failure = (anthropic.APIError,)
    over, called = "end_turn", "tool_use"
    thinking: ClassVar[JSON] = {"thinking": {"type": "adaptive"}, "output_config": {"effort": "medium"}}

    def __init__(self, url: str, key: str = KEY) -> None:
        self.client = anthropic.Anthropic(base_url=url, api_key=key, max_retries=0)

    def user(self, text: str) -> Any:
        return {"role": "user", "content": text}

    def results(self, results: Iterable[tuple[Call, str]]) -> list[Any]:
        blocks = [{"type": "tool_result", "tool_use_id": call.id, "content": text} for call, text in results]
        return [{"role": "user", "content": blocks}]

    def turn(self, model: str, history: list[Any], tools: Iterable[str], *, stream: bool) -> Turn:
        declared = [{"name": name, "input_schema": TOOLS[name]} for name in tools]
        asked: JSON = {"model": model, "max_tokens": 1000, "messages": history, "tools": declared or anthropic.omit}
        asked.update(self.wishes)
        if stream:
            with self.client.messages.stream(**asked) as events:
                message = events.get_final_message()
        else:
            message = self.client.messages.create(**asked)
        assert message.usage.output_tokens > 0
        text = "".join(block.text for block in message.content if block.type == "text")
        calls = [Call(block.id, block.name, block.input) for block in message.content if block.type == "tool_use"]
        return Turn(text, calls, message.stop_reason, [{"role": "assistant", "content": message.content}])


class Gemini(SDK):
    name = "google-genai"
    unknown_model = bad_key = rate_limit = (genai.errors.ClientError,)
    failure = (genai.errors.APIError,)
    over = called = "STOP"
    thinking: ClassVar[JSON] = {
        "thinking_config": types.ThinkingConfig(include_thoughts=True, thinking_level="MEDIUM"),
    }

    def __init__(self, url: str, key: str = KEY) -> None:
        options = types.HttpOptions(base_url=url, retry_options=types.HttpRetryOptions(attempts=1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.client = genai.Client(vertexai=False, api_key=key, http_options=options)

    def user(self, text: str) -> Any:
        return types.Content(role="user", parts=[types.Part(text=text)])

    def results(self, results: Iterable[tuple[Call, str]]) -> list[Any]:
        parts = [
            types.Part(function_response=types.FunctionResponse(id=call.id, name=call.name, response={"output": text}))
            for call, text in results
        ]
        return [types.Content(role="user", parts=parts)]

    def turn(self, model: str, history: list[Any], tools: Iterable[str], *, stream: bool) -> Turn:
        declared = [{"name": name, "parameters_json_schema": TOOLS[name]} for name in tools]
        config = types.GenerateContentConfig(
            tools=[types.Tool(function_declarations=declared)] if declared else None,
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
            **self.wishes,
        )
        asked: JSON = {"model": model, "contents": history, "config": config}
        if stream:
            answers = list(self.client.models.generate_content_stream(**asked))
        else:
            answers = [self.client.models.generate_content(**asked)]
        assert answers[-1].usage_metadata.total_token_count > 0
        contents = [answer.candidates[0].content for answer in answers if answer.candidates]
        parts = [part for content in contents if content for part in content.parts or []]
        text = "".join(part.text for part in parts if part.text and not part.thought)
        found = [part.function_call for part in parts if part.function_call]
        calls = [Call(call.id or "", call.name, call.args) for call in found]
        finish = answers[-1].candidates[0].finish_reason.value
        return Turn(text, calls, finish, [types.Content(role="model", parts=parts)])


SDKS: tuple[type[SDK], ...] = (Chat, Responses, Messages, Gemini)
