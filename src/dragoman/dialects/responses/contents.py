"""What output items say: deltas as they come, snapshots only for what the deltas did not bring.

OpenAI tells each text up to five times (deltas, ``.done``, part done, item done, final output);
other servers tell it in any one of these places alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from dragoman.canonical.events import Citation, Media, ToolKind
from dragoman.canonical.logprobs import with_tokens
from dragoman.canonical.opaque import Opaque
from dragoman.dialects.openai_shapes import parse_logprobs
from dragoman.dialects.responses.items import Item
from dragoman.dialects.responses.wire import (
    CALL,
    CLIENT_CALLS,
    IMAGE_CALL,
    JSON,
    MESSAGE,
    NAME,
    OTHER,
    PARAGRAPH,
    REASONING,
    TOOL,
    delta_of,
    id_of,
    index_of,
    list_of,
    object_of,
    text_of,
)
from dragoman.streaming.answer import AnswerAssembler
from dragoman.streaming.toolcalls import CallFragment

TEXT, REFUSAL, SUMMARY, RAW = "text", "refusal", "summary", "raw"
"""Kinds of parts: the two of a message, the two of a reasoning item."""

_OWN_OF_CALL = frozenset({"type", "status", "call_id", "name", "namespace", *CLIENT_CALLS.values()})
"""Members of a call that have a canonical form."""


def read_citation(raw: JSON) -> Citation:
    """An annotation; some servers nest it as the chat dialect does."""
    inner = raw.get("url_citation")
    found = inner if isinstance(inner, dict) else raw
    return Citation(
        url=text_of(found.get("url")),
        title=text_of(found.get("title")) or text_of(found.get("filename")),
        start=index_of(found.get("start_index")),
        end=index_of(found.get("end_index")),
        origin=NAME,
        native=raw,
    )


def _text_in(kind: str, part: JSON) -> str:
    return delta_of(part.get("refusal" if kind == REFUSAL else "text"))


def kind_of(item: Item) -> ToolKind:
    return "custom" if item.kind == "custom_tool_call" else "function"


class Contents:
    """Tells the assembler what items say."""

    def __init__(self, answer: AnswerAssembler) -> None:
        self.answer = answer
        self._bare: list[JSON] = []
        """Reasoning items that hold nothing: they wait for what they led to."""

    # ---- texts

    def text(self, item: Item, kind: str, number: int | None, text: str, logprobs: Any = None) -> None:
        """More text of a message."""
        if not text:
            return
        if self._bare:
            self._tell_bare()
        native: JSON | None = None
        if isinstance(logprobs, list) and logprobs:
            native = with_tokens({"logprobs": logprobs}, parse_logprobs(logprobs))
        if item.phase is not None and not any(part.pieces for part in item.parts.values()):
            native = {**(native or {}), "phase": item.phase}
        part = item.part(kind, number)
        part.pieces.append(text)
        key = (item.number, kind, item.newest[kind])
        self.answer.text(text, key, refusal=kind == REFUSAL, native=native, item_id=item.given_id)

    def said(self, items: Iterable[Item]) -> str:
        """All text that these items told so far."""
        parts = (part for item in items for (kind, _), part in item.parts.items() if kind == TEXT)
        return "".join(piece for part in parts for piece in part.pieces)

    def more(self, item: Item, kind: str, number: int | None) -> Callable[[str], None]:
        """What tells more of the text that was told last."""
        pieces = item.part(kind, number).pieces
        tell = self.answer.more("refusal" if kind == REFUSAL else "text", (item.number, kind, item.newest[kind]))

        def go_on(text: str) -> None:
            pieces.append(text)
            tell(text)

        return go_on

    def thought(self, item: Item, kind: str, number: int | None, text: str) -> None:
        """More reasoning; parts of one item are paragraphs of one block."""
        if not text:
            return
        if self._bare:
            self._tell_bare()
        latest = item.newest.get(kind)
        part = item.part(kind, number)
        begins = (latest != item.newest[kind] or not part.pieces) and self._told(item, kind)
        part.pieces.append(text)
        self.answer.reasoning(
            PARAGRAPH + text if begins else text,
            (item.number, kind),
            summary=kind == SUMMARY,
            item_id=item.given_id,
            part=begins,
        )

    def supply(self, item: Item, kind: str, number: int | None, whole: str, logprobs: Any = None) -> None:
        """A snapshot of one text, or an earlier state of it."""
        part = item.part(kind, number)
        rest = part.rest(whole)
        if rest is None:
            self.answer.quirk("snapshot-differs")
        elif kind in (TEXT, REFUSAL):
            self.text(item, kind, number, rest, None if part.pieces else logprobs)
        else:
            self.thought(item, kind, number, rest)

    def cite(self, item: Item, number: int | None, annotation: Any) -> None:
        """A source of a text, told once however often it is listed."""
        part = item.part(TEXT, number)
        if not isinstance(annotation, dict) or annotation in part.citations:
            return
        part.citations.append(annotation)
        self.answer.cite(read_citation(annotation), (item.number, TEXT, item.newest[TEXT]))

    def part_done(self, item: Item, number: int | None, raw: JSON) -> None:
        """A snapshot of one part of a message or a reasoning item."""
        kind = self.part_kind(item, raw)
        if kind is None:
            self.answer.lose(f"content part of type {raw.get('type')}")
            return
        self.supply(item, kind, number, _text_in(kind, raw), raw.get("logprobs"))
        if kind == TEXT:
            for annotation in list_of(raw.get("annotations")):
                self.cite(item, number, annotation)

    def part_kind(self, item: Item, raw: JSON) -> str | None:
        """The kind of a part. The item decides: vLLM puts ``output_text`` parts into reasoning items
        (vllm-project/vllm#24788)."""
        named = raw.get("type")
        if item.family == REASONING:
            return SUMMARY if named == "summary_text" else RAW
        if named == "refusal":
            return REFUSAL
        return TEXT if named in ("output_text", "text", None) else None

    def end_part(self, item: Item, kind: str, number: int | None) -> None:
        if number is None:
            number = item.newest.get(kind, 0)
        self.answer.end_block((item.number, kind, number))

    # ---- calls

    def call_header(self, item: Item, raw: JSON) -> None:
        """Name and id of a call; told again only if they say something new."""
        call_id, name = id_of(raw.get("call_id")), text_of(raw.get("name"))
        if call_id not in (None, item.call_id):
            self.answer.quirk("id-rotated")
        if item.header and (name is None or name == item.name):
            return
        if call_id is None and name is None:
            return
        item.name = name or item.name
        item.header = True
        self.answer.call(self._fragment(item, header=raw))
        held, item.held = item.held, []
        if held:
            self.answer.quirk("args-before-item")
        for piece in held:  # one by one: a character may be cut between two of them
            self.answer.call(CallFragment(index=item.number, arguments=piece, kind=kind_of(item)))

    def call_delta(self, item: Item, text: str) -> None:
        """More argument text. What comes before the header waits for it (docker/docker-agent#2976)."""
        if not text:
            return
        if self._bare:
            self._tell_bare()
        if not item.streamed:
            item.streamed, early = True, item.arguments
            self.call_delta(item, early)  # what the start held counts; a repetition of it is found out
        if item.header:
            self.answer.go_on(item.number, kind_of(item), text)
        else:
            item.held.append(text)

    def end_call(self, item: Item, *, over: bool = True) -> None:
        """No more comes of a call than the latest snapshot of its arguments; ``over``: it is whole.

        It may be told again: a later snapshot may supply what an earlier one did not hold.
        """
        item.done = True
        self._tell_bare()
        # without a header the assembler still has to know of it: what was never named is dropped there
        held = "".join(item.held)
        self.answer.end_call(self._fragment(item, arguments=item.arguments or held or None), over=over)

    def _fragment(self, item: Item, arguments: str | None = None, header: JSON | None = None) -> CallFragment:
        known = header or {}
        more = {name: value for name, value in known.items() if name not in _OWN_OF_CALL and value is not None}
        if item.rotates:
            more.pop("id", None)
        return CallFragment(
            index=item.number,
            id=item.call_id,
            name=item.name,
            arguments=arguments,
            kind=kind_of(item),
            namespace=text_of(known.get("namespace")),
            native=more or None,
        )

    # ---- whole items

    def added(self, item: Item, raw: JSON) -> None:
        """An item begins. What it already holds is a snapshot, for the case that nothing else comes."""
        if item.early is not None:
            self.answer.quirk("item-added-twice")
        item.early = raw
        item.phase = text_of(raw.get("phase")) or item.phase
        if item.family == CALL:
            self.call_header(item, raw)
            item.arguments = item.arguments or delta_of(raw.get(CLIENT_CALLS[item.kind]))
        for kind, number, part in self._listed(item, raw):
            self.part_begins(item, kind, number, part)

    def part_begins(self, item: Item, kind: str | None, number: int | None, raw: JSON) -> None:
        """A part begins; what it already holds is the beginning of its text (design/streams.md, 10)."""
        if kind is not None and (text := _text_in(kind, raw)):
            self.supply(item, kind, number, text, raw.get("logprobs"))

    def _listed(self, item: Item, raw: JSON) -> Iterator[tuple[str | None, int, JSON]]:
        """The parts of a message or a reasoning item: kind, if it is known, number, and the part itself."""
        for member in {MESSAGE: ("content",), REASONING: ("summary", "content")}.get(item.family, ()):
            held = raw.get(member)
            for number, part in enumerate([held] if isinstance(held, str) else list_of(held)):
                found = {"text": part} if isinstance(part, str) else object_of(part)
                kind = self.part_kind(item, found)
                yield kind if item.family == MESSAGE else SUMMARY if member == "summary" else RAW, number, found

    def done(self, item: Item, raw: JSON) -> None:
        """An item is over: ``raw`` is all of it. The same item may be told to be over several times."""
        if item.rotates and not item.done:
            self.answer.quirk("item-id-rotates")
        match item.family:
            case "message":
                self._message_done(item, raw)
            case "reasoning":
                self._reasoning_done(item, raw)
            case "call":
                self.call_header(item, raw)
                item.arguments = delta_of(raw.get(CLIENT_CALLS[item.kind])) or item.arguments
                self.end_call(item, over=raw.get("status") != "incomplete")
            case "tool" if not item.done:
                self._tool_done(raw)
            case "other" if not item.done:
                self.answer.lose(f"output item of type {raw.get('type')}")
        item.done = True

    def leave(self, item: Item) -> None:
        """No more comes of an item that was not said to be over."""
        if item.done:
            return
        if item.family in (MESSAGE, REASONING) and item.early is not None:
            self.done(item, {**item.early, "encrypted_content": None})
        elif item.family == CALL:
            self.end_call(item, over=not item.header)
        elif item.family in (TOOL, OTHER):
            self.answer.lose(f"output item of type {item.kind or 'unknown'} that was never done")

    def _message_done(self, item: Item, raw: JSON) -> None:
        if item.done and any(part.pieces for part in item.parts.values()):
            return  # told whole already; a second whole may number its parts in another way
        item.phase = text_of(raw.get("phase")) or item.phase
        for _, number, part in self._listed(item, raw):
            self.part_done(item, number, part)
        for kind, number in list(item.parts):
            self.end_part(item, kind, number)

    def _reasoning_done(self, item: Item, raw: JSON) -> None:
        for kind, number, part in self._listed(item, raw):
            if kind is not None:
                self.supply(item, kind, number, _text_in(kind, part))
        key = (item.number, RAW if RAW in item.newest and self._told(item, RAW) else SUMMARY)
        proof = text_of(raw.get("encrypted_content"))
        if proof and not item.proved:
            item.proved = True
            # an id that changes from event to event is none that the upstream would know again
            id = None if item.rotates else text_of(raw.get("id"))
            self.answer.prove(Opaque(NAME, "encrypted", proof, id), key)
        elif item.given_id is not None and not item.done and not any(part.pieces for part in item.parts.values()):
            self._bare.append({"id": item.given_id, "type": "reasoning", "summary": []})
        for kind in (SUMMARY, RAW):
            self.answer.end_block((item.number, kind))

    def _tell_bare(self) -> None:
        """Reasoning that only has an id: the upstream wants it back before the item that it led to
        (continuedev/continue#11994). It is nothing that an answer begins with."""
        bare, self._bare = self._bare, []
        for raw in bare:
            self.answer.server_tool(raw)

    def _told(self, item: Item, kind: str) -> bool:
        return any(part.pieces for (name, _), part in item.parts.items() if name == kind)

    def _tool_done(self, raw: JSON) -> None:
        self._tell_bare()
        picture = text_of(raw.get("result")) if raw.get("type") == IMAGE_CALL else None
        if picture is None:
            self.answer.server_tool(raw)
            return
        form = text_of(raw.get("output_format")) or "png"
        native = {name: value for name, value in raw.items() if name != "result"}
        self.answer.media(Media(media_type=f"image/{form}", data=picture, native=native, origin=NAME))
