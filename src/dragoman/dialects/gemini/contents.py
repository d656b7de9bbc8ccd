"""A client's history: Google's ``contents`` to messages.

Ids of calls are optional here, and results may be matched by name and order alone (google-genai's
automatic calling sends none). Missing ids are minted, so that the other dialects, which know only
ids, see which result belongs to which call. Clients send streamed answers back in the pieces in
which they came: pieces of one text, or of one thought and its signature, become one part again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from dragoman import jsontext
from dragoman.canonical import request as q
from dragoman.canonical.aliases import original
from dragoman.canonical.errors import invalid_request
from dragoman.dialects.gemini.media import parse_media
from dragoman.dialects.gemini.parts import parse_proof
from dragoman.dialects.gemini.wire import JSON, NAME, PART_DATA, as_list, as_object, as_text
from dragoman.exceptions import InvalidRequest

_ROLES: dict[str, q.Role] = {
    "": q.Role.USER,
    "user": q.Role.USER,
    "function": q.Role.USER,
    "tool": q.Role.USER,
    "model": q.Role.ASSISTANT,
}
"""``function`` is the older role of results; a missing role is the user's."""

_TEXT = frozenset({"text", "thought", "thoughtSignature"})
"""The members of a part with text."""

_WRAPPERS = ("output", "result", "content")
"""The one member in which clients put the text of a result: the documented one, google-genai's, the AI SDK's."""


def refuse(message: str, path: str) -> InvalidRequest:
    """The 400 that names the member at fault."""
    return InvalidRequest(invalid_request(f"{path}: {message}", path))


def parse_contents(contents: Any, unknown: list[str]) -> tuple[q.Message, ...]:
    """The messages of a (camelCase) ``contents``. Raises ``InvalidRequest`` that names the member at fault.

    The paths of members that have no canonical form are added to ``unknown``.
    """
    if not isinstance(contents, list) or not contents:
        raise refuse("expected a list of contents with at least one turn", "contents")
    history = _History(unknown)
    messages: list[q.Message] = []
    for number, content in enumerate(contents):
        path = f"contents[{number}]"
        if not isinstance(content, dict):
            raise refuse("expected an object with role and parts", path)
        history.read(content, ("role", "parts"), path)
        role = _ROLES.get(as_text(content.get("role")).lower())
        if role is None:
            raise refuse(f"expected the role user or model, got {content.get('role')!r}", f"{path}.role")
        if role is q.Role.ASSISTANT:
            continued = bool(messages) and messages[-1].role is role
            history.turn(continued)
            before = messages.pop().parts if continued else ()
        else:
            before = ()
        found = joined((*before, *_parts(content, path, history)), role)
        if found:
            messages.append(q.Message(role, found))
    return tuple(messages)


def parse_system(instruction: Any) -> tuple[q.Message, ...]:
    """``systemInstruction`` (its role means nothing) as a message."""
    if instruction is None:
        return ()
    if isinstance(instruction, str):
        instruction = {"parts": [{"text": instruction}]}
    if not isinstance(instruction, dict):
        raise refuse("expected a content with text parts", "systemInstruction")
    texts: list[q.Part] = []
    for number, part in enumerate(_part_list(instruction, "systemInstruction")):
        text = as_object(part).get("text")
        if not isinstance(text, str):
            raise refuse("expected a text", f"systemInstruction.parts[{number}]")
        if text:
            texts.append(q.Text(text=text))
    return (q.Message(q.Role.SYSTEM, tuple(texts)),) if texts else ()


def _part_list(content: JSON, path: str) -> list[Any]:
    parts = content.get("parts")
    if parts is None:
        return []
    if isinstance(parts, dict):
        return [parts]
    if not isinstance(parts, list):
        raise refuse("expected a list of parts", f"{path}.parts")
    return parts


def _parts(content: JSON, path: str, history: _History) -> Iterable[q.Part]:
    for number, part in enumerate(_part_list(content, path)):
        where = f"{path}.parts[{number}]"
        if not isinstance(part, dict):
            raise refuse("expected an object", where)
        yield _part(part, where, history)


def _part(part: JSON, path: str, history: _History) -> q.Part:
    proof = parse_proof(part.get("thoughtSignature"))
    kind = next((name for name in PART_DATA if part.get(name) is not None and name != "text"), "text")
    value = part.get(kind)
    if kind == "functionCall":
        history.read(part, (kind, "thoughtSignature", "thought"), path)
        return msgspec.structs.replace(history.call(value, f"{path}.functionCall"), signature=proof)
    if kind == "functionResponse":
        history.read(part, (kind, "thoughtSignature"), path)
        return history.result(value, f"{path}.functionResponse")
    if kind != "text":
        media = None if part.get("thought") is True else parse_media(part)
        if media is None:
            return q.Native(origin=NAME, value=part)
        history.read(part, (kind,), path)
        return media
    if value is None and proof is None and set(part) - _TEXT:
        return q.Native(origin=NAME, value=part)
    if value is not None and not isinstance(value, str):
        raise refuse("expected a text", f"{path}.text")
    history.read(part, _TEXT, path)
    if part.get("thought") is True:
        return q.Reasoning(text=value or "", opaque=(proof,) if proof else ())
    return q.Text(text=value or "", signature=proof)


