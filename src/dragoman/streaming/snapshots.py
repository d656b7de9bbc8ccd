"""What snapshots add to deltas: deltas win, snapshots supply the missing rest (design/streams.md, 4).

A snapshot that extends what was told supplies the rest. One that repeats it, or an earlier state of it,
says nothing. One that tells something else supplies nothing, and is counted: what went out stays.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence

import msgspec

from dragoman import jsontext
from dragoman.names import bare_name
from dragoman.streaming.answer import AnswerAssembler
from dragoman.streaming.fragments import Call, CallFragment


def supply_calls(answer: AnswerAssembler, snapshots: Sequence[CallFragment]) -> bool:
    """All calls of the choice, as a snapshot lists them; whether one of them said anything new.

    A listed call is one that was told (``_Pairing``), or a new one.
    """
    found = _Pairing(answer.calls, snapshots, answer.context.tools or {}).found
    supplied = False
    for place, snapshot in enumerate(snapshots):
        if call := found.get(place):
            supplied |= _supply(answer, call, snapshot)
        elif snapshot.name or snapshot.id:
            answer.call(msgspec.structs.replace(snapshot, index=None))
            supplied = True
        elif snapshot.arguments:
            answer.lose("arguments without a call")
    return supplied


class _Pairing:
    """Which told call is each listed one? By id, then by index or place, then the first that it can be.

    Names must agree. Ids that differ tell two calls apart, unless the arguments of both agree: servers
    give one call several ids. ``found`` has the calls by the places of their snapshots.
    """

    def __init__(self, told: list[Call], snapshots: Sequence[CallFragment], tools: Collection[str]) -> None:
        self.found: dict[int, Call] = {}
        self._told = told
        self._tools = tools
        free = list(told)
        for way in (self._by_id, self._by_place, self._by_arguments):
            for place, snapshot in enumerate(snapshots):
                fitting = (call for call in way(place, snapshot) if call in free and self._named(call, snapshot))
                if place not in self.found and (call := next(fitting, None)):
                    self.found[place] = call
                    free.remove(call)

    def _by_id(self, _: int, snapshot: CallFragment) -> Iterator[Call]:
        return (call for call in self._told if self._has_id(call, snapshot))

    def _by_place(self, place: int, snapshot: CallFragment) -> Iterator[Call]:
        near = [call for call in self._told if call.index is not None and call.index == snapshot.index]
        near += self._told[place : place + 1]
        return (
            call for call in near if None in (call.id, snapshot.id) or call.id == snapshot.id or call.agrees(snapshot)
        )

    def _by_arguments(self, _: int, snapshot: CallFragment) -> Iterator[Call]:
        return (call for call in self._told if call.agrees(snapshot))

    def _has_id(self, call: Call, snapshot: CallFragment) -> bool:
        return call.id is not None and call.id == snapshot.id

    def _named(self, call: Call, snapshot: CallFragment) -> bool:
        if not call.name:  # what has nothing at all is no call
            return self._has_id(call, snapshot) or call.arguments.size > 0
        return not snapshot.name or bare_name(call.name, self._tools) == bare_name(snapshot.name, self._tools)


def _supply(answer: AnswerAssembler, call: Call, snapshot: CallFragment) -> bool:
    """What this snapshot of a told call has beyond it; whether there was any."""
    before = (call.arguments.text, call.name)
    if not call.finished:
        call.id = call.id or snapshot.id
        call.name = call.name or (snapshot.name or "").strip()
        if call.signature is None and call.late_signature is None:
            call.late_signature = snapshot.signature
        if snapshot.arguments is not None:
            call.arguments.supply(_spelled_like(call.arguments.text, snapshot.arguments))
    if not call.agrees(snapshot):
        answer.quirk("snapshot-differs")
    return (call.arguments.text, call.name) != before


def _spelled_like(told: str, whole: str) -> str:
    """The arguments with the blanks of those that were told, if only by these they differ."""
    if not told or whole.startswith(told):
        return whole
    try:
        value = jsontext.parse(whole)
    except ValueError:
        return whole
    spaced = json.dumps(value, ensure_ascii=False)
    return next((text for text in (jsontext.render(value).decode(), spaced) if text.startswith(told)), whole)
