"""The canonical stream to the events of a Responses client.

Every item is opened empty and closed whole, one after another, and the final response repeats the
done items. Numbers, indexes and item ids are our own: what clients do with those of an upstream that
skips or repeats some is in protocols/openai.md, part 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dragoman.canonical import events as e
from dragoman.dialects.responses import builtins
from dragoman.dialects.responses import response as make
from dragoman.dialects.responses.errors import error_members, failure
from dragoman.dialects.responses.response import Maker
from dragoman.dialects.responses.wire import IMAGE_CALL, JSON, NAME, PARAGRAPH, RESPONSE_PREFIX
from dragoman.jsontext import quoted, render
from dragoman.names import BUILTIN
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
        # the open item; its blocks become its parts, each opened by its first text, so that empty ones open nothing
        self._id = ""
        self._wanted: str | None = None
        """The origin's id of the open item: the item may go on with the next block."""
        self._phase: str | None = None
        self._content: list[JSON] = []
        self._summary: list[JSON] = []
        self._encrypted: str | None = None
        self._thinks = False
        """Whether the item is a reasoning item."""
        # the open part
        self._pieces: list[str] = []
        self._in_part = False
        self._refusal = False
        self._raw = False
        self._logprobs: list[Any] = []
        self._annotations: list[JSON] = []
        self._citations: list[e.Citation] = []
        self._call: e.ToolCallStart | None = None
        self._custom = False
        self._held = False
        """Whether the call waits for its end, which tells what its item is."""
        # a delta event, cut open where its number and its text stand
        self._delta_head = self._delta_place = self._delta_end = b""

    def encode(self, events: Iterable[e.Event]) -> bytes:
        """The bytes for these events. This dialect has one answer: further choices are left out."""
        return super().encode([event for event in events if type(event) is not e.InChoice])

    # ---- the envelope

    def response_start(self, event: e.ResponseStart) -> None:
        context = self.context
        own = event.origin == NAME
        id = event.id if own and event.id else context.ids(RESPONSE_PREFIX)
        created = event.created if event.created is not None else context.now
        native = event.native if own else None
        self._maker = Maker(context, own=own)
        self._head = make.envelope(id, created, event.model or context.model, context.request, native)
        self._head |= context.echo
        self._event("response.created", {"response": self._head})
        self._event("response.in_progress", {"response": self._head})

    def usage_update(self, event: e.UsageUpdate) -> None:
        self._usage = event

    def response_end(self, event: e.ResponseEnd) -> None:
        self._settle()
        ending = make.ending(event.finish, event.raw, own=event.origin == NAME, native=event.native)
        self.whole = {**self._head, **ending, "output": self._output, "usage": self._counts()}
        self._event(f"response.{ending['status']}", {"response": self.whole})

    def response_error(self, event: e.ResponseError) -> None:
        """An ``error`` event and ``response.failed``: the SDKs raise on the one, Codex on the other.

        An open item stays open. A call must not be done, since Codex runs it then; what a message has
        said so far stands in the failed response as incomplete.
        """
        if not self._head:
            self.response_start(e.ResponseStart())
        if not self._in_part:
            self._settle()
        self._release()
        self._event("error", error_members(event.error))
        output = self._output
        if self._in_part and not self._thinks and not self._refusal:
            part = make.text_part("".join(self._pieces), self._annotations, self._logprobs)
            output = [*output, make.message(self._id, "incomplete", [*self._content, part], self._phase)]
        usage = self._counts() if self._usage is not None else None
        failed = {**self._head, "status": "failed", "error": failure(event.error), "output": output, "usage": usage}
        self._event("response.failed", {"response": failed})

    def _counts(self) -> JSON:
        update = self._usage
        if update is None:
            return make.render_usage(None)
        return make.render_usage(update.usage, update.native if update.origin == NAME else None)

    # ---- items of several parts

    def _begin(self, item_id: str | None, *, thinks: bool) -> None:
        """A text or reasoning block begins: a further part of the open item if it is of the same one."""
        wanted = item_id if self._maker.own else None
        if wanted is None or wanted != self._wanted or thinks != self._thinks:
            self._settle()
        self._wanted, self._thinks = wanted, thinks

    def _end(self) -> None:
        """A block is over. An item that has an id of its own is over with the next one's begin."""
        if self._wanted is None:
            self._settle()

    def _settle(self) -> None:
        """Closes the item that was left open for further parts."""
        if self._id and self._call is None:
            if self._thinks:
                content = self._content or None
                self._close(make.reasoning(self._id, self._summary, content, self._encrypted))
            else:
                self._close(make.message(self._id, "completed", self._content, self._phase))
        self._wanted = self._phase = self._encrypted = None
        self._content, self._summary = [], []

    # ---- text

    def text_start(self, event: e.TextStart) -> None:
        self._begin(event.item_id, thinks=False)
        self._refusal = event.refusal
        self._annotations, self._logprobs, self._citations = [], [], []

    def text_delta(self, event: e.TextDelta) -> None:
        if (native := event.native) is None:
            self.text(event.text)
            return
        if self._maker.own and not self._in_part:
            self._phase = native.get("phase") or self._phase
        logprobs = self._maker.logprobs(native)
        if not logprobs or self._refusal:
            self.text(event.text)
            return
        self.text(event.text, b',"logprobs":' + render(logprobs) + b"}\n\n")
        if self._in_part:
            self._logprobs += logprobs

    def text(self, text: str, end: bytes | None = None) -> None:
        """``end``: what follows the text in its event, if not what usually does."""
        if not self._in_part:
            if not text:
                return
            self._open_text()
        self._pieces.append(text)
        self._delta(text, end or self._delta_end)

    def citation_added(self, event: e.CitationAdded) -> None:
        citation = event.citation
        if self._in_part and (citation.end is not None or (citation.origin == NAME and citation.native)):
            self._cite(citation)
        else:  # what supports all of the text has its end when the text has
            self._citations.append(citation)

    def _cite(self, citation: e.Citation) -> None:
        note = make.annotation(citation, sum(map(len, self._pieces)))
        if note is None or self._refusal:
            return
        place = {"content_index": len(self._content), "annotation_index": len(self._annotations), "annotation": note}
        self._annotations.append(note)
        self._inside("response.output_text.annotation.added", place)

    def text_end(self, event: e.TextEnd) -> None:
        if self._in_part:
            self._in_part = False
            for citation in self._citations:
                self._cite(citation)
            self._end_text("".join(self._pieces))
        self._end()

    def _open_text(self) -> None:
        if not self._id:
            self._open(make.message(self._maker.id("message", self._wanted), "in_progress", [], self._phase))
        place = {"content_index": len(self._content)}
        part = make.refusal_part("") if self._refusal else make.text_part("", [], [])
        self._open_part("response.content_part.added", place, part)
        if self._refusal:
            self._deltas("response.refusal.delta", place)
        else:
            self._deltas("response.output_text.delta", place, b',"logprobs":[]')
        held, self._citations = self._citations, []
        for citation in held:
            self.citation_added(e.CitationAdded(citation))

    def _end_text(self, text: str) -> None:
        place = {"content_index": len(self._content)}
        if self._refusal:
            part = make.refusal_part(text)
            self._inside("response.refusal.done", {**place, "refusal": text})
        else:
            part = make.text_part(text, self._annotations, self._logprobs)
            self._inside("response.output_text.done", {**place, "text": text, "logprobs": self._logprobs})
        self._inside("response.content_part.done", {**place, "part": part})
        self._content.append(part)

    # ---- reasoning

    def reasoning_start(self, event: e.ReasoningStart) -> None:
        self._begin(event.item_id, thinks=True)
        self._raw = self._maker.shows_raw(event.summary)

    def reasoning_delta(self, event: e.ReasoningDelta) -> None:
        text = event.text
        if event.part and self._maker.own:
            if self._in_part:
                self._end_thought()
            text = text.removeprefix(PARAGRAPH)
        if not self._in_part:
            if not text:
                return
            self._open_thought()
        self._pieces.append(text)
        self._delta(text, self._delta_end)

    def reasoning_end(self, event: e.ReasoningEnd) -> None:
        if self._in_part:
            self._end_thought()
        proofs = self._maker.proofs(event.opaque)
        if self._id and proofs and self._encrypted is None:
            self._encrypted = proofs.pop(0)[0]
        self._end()
        for proof in proofs:
            self._settle()
            item = self._maker.bare_reasoning(proof)
            self._open({**item, "encrypted_content": None})
            self._close(item)

    def _open_thought(self) -> None:
        if not self._id:
            self._open(make.reasoning(self._maker.id("reasoning", self._wanted), [], [] if self._raw else None))
        if self._raw:
            place = {"content_index": len(self._content)}
            self._open_part("response.content_part.added", place, make.thought_part("", raw=True))
            self._deltas("response.reasoning_text.delta", place)
        else:
            place = {"summary_index": len(self._summary)}
            self._open_part("response.reasoning_summary_part.added", place, make.thought_part("", raw=False))
            self._deltas("response.reasoning_summary_text.delta", place)

    def _end_thought(self) -> None:
        self._in_part = False
        text = "".join(self._pieces)
        part = make.thought_part(text, raw=self._raw)
        if self._raw:
            place = {"content_index": len(self._content)}
            self._inside("response.reasoning_text.done", {**place, "text": text})
            self._inside("response.content_part.done", {**place, "part": part})
            self._content.append(part)
        else:
            place = {"summary_index": len(self._summary)}
            self._inside("response.reasoning_summary_text.done", {**place, "text": text})
            self._inside("response.reasoning_summary_part.done", {**place, "part": part})
            self._summary.append(part)

    # ---- calls

    def tool_call_start(self, event: e.ToolCallStart) -> None:
        self._settle()
        self._call = event
        self._held = event.namespace == BUILTIN
        self._pieces = []
        if not self._held:
            self._open_call(event)

    def _open_call(self, start: e.ToolCallStart) -> None:
        self._custom = start.kind == "custom"
        self._open(self._call_item(start, "in_progress", ""))
        if self._custom:
            self._deltas("response.custom_tool_call_input.delta", {})
        else:
            self._deltas("response.function_call_arguments.delta", {})

    def tool_call_delta(self, event: e.ToolCallDelta) -> None:
        if event.text:
            self._pieces.append(event.text)
            if not self._held:
                self._delta(event.text, self._delta_end)

    def _release(self) -> None:
        """Tells a call that waited as one of a function."""
        if self._held and self._call is not None:
            self._held, pieces = False, self._pieces
            self._open_call(self._call)
            self.tool_call_delta(e.ToolCallDelta("".join(pieces)))

    def tool_call_end(self, event: e.ToolCallEnd) -> None:
        start = self._call
        if start is None:
            return
        text = "".join(self._pieces)
        if self._held and event.complete and builtins.item_of(start.name, start.namespace, text) is not None:
            self._call, self._held = None, False
            self._whole(self._call_item(start, "completed", text))
            return
        self._release()
        if self._custom:
            self._inside("response.custom_tool_call_input.done", {"input": text})
        else:
            self._inside("response.function_call_arguments.done", {"arguments": text})
        self._close(self._call_item(start, "completed" if event.complete else "incomplete", text))
        self._call = None

    def _call_item(self, start: e.ToolCallStart, status: str, text: str) -> JSON:
        return make.call(self._maker, self._id, status, text, start)

    # ---- whole blocks

    def server_tool(self, event: e.ServerTool) -> None:
        for raw in event.items if event.origin == NAME else ():
            self._whole(self._maker.hosted(raw))

    def tool_run(self, event: e.ToolRun) -> None:
        self._whole(make.tool_run(event))

    def media(self, event: e.Media) -> None:
        item = self._maker.image(event)
        if item is not None:
            self._whole(item)

    def _whole(self, item: JSON) -> None:
        """An item that came in one piece: added without what it made, then done."""
        self._settle()
        blanks = {name: blank for name, blank in _BLANKED.items() if isinstance(item.get(name), str)}
        added = {**builtins.opened(item), **blanks}
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
        self._pieces = []  # of a call: those of parts are their own
        self._event("response.output_item.added", {"output_index": len(self._output), "item": item})

    def _close(self, item: JSON) -> None:
        self._event("response.output_item.done", {"output_index": len(self._output), "item": item})
        self._output.append(item)
        self._id = ""

    def _open_part(self, name: str, place: JSON, part: JSON) -> None:
        self._pieces, self._in_part = [], True
        self._inside(name, {**place, "part": part})

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
