"""Every bound of the gateway, at the limit and one above, each with its error (docs/configuration.md, limits)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from dragoman import dialects, jsontext
from dragoman.gateway.settings import Limits, Timeouts
from dragoman.upstreams.scripted import ScriptedAnswer, Step
from tests import asking
from tests.gateway.asgi import Call
from tests.gateway.conftest import Lab
from tests.gateway.wires import CHAT, DONE, FOREVER, MESSAGES, chat, chunk, event, failure, messages, say, text_of

MIB, KIB = 1 << 20, 1 << 10
every_client = pytest.mark.parametrize("client", dialects.names())


def shape(body: Any) -> str:
    """Which dialect's error this is."""
    if body.get("type") == "error":
        return "messages"
    error = body["error"]
    return "gemini" if isinstance(error.get("code"), int) and error.get("status") else "openai"


def is_of(client: str, call: Call) -> bool:
    return shape(call.json) == ("openai" if client in ("chat", "responses") else client)


def asked(client: str, **more: Any) -> Call:
    one = asking.ask(client, "up/m")
    return Call("POST", one.path.partition("?")[0], {**one.body, **more}, query="alt=sse")


def hello() -> Any:
    return lambda _: ScriptedAnswer([say("hello"), DONE])


def failed_with(call: Call, words: str) -> bool:
    """Whether a stream ends in an error that says this."""
    return call.status == 200 and words.encode() in call.body and b'"error"' in call.body and call.ended


# ---- of a client


@every_client
@pytest.mark.parametrize("declared", [True, False])
async def test_body(lab: Lab, client: str, declared: bool) -> None:
    one = asking.ask(client, "up/m")
    data = json.dumps(one.body).encode()
    for most, status in ((len(data), 200), (len(data) - 1, 413)):
        gateway = lab.gateway(up=hello(), limits=Limits(body_mib=most / MIB))
        headers = {"content-length": str(len(data))} if declared else {"transfer-encoding": "chunked"}
        call = await Call("POST", one.path.partition("?")[0], data, headers, "alt=sse", cut=100).answered(gateway)
        assert call.status == status
    assert is_of(client, call)
    assert call.message == f"the request body has more than {len(data) - 1:,} bytes"


@every_client
async def test_headers(lab: Lab, client: str) -> None:
    for over, status in ((0, 200), (1, 431)):
        call = asked(client)
        size = sum(len(name) + len(value) for name, value in call.scope["headers"])
        call.scope["headers"].append((b"x-large", b"x" * (KIB - size - len(b"x-large") + over)))
        await call.answered(lab.gateway(up=hello(), limits=Limits(header_kib=1)))
        assert call.status == (413 if over and client == "gemini" else status)  # Google has no 431
    assert is_of(client, call)
    assert "more than 1,024 bytes" in call.message


@every_client
async def test_depth_of_a_body(lab: Lab, client: str) -> None:
    for depth, status in ((jsontext.DEPTH - 1, 200), (jsontext.DEPTH, 400), (900, 400), (100_000, 400)):
        one = asking.ask(client, "up/m")
        place = f'{{"odd": {deep(depth)}, '.encode()
        call = Call("POST", one.path.partition("?")[0], place + json.dumps(one.body).encode()[1:], query="alt=sse")
        await call.answered(lab.gateway(up=hello()))
        assert call.status == status, depth
        assert status == 200 or is_of(client, call)


def deep(depth: int) -> str:
    pairs = [("[", "]") if number % 2 else ('{"x":', "}") for number in range(depth)]
    return "".join(opening for opening, _ in pairs) + "1" + "".join(closing for _, closing in reversed(pairs))


