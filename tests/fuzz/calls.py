"""Any fragments of calls, any cut of arguments, any beginning of JSON."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

from dragoman.exceptions import RemoteProtocolError
from dragoman.streaming.arguments import JSONArguments
from dragoman.streaming.json_prefix import JSONPrefix
from tests.asking import CLIENTS
from tests.fixtures import fixtures
from tests.streaming.building import Notes
from tests.streaming.calling import Bench

STEPS = ("feed", "feed", "feed", "end", "whole", "settle")
MEMBERS = ("index", "id", "name", "arguments")


def assembler(data: bytes) -> None:
    """Whatever fragments come: each call is named, opened once, then fed, then ended once; ids are unique; what is sound and complete is an object."""
    benches = []
    for _ in range(2):
        bench = Bench(open_calls=20)
        with contextlib.suppress(RemoteProtocolError):  # of a stream that opens too many
            _play(bench, data)
        benches.append(bench)
    sink, again = (bench.sink for bench in benches)
    assert (sink.starts, sink.ends, [*sink.texts.values()]) == (again.starts, again.ends, [*again.texts.values()])
    ids = [start.id for start in sink.starts]
    assert len(set(ids)) == len(ids) == benches[0].calls.announced
    assert all(start.name.strip() and start.id.strip() for start in sink.starts)


def _play(bench: Bench, data: bytes) -> None:
    """Each line is a fragment in JSON; the first byte tells how it ends."""
    for line in data[1:].split(b"\n")[:60]:
        try:
            wire = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(wire, dict):
            continue
        step = STEPS[len(str(wire.get("step"))) % len(STEPS)]
        if step == "settle":
            bench.calls.settle()
            continue
        kind = "custom" if wire.get("kind") == "custom" else "function"
        getattr(bench, step)({**{name: wire.get(name) for name in MEMBERS}, "kind": kind})
    if data[:1] == b"2":
        bench.calls.break_off()
        return
    bench.finish(normal=data[:1] != b"1")
    assert set(bench.sink.state.values()) <= {"ended"}
    assert not bench.calls.open


def arguments(data: bytes) -> None:
    """Whatever pieces come: those of one object give this object, and what is sound and complete is an object."""
    pieces = data[1:].decode("utf-8", "replace").split("\0")
    made = JSONArguments(Notes())
    for piece in pieces:
        made.feed(piece)
    normal = data[:1] != b"1"
    complete = made.finish(normal=normal)
    text, sound = "".join(delta.text for delta in made.out), all(delta.sound for delta in made.out)
    meant = _value("".join(pieces))
    if isinstance(meant, dict) and (meant or normal):
        assert (complete, sound, _value(text)) == (True, True, meant), "the pieces of an object give something else"
    if complete and sound:
        assert isinstance(_value(text), dict), "told to be an object"
    if not normal and complete:
        assert _value(text) is not _NONE, "told to be whole"


_NONE = object()


def _value(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return _NONE


def _refuse(text: str) -> None:
    raise ValueError(text)


def json_prefix(data: bytes) -> None:
    """Whatever text comes: refused only if nothing can make it JSON, complete exactly if it is, and the same in every cut."""
    text = data[1:].decode("utf-8", "replace")
    whole, pieces = JSONPrefix(), JSONPrefix()
    going = whole.advance(text)
    size = 1 + (data[0] if data else 0) % 7
    in_pieces = all(pieces.advance(text[place : place + size]) for place in range(0, len(text), size))
    assert going == in_pieces
    if going:
        assert (whole.whole, whole.complete, whole.begun) == (pieces.whole, pieces.complete, pieces.begun)
        assert whole.begun == bool(text.strip(" \t\r\n"))
    try:
        json.loads(text, parse_constant=_refuse)
        sound = True
    except RecursionError:
        return
    except ValueError as fault:
        if "digits" in str(fault):  # Python reads no number that long
            return
        sound = False
    assert (going and whole.complete) == sound


def assembler_seeds() -> Iterator[bytes]:
    """The calls of recorded chat streams, and a few of other forms."""
    for number, fixture in enumerate(fixtures("chat")):
        lines = []
        for line in fixture.body.splitlines():
            try:
                event = json.loads(line.removeprefix(b"data:"))
                found = [call for choice in event["choices"] for call in choice["delta"]["tool_calls"]]
                lines += [
                    {"index": call.get("index"), "id": call.get("id"), **(call.get("function") or {})} for call in found
                ]
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
        if lines:
            yield b"%d" % (number % 3) + b"\n".join(json.dumps(line).encode() for line in lines)
    whole = {"step": "feed", "id": "a", "name": "run", "arguments": '{"command":"ls"}'}
    yield b"0" + json.dumps(whole).encode() + b"\n" + json.dumps({**whole, "kind": "custom"}).encode()


def argument_seeds() -> Iterator[bytes]:
    """The argument texts of recorded answers, in pieces."""
    for name in CLIENTS:
        for number, fixture in enumerate(fixtures(name)):
            for call in fixture.expected.calls:
                text = call.raw or json.dumps(call.arguments)
                size = 1 + number % 6
                yield b"%d" % (number % 2) + b"\0".join(
                    text[place : place + size].encode() for place in range(0, len(text), size)
                )
    yield b'0"{\\"city\\":\\"Paris\\"}"'
    yield b'0{"ci\0{"city":\0{"city":"Paris"}'
    yield b'0null\0{"a":[1,-2.5e3,"\\ud83d\\ude00",{"b":{}}]}'


def prefix_seeds() -> Iterator[bytes]:
    """The same texts, whole."""
    for seed in argument_seeds():
        yield seed.replace(b"\0", b"")
