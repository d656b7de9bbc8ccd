"""A client tool call in the making, and the pieces in which wires give it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from dragoman.canonical.events import ToolKind
from dragoman.canonical.opaque import Opaque
from dragoman.streaming.arguments import FreeformArguments, JSONArguments, argument_text
from dragoman.streaming.blocks import Block
from dragoman.streaming.freeform import InputReader, InputWriter
from dragoman.streaming.told import agree


class CallFragment(msgspec.Struct, frozen=True, kw_only=True):
    """What one piece of an upstream's stream says of a client tool call; ``None``: it does not say.

    ``index`` and ``id`` are keys as the upstream uses them. ``arguments`` is argument text to
    append, or in ``end_call`` a snapshot of all of it.
    """

    index: int | None = None
    id: str | None = None
    name: str | None = None
    arguments: str | None = None
    kind: ToolKind = "function"
    signature: Opaque | None = None
    namespace: str | None = None
    native: dict[str, Any] | None = None

    @property
    def only_goes_on(self) -> bool:
        """Whether it brings argument text to an index, and no more."""
        return self == CallFragment(index=self.index, arguments=self.arguments, kind=self.kind)


def read_fragment(
    *,
    index: Any = None,
    id: Any = None,
    name: Any = None,
    arguments: Any = None,
    kind: ToolKind = "function",
    signature: Opaque | None = None,
    namespace: str | None = None,
    native: dict[str, Any] | None = None,
) -> CallFragment:
    """A fragment from raw wire values, whatever their types (design/streams.md, 2).

    ``null``, ``""`` and absent are the same; a numeric id becomes text; an integral float or a
    decimal string becomes an index, any other index is none; an object as arguments is written down as JSON.
    """
    if isinstance(id, int | float) and not isinstance(id, bool):
        id = str(id)
    return CallFragment(
        index=_index(index),
        id=id if isinstance(id, str) and id.strip() else None,
        name=name if isinstance(name, str) and name.strip() else None,
        arguments=argument_text(arguments),
        kind=kind,
        signature=signature,
        namespace=namespace,
        native=native,
    )


def _index(value: Any) -> int | None:
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 10:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


class Call(Block):
    """A tool call in the making; a block of the answer once it is announced."""

    __slots__ = (
        "announced",
        "arguments",
        "ended",
        "finished",
        "form",
        "id",
        "id_taken",
        "index",
        "kind",
        "late_signature",
        "name",
        "namespace",
        "native",
        "original",
        "signature",
    )

    def __init__(self, fragment: CallFragment, note: Callable[[str], None]) -> None:
        super().__init__()
        self.index = fragment.index
        self.id = fragment.id
        self.id_taken = False  # another call has this id too
        self.original: Call | None = None  # the call whose echo this may be
        self.name = ""
        self.kind = fragment.kind
        self.namespace = fragment.namespace
        self.native = fragment.native
        self.signature: Opaque | None = None
        self.late_signature: Opaque | None = None
        self.arguments = JSONArguments(note) if fragment.kind == "function" else FreeformArguments(note)
        self.form: InputReader | InputWriter | None = None  # turns the arguments into the client's form
        self.announced = False
        self.ended = False  # by the upstream's word
        self.finished = False  # nothing more of it goes out

    @property
    def done(self) -> bool:
        """Its arguments are there: more argument text cannot be theirs."""
        return self.finished or self.arguments.whole

    def agrees(self, snapshot: CallFragment) -> bool:
        """Whether the arguments of the snapshot can be this call's."""
        return agree(self.arguments.text, snapshot.arguments or "")
