"""The loop within one dialect: the client's own body goes on, with the gateway's tools and turns spliced in.

What the client wrote stays as it is, unknown members included, and the same in every round and in the next
request: upstreams that cache prompts find their beginning again. Only the entries of an answer in which the
gateway ran tools, and the results that follow it, are written anew.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import msgspec

from dragoman.canonical.request import Loss, Message, Request, Role, Text, ToolCall, ToolResult
from dragoman.crossing import cross, rules
from dragoman.dialects.contract import Crossing, Dialect, Facts, UpstreamRequest
from dragoman.exceptions import InvalidRequest
from dragoman.history import arrange
from dragoman.toolloop.offer import Offer
from dragoman.toolloop.past import PastAnswers, Stretch, stretches

JSON = dict[str, Any]

_SAID = Message(Role.USER, (Text(text="."),))
"""A dialect renders no request in which nothing is said, and here only the tools of one are wanted."""
_CAPITAL = re.compile("[A-Z]")
_NUMBER = re.compile(r"messages\[(\d+)\]")


class Splicer:
    """Splices into bodies of one dialect, the client's and the upstream's. ``losses``: what could not be written."""

    def __init__(self, target: Dialect, facts: Facts) -> None:
        self.losses: list[Loss] = []
        self._target = target
        self._facts = facts
        self._members = target.members

    # ---- the gateway's tools

    def with_tools(self, body: JSON, request: Request, offer: Offer) -> JSON:
        """The body with the offered tools behind the client's own; itself, if there are none."""
        if not offer.tools:
            return body
        out = dict(body)
        bare = Request(model=request.model, messages=(_SAID,), origin=self._target.name)
        crossing, _ = cross(offer.added_to(bare), self._target, self._facts, fragment=True)
        name = self._members.tools
        out[name] = [*listed(out.get(name)), *self._target.render_request(crossing, self._facts).body[name]]
        if self._members.proofs is not None and (request.reasoning is not None or self._facts.reasoning_model):
            name, word = self._members.proofs
            words = listed(out.get(name))
            out[name] = words if word in words else [*words, word]
        return out

    # ---- the turns of the answer under way

    def with_turns(self, body: Mapping[str, Any], request: Request, turns: Sequence[Message], *, choose: bool) -> JSON:
        """The body with these turns behind its history. ``choose``: the tool choice of ``request`` is another."""
        out = dict(body)
        made = self._written(turns, request)
        history = self._members.history
        out[history] = [*_said(out.get(history)), *made.body[history]]
        offset = len(request.messages)
        self.losses += [msgspec.structs.replace(loss, path=_moved(loss.path, offset)) for loss in made.losses]
        return _chosen(out, made.body, self._members.choice) if choose else out

    def _written(self, messages: Sequence[Message], request: Request) -> UpstreamRequest:
        """A piece of a history in this dialect. Nothing is renamed: the client's names reach the upstream."""
        bare = Request(
            model=request.model,
            messages=(),
            origin=self._target.name,
            tools=request.tools,
            tool_choice=request.tool_choice,
            parallel_tool_calls=request.parallel_tool_calls,
        )
        history = arrange(messages, rules(self._target, self._facts, fragment=True))
        crossing = Crossing(request=bare, history=history, losses=tuple(history.losses))
        return self._target.render_request(crossing, self._facts)

    # ---- the answers of earlier requests

    def with_past(self, body: Mapping[str, Any], request: Request, past: PastAnswers, scope: str, now: float) -> JSON:
        """The body with the kept turns in the place of what the client has of them, and without what it was shown."""
        groups = self._groups(_said(body.get(self._members.history)))
        messages = [message for group in groups for message in group.messages]
        found = {stretch.start: stretch for stretch in stretches(messages, past, scope, self._target.name, now)}
        out: list[Any] = []
        place, number = 0, 0  # in the messages, and among the entries
        for group, following in zip(groups, [*groups[1:], _Group(assistant=False)], strict=True):
            entries = group.entries
            if place in found and group.assistant:
                entries = self._put_back(found[place], group, following, request, number)
            out += entries
            place += len(group.messages)
            number += group.size
        return {**body, self._members.history: out}

    def _put_back(self, stretch: Stretch, group: _Group, following: _Group, request: Request, number: int) -> list[Any]:
        """The entries of an answer, and of what has to be one turn with its results, which ``following`` loses."""
        turns = list(group.messages if stretch.kept is None else stretch.kept)
        if turns[-1].role is Role.USER or _has(turns[-1:], ToolCall):
            entries = following.entries
            answered = [place for place, entry in enumerate(entries, 1) if _has(self._read([entry]), ToolResult)]
            end = max(answered, default=1 if self._target.traits.alternate else 0)
            turns += self._read(entries[:end])
            del entries[:end]
        made = self._written(turns, request)
        path = f"{self._members.history}[{number}]"
        self.losses += [msgspec.structs.replace(loss, path=path) for loss in made.losses]
        return list(made.body[self._members.history])

    def _groups(self, history: list[Any]) -> list[_Group]:
        """The entries of a history, those of the assistant apart from all others."""
        groups = []
        for assistant, entries in groupby(history, self._is_assistant):
            listed = list(entries)
            groups.append(_Group(assistant=assistant, entries=listed, messages=self._read(listed), size=len(listed)))
        return groups

    def _is_assistant(self, entry: Any) -> bool:
        messages = self._read([entry])
        return bool(messages) and all(message.role is Role.ASSISTANT for message in messages)

    def _read(self, entries: Sequence[Any]) -> tuple[Message, ...]:
        body = {"model": "m", "max_tokens": 1, self._members.history: list(entries)}
        try:
            return self._target.parse_request(body, "m", False).messages
        except InvalidRequest:
            return ()  # alone it means nothing


class _Group(msgspec.Struct, kw_only=True):
    assistant: bool
    entries: list[Any] = []
    messages: tuple[Message, ...] = ()
    size: int = 0


def _has(messages: Sequence[Message], kind: type) -> bool:
    return any(isinstance(part, kind) for message in messages for part in message.parts)


def _chosen(body: JSON, made: Mapping[str, Any], path: Sequence[str]) -> JSON:
    """The body with the tool choice of another, whatever stands beside it."""
    name, *inner = path
    key = spelled(body, name)
    out = {other: value for other, value in body.items() if other != key}
    if not inner:
        return {**out, key: made[name]} if name in made else out
    given = body.get(key)
    held = _chosen(given if isinstance(given, dict) else {}, made.get(name) or {}, inner)
    return {**out, key: held} if held else out


def spelled(body: Mapping[str, Any], name: str) -> str:
    """The key that a body has for a member: clients of gemini may write it in another case."""
    snake = _CAPITAL.sub(lambda found: f"_{found[0].lower()}", name)
    return snake if name not in body and snake in body else name


def _moved(path: str, offset: int) -> str:
    return _NUMBER.sub(lambda found: f"messages[{int(found[1]) + offset}]", path, count=1)


def listed(value: Any) -> list[Any]:
    """A list as it is, one that is missing as empty, a lone entry as one."""
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def _said(history: Any) -> list[Any]:
    """A history as a list: responses takes a lone text for the user's message."""
    return [{"role": "user", "content": entry} if isinstance(entry, str) else entry for entry in listed(history)]
