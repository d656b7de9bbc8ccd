"""Is an answer what its fixture expects? Each difference in a few words."""

from __future__ import annotations

import json
import re
from typing import Any

from dragoman import dialects
from tests.decoding import decoded
from tests.fixtures import Call, Expected, Fixture
from tests.reading import Said, read

LEGAL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def differences(fixture: Fixture, client: str, status: int, body: bytes) -> list[str]:
    """What a client of this dialect got and should not have, or should have got and did not."""
    expected = fixture.expected
    if status != 200:
        return _refusal(expected, client, status, body)
    said, again = read(client, body), decoded(client, body, expected.choices)
    return [
        *_content(expected, client, said),
        *_end(expected, client, said),
        *(f"by the decoder: {one}" for one in (*_content(expected, client, again), *_end(expected, client, again))),
        *(_kept(fixture, body) if client == fixture.dialect else []),
    ]


def comparable(client: str, said: Said) -> Said:
    """Without what differs by nature: whole answers always have counts, and their arguments may be a value."""
    if client == "chat" and said.usage is not None and not (said.usage["input"] and said.usage["output"]):
        said.usage = None  # a stream has counts if they are known
    if client in ("messages", "gemini"):
        said.calls = [(id, name, _canonical(text)) for id, name, text in said.calls]
    return said


def _canonical(text: str) -> str:
    try:
        return json.dumps(json.loads(text))
    except ValueError:  # a whole answer has objects only, and says so of what is none
        return json.dumps({"INVALID_JSON": text})


def _refusal(expected: Expected, client: str, status: int, body: bytes) -> list[str]:
    """Nothing was said before the failure: it has a status, and an error body."""
    if expected.end == "complete":
        return [f"HTTP {status}: {body[:200]!r}"]
    found = []
    if expected.stream and (expected.text or any(call.sound for call in expected.calls)):
        found.append("what came before the failure was not given")
    if violations := dialects.get(client).check(body):
        found.append(f"the error body breaks {violations[0]}")
    message = read(client, body).error or ""
    if expected.error.lower() not in message.lower():
        found.append(f"the error says {message!r} and not {expected.error!r}")
    return found


def _content(expected: Expected, client: str, said: Said) -> list[str]:
    found = [
        *_differ("text", said.text, expected.text + expected.refusal),
        *_differ("reasoning", said.reasoning, expected.reasoning),
        *_calls(expected, client, said.calls, expected.calls),
    ]
    if len(said.further) != len(expected.further):
        found.append(f"{len(said.further)} further choices")
    for got, want in zip(said.further, expected.further, strict=False):
        found += _differ("further text", got.text, want.text)
        found += _differ("further finish", got.finish, want.finish)
        found += _calls(expected, client, got.calls, want.calls)
    return found


def _end(expected: Expected, client: str, said: Said) -> list[str]:
    if expected.end == "complete":
        counts = {name: (said.usage or {}).get(name) for name in expected.usage or {}}
        if client not in ("messages",):
            counts = {name: count for name, count in counts.items() if name != "cache_write"}
        want = {name: count for name, count in (expected.usage or {}).items() if name in counts}
        return [
            *([f"an error: {said.error}"] if said.error is not None else []),
            *_differ("finish", said.finish, expected.finish),
            *_differ("usage", counts, want),
        ]
    if expected.error:
        if said.error is None:
            return [f"no error, but the finish {said.finish}"]
        if expected.error.lower() not in said.error.lower():
            return [f"the error says {said.error!r} and not {expected.error!r}"]
    elif said.error is None and said.finish not in ("length", "paused"):
        return [f"a cut answer looks finished: {said.finish}"]
    return []


def _calls(expected: Expected, client: str, got: list[tuple[str, str, str]], want: tuple[Call, ...]) -> list[str]:
    if client == "gemini" and (expected.end != "complete" or expected.finish == "length"):
        want = tuple(call for call in want if call.sound)  # half a call has no form there
    if expected.end != "complete" and len(got) > len(want) and _object(got[-1][2]) is None:
        got = got[:-1]  # the call that was cut, as far as it came
    names = [name for _, name, _ in got]
    if names != [call.name for call in want]:
        return [f"calls {names} instead of {[call.name for call in want]}"]
    found = []
    for (id, name, text), call in zip(got, want, strict=True):
        if not _same_arguments(call, client, text):
            found.append(f"{name}: arguments {text!r} instead of {call.arguments or call.raw!r}")
        if call.id and LEGAL_ID.fullmatch(call.id) and id not in (call.id, ""):
            found.append(f"{name}: id {id!r} instead of {call.id!r}")
    ids = [id for id, _, _ in got if id or client != "gemini"]
    if "" in ids or len(set(ids)) != len(ids):
        found.append(f"ids {ids}")
    return found


def _same_arguments(call: Call, client: str, text: str) -> bool:
    value = _object(text)
    if call.raw is None:
        return value is not None and value == call.arguments
    if call.freeform:
        return text == call.raw if client == "responses" else value == {"input": call.raw}
    wrapped = value == {"INVALID_JSON": call.raw}
    if client == "gemini":
        return wrapped
    # messages: wrapped if it was wrong from the start, raw if it broke on the way
    return text == call.raw or (client == "messages" and wrapped)


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _kept(fixture: Fixture, body: bytes) -> list[str]:
    """What only clients of the same dialect understand has to be there byte for byte."""
    texts = (*fixture.expected.opaque, *fixture.expected.citations)
    return [f"{text!r} is lost" for text in texts if text.encode() not in body]


def _differ(what: str, got: object, want: object) -> list[str]:
    return [] if got == want else [f"{what} {got!r} instead of {want!r}"]
