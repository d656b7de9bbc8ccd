"""Canonical events to a messages stream.

Each event gives its bytes at once, but for what must not be begun before it is known: a text block
without text is refused on replay, so its start waits for the first text; arguments that are no JSON
object from their first character on go out wrapped at the end, and so wait (design/streams.md, 4).
Source: protocols/anthropic-google.md, 1.5 and 1.7.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from dragoman import jsontext
from dragoman.canonical import events as e
from dragoman.dialects.messages import wire
from dragoman.dialects.messages.errors import render_error
from dragoman.dialects.messages.response import (
    bound_proofs,
    ending_extras,
    place_proofs,
    render_citation,
    render_usage,
    run_blocks,
    stop_reason,
    tool_input,
)
from dragoman.streaming.encoder import EncodeContext, StreamEncoder
from dragoman.streaming.sse import named_frame

_EMPTY = ("", "{}")


class _Arguments(Enum):
    """What becomes of the argument text of the open call."""

    UNDECIDED = "undecided"
    """Only blanks or an empty object so far: an empty input is told by no delta at all."""
    LIVE = "live"
    WRAPPED = "wrapped"
    """It is no JSON object: all of it is collected and told at the end."""


class MessagesEncoder(StreamEncoder):
    """Writes one answer for a client of this dialect."""

    def __init__(self, context: EncodeContext) -> None:
        super().__init__(context)
        self._own = False  # the upstream is of this dialect
        self._index = 0  # of the block that is open, or comes next
        self._open = False
        self._prefix = b""  # of a delta of the open block, up to its text
        self._citations: list[dict[str, Any]] = []  # for a text block without text so far
        self._arguments = _Arguments.UNDECIDED
        self._held: list[str] = []
        self._calls = False
        self._call_id = ""
        self._usage: e.Usage | None = None
        self._usage_native: dict[str, Any] | None = None

    # ---- the envelope

    def response_start(self, event: e.ResponseStart) -> None:
        self._own = own = event.origin == wire.NAME
        message: dict[str, Any] = {
            "id": event.id if own and event.id else self.context.ids("msg_"),
            "type": "message",
            "role": "assistant",
            "model": event.model or self.context.model or wire.UNKNOWN_MODEL,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }
        extras = event.native if own and event.native else {}
        self._frame("message_start", {"message": {**extras, **message}})

    def usage_update(self, event: e.UsageUpdate) -> None:
        self._usage = event.usage
        self._usage_native = event.native if event.origin == wire.NAME else None

    def response_end(self, event: e.ResponseEnd) -> None:
        word, sequence = stop_reason(event.finish, event.raw, event.origin, event.stop_sequence, self._calls)
        delta = {"stop_reason": word, "stop_sequence": sequence, **ending_extras(event.native, event.origin)}
        self._frame("message_delta", {"delta": delta, "usage": render_usage(self._usage, self._usage_native)})
        self._frame("message_stop", {})

    def response_error(self, event: e.ResponseError) -> None:
        """The open block stays open: a closed call would look whole."""
        self.out.append(named_frame("error", jsontext.render(render_error(event.error, ""))))

    # ---- text

    def text_start(self, event: e.TextStart) -> None:
        self._citations.clear()

    def text(self, text: str) -> None:
        if not text:
            return
        if not self._open:
            self._begin({"type": "text", "text": ""}, "text_delta", "text")
            for citation in self._citations:
                self._delta({"type": "citations_delta", "citation": citation})
        self.out.append(self._prefix + jsontext.quoted(text) + b"}}\n\n")

    def citation_added(self, event: e.CitationAdded) -> None:
        citation = render_citation(event.citation)
        if citation is None:
            return
        if self._open:
            self._delta({"type": "citations_delta", "citation": citation})
        else:
            self._citations.append(citation)

    def text_end(self, event: e.TextEnd) -> None:
        self._end()
        self._whole(bound_proofs(event.signature, ""))

    # ---- reasoning

    def reasoning_start(self, event: e.ReasoningStart) -> None:
        """Its block begins with its text; one without text depends on its proofs."""

    def reasoning_delta(self, event: e.ReasoningDelta) -> None:
        if not event.text:
            return
        if not self._open:
            self._begin({"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", "thinking")
        self.out.append(self._prefix + jsontext.quoted(event.text) + b"}}\n\n")

    def reasoning_end(self, event: e.ReasoningEnd) -> None:
        signature, blocks = place_proofs(event.opaque, after_text=self._open)
        if signature:
            self._delta({"type": "signature_delta", "signature": signature})
        self._end()
        self._whole(blocks)

    # ---- client tool calls

    def tool_call_start(self, event: e.ToolCallStart) -> None:
        self._whole(bound_proofs(event.signature, event.id))
        self._calls = True
        self._call_id = event.id
        self._held.clear()
        self._arguments = _Arguments.UNDECIDED
        block = {"type": "tool_use", "id": event.id, "name": event.name, "input": {}}
        if self._own and event.native:
            block = {**event.native, **block}
        self._begin(block, "input_json_delta", "partial_json")

    def tool_call_delta(self, event: e.ToolCallDelta) -> None:
        text = event.text
        if not text:
            return
        if self._arguments is _Arguments.LIVE:
            self.out.append(self._prefix + jsontext.quoted(text) + b"}}\n\n")
            return
        self._held.append(text)
        if self._arguments is _Arguments.UNDECIDED:
            self._decide(event.sound)

    def _decide(self, sound: bool) -> None:
        text = "".join(self._held)
        visible = text.strip()
        if not sound or (visible and visible[0] != "{"):
            self._arguments = _Arguments.WRAPPED
        elif visible not in _EMPTY:
            self._arguments = _Arguments.LIVE
            self._json(text)

    def tool_call_end(self, event: e.ToolCallEnd) -> None:
        if self._arguments is _Arguments.WRAPPED:
            self._json(jsontext.render(tool_input("".join(self._held))).decode())
        self._end()
        self._whole(bound_proofs(event.signature, self._call_id))

    # ---- blocks that come whole

    def server_tool(self, event: e.ServerTool) -> None:
        if event.origin == wire.NAME:
            self._whole([item for item in event.items if wire.sound_server_block(item)])

    def tool_run(self, event: e.ToolRun) -> None:
        self._whole(run_blocks(event))

    def media(self, event: e.Media) -> None:
        """This dialect has no form for what a model draws or says."""

    def _whole(self, blocks: list[dict[str, Any]]) -> None:
        """Blocks in one go, in the events in which this wire gives each of them."""
        for block in blocks:
            kind = block["type"]
            if kind in wire.SERVER_CALLS:
                self._begin({**block, "input": {}}, "input_json_delta", "partial_json")
                if block["input"]:
                    self._json(jsontext.render(block["input"]).decode())
            elif kind == "thinking":
                self._begin({**block, "signature": ""}, "thinking_delta", "thinking")
                self._delta({"type": "signature_delta", "signature": block["signature"]})
            elif kind == "compaction":
                self._begin({"type": kind, "content": None}, "compaction_delta", "content")
                self._delta({**block, "type": "compaction_delta"})
            else:
                self._begin(block, "", "")
            self._end()

    # ---- frames

    def _begin(self, block: dict[str, Any], delta: str, member: str) -> None:
        """Opens the block; its deltas of the usual type have one prebuilt beginning."""
        self._frame("content_block_start", {"index": self._index, "content_block": block})
        self._open = True
        self._prefix = (
            b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,"delta":{"type":"%b","%b":'
            % (self._index, delta.encode(), member.encode())
        )

    def _end(self) -> None:
        if self._open:
            self._frame("content_block_stop", {"index": self._index})
            self._index += 1
            self._open = False

    def _json(self, text: str) -> None:
        self.out.append(self._prefix + jsontext.quoted(text) + b"}}\n\n")

    def _delta(self, delta: dict[str, Any]) -> None:
        self._frame("content_block_delta", {"index": self._index, "delta": delta})

    def _frame(self, kind: str, members: dict[str, Any]) -> None:
        self.out.append(named_frame(kind, jsontext.render({"type": kind, **members})))