@pytest.mark.parametrize("upstream", dialects.names())
@every_client
async def test_a_deep_schema_is_carried_or_refused(lab: Lab, client: str, upstream: str) -> None:
    """Nothing that walks a request runs out of stack below the limit."""
    schema: Any = {"type": "string"}
    for _ in range(jsontext.DEPTH // 2 - 10):
        schema = {"type": "object", "properties": {"x": schema}}
    one = asking.ask(client, "up/m")
    text = json.dumps(one.body).replace(json.dumps(asking.TOOLS["run"]), json.dumps(schema))
    gateway = lab.gateway(dialect=upstream, up=ScriptedAnswer([failure("seen")], status=400))
    call = await Call("POST", one.path.partition("?")[0], text.encode(), query="alt=sse").answered(gateway)
    assert (call.status, lab.asked("up")) == (400, 1)


@every_client
async def test_requests_under_way(lab: Lab, client: str) -> None:
    gateway = lab.gateway(
        up=lambda _: ScriptedAnswer([say("hi"), FOREVER]), keys=["one", "two"], limits=Limits(streams=2)
    )
    calls, tasks = [], []
    for _ in range(2):
        calls.append(call := asked(client))
        call.scope["headers"].append((b"x-api-key", b"one"))
        tasks.append(asyncio.ensure_future(call.answered(gateway)))
        await call.begun()
    third = asked(client)
    third.scope["headers"].append((b"x-api-key", b"one"))
    await third.answered(gateway)
    assert (third.status, third.headers["retry-after"], is_of(client, third)) == (429, "1", True)
    assert "2 requests are under way" in third.message
    another = asked(client)
    another.scope["headers"].append((b"x-api-key", b"two"))
    tasks.append(asyncio.ensure_future(another.answered(gateway)))
    await another.begun()
    assert another.status == 200
    calls[0].leave()
    await tasks[0]
    again = asked(client)
    again.scope["headers"].append((b"x-api-key", b"one"))
    tasks.append(asyncio.ensure_future(again.answered(gateway)))
    await again.begun()
    assert again.status == 200
    for call in (*calls, another, again):
        call.leave()
    await asyncio.gather(*tasks)


async def test_refused_and_failed_requests_are_not_under_way(lab: Lab) -> None:
    gateway = lab.gateway(up=hello(), limits=Limits(streams=1))
    for body in (b"{", chat("none/m"), chat(), chat()):
        call = await Call("POST", CHAT, body).answered(gateway)
        assert call.status != 429
    assert call.status == 200


@every_client
async def test_time_for_a_body(lab: Lab, client: str) -> None:
    one = asking.ask(client, "up/m")
    call = Call("POST", one.path.partition("?")[0], one.body, query="alt=sse", cut=100)
    call._body = call._body[:1]
    receive = call._receive

    async def slow() -> Any:
        message = await receive()
        return {**message, "more_body": True}

    gateway = lab.gateway(up=hello(), timeouts=Timeouts(request_body=0.02))
    await gateway(call.scope, slow, call._send)
    assert (call.status, call.headers["connection"], is_of(client, call)) == (408, "close", True)
    assert lab.asked("up") == 0


# ---- of an upstream


async def test_one_event(lab: Lab) -> None:
    line = say("x" * 2000).strip()
    for most, sound in ((len(line), True), (len(line) - 1, False)):
        gateway = lab.gateway(up=ScriptedAnswer([say("a"), line + b"\n\n", DONE]), limits=Limits(event_mib=most / MIB))
        call = await Call("POST", CHAT, chat()).answered(gateway)
        assert (text_of(call.body) == "a" + "x" * 2000) == sound
        assert failed_with(call, f"an event of more than {most} bytes") != sound


async def test_an_event_without_end_is_not_waited_for(lab: Lab) -> None:
    steps: list[Step] = [b"data: ", *[b"x" * 1000] * 20, FOREVER]
    gateway = lab.gateway(up=ScriptedAnswer(steps), limits=Limits(event_mib=0.01))
    call = await Call("POST", CHAT, chat()).answered(gateway)
    assert (call.status, "an event of more than 10485 bytes" in call.message) == (502, True)
    assert lab.upstreams["up"].answers[0].closed


@pytest.mark.parametrize("cut", [1, 1000, 1 << 20])
async def test_a_whole_answer(lab: Lab, cut: int) -> None:
    data = say("first") + b": comment\n\n" * 100 + DONE
    pieces = [data[place : place + cut] for place in range(0, len(data), cut)]
    for most, sound in ((len(data), True), (len(data) - len(DONE) - 1, False)):
        gateway = lab.gateway(up=ScriptedAnswer(pieces), limits=Limits(answer_mib=most / MIB))
        call = await Call("POST", CHAT, chat()).answered(gateway)
        assert text_of(call.body) == "first"
        assert failed_with(call, f"more than {most} bytes") != sound


def call_of(number: int) -> bytes:
    function = {"name": "run", "arguments": '{"command": '}
    return chunk({"tool_calls": [{"index": number, "id": f"c{number}", "type": "function", "function": function}]})


async def test_open_calls(lab: Lab) -> None:
    for most, sound in ((3, True), (2, False)):
        steps: list[Step] = [*map(call_of, range(3)), FOREVER]
        gateway = lab.gateway(up=ScriptedAnswer(steps), limits=Limits(open_calls=most), timeouts=Timeouts(idle=0.02))
        call = await Call("POST", CHAT, chat()).answered(gateway)
        assert failed_with(call, f"more than {most} tool calls at the same time") != sound
        assert failed_with(call, "was silent") == sound


def arguments(text: str) -> list[bytes]:
    pieces = [text[place : place + 50] for place in range(0, len(text), 50)]
    head = {"index": 0, "id": "c1", "type": "function", "function": {"name": "run", "arguments": ""}}
    deltas = [{"tool_calls": [head]}]
    deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces]
    return [*map(chunk, deltas), chunk({}, "tool_calls"), DONE]


