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
_TOO_DEEP = "the JSON is nested too deeply"
_SURROGATE = re.compile("[\ud800-\udfff]")

DEPTH = 200
"""How many objects and arrays may stand inside each other, whoever sends them."""


def parse(data: bytes | str) -> Any:
    """The value of a JSON text; raises ``ValueError`` if it is none or nested deeper than ``DEPTH``.

    ``NaN`` and infinities become ``None``. A surrogate that no partner completes becomes U+FFFD,
    except as the first or last character of a string, where its partner may be in the
    neighbouring delta (``streaming.text`` joins them). A byte order mark before it is passed over (RFC 8259, 8.1).
    """
    try:
        value = _decode(data)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        value = _read(data)
    if _is_deep(data, value):
        raise ValueError(_TOO_DEEP)
    return value


def _read(data: bytes | str) -> Any:
    text = data.decode("utf-8-sig", "replace") if isinstance(data, bytes) else data
    try:
        return _mended(json.loads(text, parse_constant=lambda _: None, strict=False))
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def is_nested_deeper(value: Any, most: int = DEPTH) -> bool:
    """Whether more than so many objects and arrays stand inside each other."""
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(most):
        if not level:
            return False
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) is dict or type(inner) is list
        ]
    return bool(level)


def _is_deep(data: bytes | str, value: Any) -> bool:
    """The same of a text's value; most texts have not even so many brackets."""
    if len(data) <= 2 * DEPTH:
        return False
    brackets = data.count(b"{") + data.count(b"[") if isinstance(data, bytes) else data.count("{") + data.count("[")
    return brackets > DEPTH and is_nested_deeper(value)


def is_object(text: str) -> bool:
    """Whether a text is a JSON object, strictly: no ``NaN``, no number out of range, no bare control character.

    A surrogate without its partner is let through: only what it stands for is lost.
    """
    try:
        value = _decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        try:
            value = json.loads(text, parse_constant=_finite, parse_float=_finite)
        except (ValueError, RecursionError):
            return False
    return isinstance(value, dict) and not _is_deep(text, value)


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
    try:
        return _encode(text)
    except UnicodeEncodeError:
        return render(text)


def shown(value: Any, most: int = 80) -> str:
    """A value for people, on one line; a long one ends in ``…`` after so many characters."""
    text = repr(value)
    return text if len(text) <= most else text[:most] + "…"
