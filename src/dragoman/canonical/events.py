"""The canonical stream: what an answer says, in the one legal order.

    ResponseStart · (Text | Reasoning | ToolCall | ServerTool | ToolRun | Media blocks) · UsageUpdate · ResponseEnd
    ResponseStart · …                                                                     · ResponseError
    ResponseError                                                          (nothing was said before)

One block is open at a time; ``streaming.order`` holds the table. A ``ToolCallStart`` cannot be
built without a name and an id (founding text B); the text of its deltas joins to the arguments.
Sources: design/streams.md, 1.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

import msgspec

from dragoman.canonical.errors import Error
from dragoman.canonical.opaque import Opaque


class FinishReason(StrEnum):
    """Why an answer ended. A failed or cut answer has none: it ends in a ``ResponseError``."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    PAUSED = "paused"
    """The upstream waits for the same turn to be sent again (``pause_turn``, ``CONTINUATION``)."""


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Token counts of one answer; ``None`` is unknown.

    Inclusive: ``input`` counts cache reads and writes, ``output`` counts reasoning
    (design/streams.md, 9). Each dialect converts at its edge.
    """

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None

    @property
    def known(self) -> bool:
        """Whether the two counts that every dialect reports are there."""
        return self.input is not None and self.output is not None

    def merged(self, later: Usage) -> Usage:
        """These counts, each replaced by the later one where that is known: totals, never sums."""
        fields = {name: new for name in self.__struct_fields__ if (new := getattr(later, name)) is not None}
        return msgspec.structs.replace(self, **fields) if fields else self


class Citation(msgspec.Struct, frozen=True, kw_only=True):
    """A source of the text: where it is, and which characters of the text block it supports.

    ``start`` and ``end`` count characters (code points) from the start of the block.
    ``native`` is the origin's own record, given to clients of the same dialect as it was.
    """

    url: str | None = None
    title: str | None = None
    quote: str | None = None
    start: int | None = None
    end: int | None = None
    origin: str | None = None
    native: dict[str, Any] | None = None


class _Event(msgspec.Struct, frozen=True):
    """Base of all events: immutable values."""


class ResponseStart(_Event, frozen=True, kw_only=True):
    """The answer begins. ``id`` is the upstream's (``origin`` names its dialect), "" if it gave none.

    ``created`` is a Unix time in seconds. ``native`` holds members of the origin's envelope that
    only clients of the same dialect get.
    """

    id: str = ""
    model: str = ""
    created: int | None = None
    origin: str = ""
    native: dict[str, Any] | None = None


class TextStart(_Event, frozen=True):
    """A text block opens. ``refusal``: it says why the model will not answer.

    ``item_id``: the origin's id of the item that the block is of; neighbours of one item have the
    same. Only clients of the origin's dialect get it.
    """

    refusal: bool = False
    item_id: str | None = None


class TextDelta(_Event, frozen=True):
    """More text. ``native``: members beside the text that only the same dialect knows, and its tokens.

    What the tokens are, ``logprobs.tokens_of`` says for every dialect.
    """

    text: str
    native: dict[str, Any] | None = None


class CitationAdded(_Event, frozen=True):
    """The open text block rests on this source."""

    citation: Citation


class TextEnd(_Event, frozen=True):
    """The text block closes. ``signature``: the proof that belongs to it (Gemini signs text)."""

    signature: Opaque | None = None


class ReasoningStart(_Event, frozen=True):
    """A reasoning block opens. ``summary``: its text is a summary, not the reasoning itself.

    ``item_id`` as in ``TextStart``; of a chat server, which has no items, the member that the text stood in.
    """

    summary: bool = False
    item_id: str | None = None


class ReasoningDelta(_Event, frozen=True):
    """More reasoning text. ``part``: here a further part of the origin's item begins, with a blank line."""

    text: str
    part: bool = False


class ReasoningEnd(_Event, frozen=True):
    """The reasoning block closes, with its proofs. A block may hold a proof and no text."""

    opaque: tuple[Opaque, ...] = ()


ToolKind = Literal["function", "custom"]
"""``function`` takes JSON arguments, ``custom`` (OpenAI's freeform tools) any text."""


class ToolCallStart(_Event, frozen=True, kw_only=True):
    """A call by the model that the client has to run. Announced once, never without name and id.

    ``native``: further members of the call, given to clients of the upstream's dialect as they were.
    """

    id: str
    name: str
    kind: ToolKind = "function"
    signature: Opaque | None = None
    namespace: str | None = None
    native: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if not self.id or not self.name:
            raise ValueError("a tool call is announced only with a non-empty id and name")


class ToolCallDelta(_Event, frozen=True):
    """More argument text.

    ``sound`` is false once all text up to here, this fragment included, cannot be the beginning
    of a JSON object: the model (or its server) wrote something else.
    """

    text: str
    sound: bool = True


class ToolCallEnd(_Event, frozen=True):
    """The call closes. ``complete``: its arguments are whole (JSON, or all of a custom input)."""

    complete: bool = True
    signature: Opaque | None = None


class ServerTool(_Event, frozen=True):
    """A tool that the *upstream* ran: never a client call (design/streams.md, 11).

    ``items`` are the origin's own blocks, items or parts; other dialects leave them out.
    """

    origin: str
    items: tuple[dict[str, Any], ...]


class ToolRun(_Event, frozen=True, kw_only=True):
    """A tool that the *gateway* ran, with what came of it: shown where the client's dialect has a form
    that no client runs, else left out (design/streams.md, 12).

    ``arguments`` is JSON text; ``output`` the text of the result; ``error``: the tool failed.
    """

    id: str
    server: str
    name: str
    arguments: str
    output: str
    error: bool = False


class Media(_Event, frozen=True, kw_only=True):
    """An image or a sound that the model made: base64 ``data``, or a ``url``."""

    media_type: str
    data: str | None = None
    url: str | None = None
    signature: Opaque | None = None
    native: dict[str, Any] | None = None
    origin: str | None = None


class UsageUpdate(_Event, frozen=True):
    """What the answer cost; sent once, right before the end, if anything is known."""

    usage: Usage
    native: dict[str, Any] | None = None
    origin: str | None = None


class ResponseEnd(_Event, frozen=True, kw_only=True):
    """The answer is over as its upstream said. ``raw`` is the upstream's own word in ``origin``'s dialect."""

    finish: FinishReason
    raw: str | None = None
    origin: str = ""
    stop_sequence: str | None = None
    native: dict[str, Any] | None = None


class ResponseError(_Event, frozen=True):
    """The answer failed, or was cut: nothing that came before it is a finished answer."""

    error: Error


class InChoice(_Event, frozen=True):
    """An event of a further choice (index 1, 2, …) where the client asked for several answers.

    Each choice has its own blocks and its own ``ResponseEnd``; ``ResponseStart``, ``UsageUpdate``
    and ``ResponseError`` belong to all and come outside.
    """

    index: int
    event: Event


Event = (
    ResponseStart
    | TextStart
    | TextDelta
    | CitationAdded
    | TextEnd
    | ReasoningStart
    | ReasoningDelta
    | ReasoningEnd
    | ToolCallStart
    | ToolCallDelta
    | ToolCallEnd
    | ServerTool
    | ToolRun
    | Media
    | UsageUpdate
    | ResponseEnd
    | ResponseError
    | InChoice
)
