"""What a client's history cannot hold: the gateway's calls and results of earlier answers.

A client returns the results of its own calls, and echoes what it was shown; the model has to see the turns
as they were. So the turns of an answer in which the gateway ran tools are kept, by the ids that the
client knows: those of its calls, and those of the gateway's calls that it was shown. In its next request
its version of the answer is replaced by the kept turns. What is gone (after a restart, say) degrades visibly: the client's own version stays, without the gateway's calls.

Many servers give the same ids in every conversation (``functions.search:0``), so an id alone proves nothing:
what is put back also has to answer the same question, with the same words and calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from dragoman import jsontext
from dragoman.cache import Cache, CacheLimits, LocalCache
from dragoman.canonical import request as q
from dragoman.canonical.aliases import original
from dragoman.history import mended_arguments


class PastAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The turns of an answer by an upstream of the dialect ``origin``. ``question``: see ``question_of``."""

    messages: tuple[q.Message, ...]
    question: bytes
    origin: str


class PastAnswers:
    """Turns of earlier answers, apart for each client (``scope``). Times are Unix times in seconds."""

    def __init__(self, cache: Cache[PastAnswer] | None = None) -> None:
        self._cache: Cache[PastAnswer] = LocalCache(CacheLimits()) if cache is None else cache

    def keep(self, scope: str, ids: Iterable[str], answer: PastAnswer, now: float) -> None:
        """Keeps the turns of an answer under the ids by which its client will speak of it."""
        self._cache.put(scope, [original(id) for id in ids], answer, _size(answer.messages), now)

    def candidates(self, scope: str, messages: Iterable[q.Message], now: float) -> Mapping[str, Sequence[PastAnswer]]:
        """The answers with ids that stand in these messages, by id, the latest first."""
        ids = dict.fromkeys(id for message in messages for id in _ids(message.parts))
        return self._cache.get(scope, ids, now) if ids else {}


def _ids(parts: Iterable[q.Part]) -> list[str]:
    return [original(part.id) for part in parts if isinstance(part, q.ToolCall | q.ToolRun)]


# ---- a request made complete


class Stretch(msgspec.Struct, frozen=True, kw_only=True):
    """One answer in a history: the messages of the assistant from ``start`` to before ``end``.

    ``kept``: the turns that stand for them; ``None``: they hold calls of the gateway's of which nothing is known.
    """

    start: int
    end: int
    kept: tuple[q.Message, ...] | None


def stretches(messages: Sequence[q.Message], past: PastAnswers, scope: str, origin: str, now: float) -> list[Stretch]:
    """The answers in a history in which the gateway ran tools, for an upstream of the dialect ``origin``."""
    known = past.candidates(scope, messages, now)
    found: list[Stretch] = []
    place = 0
    while place < len(messages):
        start = place
        while place < len(messages) and messages[place].role is q.Role.ASSISTANT:
            place += 1
        answer = _fitting(known, messages, start, place) if known else None
        if answer is not None:
            under_way = origin == answer.origin and all(map(_only_results, messages[place:]))
            kept = answer.messages if under_way else tuple(map(_without_items, answer.messages))
            found.append(Stretch(start=start, end=place, kept=kept))
        elif any(isinstance(part, q.ToolRun) for message in messages[start:place] for part in message.parts):
            found.append(Stretch(start=start, end=place, kept=None))
        place = max(place, start + 1)
    return found


def _fitting(
    known: Mapping[str, Sequence[PastAnswer]], messages: Sequence[q.Message], start: int, end: int
) -> PastAnswer | None:
    """The answer of which the client's version is in ``messages[start:end]``; the latest if several fit."""
    run = [part for message in messages[start:end] for part in message.parts]
    candidates = [answer for id in _ids(run) for answer in known.get(id, ())]
    question = question_of(messages, start) if candidates else b""
    fitting = (answer for answer in candidates if answer.question == question and _same(run, answer.messages))
    return next(fitting, None)