def joined(parts: Iterable[q.Part], role: q.Role) -> tuple[q.Part, ...]:
    """The parts with the pieces of one text, or of one thought, joined; empty ones without a proof go.

    A proof ends what it belongs to. Texts of the user are parts of their own.
    """
    out: list[q.Part] = []
    for part in parts:
        last = out[-1] if out else None
        if isinstance(part, q.Reasoning):
            if isinstance(last, q.Reasoning) and not last.opaque:
                out[-1] = q.Reasoning(text=last.text + part.text, opaque=part.opaque)
            elif part.text or part.opaque:
                out.append(part)
        elif isinstance(part, q.Text):
            grows = role is q.Role.ASSISTANT and isinstance(last, q.Text) and last.signature is None
            if grows and isinstance(last, q.Text):
                out[-1] = q.Text(text=last.text + part.text, signature=part.signature)
            elif part.text or part.signature:
                out.append(part)
        else:
            out.append(part)
    return tuple(out)


class _Call:
    """A call of the history that waits for its result."""

    __slots__ = ("answered", "id", "name", "told")

    def __init__(self, told: str, id: str, name: str) -> None:
        self.told = told  # the id that the client gave, "" if none
        self.id = id
        self.name = name
        self.answered = False


class _History:
    """Pairs results with calls: by id, else by name and order, the latest turn first.

    Ids are made from what came before alone: a history that grows keeps them.
    """

    def __init__(self, unknown: list[str]) -> None:
        self._unknown = unknown
        self._turns: list[list[_Call]] = []
        self._given: set[str] = set()
        self._count = 0

    def read(self, value: JSON, known: Collection[str], path: str) -> None:
        """Notes the members of a value that are none of these, if they say anything."""
        self._unknown += (f"{path}.{key}" for key, said in value.items() if key not in known and said)

    def turn(self, continued: bool) -> None:
        """A turn of the model begins, or goes on."""
        if not continued or not self._turns:
            self._turns.append([])

    def call(self, value: Any, path: str) -> q.ToolCall:
        name = as_text(as_object(value).get("name"))
        if not name:
            raise refuse("expected the name of a function", f"{path}.name")
        self.read(value, ("id", "name", "args"), path)
        told = _id(value)
        id = original(told)
        if not id or id in self._given:
            id = self._mint()
        self._given.add(id)
        if not self._turns:
            self._turns.append([])
        self._turns[-1].append(_Call(told, id, name))
        return q.ToolCall(id=id, name=name, arguments=_arguments(value, path))

    def result(self, value: Any, path: str) -> q.ToolResult:
        if not isinstance(value, dict):
            raise refuse("expected an object", path)
        name, told = as_text(value.get("name")), _id(value)
        if not name and not told:
            raise refuse("expected the name of a function", f"{path}.name")
        self.read(value, ("id", "name", "response", "parts"), path)
        call = self._pending(told, name)
        parts, error = _result(value)
        if call is None:
            return q.ToolResult(id=original(told), name=name or None, parts=parts, error=error)
        call.answered = True
        return q.ToolResult(id=call.id, name=call.name, parts=parts, error=error)

    def _pending(self, told: str, name: str) -> _Call | None:
        waiting = [call for turn in reversed(self._turns) for call in turn if not call.answered]
        if told:
            same = next((call for call in waiting if call.told == told), None)
            if same is not None:
                return same
            waiting = [call for call in waiting if not call.told]
        return next((call for call in waiting if call.name == name), None)

    def _mint(self) -> str:
        while True:
            self._count += 1
            id = f"call_{self._count}"
            if id not in self._given:
                return id


def _id(value: Any) -> str:
    id = as_object(value).get("id")
    return str(id) if isinstance(id, int) and not isinstance(id, bool) else as_text(id)


def _arguments(call: JSON, path: str) -> str:
    args = call.get("args")
    if args is None:
        return "{}"
    if not isinstance(args, dict):
        raise refuse("expected an object", f"{path}.args")
    return jsontext.render(args).decode()


def _result(value: JSON) -> tuple[tuple[q.Text | q.Image | q.Document | q.Audio, ...], bool]:
    """The parts of a result, and whether it tells of a failure (``response.error``)."""
    response = value.get("response")
    parts: list[q.Text | q.Image | q.Document | q.Audio] = []
    members = as_object(response)
    error = members.get("error") not in (None, "", False) and not any(name in members for name in _WRAPPERS)
    text = _result_text(response, as_text(value.get("name")))
    if text:
        parts.append(q.Text(text=text))
    for item in as_list(value.get("parts")):
        media = parse_media(as_object(item))
        parts.append(media or q.Text(text=jsontext.render(item).decode()))
    return tuple(parts), error


def _result_text(response: Any, name: str) -> str:
    """The text of a result: out of its wrapper, where that is all there is."""
    if response is None:
        return ""
    if isinstance(response, dict):
        members = {key for key in response if not (key == "name" and response[key] == name)}
        for wrapper in (*_WRAPPERS, "error"):
            if members == {wrapper}:
                response = response[wrapper]
                break
    return response if isinstance(response, str) else jsontext.render(response).decode()
