"""Which output item does an event of the upstream belong to?

Servers tie events to items by ``item_id``, ``output_index``, ``call_id``, by several of them, or
by nothing; ids change from event to event (GitHub Copilot), indexes are missing or all 0. An item
has one number of our own, by which the assembler knows it.

1. A known ``item_id`` decides, then a known ``output_index``, then a known ``call_id``.
2. An event of an unknown index opens an item. One with only an unknown id, or with nothing, is
   about the newest open item of its family; with none open it opens one, whose header comes later.
3. An item that is added or done under keys that are unknown is the open one whose keys do not
   contradict it, else a new one.
4. The items of the final ``output`` are found by call id, then by id, then by place, then by order.
5. A snapshot under a known id is that item's, whatever call id it has; the first call id stays. It is
   another item's where it has another name, or another index; and where it comes before the end for an
   item that is over: servers give one id to all calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dragoman.dialects.responses.wire import CALL, FAMILIES, JSON, MESSAGE, OTHER, REASONING, id_of, index_of, text_of
from dragoman.streaming.told import Told


class Part(Told):
    """One text of an item, as far as it was told."""

    __slots__ = ("citations",)

    def __init__(self) -> None:
        super().__init__()
        self.citations: list[Any] = []


class Item:
    """One output item of the upstream, with everything that was told of it."""

    __slots__ = (
        "arguments",
        "call_id",
        "done",
        "early",
        "family",
        "header",
        "held",
        "id",
        "kind",
        "name",
        "newest",
        "number",
        "output_index",
        "parts",
        "phase",
        "proved",
        "rotates",
        "streamed",
    )

    def __init__(self, number: int, family: str) -> None:
        self.number = number
        self.family = family
        self.kind = ""
        self.id: str | None = None
        self.output_index: int | None = None
        self.call_id: str | None = None
        self.name: str | None = None
        self.rotates = False
        """Whether the upstream gave it several ids: then none of them can be used again."""
        self.early: JSON | None = None
        """The item as it was added: a snapshot that counts where nothing else comes."""
        self.header = False
        """Whether the assembler was told of the call."""
        self.held: list[str] = []
        """Argument text that came before the header."""
        self.streamed = False
        self.arguments = ""
        """The latest snapshot of a call's arguments."""
        self.parts: dict[tuple[str, int], Part] = {}
        self.newest: dict[str, int] = {}
        """The latest part of each kind: what a delta without an index belongs to."""
        self.phase: str | None = None
        self.proved = False
        self.done = False

    @property
    def given_id(self) -> str | None:
        """The id by which the upstream knows the item again."""
        return None if self.rotates else self.id

    def part(self, kind: str, number: int | None) -> Part:
        """The part of this kind and index; without an index the newest one."""
        if number is None:
            number = self.newest.get(kind, 0)
        found = self.parts.get((kind, number))
        if found is None:
            found = self.parts[kind, number] = Part()
        self.newest[kind] = number
        return found

    def contradicts(self, id: str | None, output_index: int | None, call_id: str | None) -> bool:
        """Whether these keys are another item's. Ids that differ say nothing where they rotate."""
        if None not in (self.call_id, call_id):
            return self.call_id != call_id
        if None not in (self.output_index, output_index):
            return self.output_index != output_index
        return False

    def is_told_by(self, raw: JSON, output_index: int | None = None) -> bool:
        """Whether a snapshot under the id of this item can be of it, although its call id may be another."""
        name, indexes = text_of(raw.get("name")), {self.output_index, output_index} - {None}
        return (name is None or self.name in (None, name)) and len(indexes) < 2


