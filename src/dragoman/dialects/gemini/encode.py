"""The canonical stream as Google's chunks.

    data: {chunk} ⏎⏎ …                 with alt=sse: nothing but such frames, their readers stop at anything else
    [{chunk},⏎{chunk} …]               without

Text goes out live; a call is one part, written when it is over; the last chunk of each candidate
holds the word of the end and, in the last one of all, the counts (protocols/anthropic-google.md, 2.4
and 2.6). No chunk goes out without a part: helpers drop a turn that has one.
"""

from __future__ import annotations

from typing import Any

from dragoman import jsontext
from dragoman.canonical import events as e
from dragoman.dialects.gemini import parts
from dragoman.dialects.gemini.citations import Passage, render_grounding
from dragoman.dialects.gemini.errors import render_error
from dragoman.dialects.gemini.logprobs import logprobs_result
from dragoman.dialects.gemini.usage import render_usage
from dragoman.dialects.gemini.wire import JSON, NAME
from dragoman.streaming.encoder import EncodeContext, StreamEncoder


class _Candidate:
    """What one of the answers has said so far."""

    __slots__ = (
        "arguments",
        "before",
        "call",
        "calls",
        "citations",
        "passages",
        "sound",
        "tail",
        "text",
        "thought_tail",
    )

    def __init__(self, index: int, envelope: bytes) -> None:
        rest = b'],"role":"model"},"index":%d}],' % index + envelope
        self.tail = b"}" + rest
        self.thought_tail = b',"thought":true}' + rest
        self.call: e.ToolCallStart | None = None
        self.calls = False
        self.arguments: list[str] = []
        self.sound = True
        self.text: list[str] = []  # of the open text block: citations count its bytes
        self.before = 0  # bytes of the text before it
        self.citations: list[e.Citation] = []
        self.passages: list[Passage] = []


class Encoder(StreamEncoder):
    """Writes one stream."""

    def __init__(self, context: EncodeContext) -> None:
        super().__init__(context)
        self._lead, self._next_lead, self._trail = _ARRAY if context.array else _EVENTS
        self._begun = False
        self._envelope: JSON = {}
        self._native: JSON = {}
        self._counts: JSON | None = None
        self._candidates: dict[int, _Candidate] = {}

    def response_start(self, event: e.ResponseStart) -> None:
        self._envelope = {
            "modelVersion": event.model or self.context.model,
            "responseId": event.id or self.context.ids("resp_"),
        }
        if event.origin == NAME and event.native:
            self._native = event.native

    # ---- text and reasoning

    def text_start(self, event: e.TextStart) -> None:
        self._candidate().text = []

    def text_delta(self, event: e.TextDelta) -> None:
        if event.text and event.native and (result := logprobs_result(event.native)):
            self._candidate().text.append(event.text)
            self._chunk([{"text": event.text}], {"logprobsResult": result})
        else:
            self.text(event.text)

    def text(self, text: str) -> None:
        if text:
            candidate = self._candidate()
            candidate.text.append(text)
            self.out += (self._lead, _TEXT, jsontext.quoted(text), candidate.tail)
            self._lead, self._begun = self._next_lead, True

    def citation_added(self, event: e.CitationAdded) -> None:
        if event.citation.origin != NAME:  # Google's own come back in its metadata, as it was
            self._candidate().citations.append(event.citation)

    def text_end(self, event: e.TextEnd) -> None:
        candidate = self._candidate()
        text = "".join(candidate.text)
        candidate.passages += (Passage(citation, text, candidate.before) for citation in candidate.citations)
        candidate.citations = []
        candidate.before += len(text.encode("utf-8", "replace"))
        candidate.text = []
        if event.signature is not None:
            self._chunk([parts.signed({"text": ""}, event.signature)])

    def reasoning_start(self, event: e.ReasoningStart) -> None:
        pass

    def reasoning_delta(self, event: e.ReasoningDelta) -> None:
        if event.text:
            self.out += (self._lead, _TEXT, jsontext.quoted(event.text), self._candidate().thought_tail)
            self._lead, self._begun = self._next_lead, True

    def reasoning_end(self, event: e.ReasoningEnd) -> None:
        for part in parts.proof_parts(event.opaque):
            self._chunk([part])

    # ---- calls and other parts

    def tool_call_start(self, event: e.ToolCallStart) -> None:
        candidate = self._candidate()
        candidate.call, candidate.arguments, candidate.sound = event, [], True

    def tool_call_delta(self, event: e.ToolCallDelta) -> None:
        candidate = self._candidate()
        candidate.arguments.append(event.text)
        candidate.sound = event.sound

    def tool_call_end(self, event: e.ToolCallEnd) -> None:
        candidate = self._candidate()
        call, text = candidate.call, "".join(candidate.arguments)
        candidate.call, candidate.arguments = None, []
        if call is None:
            return
        args = parts.call_arguments(text, complete=event.complete, sound=candidate.sound)
        if args is not None:
            candidate.calls = True
            self._chunk([parts.call_part(call.id, call.name, args, event.signature or call.signature)])

    def server_tool(self, event: e.ServerTool) -> None:
        if event.origin == NAME and event.items:
            self._chunk(list(event.items))

    def media(self, event: e.Media) -> None:
        if part := parts.media_part(event):
            self._chunk([part])

    # ---- the end

    def usage_update(self, event: e.UsageUpdate) -> None:
        self._counts = render_usage(event.usage, event.native if event.origin == NAME else None)

    def response_end(self, event: e.ResponseEnd) -> None:
        last = self.choice == 0
        counts = {"usageMetadata": self._counts or render_usage(None)} if last else {}
        candidate = self._candidate()
        feedback = parts.prompt_feedback(event.native, event.origin)
        if feedback is not None and not self._begun:
            self._frame({"promptFeedback": feedback, **counts, **self._envelope})
        else:
            grounding = render_grounding(candidate.passages)
            ending: JSON = {
                **({"groundingMetadata": grounding} if grounding else {}),
                **parts.native_candidate(event.native, event.origin),
                "finishReason": parts.finish_word(event.finish, event.raw, event.origin, calls=candidate.calls),
            }
            self._chunk([{"text": ""}], ending, {**self._native, **counts})
        if last:
            self._close()

    def response_error(self, event: e.ResponseError) -> None:
        self._frame(render_error(event.error, ""))
        self._close()

    # ---- frames

    def _candidate(self) -> _Candidate:
        found = self._candidates.get(self.choice)
        if found is None:
            envelope = jsontext.render(self._envelope)[1:] + self._trail
            found = self._candidates[self.choice] = _Candidate(self.choice, envelope)
        return found

    def _chunk(self, content: list[JSON], ending: JSON | None = None, beside: JSON | None = None) -> None:
        candidate = {"content": {"parts": content, "role": "model"}, **(ending or {}), "index": self.choice}
        self._frame({"candidates": [candidate], **(beside or {}), **self._envelope})

    def _frame(self, chunk: dict[str, Any]) -> None:
        self.out += (self._lead, jsontext.render(chunk), self._trail)
        self._lead, self._begun = self._next_lead, True

    def _close(self) -> None:
        if self.context.array:
            self.out.append(b"]")


_EVENTS = (b"data: ", b"data: ", b"\n\n")
_ARRAY = (b"[", b",\r\n", b"")
"""What stands before the first chunk, before each other one, and after each."""

_TEXT = b'{"candidates":[{"content":{"parts":[{"text":'
