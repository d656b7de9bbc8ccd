"""When things happen in a turn: time-outs, beats, clients that leave, the end of the gateway."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dragoman.dialects.contract import UpstreamRequest
from dragoman.gateway import turn
from dragoman.gateway.settings import Timeouts
from dragoman.upstreams.scripted import ScriptedAnswer
from tests.gateway.asgi import Call
from tests.gateway.conftest import Lab
from tests.gateway.wires import CHAT, DONE, FOREVER, MESSAGES, PAIR, ROLE, chat, gone, messages, say, text_of, whole

# ---- time


async def test_silence_before_the_first_event(lab: Lab) -> None:
    times = Timeouts(first_event=0.02)
    gateway = lab.gateway(up=lambda _: ScriptedAnswer([ROLE, FOREVER]), timeouts=times)
    for stream in (True, False):
        call = await Call("POST", CHAT, chat(stream=stream)).answered(gateway)
        assert call.status == 504
        assert lab.upstreams["up"].answers[-1].closed


async def test_a_head_that_never_comes(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(_: UpstreamRequest) -> ScriptedAnswer:
        await asyncio.sleep(FOREVER)
        raise AssertionError

    gateway = lab.gateway(up=ScriptedAnswer([]), timeouts=Timeouts(first_event=0.02))
    monkeypatch.setattr(lab.upstreams["up"], "send", never)
    call = await Call("POST", CHAT, chat()).answered(gateway)
    assert call.status == 504


async def test_the_body_of_an_error_is_not_waited_for_so_long(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its status is known already: another upstream can be asked, or the client told."""
    monkeypatch.setattr(turn, "_ERROR_WAIT", 0.02)
    gateway = lab.gateway(up=ScriptedAnswer([b'{"error', FOREVER], status=429, headers={"retry-after": "9"}))
    call = await Call("POST", CHAT, chat()).answered(gateway)
    assert (call.status, call.headers["retry-after"]) == (429, "9")
    assert lab.upstreams["up"].answers[-1].closed


async def test_comments_are_no_event(lab: Lab) -> None:
    steps = [step for _ in range(1000) for step in (b": working\n\n", 0.001)]
    gateway = lab.gateway(up=ScriptedAnswer(steps), timeouts=Timeouts(first_event=0.02))
    call = await Call("POST", CHAT, chat()).answered(gateway)
    assert call.status == 504


async def test_silence_in_the_middle(lab: Lab) -> None:
    gateway = lab.gateway(up=ScriptedAnswer([say("half"), FOREVER]), timeouts=Timeouts(idle=0.02))
    call = await Call("POST", CHAT, chat()).answered(gateway)
    assert (call.status, text_of(call.body)) == (200, "half")
    assert b'"error"' in call.body
    assert lab.upstreams["up"].answers[-1].closed


async def test_an_answer_without_end(lab: Lab) -> None:
    steps = [step for _ in range(10_000) for step in (say("."), 0.001)]
    gateway = lab.gateway(up=ScriptedAnswer(steps), timeouts=Timeouts(total=0.05))
    call = await Call("POST", CHAT, chat()).answered(gateway)
    assert b"more than 0.05 s" in call.body


async def test_the_total_counts_even_if_the_upstream_never_pauses(lab: Lab) -> None:
    gateway = lab.gateway(up=ScriptedAnswer([say("x")] * 1_000_000), timeouts=Timeouts(total=0.05))
    call = await Call("POST", CHAT, chat()).answered(gateway)
    assert b"more than 0.05 s" in call.body


async def test_the_head_goes_out_in_time_and_beats_follow(lab: Lab) -> None:
    times = Timeouts(head=0.01, heartbeat=0.01)
    gateway = lab.gateway(up=ScriptedAnswer([ROLE, 0.1, say("late"), DONE]), timeouts=times)
    call = await Call("POST", CHAT, chat()).answered(gateway)
    assert (call.status, text_of(call.body)) == (200, "late")
    beats = [piece for piece in call.pieces if piece.startswith(b":")]
    assert beats
    assert call.pieces.index(beats[0]) < next(n for n, piece in enumerate(call.pieces) if b"late" in piece)


async def test_an_early_head_does_not_shorten_the_wait_for_the_first_event(lab: Lab) -> None:
    times = Timeouts(head=0.01, idle=0.02, first_event=FOREVER)
    gateway = lab.gateway(up=ScriptedAnswer([0.1, say("late"), DONE]), timeouts=times)
    call = await Call("POST", CHAT, chat()).answered(gateway)
    assert text_of(call.body) == "late"


async def test_a_failure_after_an_early_head_is_in_the_stream(lab: Lab) -> None:
    gateway = lab.gateway(up=ScriptedAnswer([0.05, gone("cut")]), timeouts=Timeouts(head=0.01))
    call = await Call("POST", MESSAGES, messages()).answered(gateway)
    assert call.status == 200
    assert b"event: error" in call.body


async def test_no_beats_in_a_whole_answer(lab: Lab) -> None:
    play = ScriptedAnswer([0.05, whole("ok")], headers={"content-type": "application/json"})
    gateway = lab.gateway(up=play, timeouts=Timeouts(head=0.01, heartbeat=0.01))
    call = await Call("POST", CHAT, chat(stream=False)).answered(gateway)
    assert len(call.pieces) == 1


# ---- leaving and stopping


@pytest.mark.parametrize("steps", [[ROLE, FOREVER], [say("text"), FOREVER]], ids=["before", "after"])
@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_leaves_ends_the_upstream_request(lab: Lab, steps: list[Any], stream: bool) -> None:
    asked = asyncio.Event()

    def play(_: UpstreamRequest) -> ScriptedAnswer:
        asked.set()
        return ScriptedAnswer(steps)

    call = Call("POST", CHAT, chat(stream=stream))
    task = asyncio.ensure_future(call.answered(lab.gateway(up=play)))
    await asked.wait()
    call.leave()
    await task
    assert lab.upstreams["up"].answers[0].closed
    assert lab.log[-1]["error"] == "client_left"


async def test_a_client_that_left_needs_no_second_target(lab: Lab) -> None:
    asked = asyncio.Event()

    def play(_: UpstreamRequest) -> ScriptedAnswer:
        asked.set()
        return ScriptedAnswer([FOREVER])

    gateway = lab.gateway(models=PAIR, a=play, b=ScriptedAnswer([DONE]), timeouts=Timeouts(first_event=0.05))
    call = Call("POST", CHAT, chat("pair"))
    task = asyncio.ensure_future(call.answered(gateway))
    await asked.wait()
    call.leave()
    await task
    assert lab.asked("b") == 0


async def test_the_end_of_the_drain(lab: Lab) -> None:
    gateway = lab.gateway(up=ScriptedAnswer([say("half"), FOREVER]))
    call = Call("POST", CHAT, chat())
    task = asyncio.ensure_future(call.answered(gateway))
    await call.begun()
    gateway.open_turns.end()
    await task
    assert text_of(call.body) == "half"
    assert b"being stopped" in call.body
    late = await Call("POST", CHAT, chat()).answered(gateway)
    assert late.status == 503
