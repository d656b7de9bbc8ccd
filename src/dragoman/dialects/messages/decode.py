"""An upstream's messages stream (or whole body) to what the assembler is told.

A block keeps the key that its start gave it: the index where that is new, else a number of its own,
since servers use an index twice, leave gaps, interleave, and forget stops. The type of a delta
decides what it is, not the block that it claims to belong to (sgl-project/sglang#24294).
``content_block_stop`` says that a call is over, not that its arguments are whole: a cut by
``max_tokens`` closes the block too.
Source: protocols/anthropic-google.md, 1.4 and 1.5.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any, ClassVar

from dragoman import jsontext
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.canonical.events import FinishReason
from dragoman.canonical.opaque import Opaque
from dragoman.dialects.contract import Plain
from dragoman.dialects.error_shapes import error_said, is_bare_error, is_said, message_of
from dragoman.dialects.messages import wire
from dragoman.dialects.messages.errors import parse_error
from dragoman.dialects.messages.response import UsageReader, parse_citation
from dragoman.streaming.answer import AnswerAssembler
from dragoman.streaming.sse import DONE, ServerSentEvent
from dragoman.streaming.toolcalls import read_fragment

_BODY = ("content", "stop_reason")  # members that a whole message has
_OWN_KEYS = 1 << 20  # keys of blocks whose index is taken or missing start here


class _Block:
    """A block that has begun. ``pieces``: what streamed into an upstream-run call."""

    __slots__ = ("ended", "key", "kind", "pieces", "signature", "snapshot", "value")

    def __init__(self, key: int, value: dict[str, Any]) -> None:
        self.key = key
        kind = value.get("type")
        self.kind = kind if isinstance(kind, str) else ""
        self.value = value
        self.snapshot: Any = None
        self.signature = ""
        self.pieces: list[str] = []
        self.ended = False


class MessagesDecoder:
    """Implements ``contract.Decoder`` for one answer."""

    varying: Mapping[str, bool] = {}

    def __init__(self, assembler: AnswerAssembler) -> None:
        self.plain: Plain | None = None
        self._assembler = assembler
        self._usage = UsageReader()
        self._blocks: dict[int | None, _Block] = {}  # the latest at each index
        self._open: list[_Block] = []
        self._latest: _Block | None = None
        self._next_key = _OWN_KEYS
        self._over = False  # a stop reason or message_stop came
        self._unnamed = False

    def decode(self, record: ServerSentEvent) -> None:
        """One event; the type inside its data counts, the event's name only where that is missing."""
        self.plain = None
        if record.data == DONE:
            self._assembler.terminate()
            return
        try:
            value = jsontext.parse(record.data)
        except ValueError:
            self._unreadable(record)
            return
        for item in value if isinstance(value, list) else (value,):
            if isinstance(item, dict):
                self._event(item, record.event)
            elif record.event == "error":
                self._assembler.fail(parse_error(0, item))
            elif item is not None:
                self._assembler.lose("an event that is no object")
        if isinstance(value, list):
            self.plain = None

    def decode_body(self, body: Any) -> None:
        """A whole message: its blocks are told as if they had streamed."""
        if isinstance(body, list):
            body = next((item for item in body if isinstance(item, dict)), None)
        if not isinstance(body, dict):
            self._assembler.fail(Error(kind=ErrorKind.BAD_UPSTREAM, message="the upstream's answer is not a message"))
            return
        if body.get("type") == "error" or is_said(body.get("error")) or body.keys().isdisjoint(_BODY):
            self._error(body)
            return
        self._envelope(body)
        self._count(body.get("usage"), whole=True)
        content = body.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict):
                self._close(self._begin(None, block))
        self._ending(body)
        self._assembler.terminate()

    def finish(self) -> None:
        """The bytes are over: blocks that the upstream never closed are told."""
        self._close_all()

    # ---- events

    def _event(self, value: dict[str, Any], name: str) -> None:
        kind = value.get("type")
        if not isinstance(kind, str) or not kind:
            kind = name
        elif not name and not self._unnamed:
            self._unnamed = True
            self._assembler.quirk("event-name-missing")
        handler = self._HANDLERS.get(kind)
        if handler is not None:
            handler(self, value)
        elif is_bare_error(value):
            self._assembler.fail(parse_error(0, value))
        else:
            self._assembler.lose(f"event {kind or 'without a type'}")

    def _unreadable(self, record: ServerSentEvent) -> None:
        """Corrupt JSON in mid-stream is an error, never an end (design/streams.md, 10)."""
        if record.event == "ping":
            return
        said = error_said(record.event, record.data)
        malformed = Error(kind=ErrorKind.BAD_UPSTREAM, message="the upstream sent malformed JSON in its stream")
        self._assembler.fail(malformed if said is None else parse_error(0, said))

    def _message_start(self, value: dict[str, Any]) -> None:
        message = value.get("message")
        if not isinstance(message, dict):
            return
        self._envelope(message)
        self._count(message.get("usage"), start=True)
        if message.get("content"):
            self._assembler.lose("message_start.content")

    def _envelope(self, message: dict[str, Any]) -> None:
        id, model = message.get("id"), message.get("model")
        native = {name: message[name] for name in wire.ENVELOPE_EXTRAS if message.get(name)}
        self._assembler.envelope(
            id=id if isinstance(id, str) else None,
            model=model if isinstance(model, str) else None,
            native=native or None,
        )

    def _message_delta(self, value: dict[str, Any]) -> None:
        self._count(value.get("usage"))
        delta = value.get("delta")
        self._ending(delta if isinstance(delta, dict) else value)

    def _message_stop(self, value: dict[str, Any]) -> None:
        self._over = True
        self._close_all()
        self._assembler.terminate()

    def _error(self, value: dict[str, Any]) -> None:
        if value.get("type") == "error" or is_bare_error(value):
            self._assembler.fail(parse_error(0, value))
            return
        said = message_of(value, 0)
        message = "the upstream's answer is not a message" + (f": {said}" if said else "")
        self._assembler.fail(Error(kind=ErrorKind.BAD_UPSTREAM, message=message))

    def _count(self, usage: Any, *, start: bool = False, whole: bool = False) -> None:
        if isinstance(usage, dict):
            self._assembler.usage(*self._usage.read(usage, start=start, whole=whole))

    def _ending(self, delta: dict[str, Any]) -> None:
        """The stop reason by the closed tables; a word that none of them has is a stop."""
        word = delta.get("stop_reason")
        if not isinstance(word, str) or not word.strip():
            return
        self._over = True
        sequence = delta.get("stop_sequence")
        native = {name: delta[name] for name in wire.ENDING_EXTRAS if delta.get(name)}
        word = word.strip().lower()
        if word in wire.STOP_REASONS:
            self._assembler.finish(
                wire.STOP_REASONS[word],
                word,
                stop_sequence=sequence if isinstance(sequence, str) and sequence else None,
                native=native or None,
            )
            return
        self._assembler.quirk("stop-reason-foreign")
        if word in wire.INTERRUPTIONS:
            self._assembler.interrupt(f"the upstream broke off its answer: {word}")
        else:
            self._assembler.finish(wire.FOREIGN_STOP_REASONS.get(word, FinishReason.STOP))

    # ---- blocks

    def _block_start(self, value: dict[str, Any]) -> None:
        block = value.get("content_block")
        if isinstance(block, dict):
            self._settle()
            self._begin(_index(value), block)

    def _begin(self, index: int | None, value: dict[str, Any]) -> _Block:
        """A new block at this index, told as far as its start says; a repeated header of a call is none."""
        before = self._blocks.get(index)
        if before is not None and index is not None and _repeats(before, value):
            key = before.key
            self._open.remove(before)
        elif index is None or before is not None:
            key = self._next_key
            self._next_key += 1
        else:
            key = index
        block = _Block(key, value)
        self._blocks[index] = self._latest = block
        self._open.append(block)
        self._tell_start(block)
        return block

    def _tell_start(self, block: _Block) -> None:
        value, assembler = block.value, self._assembler
        match block.kind:
            case "text":
                citations = value.get("citations")
                self._text(block, block.key, value.get("text"))
                for citation in citations if isinstance(citations, list) else ():
                    self._cite(block, citation)
            case "thinking":
                self._think(block, block.key, value.get("thinking"))
                self._sign(block, value.get("signature"))
            case "redacted_thinking":
                data = value.get("data")
                if isinstance(data, str) and data:
                    assembler.prove(Opaque(wire.NAME, "redacted", data), block.key)
            case "tool_use":
                block.snapshot = value.get("input") or None
                native = wire.call_extras(value) or None
                assembler.call(
                    read_fragment(index=block.key, id=value.get("id"), name=value.get("name"), native=native)
                )
            case kind if kind not in wire.SERVER_BLOCKS:
                assembler.lose(f"content block {kind}")

    def _block_stop(self, value: dict[str, Any]) -> None:
        index = _index(value)
        block = self._latest if index is None else self._blocks.get(index)
        if block is not None:
            self._close(block)

    def _settle(self) -> None:
        """Another block starts: what can only be told whole is told before it, even without a stop."""
        for block in tuple(self._open):
            if block.kind not in ("text", "tool_use"):
                self._close(block)

    def _close_all(self) -> None:
        """The end of the answer closes what is open; not a call in the middle of its arguments."""
        for block in tuple(self._open):
            if block.kind != "tool_use" or self._over or block.snapshot:
                self._close(block)

    def _close(self, block: _Block) -> None:
        if block.ended:
            return
        block.ended = True
        self._open.remove(block)
        if block.kind == "tool_use":
            self._assembler.end_call(read_fragment(index=block.key, arguments=block.snapshot))
        elif block.kind in wire.SERVER_BLOCKS:
            self._tell_server_block(block)
        else:
            if block.signature:
                self._assembler.prove(Opaque(wire.NAME, "signature", block.signature), block.key)
            self._assembler.end_block(block.key)

    def _tell_server_block(self, block: _Block) -> None:
        value = block.value
        if block.kind in wire.SERVER_CALLS:
            text = "".join(block.pieces)
            try:
                given = jsontext.parse(text) if text.strip() else value.get("input") or {}
            except ValueError:
                given = {wire.INVALID_JSON: text}
            value = {**value, "input": given}
        if wire.sound_server_block(value):
            self._assembler.server_tool(value)
        else:
            self._assembler.lose(f"content block {block.kind}")

    # ---- deltas

    def _block_delta(self, value: dict[str, Any]) -> None:
        delta = value.get("delta")
        if not isinstance(delta, dict):
            return
        index = value.get("index")
        if type(index) is not int:
            index = _index(value)
        block = self._latest if index is None else self._blocks.get(index)
        match delta.get("type") or _type_of(delta):
            case "text_delta":
                self._text(block, index, delta.get("text"))
            case "thinking_delta":
                self._think(block, index, delta.get("thinking"))
            case "input_json_delta":
                self._input(block, index, delta.get("partial_json"))
            case "signature_delta":
                self._sign(block, delta.get("signature"))
            case "citations_delta":
                self._cite(block, delta.get("citation"))
            case "compaction_delta" if block is not None and block.kind == "compaction":
                block.value = {**block.value, **{key: part for key, part in delta.items() if key != "type"}}
            case kind:
                self._assembler.lose(f"delta {kind}")

    def _text(self, block: _Block | None, index: int | None, text: Any) -> None:
        if isinstance(text, str) and text:
            key = self._key("text", block, index)
            self._assembler.text(text, key)
            self.plain = (text, self._assembler.more("text", key))

    def _think(self, block: _Block | None, index: int | None, text: Any) -> None:
        if isinstance(text, str) and text:
            key = self._key("thinking", block, index)
            self._assembler.reasoning(text, key)
            self.plain = (text, self._assembler.more("reasoning", key))

    def _key(self, kind: str, block: _Block | None, index: int | None) -> Hashable:
        """The key for text of this kind: the block's own if it is one of that kind, else one beside it."""
        if block is None:
            return kind, index
        if block.kind == kind:
            return block.key
        self._assembler.quirk("delta-type-mismatch")
        return kind, block.key

    def _input(self, block: _Block | None, index: int | None, piece: Any) -> None:
        if block is not None and block.kind in wire.SERVER_CALLS:
            block.pieces.append(piece if isinstance(piece, str) else "")
            return
        if block is not None and block.kind == "tool_use":
            index = block.key
        elif block is not None:  # a piece of a call at the index of a text: the call that is open goes on
            self._assembler.quirk("delta-type-mismatch")
            index = None
        if type(piece) is str:
            if piece:
                self._assembler.go_on(index, "function", piece)
                self.plain = (piece, partial(self._assembler.go_on, index, "function"))
        else:
            self._assembler.call(read_fragment(index=index, arguments=piece))

    def _sign(self, block: _Block | None, signature: Any) -> None:
        if not isinstance(signature, str) or not signature:
            return
        if block is not None and block.kind == "thinking":
            block.signature = signature  # sent once; of several the official clients keep the last
        else:
            self._assembler.prove(Opaque(wire.NAME, "signature", signature))

    def _cite(self, block: _Block | None, citation: Any) -> None:
        if isinstance(citation, dict):
            key = block.key if block is not None and block.kind == "text" else None
            self._assembler.cite(parse_citation(citation), key)

    _HANDLERS: ClassVar[dict[str, Callable[[Any, dict[str, Any]], None]]] = {
        "content_block_delta": _block_delta,
        "content_block_start": _block_start,
        "content_block_stop": _block_stop,
        "message_start": _message_start,
        "message_delta": _message_delta,
        "message_stop": _message_stop,
        "message": decode_body,
        "error": _error,
        "ping": lambda self, value: None,
    }


def _index(value: dict[str, Any]) -> int | None:
    return read_fragment(index=value.get("index")).index


def _type_of(delta: dict[str, Any]) -> str | None:
    """The type of a delta that does not say it, by its member."""
    return next((kind for member, kind in wire.DELTAS.items() if member in delta), None)


def _repeats(before: _Block, value: dict[str, Any]) -> bool:
    """Whether a start at the index of an open call is that call's header again."""
    return (
        not before.ended
        and before.kind == "tool_use"
        and value.get("type") == "tool_use"
        and value.get("id") == before.value.get("id")
    )
