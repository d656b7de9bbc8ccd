"""The demo upstream by itself: what it answers, streamed and whole, and what it refuses."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from dragoman.dialects.contract import UpstreamRequest
from dragoman.upstreams.demo import MODELS, DemoUpstream
from dragoman.upstreams.demo.__main__ import main

JSON = dict[str, Any]

LIST_FILES = {
    "type": "function",
    "function": {
        "name": "list_files",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
}
DELETE = {"type": "function", "function": {"name": "delete_file", "parameters": {"type": "object"}}}
ASK: list[JSON] = [{"role": "user", "content": "What is here?"}]
RESULT: list[JSON] = [
    *ASK,
    {"role": "assistant", "content": None, "tool_calls": []},
    {"role": "tool", "tool_call_id": "call_1", "content": "README.md\nsrc"},
]


async def send(model: str, messages: list[JSON] | None = None, **more: Any) -> tuple[int, bytes]:
    body = {"model": model, "messages": ASK if messages is None else messages, **more}
    answer = await DemoUpstream(pace=0).send(UpstreamRequest(path="/chat/completions", body=body))
    pieces = []
    while piece := await answer.read():
        pieces.append(piece)
    return answer.status, b"".join(pieces)


async def stream(model: str, messages: list[JSON] | None = None, **more: Any) -> list[JSON]:
    """The chunks, ``[DONE]`` aside."""
    status, body = await send(model, messages, stream=True, **more)
    assert status == 200
    data = [event.removeprefix("data: ") for event in body.decode().split("\n\n") if event]
    return [json.loads(one) for one in data if one != "[DONE]"]


async def message(model: str, messages: list[JSON] | None = None, **more: Any) -> JSON:
    """The message of a whole answer."""
    status, body = await send(model, messages, **more)
    assert status == 200
    found: JSON = json.loads(body)["choices"][0]["message"]
    return found


def names(message: JSON) -> list[str]:
    return [call["function"]["name"] for call in message.get("tool_calls", ())]


# ---- every model


@pytest.mark.parametrize("model", MODELS)
async def test_every_model_streams(model: str) -> None:
    chunks = await stream(model)
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert {chunk["model"] for chunk in chunks if "error" not in chunk} == {model}
    assert "$" not in json.dumps(chunks)


@pytest.mark.parametrize("model", [name for name in MODELS if name not in ("error", "early-error", "cut")])
async def test_every_good_model_answers_whole(model: str) -> None:
    status, body = await send(model)
    whole = json.loads(body)
    assert status == 200
    assert whole["object"] == "chat.completion"
    usage = whole["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 0
    choice = whole["choices"][0]
    assert choice["finish_reason"] == ("tool_calls" if "tool_calls" in choice["message"] else "stop")
    assert choice["message"]["content"] or choice["message"]["tool_calls"]


@pytest.mark.parametrize("model", ["error", "early-error"])
async def test_a_failure_is_a_failure_of_the_whole_answer_too(model: str) -> None:
    _, body = await send(model)
    assert json.loads(body)["error"] == (await stream(model))[-1]["error"]


async def test_a_cut_answer_is_half_a_body() -> None:
    _, body = await send("cut")
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        json.loads(body)


async def test_ids_differ_from_answer_to_answer() -> None:
    first, second = [await message("parallel") for _ in range(2)]
    assert len({call["id"] for one in (first, second) for call in one["tool_calls"]}) == 4


async def test_usage_comes_only_if_asked_for() -> None:
    assert not any("usage" in chunk for chunk in await stream("chat"))
    chunks = await stream("chat", stream_options={"include_usage": True})
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["completion_tokens"] > 100


async def test_plain_answer_is_in_reply_to_the_last_words() -> None:
    parts = [{"type": "text", "text": "<note>ignore me</note>"}, {"type": "text", "text": "Grüß dich, $HOME!"}]
    text = (await message("chat", [*ASK, {"role": "assistant", "content": "?"}, {"role": "user", "content": parts}]))[
        "content"
    ]
    assert text.startswith("You said: “Grüß dich, $HOME!”\n\nI am no model.")
    streamed = await stream("chat", [{"role": "user", "content": parts}])
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in streamed) == text


# ---- the agent


async def test_agent_calls_then_answers_from_the_result() -> None:
    first = await message("agent", tools=[LIST_FILES])
    (call,) = first["tool_calls"]
    assert call["function"] == {"name": "list_files", "arguments": '{"path":"."}'}
    result = {"role": "tool", "tool_call_id": call["id"], "content": "README.md\nsrc"}
    second = await message("agent", [*ASK, first, result], tools=[LIST_FILES])
    assert "tool_calls" not in second
    assert "> README.md\n> src" in second["content"]


async def test_agent_calls_again_for_the_next_question() -> None:
    history = [*RESULT, {"role": "assistant", "content": "Two entries."}, *ASK]
    assert names(await message("agent", history, tools=[LIST_FILES])) == ["list_files"]


async def test_reminders_behind_results_begin_no_new_turn() -> None:
    reminder = {"role": "user", "content": "<system-reminder>be brief</system-reminder>"}
    assert names(await message("agent", [*RESULT, reminder, reminder], tools=[LIST_FILES])) == []


async def test_every_result_of_a_turn_is_quoted() -> None:
    other = {"role": "tool", "tool_call_id": "call_2", "content": [{"type": "text", "text": "x" * 500}]}
    text = (await message("parallel", [*RESULT, other], tools=[LIST_FILES]))["content"]
    assert "> README.md" in text
    assert "> " + "x" * 400 + " …" in text


async def test_without_tools_the_agent_answers_plainly() -> None:
    assert names(await message("agent")) == []
    assert names(await message("late-name")) == ["get_weather"]


@pytest.mark.parametrize("model", ["agent", "late-name", "parallel"])
async def test_tool_choice_none_is_obeyed(model: str) -> None:
    assert names(await message(model, tools=[LIST_FILES], tool_choice="none")) == []


async def test_a_forced_tool_is_called_even_behind_a_result() -> None:
    forced = {"type": "function", "function": {"name": "delete_file"}}
    called = await message("agent", RESULT, tools=[LIST_FILES, DELETE], tool_choice=forced)
    assert names(called) == ["delete_file"]


async def test_allowed_tools_are_the_only_ones() -> None:
    allowed = {"mode": "required", "tools": [{"type": "function", "function": {"name": "delete_file"}}]}
    choice = {"type": "allowed_tools", "allowed_tools": allowed}
    assert names(await message("agent", tools=[LIST_FILES, DELETE], tool_choice=choice)) == ["delete_file"]


async def test_one_call_at_a_time_where_parallel_is_off() -> None:
    assert names(await message("parallel", tools=[LIST_FILES])) == ["list_files", "list_files"]
    assert names(await message("parallel", tools=[LIST_FILES], parallel_tool_calls=False)) == ["list_files"]


@pytest.mark.parametrize(
    ("declared", "said", "called"),
    [
        (["write_file", "Agent", "run_shell", "find_pages"], "Hello", "find_pages"),
        (["TodoWrite", "calculator", "Bash"], "Hello", "Bash"),
        (["get_weather", "list_tasks"], "Hello", "get_weather"),
        (["get_weather", "list_tasks"], "Use `list_tasks`, please.", "list_tasks"),
        (["list_tasks", "delete_task"], "delete_task, now!", "list_tasks"),
        (["delete_task"], "Hello", "delete_task"),
    ],
)
async def test_a_harmless_tool_is_preferred(declared: list[str], said: str, called: str) -> None:
    tools = [{"type": "function", "function": {"name": name}} for name in declared]
    assert names(await message("agent", [{"role": "user", "content": said}], tools=tools)) == [called]


async def test_the_second_call_is_harmless_too() -> None:
    assert names(await message("index-zero", tools=[DELETE, LIST_FILES])) == ["list_files", "list_files"]


# ---- refusals


async def test_an_unknown_model_is_told_the_models() -> None:
    status, body = await send("gpt-5")
    error = json.loads(body)["error"]
    assert status == 404
    assert error["code"] == "model_not_found"
    assert all(name in error["message"] for name in MODELS)


@pytest.mark.parametrize(
    ("param", "body"),
    [
        ("model", {"model": None}),
        ("messages", {"messages": []}),
        ("messages", {"messages": "hello"}),
        ("messages", {"messages": [{"role": "robot", "content": "hello"}]}),
        ("n", {"n": 2}),
        ("tools", {"tools": {}}),
        ("tools", {"tools": [{"type": "function"}]}),
        ("tools", {"tools": [None]}),
        ("tool_choice", {"tool_choice": "required"}),
        ("tool_choice", {"tool_choice": {"type": "function", "function": {"name": "missing"}}}),
        ("tool_choice", {"tool_choice": ["auto"]}),
    ],
)
async def test_a_bad_request_is_refused(param: str, body: JSON) -> None:
    request = UpstreamRequest(path="/chat/completions", body={"model": "chat", "messages": ASK, "stream": True} | body)
    answer = await DemoUpstream(pace=0).send(request)
    assert answer.status == 400
    assert json.loads(await answer.read())["error"]["param"] == param


async def test_tools_that_are_no_functions_are_not_called() -> None:
    custom = {"type": "custom", "custom": {"name": "get_anything"}}
    assert names(await message("agent", tools=[custom, LIST_FILES])) == ["list_files"]


async def test_there_is_nothing_but_completions() -> None:
    answer = await DemoUpstream(pace=0).send(UpstreamRequest(path="/models", body={}, method="GET"))
    assert answer.status == 404


# ---- pace and end


async def test_a_closed_answer_ends_and_leaves_nothing_running() -> None:
    request = UpstreamRequest(path="/chat/completions", body={"model": "demo/chat", "messages": ASK, "stream": True})
    upstream = DemoUpstream(pace=3600)
    answer = await upstream.send(request)
    reading = asyncio.ensure_future(answer.read())
    await asyncio.sleep(0)
    assert not reading.done()
    reading.cancel()
    answer.close()
    assert await answer.read() == b""
    assert asyncio.all_tasks() - {reading} == {asyncio.current_task()}
    await upstream.aclose()


async def test_it_says_what_it_has() -> None:
    upstream = DemoUpstream()
    assert upstream.dialect == "chat"
    assert tuple(upstream.models) == tuple(MODELS)
    assert all(MODELS.values())


def test_the_command_prints_a_stream_as_it_is(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["late-name"]) == 0
    assert b'"name":""' in capfdbinary.readouterr().out
    assert main([]) == 0
    assert b"late-name" in capfdbinary.readouterr().out
    assert main(["nothing"]) == 2
