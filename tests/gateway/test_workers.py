"""``dragoman serve --workers N``: one address, one memory, and nobody is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import pickle
import signal
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.gateway.channel import Begin
from dragoman.gateway.config import load
from dragoman.gateway.discovery import Found
from dragoman.gateway.listeners import Listeners
from dragoman.gateway.settings import Address
from tests.gateway.processes import PATIENCE, Served, alive, configure, serving, started, until
from tests.gateway.sockets import HEAD, LAST, Connection, RawClient, RawUpstream, chunked
from tests.gateway.wires import CHAT, DONE, ROLE, chat, chunk, say, text_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked at through /proc")

Json = dict[str, Any]


class Upstream(RawUpstream):
    """Sends the first pieces of each answer, the rest once ``go_on`` is set; for each request the next answer."""

    def __init__(self, *answers: tuple[bytes, ...]) -> None:
        super().__init__(self._answer)
        self.go_on = asyncio.Event()
        self.go_on.set()
        self._answers = list(answers)

    @property
    def asked(self) -> list[Json]:
        return [json.loads(body) for body in self.bodies]

    async def _answer(self, connection: Connection) -> bool:
        first, *rest = self._answers[0] if len(self._answers) == 1 else self._answers.pop(0)
        await connection.send(HEAD + chunked(first))
        await self.go_on.wait()
        await connection.send(b"".join(map(chunked, rest)) + LAST)
        return True


HELLO = (ROLE + say("hello"), say(" and goodbye") + DONE)


def of_messages(*events: Json) -> tuple[bytes, bytes]:
    made = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]
    return made[0], b"".join(made[1:])


def thinking(name: str) -> tuple[bytes, bytes]:
    """An answer of the messages dialect: signed thought, then a call."""
    start = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    return of_messages(
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "I should look."}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2lnbmVk"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "toolu_1", "name": name, "input": {}}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"a":1}'}},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    )  # fmt: skip


def calls(*names: str) -> tuple[bytes, bytes]:
    """A chat answer that calls these."""
    made = [
        {"index": place, "id": f"call_{place}", "type": "function", "function": {"name": name, "arguments": '{"a":1}'}}
        for place, name in enumerate(names)
    ]
    return ROLE, chunk({"tool_calls": made}) + chunk({}, "tool_calls") + b"data: [DONE]\n\n"


def declared(name: str) -> Json:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}


def called(body: bytes) -> list[Json]:
    """The calls in a chat stream."""
    found: dict[int, Json] = {}
    for line in body.split(b"\n\n"):
        for choice in json.loads(line[6:])["choices"] if line.startswith(b"data: {") else ():
            for call in choice["delta"].get("tool_calls", ()):
                known = found.setdefault(
                    call["index"], {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
                )
                known["id"] += call.get("id") or ""
                for member in ("name", "arguments"):
                    known["function"][member] += call["function"].get(member) or ""
    return list(found.values())


async def asked(client: RawClient, path: str, body: Json) -> bytes:
    await client.ask(path, body)
    status, answer = await client.answer()
    assert status == 200, answer
    return answer


@contextlib.asynccontextmanager
async def pair(
    folder: Path, upstream: RawUpstream, dialect: str = "chat", **more: Any
) -> AsyncIterator[tuple[Served, RawClient, RawClient]]:
    """A gateway with two workers, and a connection to each."""
    async with upstream:
        file = configure(folder, upstream.port, dialect, **more)
        async with serving(folder, "--config", file, "--workers", "2") as served:
            yield served, await served.client_of(1), await served.client_of(2)


# ---- what they share


async def test_an_answer_can_be_gone_on_from_anywhere(tmp_path: Path) -> None:
    upstream = Upstream(HELLO)
    async with pair(tmp_path, upstream) as (_, one, other):
        body = {"model": "up/m", "input": "one", "stream": True}
        made = (await asked(one, "/v1/responses", body)).strip().rpartition(b"data: ")[2]
        id = json.loads(made)["response"]["id"]
        await asked(other, "/v1/responses", {**body, "input": "two", "previous_response_id": id})
        said = [message["content"] for message in upstream.asked[-1]["messages"]]
        assert said == ["one", "hello and goodbye", "two"]
        await other.send(f"GET /v1/responses/{id} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode())
        assert (await other.answer())[0] == 200


async def test_reasoning_that_a_client_forgets_is_remembered_everywhere(tmp_path: Path) -> None:
    upstream = Upstream(thinking("look"), thinking("look"))
    async with pair(tmp_path, upstream, "messages") as (_, one, other):
        body = {**chat(), "tools": [declared("look")]}
        (call,) = called(await asked(one, CHAT, body))
        turn = {"role": "assistant", "content": None, "tool_calls": [call]}
        result = {"role": "tool", "tool_call_id": call["id"], "content": "found"}
        await asked(other, CHAT, {**body, "messages": [*body["messages"], turn, result]})
        thought, use = upstream.asked[-1]["messages"][1]["content"]
        assert thought == {"type": "thinking", "thinking": "I should look.", "signature": "c2lnbmVk"}
        assert (use["type"], use["id"]) == ("tool_use", "toolu_1")


async def test_turns_with_tools_of_the_gateway_are_completed_everywhere(tmp_path: Path) -> None:
    (tmp_path / "tools_of_mine.py").write_text("def find(a: int) -> str:\n    return f'found {a}'\n")
    upstream = Upstream(calls("mine__find", "look"), HELLO)
    tools = {"mine": {"python": "tools_of_mine:find"}}
    async with pair(tmp_path, upstream, tools=tools) as (_, one, other):
        body = {**chat(), "tools": [declared("look")]}
        (call,) = called(await asked(one, CHAT, body))
        assert call["function"]["name"] == "look"
        turn = {"role": "assistant", "content": None, "tool_calls": [call]}
        result = {"role": "tool", "tool_call_id": call["id"], "content": "seen"}
        await asked(other, CHAT, {**body, "messages": [*body["messages"], turn, result]})
        _, made, *results = upstream.asked[-1]["messages"]
        assert [one["function"]["name"] for one in made["tool_calls"]] == ["mine__find", "look"]
        assert {one["content"] for one in results} == {"found 1", "seen"}


async def test_only_its_user_can_read_what_they_share(tmp_path: Path) -> None:
    async with pair(tmp_path, Upstream(HELLO)) as (served, _, _):
        (folder,) = served.temporary.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}


async def test_what_clears_old_files_leaves_them(tmp_path: Path) -> None:
    async with pair(tmp_path, Upstream(HELLO)) as (served, *_):
        (folder,) = served.temporary.iterdir()
        descriptor = os.open(folder, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(descriptor)


async def test_a_state_of_its_own_is_kept_in_its_file(tmp_path: Path) -> None:
    state = {"url": f"sqlite:///{tmp_path}/state.db"}
    async with pair(tmp_path, Upstream(HELLO), state=state) as (served, one, other):
        made = await asked(one, "/v1/responses", {"model": "up/m", "input": "one", "stream": True})
        id = json.loads(made.strip().rpartition(b"data: ")[2])["response"]["id"]
        await asked(other, "/v1/responses", {"model": "up/m", "input": "two", "previous_response_id": id})
        (folder,) = served.temporary.iterdir()
        assert not (folder / "answers.db").exists()
    assert (tmp_path / "state.db").exists()


# ---- their life


async def stopped(served: Served) -> None:
    """It has ended well, and left nothing behind."""
    workers = served.workers
    assert await served.ended() == 0
    assert not any(map(alive, workers))
    assert list(served.temporary.iterdir()) == []


async def test_they_say_where_they_listen_once(tmp_path: Path) -> None:
    async with serving(tmp_path, "--demo", "--workers", "3") as served:
        assert len(served.workers) == 3
        served.process.send_signal(signal.SIGTERM)
        assert served.process.stdout
        said = served.said + (await served.process.stdout.read()).decode()
        assert said.count("dragoman listens on") == said.count("curl") == 1
        assert "(--demo, 3 workers)" in said
        await stopped(served)
        assert served.log == []


async def test_one_that_dies_is_started_again(tmp_path: Path) -> None:
    upstream = Upstream(HELLO)
    async with pair(tmp_path, upstream) as (served, one, other):
        body = {"model": "up/m", "input": "one", "stream": True}
        made = await asked(one, "/v1/responses", body)
        id = json.loads(made.strip().rpartition(b"data: ")[2])["response"]["id"]
        before = served.workers
        os.kill(before[0], signal.SIGKILL)
        line = await served.line(lambda line: "ended" in line)
        assert line["ended"] == f"the worker {line['worker']} ended (SIGKILL)"
        assert await (other if line["worker"] == 1 else one).reader.read(0) == b""
        again = await served.client_of(line["worker"])
        await asked(again, "/v1/responses", {**body, "previous_response_id": id})
        assert len(set(served.workers) - set(before)) == 1
        served.process.send_signal(signal.SIGTERM)
        await stopped(served)


async def test_one_that_dies_again_and_again_is_given_time(tmp_path: Path) -> None:
    async with serving(tmp_path, "--demo", "--workers", "2") as served:
        _, last = served.workers
        for pause in (0.1, 0.2, 0.4):
            before = set(served.workers)
            os.kill(last, signal.SIGKILL)
            await served.line(lambda line, pause=pause: line.get("starts_again_in_s") == pause)  # type: ignore[misc]
            await until(lambda before=before: bool(set(served.workers) - before))  # type: ignore[misc]
            (last,) = set(served.workers) - before
        served.process.send_signal(signal.SIGTERM)
        await stopped(served)


async def test_one_that_is_started_again_serves_by_the_configuration_in_force(tmp_path: Path) -> None:
    async with Upstream(HELLO) as new, pair(tmp_path, Upstream(HELLO)) as (served, *_):
        configure(tmp_path, new.port)
        assert await served.reload(signal.SIGHUP) == {"reload": "done"}
        (tmp_path / "dragoman.test.yaml").write_text("no: such: thing")
        os.kill(served.workers[0], signal.SIGKILL)
        line = await served.line(lambda line: "ended" in line)
        await asked(await served.client_of(line["worker"]), CHAT, chat())
        assert len(new.asked) == 1


async def test_a_stop_lets_the_streams_of_all_end(tmp_path: Path) -> None:
    upstream = Upstream(HELLO)
    async with pair(tmp_path, upstream) as (served, *clients):
        upstream.go_on.clear()
        first = []
        for client in clients:
            await client.ask(CHAT, chat())
            await client.head()
            first.append(await client.piece())
        served.process.send_signal(signal.SIGINT)
        async with asyncio.timeout(PATIENCE):
            with contextlib.suppress(ConnectionRefusedError):
                while True:
                    (await RawClient.connect(served.port)).close()
                    await asyncio.sleep(0.02)
        assert len(served.workers) == 2
        upstream.go_on.set()
        for begun, client in zip(first, clients, strict=True):
            assert text_of(begun + await client.body()) == "hello and goodbye"
        await stopped(served)


async def test_a_second_interrupt_ends_all_at_once(tmp_path: Path) -> None:
    upstream = Upstream(HELLO)
    async with pair(tmp_path, upstream) as (served, client, _):
        upstream.go_on.clear()
        await client.ask(CHAT, chat())
        await client.head()
        await client.piece()
        served.process.send_signal(signal.SIGINT)
        await asyncio.sleep(0.2)  # two signals at the same time are one
        served.process.send_signal(signal.SIGINT)
        await stopped(served)


async def test_without_their_supervisor_they_end(tmp_path: Path) -> None:
    async with pair(tmp_path, Upstream(HELLO)) as (served, *_):
        workers = served.workers
        served.process.kill()
        await until(lambda: not any(map(alive, workers)))
        await until(lambda: list(served.temporary.iterdir()) == [])


# ---- another configuration


async def test_a_reload_reaches_all_of_them(tmp_path: Path) -> None:
    old = Upstream(HELLO)
    async with Upstream((ROLE + say("new"), DONE)) as new, pair(tmp_path, old) as (served, *clients):
        old.go_on.clear()
        under_way = await served.client_of(1)
        await under_way.ask(CHAT, chat())
        await under_way.head()
        begun = await under_way.piece()
        configure(tmp_path, new.port)
        assert await served.reload(signal.SIGHUP) == {"reload": "done"}
        for client in clients:
            assert text_of(await asked(client, CHAT, chat())) == "new"
        old.go_on.set()
        assert text_of(begun + await under_way.body()) == "hello and goodbye"


async def test_mistakes_change_nothing_in_any_of_them(tmp_path: Path) -> None:
    upstream = Upstream(HELLO)
    async with pair(tmp_path, upstream) as (served, *clients):
        configure(tmp_path, 1, models={"x": ["nowhere/m"]}, keys=[""])
        line = await served.reload(signal.SIGHUP)
        assert [mistake.partition(":")[0] for mistake in line["mistakes"]] == ["keys[0]", "models.x[0]"]
        configure(tmp_path, 1, tools={"mine": {"python": "no_such_module:at_all"}})  # what only a worker can find
        line = await served.reload(signal.SIGHUP)
        assert line["mistakes"][0].startswith("tools.mine.python: no_such_module cannot be imported")
        for client in clients:
            assert text_of(await asked(client, CHAT, chat())) == "hello and goodbye"
        configure(tmp_path, upstream.port, timeouts={"idle": 5})
        assert await served.reload(signal.SIGHUP) == {"reload": "done"}


# ---- a start that fails


async def test_mistakes_that_only_a_worker_can_find_are_told_once(tmp_path: Path) -> None:
    file = configure(tmp_path, 1, tools={"mine": {"python": "no_such_module:at_all"}})
    async with started(tmp_path, "--config", file, "--workers", "2") as served:
        assert await served.ended() == 2
        first, *more = [line["text"] for line in served.log]
        assert first == "dragoman: the configuration has mistakes:"
        assert len(more) == 1
        assert more[0].startswith("  tools.mine.python: no_such_module cannot be imported")
        assert list(served.temporary.iterdir()) == []


async def test_a_state_that_cannot_be_kept(tmp_path: Path) -> None:
    file = configure(tmp_path, 1, state={"url": "sqlite:///no/such/folder.db"}, workers=2)
    async with started(tmp_path, "--config", file) as served:
        assert await served.ended() == 2
        assert "state.url: the file cannot be used" in served.log[1]["text"]


async def test_a_port_in_use(tmp_path: Path) -> None:
    async with serving(tmp_path, "--demo", "--workers", "2") as served:
        port = str(served.port)
        for workers in ("1", "2"):
            async with started(tmp_path, "--demo", "--port", port, "--workers", workers) as second:
                assert await second.ended() == 1
                assert f"cannot listen on 127.0.0.1:{port}" in second.log[0]["text"]


def test_all_of_a_configuration_reaches_them() -> None:
    text = """
    keys: [$KEY]
    upstreams:
      up: {dialect: chat, base_url: "http://127.0.0.1:1/v1", api_key: $KEY, headers: {x-a: b},
           accepts: {thinking: false, betas: [a]}, models: {"*": {accepts: {max_output_tokens: 5}}}}
    models: {"a*": ["up/*"]}
    tools:
      one: {mcp: {command: [x], env: {A: $KEY}}, approval: {"*": deny}}
      two: {mcp: {url: "http://127.0.0.1:1/mcp?key=a", headers: {x-key: $KEY}}}
      three: {python: "a.b:c"}
    """
    settings = load(text, {"KEY": "sk-secret"})
    found = Found(settings, "a file", Path("a/file"))
    other = pickle.loads(pickle.dumps(Begin(number=1, found=found, folder=Path("x"), since=5))).found
    assert (other.source, other.file) == (found.source, found.file)
    assert other.settings.tools == settings.tools
    assert other.settings.keys[0].reveal() == "sk-secret"
    up, same = settings.upstreams["up"], other.settings.upstreams["up"]
    assert same.api_key
    assert same.api_key.reveal() == "sk-secret"
    assert msgspec.structs.replace(same, api_key=None) == msgspec.structs.replace(up, api_key=None)
    plain = [msgspec.structs.replace(one, keys=[], upstreams={}) for one in (settings, other.settings)]
    assert plain[0] == plain[1]
    assert "sk-secret" not in repr(other)


# ---- the address


@pytest.mark.parametrize("spread", [True, False])
def test_listeners(spread: bool) -> None:
    listeners = Listeners(Address("127.0.0.1", 0), spread=spread)
    one, other = listeners.new(), listeners.new()
    if spread:
        with pytest.raises(ConnectionRefusedError):  # the address is held, but nobody serves yet
            socket.create_connection(("127.0.0.1", listeners.port))
    one.listen()
    other.listen()
    assert one.getsockname()[1] == other.getsockname()[1] == listeners.port
    one.close()
    for _ in range(20):  # of one that is closed nothing is lost on the other
        with socket.create_connection(("127.0.0.1", listeners.port)):
            other.accept()[0].close()
    with pytest.raises(OSError, match="in use"):
        Listeners(Address("127.0.0.1", listeners.port), spread=spread)
    port = listeners.port
    other.close()
    listeners.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
