"""JSON in and out, for what real servers send.

msgspec reads and writes; where it refuses what servers do send (lone surrogates, ``NaN``,
numbers out of range), the standard library takes over.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import msgspec

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse(data: bytes | str) -> Any:
    """The value of a JSON text; raises ``ValueError`` if it is none.

    ``NaN`` and infinities become ``None``. A surrogate that no partner completes becomes U+FFFD,
    except as the first or last character of a string, where its partner may be in the
    neighbouring delta (``streaming.text`` joins them).
    """
    try:
        return _decode(data)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        pass
    try:
        text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
        return _mended(json.loads(text, parse_constant=lambda _: None, strict=False))
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


def is_object(text: str) -> bool:
    """Whether a text is a JSON object, strictly: no ``NaN``, no number out of range, no bare control character.

    A surrogate without its partner is let through: only what it stands for is lost.
    """
    try:
        return isinstance(_decode(text), dict)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        pass
    try:
        return isinstance(json.loads(text, parse_constant=_finite, parse_float=_finite), dict)
    except (ValueError, RecursionError):
        return False


def _finite(text: str) -> float:
    if math.isfinite(number := float(text)):
        return number
    raise ValueError(f"{text} is no number of JSON's")


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        inner = value[1:-1]
        if _SURROGATE.search(inner):
            return value[0] + _SURROGATE.sub("\ufffd", inner) + value[-1]
        return value
    if isinstance(value, list):
        return [_mended(item) for item in value]
    if isinstance(value, dict):
        return {_SURROGATE.sub("\ufffd", key): _mended(item) for key, item in value.items()}
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return None
    return value


def render(value: Any) -> bytes:
    """The value as compact JSON in UTF-8; lone surrogates become U+FFFD."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return _SURROGATE.sub("\ufffd", text).encode()


def quoted(text: str) -> bytes:
    """The text as a JSON string."""
    return render(text)


def shown(value: Any, most: int = 80) -> str:
    """A value for people, on one line; a long one ends in ``…`` after so many characters."""
    text = repr(value)
    return text if len(text) <= most else text[:most] + "…"