@pytest.mark.parametrize("client", ["chat", "messages", "gemini", "responses"])
async def test_arguments_of_a_call(lab: Lab, client: str) -> None:
    text = json.dumps({"command": "x" * 1000})
    for most, sound in ((len(text), True), (len(text) - 1, False)):
        gateway = lab.gateway(up=ScriptedAnswer(arguments(text)), limits=Limits(arguments_mib=most / MIB))
        call = await asked(client).answered(gateway)
        told = f"the arguments of a call have more than {most:,} characters"
        assert (told.encode() in call.body) != sound
        assert b"x" * 45 in call.body or client == "gemini"


async def test_arguments_in_one_piece(lab: Lab) -> None:
    args = {"command": "x" * 1000}
    data = {"candidates": [{"content": {"role": "model", "parts": [{"functionCall": {"name": "run", "args": args}}]}}]}
    size = len(jsontext.render(args))
    for most, sound in ((size, True), (size - 1, False)):
        steps = [event({**data, "candidates": [{**data["candidates"][0], "finishReason": "STOP"}]})]
        gateway = lab.gateway(dialect="gemini", up=ScriptedAnswer(steps), limits=Limits(arguments_mib=most / MIB))
        call = await Call("POST", CHAT, chat()).answered(gateway)
        assert (b"the arguments of a call have more than" in call.body) != sound


async def test_freeform_input_of_a_call(lab: Lab) -> None:
    def step(kind: str, **members: Any) -> bytes:
        return event({"type": f"response.{kind}", "output_index": 0, **members})

    item = {"type": "custom_tool_call", "id": "ct_1", "call_id": "c1", "name": "run", "input": ""}
    steps = [
        step("created", response={"id": "r1", "status": "in_progress", "output": []}),
        step("output_item.added", item=item),
        *[step("custom_tool_call_input.delta", item_id="ct_1", delta="y" * 100) for _ in range(10)],
        step("output_item.done", item={**item, "input": "y" * 1000}),
        step("completed", response={"id": "r1", "status": "completed", "output": []}),
    ]
    tools = [{"type": "custom", "name": "run"}]
    for most, sound in ((1000, True), (999, False)):
        gateway = lab.gateway(dialect="responses", up=ScriptedAnswer(steps), limits=Limits(arguments_mib=most / MIB))
        call = await asked("responses", tools=tools).answered(gateway)
        assert (b"more than 999 characters" in call.body) != sound


@pytest.mark.parametrize("status", [400, 500])
async def test_the_body_of_an_error(lab: Lab, status: int) -> None:
    body = failure("it broke")
    for most, words in ((len(body), "it broke"), (len(body) - 1, '{"error"')):
        answer = ScriptedAnswer([body[:9], body[9:]], status=status)
        gateway = lab.gateway(up=answer, limits=Limits(error_kib=most / KIB))
        call = await Call("POST", CHAT, chat()).answered(gateway)
        assert (call.status, call.message.startswith(words)) == (status, True)


async def test_an_error_without_end_is_not_waited_for(lab: Lab) -> None:
    answer = ScriptedAnswer([*[b"no room here " * 100] * 100, FOREVER], status=503, headers={"retry-after": "3"})
    call = await Call("POST", MESSAGES, messages()).answered(lab.gateway(up=answer))
    assert (call.status, call.headers["retry-after"]) == (503, "3")
    assert len(call.message.encode()) <= 2048
    assert answer.closed


