"""Inputs made from others: bytes, lines and JSON changed a little. The same chance gives the same input."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

TOKENS = (
    *(b"\n", b"\r", b"\r\n", b"\n\n", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b'"', b"\\", b"{", b"}", b"[", b"]"),
    *(b"data: ", b"event: error\n", b"error: ", b": ping\n\n", b"[DONE]", b"data: [DONE]\n\n", b"data: data: ", b"{}\n"),
    *(b'{"a":', b"null", b"NaN", b"1e999", b"\\ud83d", b"\\ude00", b"\\u0000", b"<think>", b"</think>", b"<|", b"-0", b","),
)  # fmt: skip
"""What readers look out for."""

ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 7, 1.5, -0.0, 1e308, 2**63, 2**70, "", " ", "\n", "0", "null", "{}", "[]", [], {}),
    *('{"a":', '{"a":1}', "}", '"', "\\", "x", "call_1", "run", "get_weather", "functions.run", "a b", "é\u2028😀\0"),
    *("\ud83d", "\ude00x", "<think>", "</think>", "data: [DONE]\n\n", "y" * 3000, [None], [[]], {"type": None}, {"": ""}),
    *("stop", "tool_calls", "error", "text", "function", "assistant", "https://a.example/b", "data:image/png;base64,AA=="),
)  # fmt: skip


def mutated(data: bytes, chance: random.Random, others: Sequence[bytes] = (), head: int = 0) -> bytes:
    """The input, changed in one to three places; ``head`` bytes at its beginning are options, and mostly stay."""
    options, body = data[:head], data[head:]
    for _ in range(chance.choice((1, 1, 2, 3))):
        if head and chance.random() < 0.15:
            place = chance.randrange(head)
            options = options[:place] + bytes([chance.randrange(256)]) + options[place + 1 :]
        body = chance.choice((_in_json, _in_json, _in_json, _of_lines, _of_bytes))(body, chance, others)
    return options + body


def _of_bytes(data: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    """Bytes lost, doubled, put in, replaced, or taken from another input."""
    one, other = sorted((chance.randint(0, len(data)), chance.randint(0, len(data))))
    other = min(other, one + 2 ** chance.randint(0, 10))
    match chance.randrange(6):
        case 0:
            return data[:one] + data[other:]
        case 1:
            return data[:other] + data[one:other] * chance.randint(1, 3) + data[other:]
        case 2:
            return data[:one] + chance.choice(TOKENS) + data[chance.choice((one, other)) :]
        case 3:
            return data[:one] + bytes([chance.randrange(256)]) + data[one + 1 :]
        case 4 if others:
            source = chance.choice(others)
            place = chance.randint(0, len(source))
            return data[:one] + source[place : place + 2 ** chance.randint(0, 10)] + data[other:]
        case _:
            return data[:one]


def _of_lines(data: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    """Lines or blocks lost, doubled, or in another order."""
    between = chance.choice((b"\n", b"\n\n", b"\r\n"))
    parts = data.split(between)
    place, other = chance.randrange(len(parts)), chance.randrange(len(parts))
    match chance.randrange(4):
        case 0:
            del parts[place]
        case 1:
            parts.insert(other, parts[place])
        case 2:
            parts[place], parts[other] = parts[other], parts[place]
        case _ if others:
            parts.insert(place, chance.choice(chance.choice(others).split(between)))
    return between.join(parts)


def _in_json(data: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    """One value changed in one of the JSON texts that the input holds."""
    spans = list(_json_spans(data))
    if not spans:
        return _of_bytes(data, chance, others)
    begin, end, value = chance.choice(spans)
    text = json.dumps(_changed(value, chance), ensure_ascii=chance.random() < 0.8)
    return data[:begin] + text.encode("utf-8", "surrogatepass") + data[end:]


def _json_spans(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """Where JSON objects and lists stand: the whole input, or single lines."""
    if data.lstrip()[:1] in (b"{", b"["):
        try:
            yield 0, len(data), json.loads(data)
            return
        except (ValueError, RecursionError):
            pass
    place = 0
    for line in data.splitlines(keepends=True):
        begin = line.find(b"{")
        if begin >= 0:
            with contextlib.suppress(ValueError, RecursionError):
                yield place + begin, place + len(line.rstrip()), json.loads(line[begin:])
        place += len(line)


def _changed(value: Any, chance: random.Random) -> Any:
    """The value with one member replaced, taken out, doubled, renamed, or put elsewhere."""
    places = list(_places(value))
    if not places:
        return chance.choice(ODD)
    holder, key = chance.choice(places)
    match chance.randrange(7):
        case 0:
            del holder[key]
        case 1:
            other, name = chance.choice(places)
            holder[key] = json.loads(json.dumps(other[name])) if name in _keys(other) else None
        case 2 if isinstance(holder, list):
            holder.insert(key, json.loads(json.dumps(holder[key])))
        case 2:
            other, name = chance.choice(places)
            holder[name if isinstance(name, str) else "x"] = holder.pop(key)
        case 3 if isinstance(holder, list):
            chance.shuffle(holder)
        case 4:
            holder[key] = _nested(holder[key], chance)
        case _:
            holder[key] = chance.choice(ODD)
    return value


def _nested(value: Any, chance: random.Random) -> Any:
    if isinstance(value, str) and value:
        place = chance.randrange(len(value))
        return chance.choice((value[:place], value[place:], value + value, value[:place] + "\u2028" + value[place:]))
    return chance.choice(([value], {"a": value}, [value, value], json.dumps(value)))


def _keys(holder: Any) -> Any:
    return holder if isinstance(holder, dict) else range(len(holder))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each container in the value with each of its keys."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(items):
        yield value, key
        yield from _places(inner)
