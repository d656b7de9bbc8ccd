"""Events that repeat the one before, but for the text in them: nearly all of every stream.

What such an event says is known without reading its JSON: the same as the last one, with another text.
That it is such an event is seen in its bytes: before and after one JSON string they are those of the
last event. So the parser would stand where it stood before, read a string, and go on as it went on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman import jsontext

_END = b"\n\n"
_MISSES = 8
"""So often in a row a learned event may turn out to be no pattern, before no more are learned."""

_read_string = msgspec.json.Decoder(str).decode
_UNREAD = re.compile(rb'(?:0|[1-9][0-9]{0,8}|"[A-Za-z0-9+/=_-]*")(?=[,}])')
_FLAT = rb'[^{}"\\\r\n]++|"[A-Za-z]*+"'
_TOLD = re.compile(rb" ?\{(?:%b|\{(?:%b)*+\})*+\}(?=[,}])" % (_FLAT, _FLAT))
_DIGITS = re.compile(rb"[0-9]+")
_NUMBER = rb"(?:0|[1-9][0-9]{0,8})"

Said = tuple[Any, ...]
"""A text, and the values (as they stand there, in JSON) of the members that are told with it."""


class Repetition:
    """Learns an event and finds its like. ``varying``: as in ``dialects.contract.Decoder``.

    A pattern is what an event begins with, and a row of things that vary, each with what stands behind it: the
    text (``None``; it stands between quotation marks of the segments), or the value of a varying member.
    """

    __slots__ = ("_head", "_misses", "_plain", "_steps", "_tail", "_varying")

    def __init__(self, varying: Mapping[str, bool]) -> None:
        self._varying = varying
        self._head = self._tail = b""  # up to what varies first; from what varies last on
        self._plain = True  # nothing but the text varies
        self._steps: list[tuple[re.Pattern[bytes] | None, bytes]] = []
        self._misses = 0

    def read(self, data: bytes) -> list[Said]:
        """What these bytes say, if they are whole events like the learned one, and nothing else; none of it is empty."""
        head, tail = self._head, self._tail
        found: list[Said] = []
        try:
            if self._plain and data.startswith(head) and data.endswith(tail):
                if text := _read_string(data[len(head) - 1 : 1 - len(tail)]):
                    found.append((text,))
            else:
                found = self._each(data)
        except msgspec.DecodeError:  # several events at once, or no string
            found = self._each(data)
        if found:
            self._misses = 0
        return found

    def _each(self, data: bytes) -> list[Said]:
        found: list[Said] = []
        position, head = 0, self._head
        try:
            while data.startswith(head, position):
                position += len(head)
                text, told = b"", []
                for pattern, behind in self._steps:
                    if pattern is None:
                        end = data.index(behind, position)
                        text = data[position - 1 : end + 1]
                    elif (match := pattern.match(data, position)) and data.startswith(behind, end := match.end()):
                        if pattern is not _UNREAD:
                            told.append(match[0])
                    else:
                        return []
                    position = end + len(behind)
                found.append((_read_string(text), *told))
                if not found[-1][0]:
                    return []
                if position == len(data):
                    return found
        except ValueError:  # no end of a text, or no string
            pass
        return []

    def learn(self, event: bytes, data: bytes, text: str) -> bool:
        """An event with its blank line, its data, and the one text that it told. Returns whether a pattern is proven."""
        self._misses += 1
        if self._misses > _MISSES or not event.endswith(data + _END) or b"\r" in event:
            return False
        value = jsontext.parse(data)
        place = _place_of_text(value, data, text)
        if place is None:
            return False
        spots: list[tuple[slice, re.Pattern[bytes] | None]] = [(place, None)]
        for name, told in self._varying.items():
            if spot := _place_of(name, _TOLD if told else _UNREAD, value, data):
                spots.append((spot, _with_other_numbers(data[spot]) if told else _UNREAD))
        spots.sort(key=lambda found: found[0].start)
        before = len(event) - len(data) - len(_END)
        starts = [*(spot.start + before for spot, _ in spots[1:]), len(event)]
        self._steps = [
            (pattern, event[spot.stop + before : start]) for (spot, pattern), start in zip(spots, starts, strict=True)
        ]
        self._head, self._tail = event[: spots[0][0].start + before], self._steps[-1][1]
        self._plain = len(spots) == 1
        return True


def _place_of_text(value: Any, data: bytes, text: str) -> slice | None:
    """Where in the data the text stands, between its quotation marks, if it is one value and nothing else."""
    for quoted in (jsontext.quoted(text), json.dumps(text).encode()):
        if data.count(quoted) == 1:
            begin = data.index(quoted)
            end = begin + len(quoted)
            other = text + "?"
            changed = data[:begin] + jsontext.quoted(other) + data[end:]
            if _is(changed, _changed(value, text, other)):
                return slice(begin + 1, end - 1)
    return None


def _place_of(name: str, pattern: re.Pattern[bytes], value: Any, data: bytes) -> slice | None:
    """Where in the data the value of this member stands, if it is one of the outermost object."""
    member = f'"{name}":'.encode()
    place = data.find(member) + len(member)
    match = pattern.match(data, place) if data.count(member) == 1 else None
    if match is None:
        return None
    changed = data[: match.start()] + b"null" + data[match.end() :]
    return slice(*match.span()) if _is(changed, {**value, name: None}) else None


def _with_other_numbers(told: bytes) -> re.Pattern[bytes]:
    """Finds this object of numbers and plain words again, whatever its numbers are."""
    return re.compile(_NUMBER.join(map(re.escape, _DIGITS.split(told))))


def _is(data: bytes, value: Any) -> bool:
    """Whether this is JSON of the value."""
    try:
        return bool(jsontext.parse(data) == value)
    except ValueError:
        return False


def _changed(value: Any, text: str, other: str) -> Any:
    """The value with another text where this one is."""
    if isinstance(value, dict):
        return {name: _changed(item, text, other) for name, item in value.items()}
    if isinstance(value, list):
        return [_changed(item, text, other) for item in value]
    return other if isinstance(value, str) and value == text else value
