"""The watch itself: each way in which a key could go out is one that it sees."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.exceptions import ConfigurationError
from dragoman.gateway.accesslog import AccessLog, Record
from dragoman.gateway.app import Gateway
from dragoman.gateway.settings import HeaderValue, Secret
from dragoman.upstreams.scripted import ScriptedAnswer
from tests import canary
from tests.gateway.asgi import Call
from tests.gateway.conftest import Lab
from tests.gateway.wires import CHAT, chat, whole

KEY = canary.canary("told")
PLAIN_KEY = "sk-of-nobody-else-123"


async def _nothing() -> Any:
    raise AssertionError("nothing is asked for")


async def _nowhere(message: Any) -> None:
    pass


class Leaky:
    """An application that says what it should not."""

    def __init__(self, *messages: dict[str, Any]) -> None:
        self._messages = messages

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        for message in self._messages:
            if (write := scope.get("dragoman.write")) is not None:
                write(message["body"])
            else:
                await send(message)


def body(data: str) -> dict[str, Any]:
    return {"type": "http.response.body", "body": data.encode()}


HEAD: dict[str, Any] = {"type": "http.response.start", "headers": [(b"x-asked", PLAIN_KEY.encode())]}


@pytest.mark.parametrize(
    ("messages", "scope"),
    [
        ([body(f"wrong key {PLAIN_KEY}!")], {}),
        ([body("wrong key sk-of-no"), body("body-else-123")], {}),
        ([body("wrong key sk-of-no"), body("body-else-123")], {"dragoman.write": lambda data: True}),
        ([HEAD], {}),
        ([body(KEY)], {}),
    ],
    ids=["body", "cut", "the short way", "header", "mark"],
)
async def test_an_answer(messages: list[dict[str, Any]], scope: dict[str, Any]) -> None:
    watch = canary.Watch()
    watch.guard(PLAIN_KEY)
    await canary.watched(Leaky.__call__, watch)(Leaky(*messages), scope, _nothing, _nowhere)
    assert len(watch.take()) == 1
    await canary.watched(Leaky.__call__, watch)(Leaky(body("no key")), {}, _nothing, _nowhere)
    assert watch.take() == []


def _printed(capsys: pytest.CaptureFixture[str]) -> None:
    print(KEY)
    capsys.readouterr()


def _ran(_: object) -> None:
    subprocess.run([sys.executable, "-c", f"import sys; sys.exit({KEY!r})"], capture_output=True, check=False)


def _logged(_: object) -> None:
    logging.getLogger("any").warning("refused %s", Secret(PLAIN_KEY).reveal())


def _in_the_access_log(_: object) -> None:
    lines: list[str] = []
    AccessLog(lines.append).write(Record("r", "GET", f"/{HeaderValue.read(PLAIN_KEY)}"))


def _as_a_mistake(_: object) -> None:
    ConfigurationError([f"keys[0]: {Secret(PLAIN_KEY).reveal()} is wrong"])


@pytest.mark.parametrize("let_out", [_printed, _ran, _logged, _in_the_access_log, _as_a_mistake])
def test_the_other_ways(let_out: Callable[[Any], None], capsys: pytest.CaptureFixture[str]) -> None:
    let_out(capsys)
    assert canary.WATCH.take(), "nothing was seen"


async def test_a_gateway_that_leaks() -> None:
    gateway = Lab().gateway(keys=[PLAIN_KEY], up=ScriptedAnswer([whole(f"your key is {PLAIN_KEY}")]))
    call = Call("POST", CHAT, chat(stream=False), {"authorization": f"Bearer {PLAIN_KEY}"})
    await call.answered(gateway)
    assert call.status == 200
    assert [leak for leak in canary.WATCH.take() if leak.startswith("the body")]


def test_it_watches_every_test() -> None:
    assert hasattr(Gateway.__call__, "__wrapped__")


pytest_plugins = ("pytester",)


def test_a_test_that_lets_a_key_out_fails(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    pytester.makeconftest("from tests.canary import no_key_goes_out, pytest_configure, pytest_runtest_makereport")
    pytester.makepyfile(
        f"""
        from dragoman.gateway.settings import Secret

        def test_leaks():
            print(Secret({PLAIN_KEY!r}).reveal())

        def test_does_not():
            print(Secret({PLAIN_KEY!r}))
        """
    )
    outcome = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--rootdir", str(pytester.path))
    outcome.assert_outcomes(passed=2, errors=1)