class Items:
    """The output items of one answer, in the order in which they were first told of."""

    def __init__(self) -> None:
        self.all: list[Item] = []
        self._by_id: dict[tuple[str, str], Item] = {}
        self._by_index: dict[tuple[str, int], Item] = {}
        self._by_call: dict[str, Item] = {}

    def of_event(self, family: str, data: JSON) -> Item:
        """The item that an event inside an item is about."""
        id = id_of(data.get("item_id"))
        if id is not None and (item := self._by_id.get((family, id))):
            return item
        index, call_id = index_of(data.get("output_index")), id_of(data.get("call_id"))
        item = self._by_index.get((family, index)) if index is not None else None
        if item is not None and item.done and id is not None:
            item = None  # the index is used again
        if item is None and call_id is not None:
            item = self._by_call.get(call_id)
        if item is None:
            item = self._newest_open(family, None, index, call_id) or self._new(family)
        self._learn(item, id, index, call_id if family == CALL else None)
        return item

    def is_reasoning(self, data: JSON) -> bool:
        """Whether the keys of an event are those of a reasoning item and of no message."""
        id, index = id_of(data.get("item_id")), index_of(data.get("output_index"))
        if id is not None and (MESSAGE, id) not in self._by_id and (REASONING, id) in self._by_id:
            return True
        known = self._by_index if index is not None else {}
        return (MESSAGE, index) not in known and (REASONING, index) in known

    def of_item(self, raw: JSON, data: JSON, *, done: bool) -> Item:
        """The item that is added or done with this snapshot."""
        family = FAMILIES.get(str(raw.get("type")), OTHER)
        id, call_id = id_of(raw.get("id")), id_of(raw.get("call_id")) if family == CALL else None
        index = index_of(data.get("output_index"))
        named = self._by_id.get((family, id)) if done and id is not None else None
        item = self._known(family, id, index, call_id)
        if item is None and named is not None and not named.done and named.is_told_by(raw, index):
            item = named
        if item is None:
            open_item = self._newest_open(family, id, index, call_id)
            if open_item is not None and (done or open_item.early is None):
                item = open_item
        item = item or self._new(family)
        item.kind = str(raw.get("type"))
        self._learn(item, id, index, call_id)
        return item

    def of_output(self, output: list[Any]) -> Iterator[tuple[Item, JSON]]:
        """The items of the final list, each with its snapshot; unknown ones are new."""
        entries = [(place, raw) for place, raw in enumerate(output) if isinstance(raw, dict)]
        taken: dict[int, Item] = {}
        free = list(self.all)

        def take(place: int, item: Item | None) -> None:
            if item is not None and item in free:
                taken[place] = item
                free.remove(item)

        for find in (self._by_call_id, self._by_item_id):
            for place, raw in entries:
                if place not in taken:
                    take(place, find(raw))
        for place, raw in entries:
            if place not in taken:
                take(place, self._by_place(raw, place, free))
        for place, raw in entries:
            item = taken.get(place)
            if item is None:
                item = self._new(FAMILIES.get(str(raw.get("type")), OTHER))
            item.kind = str(raw.get("type"))
            self._learn(item, id_of(raw.get("id")), None, id_of(raw.get("call_id")) if item.family == CALL else None)
            yield item, raw

    # ---- how they are found

    def _known(self, family: str, id: str | None, index: int | None, call_id: str | None) -> Item | None:
        by_id = self._by_id.get((family, id)) if id is not None else None
        if by_id is not None and not by_id.contradicts(None, None, call_id):
            return by_id
        by_call = self._by_call.get(call_id) if call_id is not None else None
        if by_call is not None and not (
            by_call.done and None not in (by_call.output_index, index) and by_call.output_index != index
        ):
            return by_call
        by_index = self._by_index.get((family, index)) if index is not None else None
        if by_index is None or by_index.contradicts(None, None, call_id):
            return None
        again = by_index.done and None not in (by_index.id, id) and not by_index.rotates
        return None if again else by_index

    def _newest_open(self, family: str, id: str | None, index: int | None, call_id: str | None) -> Item | None:
        for item in reversed(self.all):
            if item.family == family and not item.done and not item.contradicts(id, index, call_id):
                return item
        return None

    def _by_call_id(self, raw: JSON) -> Item | None:
        is_call = FAMILIES.get(str(raw.get("type"))) == CALL
        return self._by_call.get(id_of(raw.get("call_id")) or "") if is_call else None

    def _by_item_id(self, raw: JSON) -> Item | None:
        family = FAMILIES.get(str(raw.get("type")), OTHER)
        item = self._by_id.get((family, id_of(raw.get("id")) or ""))
        return item if item is not None and item.is_told_by(raw) else None

    def _by_place(self, raw: JSON, place: int, free: list[Item]) -> Item | None:
        family = FAMILIES.get(str(raw.get("type")), OTHER)
        call_id = id_of(raw.get("call_id")) if family == CALL else None
        fitting = [item for item in free if item.family == family and not item.contradicts(None, None, call_id)]
        return next((item for item in fitting if item.output_index == place), fitting[0] if fitting else None)

    def _new(self, family: str) -> Item:
        item = Item(len(self.all), family)
        self.all.append(item)
        return item

    def _learn(self, item: Item, id: str | None, index: int | None, call_id: str | None) -> None:
        if id is not None:
            item.rotates |= item.id is not None and item.id != id
            item.id = item.id or id
            self._by_id[item.family, id] = item
        if index is not None:
            item.output_index = index
            self._by_index[item.family, index] = item
        if call_id is not None:
            item.call_id = item.call_id or call_id
            self._by_call.setdefault(call_id, item)
