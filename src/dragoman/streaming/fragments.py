"""One piece of a client tool call, as the wire gave it."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.canonical.events import ToolKind
from dragoman.canonical.opaque import Opaque
from dragoman.streaming.arguments import argument_text


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


def read_fragment(
    *,
    index: Any = None,
    id: Any = None,
    name: Any = None,
    arguments: Any = None,
    kind: ToolKind = "function",
    signature: Opaque | None = None,
    namespace: str | None = None,
) -> CallFragment:
    """A fragment from raw wire values, whatever their types (design/streams.md, 2).

    ``null``, ``""`` and absent are the same; a numeric id becomes text; an integral float or a
    decimal string becomes an index, any other index is none; an object as arguments is written down as JSON.
    """
    if isinstance(id, int | float) and not isinstance(id, bool):
        id = str(id)
    return CallFragment(
        index=_index(index),
        id=id if isinstance(id, str) and id else None,
        name=name if isinstance(name, str) and name.strip() else None,
        arguments=argument_text(arguments),
        kind=kind,
        signature=signature,
        namespace=namespace,
    )


def _index(value: Any) -> int | None:
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 10:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