async def test_depth_of_an_event(lab: Lab) -> None:
    for depth, sound in ((jsontext.DEPTH - 1, True), (jsontext.DEPTH, False), (100_000, False)):
        odd = f'data: {{"odd": {deep(depth)}, "choices": []}}\n\n'.encode()
        call = await Call("POST", CHAT, chat()).answered(lab.gateway(up=ScriptedAnswer([say("a"), odd, DONE])))
        assert text_of(call.body) == "a"
        assert (b'"error"' in call.body) != sound, depth


@pytest.mark.parametrize("client", ["chat", "messages", "gemini", "responses"])
async def test_depth_of_arguments(lab: Lab, client: str) -> None:
    """They are text in some dialects, and go out as they are; where they are an object, they are wrapped."""
    for depth in (jsontext.DEPTH, jsontext.DEPTH + 1, 100_000):
        gateway = lab.gateway(up=ScriptedAnswer(arguments(deep(depth))), limits=Limits(event_mib=8, answer_mib=64))
        call = await asked(client).answered(gateway)
        assert call.status == 200
        wrapped = b"INVALID_JSON" in call.body
        assert wrapped == (client == "gemini" and depth > jsontext.DEPTH)


@pytest.mark.parametrize("index", [10**9, 10**18, 10**400, -1, 1.5, 1e308, "7", "x", None, True, [1]])
@pytest.mark.parametrize("upstream", ["chat", "messages", "responses"])
async def test_an_index_is_a_name_and_no_size(lab: Lab, upstream: str, index: Any) -> None:
    steps = {"chat": _chat, "messages": _messages, "responses": _responses}[upstream](index)
    gateway = lab.gateway(dialect=upstream, up=ScriptedAnswer(steps))
    call = await Call("POST", CHAT, {**chat(stream=False), "tools": asking.ask("chat", "m").body["tools"]}).answered(
        gateway
    )
    assert call.status == 200, call.body
    (made,) = call.json["choices"][0]["message"]["tool_calls"]
    assert made["function"] == {"name": "run", "arguments": '{"command":"ls"}'}


def _chat(index: Any) -> list[bytes]:
    head = {"index": index, "id": "c1", "type": "function", "function": {"name": "run", "arguments": ""}}
    more = {"index": index, "function": {"arguments": '{"command":"ls"}'}}
    return [chunk({"tool_calls": [head]}), chunk({"tool_calls": [more]}), chunk({}, "tool_calls"), DONE]


def _messages(index: Any) -> list[bytes]:
    start = {"id": "m1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": {}}
    block = {"type": "tool_use", "id": "t1", "name": "run", "input": {}}
    delta = {"type": "input_json_delta", "partial_json": '{"command":"ls"}'}
    return [
        event({"type": "message_start", "message": start}),
        event({"type": "content_block_start", "index": index, "content_block": block}),
        event({"type": "content_block_delta", "index": index, "delta": delta}),
        event({"type": "content_block_stop", "index": index}),
        event({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 1}}),
        event({"type": "message_stop"}),
    ]


def _responses(index: Any) -> list[bytes]:
    item = {"type": "function_call", "id": "f1", "call_id": "c1", "name": "run", "arguments": ""}
    place = {"output_index": index, "item_id": "f1"}
    done = {**item, "arguments": '{"command":"ls"}'}
    return [
        event({"type": "response.created", "response": {"id": "r1", "output": []}}),
        event({"type": "response.output_item.added", "output_index": index, "item": item}),
        event({"type": "response.function_call_arguments.delta", "delta": '{"command":"ls"}', **place}),
        event({"type": "response.output_item.done", "output_index": index, "item": done}),
        event({"type": "response.completed", "response": {"id": "r1", "status": "completed", "output": [done]}}),
    ]


@pytest.mark.parametrize("index", [10**9, 10**18, -1, "x", None])
async def test_a_choice_of_any_number_is_the_one_that_was_asked_for(lab: Lab, index: Any) -> None:
    piece = event({"choices": [{"index": index, "delta": {"content": "hi"}, "finish_reason": "stop"}]})
    call = await Call("POST", CHAT, chat()).answered(lab.gateway(up=ScriptedAnswer([piece, DONE])))
    assert text_of(call.body) == "hi"
