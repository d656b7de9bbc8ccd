"""Any text as the configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman.exceptions import ConfigurationError
from dragoman.gateway.config import load
from tests.gateway.test_config import ENVIRONMENT, FULL

_MISTAKE = re.compile(r".*\S.*: .*\S", re.DOTALL)


def configuration(data: bytes) -> None:
    """Whatever text comes: settings, or every mistake with its place, always the same; no secret in any word of either."""
    text = data.decode("utf-8", "replace")
    found = _told(text)
    assert found == _told(text)
    for secret in ENVIRONMENT.values():
        assert secret in text or secret not in found


def _told(text: str) -> str:
    try:
        return repr(load(text, ENVIRONMENT))
    except ConfigurationError as error:
        mistakes = error.mistakes
    assert mistakes
    assert all(_MISTAKE.fullmatch(mistake) for mistake in mistakes), mistakes
    return "\n".join(mistakes)


def seeds() -> Iterator[bytes]:
    """The whole of it, and its sections."""
    yield FULL.encode()
    yield b""
    for section in re.split(r"\n(?=\w)", FULL):
        yield section.encode()
    yield b"tools: {files: {mcp: {command: [x], env: {A: $DRAGOMAN_KEY}}, allow: [a], timeout: 5}}\ntool_loop: {rounds: 3}\n"
    yield b"a: &a [*a]\n"
    yield b"? {a: b}\n: c\n!!python/object:os.system {}\n"
    yield b"keys: !!binary aGk=\nlisten: !!timestamp 2001-01-01\nstate: !!set {a, b}\n"
