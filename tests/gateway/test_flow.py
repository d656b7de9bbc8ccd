"""A server that takes pieces without a coroutine (``dragoman.write``), and a client that is slow to take them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dragoman.gateway.client import Message
from dragoman.gateway.settings import Timeouts
from dragoman.upstreams.scripted import ScriptedAnswer
from tests.gateway.asgi import Call
from tests.gateway.conftest import Lab
from tests.gateway.wires import CHAT, DONE, FOREVER, ROLE, chat, gone, say, text_of


class QuickCall(Call):
    """``now`` has what came without a coroutine. ``full`` the client can take no more, until ``room``."""

    def __init__(self, *arguments: Any, full: bool = False) -> None:
        super().__init__(*arguments)
        self.scope["dragoman.write"] = self._write
        self.now: list[bytes] = []
        self.room = asyncio.Event()
        self.waits = asyncio.Event()
        self._full = full

    def _write(self, data: bytes) -> bool:
        assert self.status
        assert not self.ended
        assert data
        self.now.append(data)
        self.pieces.append(data)
        return not self._full

    async def _send(self, message: Message) -> None:
        if self._full and self.now and not self.room.is_set():
            self.waits.set()
            await self.room.wait()
        await super()._send(message)


async def test_a_stream() -> None:
    """The head and what comes with it are sent, the rest is written."""
    call = QuickCall("POST", CHAT, chat())
    gateway = Lab().gateway(up=ScriptedAnswer([ROLE, say("one"), 0.0, say("two"), say("three"), DONE]))
    await call.answered(gateway)
    assert text_of(call.body) == "onetwothree"
    assert call.body.endswith(b"data: [DONE]\n\n")
    assert text_of(b"".join(call.now)) == "twothree"
    assert call.ended


@pytest.mark.parametrize("end", [gone("cut"), b"data: {\n\n", b""])
async def test_a_failure(end: Any) -> None:
    call = QuickCall("POST", CHAT, chat())
    await call.answered(Lab().gateway(up=ScriptedAnswer([say("one"), say("two"), end])))
    assert text_of(call.body) == "onetwo"
    assert b'"error"' in call.body
    assert call.ended


async def test_a_whole_answer_needs_no_stream() -> None:
    call = QuickCall("POST", CHAT, chat(stream=False))
    await call.answered(Lab().gateway(up=ScriptedAnswer([say("one"), say("two"), DONE])))
    assert call.json["choices"][0]["message"]["content"] == "onetwo"
    assert call.now == []


async def test_a_slow_client_holds_the_upstream() -> None:
    lab = Lab()
    call = QuickCall("POST", CHAT, chat(), full=True)
    answer = ScriptedAnswer([say("one"), say("two"), say("three"), DONE])
    task = asyncio.ensure_future(call.answered(lab.gateway(up=answer)))
    await call.waits.wait()
    assert text_of(call.body) == "onetwo"
    call.room.set()
    await task
    assert text_of(call.body) == "onetwothree"


async def test_the_client_s_slowness_is_not_the_upstream_s_silence() -> None:
    call = QuickCall("POST", CHAT, chat(), full=True)
    gateway = Lab().gateway(
        up=ScriptedAnswer([say("one"), say("two"), 0.01, say("three"), DONE]), timeouts=Timeouts(idle=0.04)
    )
    task = asyncio.ensure_future(call.answered(gateway))
    await call.waits.wait()
    await asyncio.sleep(0.08)  # twice the idle time
    call.room.set()
    await task
    assert text_of(call.body) == "onetwothree"
    assert b'"error"' not in call.body


async def test_silence_in_a_flow() -> None:
    call = QuickCall("POST", CHAT, chat())
    gateway = Lab().gateway(up=ScriptedAnswer([say("one"), say("two"), FOREVER]), timeouts=Timeouts(idle=0.02))
    await call.answered(gateway)
    assert text_of(call.body) == "onetwo"
    assert b"silent for 0.02 s" in call.body


async def test_beats_in_a_flow() -> None:
    call = QuickCall("POST", CHAT, chat())
    times = Timeouts(heartbeat=0.01, idle=FOREVER)
    await call.answered(
        Lab().gateway(up=ScriptedAnswer([say("one"), say("two"), 0.05, say("three"), DONE]), timeouts=times)
    )
    assert text_of(call.body) == "onetwothree"
    assert any(piece.startswith(b":") for piece in call.pieces)


async def test_the_end_of_the_drain_in_a_flow() -> None:
    gateway = Lab().gateway(up=ScriptedAnswer([say("one"), say("two"), FOREVER]))
    call = QuickCall("POST", CHAT, chat())
    task = asyncio.ensure_future(call.answered(gateway))
    while not call.now:
        await asyncio.sleep(0)
    gateway.open_turns.end()
    await task
    assert b"being stopped" in call.body
