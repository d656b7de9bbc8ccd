"""A model with several targets: when the next is asked, when one is passed over, what the client is told at last."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from dragoman import dialects
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.dialects.contract import UpstreamRequest
from dragoman.gateway.app import Gateway
from dragoman.gateway.settings import FailoverSettings, Timeouts
from dragoman.upstreams.interface import UpstreamError
from dragoman.upstreams.scripted import ScriptedAnswer, Step
from tests import asking
from tests.gateway import wires
from tests.gateway.asgi import Call
from tests.gateway.conftest import Lab
from tests.gateway.wires import (
    CHAT,
    DONE,
    FOREVER,
    MESSAGES,
    PAIR,
    ROLE,
    chat,
    failure,
    gone,
    messages,
    say,
    text_of,
    whole,
)

NO_CREDIT = "Your credit balance is too low to access the API."


def refused(status: int, message: str = "no", **headers: str) -> Callable[[UpstreamRequest], ScriptedAnswer]:
    lines = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: ScriptedAnswer([failure(message)], status=status, headers=lines)


def streaming(*steps: Step) -> Callable[[UpstreamRequest], ScriptedAnswer]:
    return lambda _: ScriptedAnswer(list(steps))


def good(text: str = "from b") -> Callable[[UpstreamRequest], ScriptedAnswer]:
    return streaming(say(text), DONE)


async def ask(gateway: Gateway, *, stream: bool = True, model: str = "pair") -> Call:
    return await Call("POST", CHAT, chat(model, stream=stream)).answered(gateway)


def event_error(**members: Any) -> bytes:
    return wires.event({"error": {"message": "it is so", **members}})


# ---- when the next target is asked

WORTH_ANOTHER: dict[str, Any] = {
    "no-connection": gone(),
    "connect-time-out": UpstreamError(Error(kind=ErrorKind.UPSTREAM_TIMEOUT, message="late")),
    "402": refused(402, "Insufficient Balance"),
    "400-credit": refused(400, NO_CREDIT),
    "401-credit": refused(401, NO_CREDIT),
    "403-credit": refused(403, "Your team has used all available credits"),
    "429-quota": refused(429, "You exceeded your current quota"),
    "408": refused(408),
    "429": refused(429, retry_after="60"),
    "500": refused(500),
    "503": refused(503),
    "529": refused(529),
    "599": refused(599),
    "redirect": refused(307),
    "empty": streaming(),
    "comments": streaming(b": hello\n\n"),
    "only-a-role": streaming(ROLE),
    "only-done": streaming(b"data: [DONE]\n\n"),
    "html": streaming(b"<html><body>Please log in</body></html>"),
    "text": streaming(b"busy, come back later"),
    "half-a-document": streaming(b'{"choices": [{"mess'),
    "cut-before-text": streaming(ROLE, gone()),
    "corrupt-first": streaming(b'data: {"choices": [{\n\n'),
    "error-first": streaming(event_error(code=503)),
    "rate-limit-first": streaming(event_error(type="rate_limit_error")),
    "credit-first": streaming(wires.event({"error": {"message": NO_CREDIT, "code": 403}})),
    "event-error-first": streaming(b"event: error\n" + event_error()),
}


@pytest.mark.parametrize("first", WORTH_ANOTHER.values(), ids=WORTH_ANOTHER)
@pytest.mark.parametrize("stream", [True, False])
async def test_the_next_target_is_asked(lab: Lab, first: Any, stream: bool) -> None:
    gateway = lab.gateway(models=PAIR, a=first, b=good())
    call = await ask(gateway, stream=stream)
    assert (call.status, b"from b" in call.body) == (200, True)
    assert (lab.asked("a"), lab.asked("b")) == (1, 1)
    assert call.headers["x-dragoman-tried"] == "2"
    assert list(lab.log[-1]["failed"]) == ["a/x"]
    assert all(answer.closed for answer in lab.upstreams["a"].answers)


SAYS_IT_ALL: dict[str, Any] = {
    **{str(status): refused(status) for status in (400, 404, 405, 409, 413, 415, 422, 451)},
    "401": refused(401, "Incorrect API key provided"),
    "403": refused(403, "not in your country"),
    "context-first": streaming(event_error(code="context_length_exceeded")),
    "invalid-first": streaming(event_error(type="invalid_request_error")),
    "key-first": streaming(event_error(type="authentication_error")),
}


@pytest.mark.parametrize("first", SAYS_IT_ALL.values(), ids=SAYS_IT_ALL)
@pytest.mark.parametrize("stream", [True, False])
async def test_the_next_target_is_not_asked(lab: Lab, first: Any, stream: bool) -> None:
    gateway = lab.gateway(models=PAIR, a=first, b=good())
    call = await ask(gateway, stream=stream)
    assert call.status >= 400
    assert call.status not in (401, 403)
    assert (lab.asked("b"), "x-dragoman-tried" in call.headers) == (0, False)


async def test_a_gateways_key_that_was_refused_in_a_stream_is_not_the_clients(lab: Lab) -> None:
    call = await ask(lab.gateway(up=streaming(event_error(type="authentication_error"))), model="up/m")
    assert (call.status, call.json["error"]["code"]) == (502, "upstream_refused_gateway")


@pytest.mark.parametrize(
    "first",
    [streaming(say("from a"), gone()), streaming(say("from a")), streaming(say("from a"), event_error(code=503))],
    ids=["cut", "no-end", "error"],
)
async def test_nothing_is_glued_to_what_was_said(lab: Lab, first: Any) -> None:
    gateway = lab.gateway(models=PAIR, a=first, b=good())
    call = await ask(gateway)
    assert (text_of(call.body), lab.asked("b")) == ("from a", 0)
    assert b'"error"' in call.body


async def test_a_true_error_after_text(lab: Lab) -> None:
    steps = (say("half"), event_error(code=529, type="overloaded_error"))
    gateway = lab.gateway(models=PAIR, a=streaming(*steps), b=good())
    call = await Call("POST", MESSAGES, messages("pair")).answered(gateway)
    event = json.loads(call.body.rpartition(b"data: ")[2])
    assert (event["error"]["type"], event["error"]["message"]) == ("overloaded_error", "it is so")


async def test_what_a_whole_answer_lost_half_of_is_asked_again(lab: Lab) -> None:
    """Its client has not seen any of it, though the upstream streamed it."""
    gateway = lab.gateway(models=PAIR, a=streaming(say("half"), gone()), b=good())
    call = await ask(gateway, stream=False)
    assert (call.status, call.json["choices"][0]["message"]["content"]) == (200, "from b")


async def test_no_target_is_asked_twice(lab: Lab) -> None:
    models = {"pair": ["a/x", "a/y", "b/y"]}
    await ask(lab.gateway(models=models, a=refused(500), b=refused(500)))
    assert [request.body["model"] for request in lab.upstreams["a"].seen] == ["x", "y"]
    assert lab.asked("b") == 1


async def test_one_that_cannot_be_asked_this_is_passed_over(lab: Lab) -> None:
    gateway = lab.gateway(models=PAIR, dialect={"a": "chat", "b": "messages"}, a=good(), b=refused(500), strict=True)
    call = await Call("POST", MESSAGES, {**messages("pair"), "top_k": 5}).answered(gateway)
    assert (lab.asked("a"), lab.asked("b"), call.status) == (0, 1, 500)


# ---- after the head had to go out

LATE = Timeouts(head=0.01)


@pytest.mark.parametrize("end", [gone(), event_error(code=503)], ids=["cut", "error"])
async def test_a_stream_that_began_in_silence_gets_its_answer_from_the_next(lab: Lab, end: Step) -> None:
    gateway = lab.gateway(models=PAIR, a=streaming(ROLE, 0.05, end, FOREVER), b=good(), timeouts=LATE)
    call = await ask(gateway)
    assert (call.status, text_of(call.body)) == (200, "from b")
    assert call.body.count(b'"role":"assistant"') == 1
    assert b'"error"' not in call.body
    assert (lab.log[-1]["upstream"], lab.log[-1].get("error"), lab.log[-1]["finish"]) == ("b/y", None, "stop")


@pytest.mark.parametrize("spoken", ["chat", "messages", "gemini", "responses"])
async def test_so_it_is_when_the_time_is_up_and_the_next_speaks_another_dialect(lab: Lab, spoken: str) -> None:
    times = Timeouts(head=0.01, first_event=0.05, heartbeat=0.01)
    gateway = lab.gateway(
        models=PAIR, dialect={"a": spoken, "b": "chat"}, a=streaming(FOREVER), b=good(), timeouts=times
    )
    call = await Call("POST", MESSAGES, messages("pair")).answered(gateway)
    assert call.body.count(b"event: message_start") == 1
    assert call.body.count(b"event: message_stop") == 1
    assert b'"text_delta","text":"from b"' in call.body
    assert b": " in call.body  # it beat while it waited


@pytest.mark.parametrize("client", dialects.names())
@pytest.mark.parametrize("sound", [True, False])
async def test_what_a_strict_client_gets_of_two_targets_is_one_stream(lab: Lab, client: str, sound: bool) -> None:
    answer = good() if sound else streaming(event_error(code=503))
    gateway = lab.gateway(models=PAIR, a=streaming(0.05, gone()), b=answer, timeouts=LATE)
    asked = asking.ask(client, "pair")
    call = await Call("POST", asked.path.partition("?")[0], asked.body, query="alt=sse").answered(gateway)
    assert call.status == 200
    assert dialects.get(client).check(call.body) == []
    assert (b"from b" in call.body, b"it is so" in call.body) == (sound, not sound)


async def test_all_fail_after_the_head_went_out(lab: Lab) -> None:
    a, b = streaming(0.05, event_error(code=503)), refused(429, "b is busy", retry_after="7")
    call = await ask(lab.gateway(models=PAIR, a=a, b=b, timeouts=LATE))
    assert (call.status, b"b is busy" in call.body, b"it is so" in call.body) == (200, True, False)
    assert call.ended
    assert lab.log[-1]["error"] == "rate_limit"


# ---- what the client is told at last


async def test_the_last_of_different_failures(lab: Lab) -> None:
    gateway = lab.gateway(models=PAIR, a=refused(429, "a is busy", retry_after="5"), b=refused(503, "b broke"))
    told = {(call.status, call.message) for call in [await ask(gateway) for _ in range(4)]}
    assert told == {(503, "b broke")}
    assert (lab.asked("a"), lab.asked("b")) == (2, 4)  # the fourth time all cool down


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [("7", "30", "7"), ("30", "7", "7"), (None, "30", "30"), ("30", None, "30"), (None, None, None)],
)
async def test_the_soonest_if_all_were_too_busy(
    lab: Lab, first: str | None, second: str | None, told: str | None
) -> None:
    after = [{} if wait is None else {"retry_after": wait} for wait in (first, second)]
    call = await ask(lab.gateway(models=PAIR, a=refused(429, "a", **after[0]), b=refused(429, "b", **after[1])))
    assert (call.status, call.headers.get("retry-after")) == (429, told)


async def test_the_soonest_by_date(lab: Lab) -> None:
    far = "Wed, 21 Oct 2099 07:28:00 GMT"
    call = await ask(
        lab.gateway(models=PAIR, a=refused(429, "a", retry_after=far), b=refused(429, "b", retry_after="9"))
    )
    assert call.headers["retry-after"] == "9"


# ---- targets that cool down


async def test_a_target_that_keeps_failing_is_left_in_peace(lab: Lab) -> None:
    gateway = lab.gateway(models=PAIR, a=refused(500), b=good())
    for _ in range(5):
        assert text_of((await ask(gateway)).body) == "from b"
    assert (lab.asked("a"), lab.asked("b")) == (3, 5)
    assert (lab.log[-1]["cooling"], "tried" in lab.log[-1]) == (["a/x"], False)


async def test_the_bounds_are_configured(lab: Lab) -> None:
    bounds = FailoverSettings(failures=1, cool_down=5)
    gateway = lab.gateway(models=PAIR, a=refused(500), b=good(), failover=bounds)
    await ask(gateway)
    await ask(gateway)
    assert lab.asked("a") == 1
    lab.now += 5
    await ask(gateway)
    await ask(gateway)
    assert lab.asked("a") == 2


@pytest.mark.parametrize("status", [429, 503])
async def test_one_that_says_when_to_come_back_is_not_asked_before(lab: Lab, status: int) -> None:
    gateway = lab.gateway(models=PAIR, a=refused(status, retry_after="20"), b=good())
    for _ in range(3):
        await ask(gateway)
    assert lab.asked("a") == 1
    lab.now += 20
    await ask(gateway)
    assert lab.asked("a") == 2


async def test_a_model_with_one_target_is_asked_all_the_same(lab: Lab) -> None:
    gateway = lab.gateway(models={**PAIR, "alone": ["a/x"]}, a=refused(429, retry_after="20"), b=good())
    await ask(gateway)
    for model in ("alone", "a/x"):
        assert (await ask(gateway, model=model)).status == 429
    assert lab.asked("a") == 3
    await ask(gateway)
    assert lab.asked("a") == 3


async def test_another_model_there_is_another_target(lab: Lab) -> None:
    models = {**PAIR, "other": ["a/z", "b/y"]}
    gateway = lab.gateway(models=models, a=refused(429, retry_after="20"), b=good())
    await ask(gateway)
    await ask(gateway, model="other")
    assert [request.body["model"] for request in lab.upstreams["a"].seen] == ["x", "z"]


async def test_if_all_cool_down_all_are_asked_in_order(lab: Lab) -> None:
    gateway = lab.gateway(models=PAIR, a=refused(429, "a", retry_after="20"), b=refused(429, "b", retry_after="40"))
    for number in range(1, 4):
        call = await ask(gateway)
        assert (call.status, call.headers["retry-after"]) == (429, "20")
        assert (lab.asked("a"), lab.asked("b")) == (number, number)


async def test_the_only_one_left_that_can_be_asked_this_is_asked_though_it_cools_down(lab: Lab) -> None:
    gateway = lab.gateway(models=PAIR, dialect={"a": "messages", "b": "chat"}, a=refused(503), b=good(), strict=True)
    for _ in range(5):
        await Call("POST", MESSAGES, {**messages("pair"), "top_k": 5}).answered(gateway)
    assert (lab.asked("a"), lab.asked("b")) == (5, 0)


async def test_one_request_probes_and_the_others_pass_it_over_until_it_speaks(lab: Lab) -> None:
    answers = iter([failing := refused(500), failing, failing])
    spoken = asyncio.Event()
    asked = asyncio.Event()

    def play(request: UpstreamRequest) -> ScriptedAnswer:
        if (failed := next(answers, None)) is not None:
            return failed(request)
        asked.set()
        return Waiting([say("from a"), DONE], until=spoken)

    gateway = lab.gateway(models=PAIR, a=play, b=good())
    for _ in range(3):
        await ask(gateway)
    lab.now += 30
    probe = asyncio.ensure_future(ask(gateway))
    await asked.wait()
    for _ in range(2):
        assert text_of((await ask(gateway)).body) == "from b"
    spoken.set()
    assert text_of((await probe).body) == "from a"
    assert text_of((await ask(gateway)).body) == "from a"


class Waiting(ScriptedAnswer):
    """Says nothing until it may."""

    def __init__(self, steps: list[Step], until: asyncio.Event) -> None:
        super().__init__(steps)
        self._until = until

    async def read(self) -> bytes:
        await self._until.wait()
        return await super().read()


async def test_a_client_that_leaves_is_no_failure_and_frees_the_probe(lab: Lab) -> None:
    answers = iter([refused(500)] * 3)
    asked = asyncio.Event()

    def play(request: UpstreamRequest) -> ScriptedAnswer:
        if (failed := next(answers, None)) is not None:
            return failed(request)
        asked.set()
        return ScriptedAnswer([FOREVER])

    gateway = lab.gateway(models=PAIR, a=play, b=good())
    for _ in range(3):
        await ask(gateway)
    lab.now += 30
    for count in (4, 5, 6, 7):
        call = Call("POST", CHAT, chat("pair"))
        task = asyncio.ensure_future(call.answered(gateway))
        await asked.wait()
        call.leave()
        await task
        asked.clear()
        assert lab.asked("a") == count


async def test_refused_requests_are_no_failures(lab: Lab) -> None:
    gateway = lab.gateway(models=PAIR, a=refused(400), b=good())
    for number in range(1, 6):
        await ask(gateway)
        assert lab.asked("a") == number


async def test_the_stop_of_the_gateway_is_nobodys_failure(lab: Lab) -> None:
    gateway = lab.gateway(models=PAIR, a=streaming(say("half"), FOREVER), b=good())
    call = Call("POST", CHAT, chat("pair"))
    task = asyncio.ensure_future(call.answered(gateway))
    await call.begun()
    gateway.open_turns.end()
    await task
    assert "failed" not in lab.log[-1]


async def test_answers_that_break_off_are_failures_too(lab: Lab) -> None:
    gateway = lab.gateway(models=PAIR, a=streaming(say("half"), gone()), b=good())
    for _ in range(3):
        await ask(gateway)
    assert text_of((await ask(gateway)).body) == "from b"


async def test_a_whole_answer(lab: Lab) -> None:
    answer = ScriptedAnswer([whole("from b")], headers={"content-type": "application/json"})
    call = await ask(lab.gateway(models=PAIR, a=refused(503), b=answer), stream=False)
    assert call.json["choices"][0]["message"]["content"] == "from b"
