"""A watch over the whole test suite: no key turns up in anything that a client or a log got.

Each secret that a configuration is given while a test runs (``Secret``, and headers for upstreams) is a canary of that
test, and so is every text that begins with ``MARK``, which tests use where the gateway is a process of its own. What
goes out is looked at where it goes out: answers of gateways, access logs, Python's logging, standard output and error,
what child processes said, mistakes of configurations. A test that lets one out fails.

``conftest.py`` takes the hooks and the fixture from here.
"""

from __future__ import annotations

import functools
import logging
import subprocess
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest

from dragoman.exceptions import ConfigurationError
from dragoman.gateway.accesslog import AccessLog
from dragoman.gateway.app import Gateway
from dragoman.gateway.client import Message, Receive, Scope, Send
from dragoman.gateway.settings import HeaderValue, Secret

MARK = "canary-"
SHORTEST = 8
"""Characters of a secret that is looked for: shorter ones turn up by chance."""


def canary(name: str) -> str:
    """A key that is recognised everywhere, also if it was never a ``Secret`` in this process."""
    return f"{MARK}{name}-9f2c4e71d0"


class Watch:
    """What must not go out, and where it did. Texts are joined by their ``place``, so that no cut hides a key."""

    def __init__(self) -> None:
        self.leaks: list[str] = []
        self._secrets: set[str] = {MARK}
        self._tails: dict[object, str] = {}

    def guard(self, secret: str) -> None:
        """One more secret."""
        if len(secret) >= SHORTEST:
            self._secrets.add(secret)

    def look(self, place: str, text: str | bytes | None, stream: object = None) -> None:
        """Looks at what goes out; ``stream`` tells pieces of the same from others."""
        if not text:
            return
        told = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        whole = self._tails.get(stream, "") + told if stream is not None else told
        for secret in self._secrets:
            if secret in whole:
                self.leaks.append(f"{place}: {_around(whole, secret)}")
        if stream is not None:
            self._tails[stream] = whole[-200:]

    def take(self) -> list[str]:
        """The leaks so far; forgets them and all secrets."""
        found, self.leaks = self.leaks, []
        self._secrets, self._tails = {MARK}, {}
        return list(dict.fromkeys(found))


def _around(text: str, secret: str) -> str:
    at = text.index(secret)
    return repr(text[max(0, at - 40) : at + len(secret) + 10])


WATCH = Watch()


def watched(gateway_call: Callable[..., Any], watch: Watch = WATCH) -> Callable[..., Any]:
    """An ASGI application's ``__call__`` whose answers are looked at, those that take the short way too."""

    @functools.wraps(gateway_call)
    async def call(self: Any, scope: Scope, receive: Receive, send: Send) -> None:
        stream = object()

        async def looked_at(message: Message) -> None:
            for name, value in message.get("headers", ()):
                watch.look("a header of an answer", name + b": " + value)
            watch.look("the body of an answer", message.get("body"), stream)
            await send(message)

        if (write := scope.get("dragoman.write")) is not None:

            def write_now(data: bytes) -> bool:
                watch.look("the body of an answer", data, stream)
                taken: bool = write(data)
                return taken

            scope = {**scope, "dragoman.write": write_now}
        await gateway_call(self, scope, receive, looked_at)

    return call


class _Handler(logging.Handler):
    """All of Python's logging."""

    def emit(self, record: logging.LogRecord) -> None:
        WATCH.look("a log", record.getMessage())


def install() -> None:
    """Sets up the watch, once for the process."""
    before, after = Secret.__init__, HeaderValue.read

    def of_secret(self: Secret, text: str) -> None:
        WATCH.guard(text)
        before(self, text)

    def of_header(cls: type[HeaderValue], value: Any) -> HeaderValue:
        read = after(value)
        WATCH.guard(read)
        return read

    _replace(Secret, "__init__", of_secret)
    _replace(HeaderValue, "read", classmethod(of_header))
    _replace(Gateway, "__call__", watched(Gateway.__call__))
    _look_at(AccessLog, "__init__", _of_log)
    _look_at(subprocess.Popen, "communicate", _of_result("what a process said"))
    _look_at(pytest.CaptureFixture, "readouterr", _of_result("what was printed"))
    _look_at(ConfigurationError, "__init__", _of_mistakes)
    logging.getLogger().addHandler(_Handler())


def _replace(owner: type, name: str, value: Any) -> None:
    setattr(owner, name, value)


def _look_at(owner: type, name: str, around: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    original = getattr(owner, name)
    setattr(owner, name, functools.wraps(original)(around(original)))


def _of_log(original: Callable[..., None]) -> Callable[..., None]:
    def init(self: AccessLog, write: Callable[[str], object] | None = None, *more: Any, **named: Any) -> None:
        def looked_at(line: str) -> None:
            WATCH.look("the access log", line)
            assert write is not None
            write(line)

        if write is None:
            original(self, *more, **named)  # to standard error, which is looked at too
        else:
            original(self, looked_at, *more, **named)

    return init


def _of_mistakes(original: Callable[..., None]) -> Callable[..., None]:
    def init(self: ConfigurationError, mistakes: Any, source: str | None = None) -> None:
        for mistake in mistakes:
            WATCH.look("a mistake of a configuration", mistake)
        original(self, mistakes, source)

    return init


def _of_result(place: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def around(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            result = original(*arguments, **named)
            for text in result:
                WATCH.look(place, text)
            return result

        return call

    return around


# ---- for conftest.py


def pytest_configure() -> None:
    if not hasattr(Gateway.__call__, "__wrapped__"):
        install()


@pytest.fixture(autouse=True)
def no_key_goes_out() -> Iterator[None]:
    """Fails the test in which a key turned up where clients or operators look."""
    WATCH.take()
    yield
    assert WATCH.take() == []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What pytest itself captured is looked at once the test is over."""
    report = yield
    if report.when == "call" and report.passed:
        for name, text in report.sections:
            WATCH.look(name, text)
    return report
