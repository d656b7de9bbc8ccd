"""The canonical stream to the events of a Responses client.

Every item is opened empty and closed whole, one after another, and the final response repeats the
done items. Numbers, indexes and item ids are our own: what clients do with those of an upstream that
skips or repeats some is in protocols/openai.md, part 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dragoman.canonical import events as e
from dragoman.dialects.responses import response as make
from dragoman.dialects.responses.errors import error_members, failure
from dragoman.dialects.responses.response import Maker
from dragoman.dialects.responses.wire import IMAGE_CALL, JSON, NAME, RESPONSE_PREFIX
from dragoman.jsontext import quoted, render
from dragoman.streaming.encoder import EncodeContext, StreamEncoder
from dragoman.streaming.sse import named_frame

_BLANKED = {"arguments": "", "code": ""}
"""Text of hosted items that accumulators append to: an item that is added has none yet."""

_LATER = ("output", "outputs", "results", "result", "error")
"""What hosted items hold only when they are done."""


class ResponsesEncoder(StreamEncoder):
    """Writes one answer."""

    def __init__(self, context: EncodeContext) -> None:
        super().__init__(context)
        self._sequence = 0
        self._head: JSON = {}
        self._maker = Maker(context, own=False)
        self._output: list[JSON] = []
        self._usage: e.UsageUpdate | None = None
        # the open block; an item is opened by its first text, so that empty blocks open nothing
        self._id = ""
        self._pieces: list[str] = []
        self._in_text = False
        self._refusal = False
        self._raw = False
        self._phase: str | None = None
        self._logprobs: list[Any] = []
        self._annotations: list[JSON] = []
        self._citations: list[e.Citation] = []
        self._call: e.ToolCallStart | None = None
        self._custom = False
        # a delta event, cut open where its number and its text stand
        self._delta_head = self._delta_place = self._delta_end = b""

    def encode(self, events: Iterable[e.Event]) -> bytes:
        """The bytes for these events. This dialect has one answer: further choices are left out."""
        return super().encode(event for event in events if type(event) is not e.InChoice)

    # ---- the envelope

    def response_start(self, event: e.ResponseStart) -> None:
        context = self.context
        own = event.origin == NAME
        id = event.id if own and event.id else context.ids(RESPONSE_PREFIX)
        created = event.created if event.created is not None else context.now
        native = event.native if own else None
        self._maker = Maker(context, own=own)
        self._head = make.envelope(id, created, event.model or context.model, context.request, native)
        self._event("response.created", {"response": self._head})
        self._event("response.in_progress", {"response": self._head})

    def usage_update(self, event: e.UsageUpdate) -> None:
        self._usage = event

    def response_end(self, event: e.ResponseEnd) -> None:
        ending = make.ending(event.finish, event.raw, own=event.origin == NAME, native=event.native)
        response = {**self._head, **ending, "output": self._output, "usage": self._counts()}
        self._event(f"response.{ending['status']}", {"response": response})

    def response_error(self, event: e.ResponseError) -> None:
        """An ``error`` event and ``response.failed``: the SDKs raise on the one, Codex on the other.

        An open item stays open. A call must not be done, since Codex runs it then; what a message has
        said so far stands in the failed response as incomplete.
        """
        if not self._head:
            self.response_start(e.ResponseStart())
        self._event("error", error_members(event.error))
        output = self._output
        if self._id and self._in_text and not self._refusal:
            part = make.text_part("".join(self._pieces), self._annotations, self._logprobs)
            output = [*output, make.message(self._id, "incomplete", [part], self._phase)]
        usage = self._counts() if self._usage is not None else None
        failed = {**self._head, "status": "failed", "error": failure(event.error), "output": output, "usage": usage}
        self._event("response.failed", {"response": failed})

    def _counts(self) -> JSON:
        update = self._usage
        if update is None:
            return make.render_usage(None)
        return make.render_usage(update.usage, update.native if update.origin == NAME else None)

    # ---- text

    def text_start(self, event: e.TextStart) -> None:
        self._refusal, self._in_text = event.refusal, True
        self._annotations, self._logprobs, self._citations, self._phase = [], [], [], None

    def text_delta(self, event: e.TextDelta) -> None:
        native = event.native if event.native is not None and self._maker.own else None
        if not self._id:
            if native is not None:
                self._phase = native.get("phase") or self._phase
            if not event.text:
                return
            self._open_text()
        self._pieces.append(event.text)
        if native is not None and native.get("logprobs") and not self._refusal:
            self._logprobs += native["logprobs"]
            self._delta(event.text, b',"logprobs":' + render(native["logprobs"]) + b"}\n\n")
        else:
            self._delta(event.text, self._delta_end)

    def citation_added(self, event: e.CitationAdded) -> None:
        citation = event.citation
        if self._id and (citation.end is not None or (citation.origin == NAME and citation.native)):
            self._cite(citation)
        else:  # what supports all of the text has its end when the text has
            self._citations.append(citation)

    def _cite(self, citation: e.Citation) -> None:
        note = make.annotation(citation, sum(map(len, self._pieces)))
        if note is None or self._refusal:
            return
        place = {"content_index": 0, "annotation_index": len(self._annotations), "annotation": note}
        self._annotations.append(note)
        self._inside("response.output_text.annotation.added", place)

    def text_end(self, event: e.TextEnd) -> None:
        self._in_text = False
        if not self._id:
            return
        text = "".join(self._pieces)
        for citation in self._citations:
            self._cite(citation)
        if self._refusal:
            part = make.refusal_part(text)
            self._inside("response.refusal.done", {"content_index": 0, "refusal": text})
        else:
            part = make.text_part(text, self._annotations, self._logprobs)
            self._inside("response.output_text.done", {"content_index": 0, "text": text, "logprobs": self._logprobs})
        self._inside("response.content_part.done", {"content_index": 0, "part": part})
        self._close(make.message(self._id, "completed", [part], self._phase))

    def _open_text(self) -> None:
        self._open(make.message(self._maker.id("message"), "in_progress", [], self._phase))
        part = make.refusal_part("") if self._refusal else make.text_part("", [], [])
        self._inside("response.content_part.added", {"content_index": 0, "part": part})
        if self._refusal:
            self._deltas("response.refusal.delta", {"content_index": 0})
        else:
            self._deltas("response.output_text.delta", {"content_index": 0}, b',"logprobs":[]')
        held, self._citations = self._citations, []
        for citation in held:
            self.citation_added(e.CitationAdded(citation))

    # ---- reasoning

    def reasoning_start(self, event: e.ReasoningStart) -> None:
        self._raw = self._maker.shows_raw(event.summary)

    def reasoning_delta(self, event: e.ReasoningDelta) -> None:
        if not self._id:
            if not event.text:
                return
            self._open_reasoning()
        self._pieces.append(event.text)
        self._delta(event.text, self._delta_end)

    def reasoning_end(self, event: e.ReasoningEnd) -> None:
        proofs = self._maker.proofs(event.opaque)
        if self._id:
            first = proofs.pop(0)[0] if proofs else None
            self._close_reasoning("".join(self._pieces), first)
        for proof in proofs:
            item = self._maker.bare_reasoning(proof)
            self._open({**item, "encrypted_content": None})
            self._close(item)
        self._raw = False

    def _open_reasoning(self) -> None:
        content: list[JSON] | None = [] if self._raw else None
        self._open(make.reasoning(self._maker.id("reasoning"), summary=[], content=content))
        if self._raw:
            part = {"type": "reasoning_text", "text": ""}
            self._inside("response.content_part.added", {"content_index": 0, "part": part})
            self._deltas("response.reasoning_text.delta", {"content_index": 0})
        else:
            part = {"type": "summary_text", "text": ""}
            self._inside("response.reasoning_summary_part.added", {"summary_index": 0, "part": part})
            self._deltas("response.reasoning_summary_text.delta", {"summary_index": 0})

    def _close_reasoning(self, text: str, encrypted: str | None) -> None:
        if self._raw:
            part = {"type": "reasoning_text", "text": text}
            self._inside("response.reasoning_text.done", {"content_index": 0, "text": text})
            self._inside("response.content_part.done", {"content_index": 0, "part": part})
            self._close(make.reasoning(self._id, summary=[], content=[part], encrypted=encrypted))
        else:
            part = {"type": "summary_text", "text": text}
            self._inside("response.reasoning_summary_text.done", {"summary_index": 0, "text": text})
            self._inside("response.reasoning_summary_part.done", {"summary_index": 0, "part": part})
            self._close(make.reasoning(self._id, summary=[part], encrypted=encrypted))

    # ---- calls

    def tool_call_start(self, event: e.ToolCallStart) -> None:
        self._call = event
        self._custom = event.kind == "custom"
        self._open(self._call_item(event, "in_progress", ""))
        if self._custom:
            self._deltas("response.custom_tool_call_input.delta", {})
        else:
            self._deltas("response.function_call_arguments.delta", {})

    def tool_call_delta(self, event: e.ToolCallDelta) -> None:
        if event.text:
            self._pieces.append(event.text)
            self._delta(event.text, self._delta_end)

    def tool_call_end(self, event: e.ToolCallEnd) -> None:
        start = self._call
        if start is None:
            return
        text = "".join(self._pieces)
        if self._custom:
            self._inside("response.custom_tool_call_input.done", {"input": text})
        else:
            self._inside("response.function_call_arguments.done", {"arguments": text})
        self._close(self._call_item(start, "completed" if event.complete else "incomplete", text))
        self._call = None

    def _call_item(self, start: e.ToolCallStart, status: str, text: str) -> JSON:
        id = self._id or self._maker.id("custom_tool_call" if self._custom else "function_call")
        return make.call(id, status, start.id, start.name, text, custom=self._custom, namespace=start.namespace)

    # ---- whole blocks

    def server_tool(self, event: e.ServerTool) -> None:
        for raw in event.items if event.origin == NAME else ():
            self._whole(self._maker.hosted(raw))

    def media(self, event: e.Media) -> None:
        item = self._maker.image(event)
        if item is not None:
            self._whole(item)

    def _whole(self, item: JSON) -> None:
        """An item that came in one piece: added without what it made, then done."""
        added = {**item, **{name: blank for name, blank in _BLANKED.items() if isinstance(item.get(name), str)}}
        added |= {name: None for name in _LATER if name in item}
        if "status" in item or item.get("type") == IMAGE_CALL:
            added["status"] = "in_progress"
        for name in ("content", "summary"):
            if item.get(name):
                added[name] = []
        self._open(added)
        self._close(item)

    # ---- events

    def _event(self, name: str, members: JSON) -> None:
        data = {"type": name, "sequence_number": self._sequence, **members}
        self._sequence += 1
        self.out.append(named_frame(name, render(data)))

    def _open(self, item: JSON) -> None:
        self._id = item["id"]
        self._pieces = []
        self._event("response.output_item.added", {"output_index": len(self._output), "item": item})

    def _close(self, item: JSON) -> None:
        self._event("response.output_item.done", {"output_index": len(self._output), "item": item})
        self._output.append(item)
        self._id = ""

    def _inside(self, name: str, members: JSON) -> None:
        self._event(name, {"item_id": self._id, "output_index": len(self._output), **members})

    def _deltas(self, name: str, place: JSON, end: bytes = b"") -> None:
        """Prepares the delta events of the open item, the hot path of every stream."""
        where = render({"item_id": self._id, "output_index": len(self._output), **place})
        self._delta_head = f'event: {name}\ndata: {{"type":"{name}","sequence_number":'.encode()
        self._delta_place = b"," + where[1:-1] + b',"delta":'
        self._delta_end = end + b"}\n\n"

    def _delta(self, text: str, end: bytes) -> None:
        self.out.append(b"%b%d%b%b%b" % (self._delta_head, self._sequence, self._delta_place, quoted(text), end))
        self._sequence += 1
