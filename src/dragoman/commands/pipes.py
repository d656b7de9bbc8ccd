"""Bytes from a file or standard input as they come, bytes to standard output at once."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from dragoman import jsontext

CLEAN, VIOLATIONS, USAGE = 0, 1, 2
"""Exit statuses: nothing wrong; violations, or a stream that failed or was cut; wrong usage."""

_READ = 64 << 10  # bytes


class UsageError(Exception):
    """The command was given something that it cannot work on; ``str()`` says what."""


def chunks(file: str) -> Iterator[bytes]:
    """The bytes of a file (``-``: standard input), as soon as there are any. Raises ``UsageError``."""
    with contextlib.ExitStack() as stack:
        try:
            source: Any = sys.stdin.buffer if file == "-" else stack.enter_context(open(file, "rb"))
            while data := source.read1(_READ):
                yield data
        except OSError as fault:
            raise UsageError(f"{file}: {fault.strerror or fault}") from None


def is_stream(head: bytes) -> bool | None:
    """Whether a body that begins like this is a stream (a body: one JSON object); ``None``: too early to tell."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return text[:1] != b"{" if text else None


def json_file(file: str) -> dict[str, Any]:
    """The JSON object in a file. Raises ``UsageError``."""
    try:
        data = Path(file).read_bytes()
    except OSError as fault:
        raise UsageError(f"{file}: {fault.strerror or fault}") from None
    return json_object(data, file)


def json_object(data: bytes, file: str) -> dict[str, Any]:
    """The JSON object in the bytes of a file. Raises ``UsageError``."""
    where = "standard input" if file == "-" else file
    if not data.strip():
        raise UsageError(f"{where}: there is nothing in it; a JSON object was expected")
    try:
        value = jsontext.parse(data)
    except ValueError as fault:
        raise UsageError(f"{where}: no JSON: {fault}") from None
    if not isinstance(value, dict):
        raise UsageError(f"{where}: a JSON object was expected")
    return value


def write(out: IO[bytes], data: bytes) -> None:
    """Writes at once."""
    if data:
        out.write(data)
        out.flush()
