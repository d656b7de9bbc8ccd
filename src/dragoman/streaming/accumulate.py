"""Events to a whole response. The client that does not stream gets the same answer in one piece."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from dragoman.canonical import events as e
from dragoman.canonical.errors import Error
from dragoman.canonical.opaque import Opaque
from dragoman.canonical.response import Block, Choice, ReasoningBlock, Response, TextBlock, ToolCallBlock


class _ChoiceRecord:
    """The blocks of one choice; the open one is kept in pieces."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.end: e.ResponseEnd | None = None
        self._start: Any = None
        self._text: list[str] = []
        self._natives: list[dict[str, Any] | None] = []
        self._citations: list[e.Citation] = []
        self._parts: list[int] = []
        self._sound = True

    def add(self, event: e.Event) -> None:
        match event:
            case e.TextDelta(text, native):
                self._text.append(text)
                self._natives.append(native)
            case e.ReasoningDelta(text, part):
                if part:
                    self._parts.append(sum(map(len, self._text)))
                self._text.append(text)
            case e.ToolCallDelta(text, sound):
                self._text.append(text)
                self._sound = self._sound and sound
            case e.TextStart() | e.ReasoningStart() | e.ToolCallStart():
                self._start = event
                self._text, self._natives, self._citations, self._parts, self._sound = [], [], [], [], True
            case e.CitationAdded(citation):
                self._citations.append(citation)
            case e.TextEnd(signature):
                self._end_text(signature)
            case e.ReasoningEnd(opaque):
                self._end_reasoning(opaque)
            case e.ToolCallEnd():
                self._end_call(event)
            case e.ServerTool() | e.ToolRun() | e.Media():
                self.blocks.append(event)
            case e.ResponseEnd():
                self.end = event

    def _end_reasoning(self, opaque: tuple[Opaque, ...]) -> None:
        self.blocks.append(
            ReasoningBlock(
                text="".join(self._text),
                summary=self._start.summary,
                opaque=opaque,
                item_id=self._start.item_id,
                parts=tuple(self._parts),
            )
        )

    def _end_text(self, signature: Any) -> None:
        self.blocks.append(
            TextBlock(
                text="".join(self._text),
                refusal=self._start.refusal,
                citations=tuple(self._citations),
                signature=signature,
                native=tuple(filter(None, self._natives)),
                item_id=self._start.item_id,
            )
        )

    def _end_call(self, event: e.ToolCallEnd) -> None:
        start: e.ToolCallStart = self._start
        self.blocks.append(
            ToolCallBlock(
                id=start.id,
                name=start.name,
                arguments="".join(self._text),
                kind=start.kind,
                complete=event.complete,
                sound=self._sound,
                signature=event.signature or start.signature,
                namespace=start.namespace,
                native=start.native,
            )
        )


class Accumulator:
    """Collects a canonical stream; ``response`` or ``error`` is there once it has ended."""

    def __init__(self) -> None:
        self.error: Error | None = None
        self._start = e.ResponseStart()
        self._usage: e.UsageUpdate | None = None
        self._choices: dict[int, _ChoiceRecord] = {0: _ChoiceRecord()}

    def add(self, events: Iterable[e.Event]) -> None:
        """More of the stream."""
        for event in events:
            match event:
                case e.InChoice(index, inner):
                    self._choices.setdefault(index, _ChoiceRecord()).add(inner)
                case e.ResponseStart():
                    self._start = event
                case e.UsageUpdate():
                    self._usage = event
                case e.ResponseError(error):
                    self.error = error
                case _:
                    self._choices[0].add(event)

    @property
    def response(self) -> Response | None:
        """The whole answer; ``None`` while it has not ended, and for a failed one."""
        records = [record for _, record in sorted(self._choices.items())]
        if self.error is not None or any(record.end is None for record in records):
            return None
        return Response(
            id=self._start.id,
            model=self._start.model,
            created=self._start.created,
            choices=tuple(_choice(record) for record in records),
            usage=self._usage.usage if self._usage else None,
            origin=self._start.origin,
            native=self._start.native,
            usage_native=self._usage.native if self._usage else None,
        )


def _choice(record: _ChoiceRecord) -> Choice:
    end = record.end or e.ResponseEnd(finish=e.FinishReason.STOP)
    return Choice(blocks=tuple(record.blocks), **msgspec.structs.asdict(end))