def completed(request: q.Request, found: Sequence[Stretch]) -> q.Request:
    """The request with the kept turns in their places. What is not known stays as the client has it."""
    messages = list(request.messages)
    for stretch in reversed(found):
        if stretch.kept is not None:
            messages[stretch.start : stretch.end] = stretch.kept
    return msgspec.structs.replace(request, messages=tuple(messages)) if found else request


def question_of(messages: Sequence[q.Message], end: int | None = None) -> bytes:
    """A digest of what the user said before ``end`` (of all), behind the answer before: texts and results."""
    digest = blake2b(digest_size=16)
    end = len(messages) if end is None else end
    begin = end
    while begin and messages[begin - 1].role is not q.Role.ASSISTANT:
        begin -= 1
    for message in messages[begin:end]:
        for part in message.parts if message.role is q.Role.USER else ():
            for text in _texts(part):
                digest.update(b"%d:" % len(text) + text.encode("utf-8", "surrogatepass"))
    return digest.digest()


def _texts(part: q.Part) -> list[str]:
    if isinstance(part, q.ToolResult):
        return [original(part.id), *(inner.text for inner in part.parts if isinstance(inner, q.Text))]
    return [part.text] if isinstance(part, q.Text) else []


def _only_results(message: q.Message) -> bool:
    return all(isinstance(part, q.ToolResult) for part in message.parts)


def _without_items(message: q.Message) -> q.Message:
    """Reasoning is tied to the origin's items only while its answer is under way."""
    if not any(isinstance(part, q.Reasoning) and part.item_id for part in message.parts):
        return message
    parts = (
        msgspec.structs.replace(part, item_id=None) if isinstance(part, q.Reasoning) else part for part in message.parts
    )
    return q.Message(message.role, tuple(parts))


def _same(run: Sequence[q.Part], messages: Sequence[q.Message]) -> bool:
    """Whether a client's version says what the kept turns say: no call that they lack, and no other words.

    Clients may leave the words out, and blanks change on the way.
    """
    said = [part for message in messages if message.role is q.Role.ASSISTANT for part in message.parts]
    calls = [_call(part) for part in said if isinstance(part, q.ToolCall)]
    words = _words(run)
    return words in ("", _words(said)) and all(_call(part) in calls for part in run if isinstance(part, q.ToolCall))


def _words(parts: Iterable[q.Part]) -> str:
    return "".join("".join(part.text.split()) for part in parts if isinstance(part, q.Text | q.Refusal))


def _call(call: q.ToolCall) -> tuple[str, str, str]:
    """A call, with its arguments in one spelling: clients keep them as values."""
    text = call.arguments if call.kind == "custom" else _respelled(call.arguments)
    return original(call.id), call.name, text


def _respelled(text: str) -> str:
    try:
        return jsontext.render(_plain(jsontext.parse(mended_arguments(text)))).decode()
    except (ValueError, RecursionError):
        return text


def _plain(value: Any) -> Any:
    """The value with sorted keys, and with 1.0 as 1: so JavaScript writes it."""
    if isinstance(value, dict):
        return {key: _plain(value[key]) for key in sorted(value)}
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _size(messages: Iterable[q.Message]) -> int:
    """Bytes, about."""
    return sum(200 + _part_size(part) for message in messages for part in message.parts)


def _part_size(part: q.Part) -> int:
    match part:
        case q.ToolResult():
            return sum(200 + _part_size(inner) for inner in part.parts)
        case q.ToolCall():
            return len(part.arguments) + (len(part.signature.data) if part.signature else 0)
        case q.Reasoning():
            return len(part.text) + sum(len(proof.data) for proof in part.opaque)
        case q.Native(value=value):
            return len(jsontext.render(value))
    held = [getattr(part, name, None) for name in ("text", "data", "url")]
    return sum(len(text) for text in held if isinstance(text, str))
