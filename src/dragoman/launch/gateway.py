"""The gateway of a launch: one that runs already, or one that is started for it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import IO, Any
from urllib.parse import quote, urlsplit

import msgspec

from dragoman.gateway.discovery import MODELS
from dragoman.gateway.settings import Address

_WAIT = 2.0
"""Seconds for an answer of a gateway on this machine."""
_END = 5.0
"""Seconds for a gateway to end whose only client has left."""
_PORTS = {"http": 80, "https": 443}
_GREETING = re.compile(rb"dragoman listens on (http://\S+)")
_SHOWN = 2000
"""Bytes of a log that are shown where it says why a gateway ended."""


class GatewayEndedError(Exception):
    """The gateway ended before it listened; ``str()`` is what it had to say."""


class Running(msgspec.Struct, frozen=True):
    """A gateway that answers."""

    address: Address
    key: str

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def knows(self, name: str) -> bool:
        """Whether it takes the key and has this model."""
        return self._get(f"/v1/models/{quote(name)}")[0] == 200

    def names(self) -> tuple[str, ...]:
        """The names that it lists."""
        listed = self._get("/v1/models")[1].get("data", [])
        return tuple(str(one.get("id")) for one in listed if isinstance(one, dict))

    def answers(self) -> bool:
        """Whether a gateway of this kind is there at all."""
        return self._get("/health", with_key=False)[1].get("name") == "dragoman"

    def _get(self, path: str, with_key: bool = True) -> tuple[int, dict[str, Any]]:
        headers = {"authorization": f"Bearer {self.key}"} if with_key else {}
        connection = http.client.HTTPConnection(self.address.host, self.address.port, timeout=_WAIT)
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            body = json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError):
            return 0, {}
        finally:
            connection.close()
        return answer.status, body if isinstance(body, dict) else {}


def running(listen: Address, key: str) -> Running | None:
    """The gateway that runs where the configuration says; ``None``: there is none."""
    there = Running(from_here(listen), key)
    return there if there.answers() else None


def unreachable(url: str) -> str | None:
    """Why nothing can be asked at this address; ``None`` if somebody listens there."""
    parts = urlsplit(url)
    try:
        socket.create_connection((parts.hostname, parts.port or _PORTS[parts.scheme]), timeout=_WAIT).close()
    except OSError as error:
        return error.strerror or str(error)
    return None


def from_here(listen: Address) -> Address:
    """Where this machine finds what listens there."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(listen.host, listen.host)
    return Address(host, listen.port)


class Child(msgspec.Struct, frozen=True):
    """A gateway that was started, and that ends with the launch."""

    url: str
    process: subprocess.Popen[bytes]
    log: IO[bytes]

    def last_words(self) -> str | None:
        """What it said last, if it has ended by itself."""
        return None if self.process.poll() is None else _tail(self.log)


@contextlib.contextmanager
def started(config: str | None, models: Mapping[str, list[str]], log: IO[bytes]) -> Iterator[Child]:
    """A gateway on a free port of this machine, with these names under those of its configuration.

    Its access log goes to ``log``. Raises ``GatewayEndedError``.
    """
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "dragoman.launch.child", *([config] if config else [])],
        env={**os.environ, **({MODELS: json.dumps(models)} if models else {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        start_new_session=True,  # Ctrl-C is for the agent
    )
    assert process.stdin
    assert process.stdout
    try:
        greeting = next(filter(None, map(_GREETING.match, process.stdout)), None)  # tools may print before it
        if not greeting:
            process.wait()
            raise GatewayEndedError(_tail(log))
        threading.Thread(target=_drain, args=(process.stdout,), daemon=True).start()
        yield Child(greeting[1].decode(), process, log)
    finally:
        process.stdin.close()
        try:
            process.wait(_END)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def _drain(printed: IO[bytes]) -> None:
    """Takes what tools print: a full pipe would stop them."""
    with contextlib.suppress(OSError, ValueError):  # it was closed
        while printed.read(1 << 16):
            pass


def _tail(log: IO[bytes]) -> str:
    size = log.seek(0, os.SEEK_END)
    log.seek(max(0, size - _SHOWN))
    return log.read().decode("utf-8", "replace").strip()
