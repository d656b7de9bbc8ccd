"""One upstream answer, assembled: what a decoder tells becomes the canonical stream.

Decoders know a wire's words; this object knows the rules (design/streams.md, 2 to 6 and 8 to 9).
A decoder calls the methods below in the order of the wire, as often as it likes, with whatever
the upstream said; events come out of ``take``. Nothing comes out before something real was said
(text, reasoning, a named call, a finish), so an early failure is a lone ``ResponseError``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any
from weakref import proxy

from dragoman.canonical import events as e
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.canonical.opaque import Opaque
from dragoman.streaming.blocks import Passage, PassageKind
from dragoman.streaming.context import DecodeContext, Notes
from dragoman.streaming.finish import FinishRecord
from dragoman.streaming.sequence import Sequencer, Tap
from dragoman.streaming.toolcalls import Call, CallFragment, ToolCallAssembler

__all__ = ["AnswerAssembler", "DecodeContext"]

Key = Hashable | None
Native = dict[str, Any] | None


class _Choice:
    """One of the answers: its blocks, its calls, its finish."""

    __slots__ = ("__weakref__", "calls", "early", "finish", "sequence")

    def __init__(self, context: DecodeContext, notes: Notes) -> None:
        choice = proxy(self)  # a cycle would wait for the garbage collector
        self.sequence = Sequencer(lambda call: choice.calls.finish_call(call, normal=True))
        self.calls = ToolCallAssembler(
            tools=context.tools,
            ids=context.ids,
            sink=self.sequence,
            note=notes.quirk,
            lose=notes.lose,
            legal_id=context.legal_id,
            freeform_client=context.freeform_client,
            open_calls=context.open_calls,
            longest=context.longest_arguments,
        )
        self.finish = FinishRecord()
        self.early: list[tuple[Key, e.Citation]] = []  # citations of text that has not begun


class AnswerAssembler:
    """Collects one answer and emits its canonical events."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.notes = notes = Notes()
        self.quirk, self.lose = notes.quirk, notes.lose
        self.quirks, self.losses = notes.quirks, notes.losses
        self.tap: Tap | None = None
        """What ``more`` gave last, if it takes text that goes out at once."""
        self.closed = False
        """One end went out; nothing that is told later counts."""
        self._choices = [_Choice(context, self.notes)]
        self._now = self._choices[0]
        self._gathered: list[e.Event] = []  # of several choices, in the order in which they came
        self._started = False
        self._opened = False  # towards the client, before anything was said
        self._heard = False  # of an answer at all
        self._said = False
        self._final = False  # a finish was named, and nothing was said after it
        self._id = ""
        self._model = ""
        self._created: int | None = None
        self._native: dict[str, Any] = {}
        self._usage = e.Usage()
        self._usage_native: dict[str, Any] | None = None
        self._error: Error | None = None
        self._interruption: str | None = None
        self._end: list[e.Event] = []

    # ---- the envelope

    def envelope(
        self, *, id: str | None = None, model: str | None = None, created: int | None = None, native: Native = None
    ) -> None:
        """Facts of the answer as a whole; the first non-empty value of each counts, until something was said."""
        self._heard = True
        if self._spoken:
            return
        self._id = self._id or (id or "").strip()
        self._model = self._model or (model or "").strip()
        self._created = self._created or created
        if native:
            self._native = {**native, **self._native}

    def choice(self, index: int) -> None:
        """The following calls are about this choice. One answer was asked for: all indexes are one."""
        if self.closed or self.context.choices == 1 or not 0 <= index < self.context.choices:
            return
        self._gather()
        while len(self._choices) <= index:
            self._choices.append(_Choice(self.context, self.notes))
        self._now = self._choices[index]

    # ---- blocks

    def text(
        self, text: str, key: Key = None, *, refusal: bool = False, native: Native = None, item_id: str | None = None
    ) -> None:
        """More text. Different keys are different blocks; without a key, text joins while nothing stands between."""
        if not text and not native:
            return
        self._final = False
        passage = self._passage("refusal" if refusal else "text", key, item_id)
        if (text := passage.join.feed(text)) or native:
            self._now.sequence.push(passage, e.TextDelta(text, native))

    def more(self, kind: PassageKind, key: Key = None) -> Callable[[str], object]:
        """What tells more of the text of this key, as ``text`` or ``reasoning`` do, until something else is told.

        It takes whole characters, at least one.
        """
        tap = None if self._final or self.context.choices > 1 else self._now.sequence.tap(kind, key)
        self.tap = None if kind == "reasoning" else tap
        return tap or partial(self.reasoning if kind == "reasoning" else self.text, key=key)

    def cite(self, citation: e.Citation, key: Key = None) -> None:
        """A source for the text of this key (or the latest one); it waits for text that has not begun."""
        passage = self._now.sequence.latest("text", key)
        if passage is None:
            self._now.early.append((key, citation))
        elif not self._now.sequence.slip_in(passage, e.CitationAdded(citation)):
            self.lose("a citation of text that had ended")

    def sign_text(self, proof: Opaque, key: Key = None) -> None:
        """A proof of the text of this key (or the open one); it ends with it. Without one, an empty one is made."""
        sequence = self._now.sequence
        passage = sequence.find("text", key) or self._begin("text", key)
        passage.proofs.append(proof)
        sequence.close(passage, passage.ending())  # half a character may wait: the next text can hold the other

    def reasoning(
        self, text: str, key: Key = None, *, summary: bool = False, item_id: str | None = None, part: bool = False
    ) -> None:
        """More reasoning text; ``part``: a further part of the same item, which the text begins with a blank line."""
        if not text:
            return
        self._final = False
        passage = self._passage("reasoning", key, item_id, summary)
        if text := passage.join.feed(text):
            self._now.sequence.push(passage, e.ReasoningDelta(text, part))

    def prove(self, proof: Opaque, key: Key = None) -> None:
        """A signature, ciphertext or redacted data of the reasoning of this key (or the open one, else a new one)."""
        passage = self._now.sequence.find("reasoning", key) or self._begin("reasoning", key)
        passage.proofs.append(proof)

    def end_block(self, key: Key) -> None:
        """The text or reasoning of this key is over; unknown keys are ignored."""
        kinds: tuple[PassageKind, ...] = ("text", "refusal", "reasoning")
        for kind in kinds:
            if passage := self._now.sequence.find(kind, key):
                self._now.sequence.end(passage)

    def _passage(self, kind: PassageKind, key: Key, item_id: str | None, summary: bool = False) -> Passage:
        """The open passage of this kind and key, or a new one; what has no key joins the last block only."""
        last = self._now.sequence.last
        if last is not None and last.kind == kind and last.key == key and not last.closed:
            return last
        found = self._now.sequence.find(kind, key) if key is not None else None
        return found or self._begin(kind, key, item_id, summary)

    def _begin(self, kind: PassageKind, key: Key, item_id: str | None = None, summary: bool = False) -> Passage:
        choice = self._now
        choice.calls.settle()
        thinks = kind == "reasoning"
        start = e.ReasoningStart(summary, item_id) if thinks else e.TextStart(kind == "refusal", item_id)
        passage = choice.sequence.begin(kind, key, start)
        if kind == "text" and choice.early:
            early, choice.early = choice.early, []
            for known, citation in early:
                self.cite(citation, known)
        return passage

    def server_tool(self, *items: dict[str, Any]) -> None:
        """Blocks of a tool that the upstream ran, whole, in its own words."""
        self._now.calls.settle()
        self._now.sequence.add(e.ServerTool(self.context.origin, items))

    def media(self, media: e.Media) -> None:
        """An image or a sound that the model made."""
        self._now.calls.settle()
        self._now.sequence.add(media)

    # ---- client tool calls

    @property
    def calls(self) -> list[Call]:
        """The choice's calls as far as they were told."""
        return self._now.calls.told

    def call(self, fragment: CallFragment) -> None:
        """A piece of a client tool call: header, continuation, or both."""
        self._final = False
        self._now.calls.feed(fragment)

    def go_on(self, index: int | None, kind: e.ToolKind, arguments: str) -> None:
        """More argument text for the call at this index."""
        self.call(CallFragment(index=index, arguments=arguments, kind=kind))

    def end_call(self, fragment: CallFragment, *, over: bool = True) -> None:
        """The upstream says that the call of these keys is over; ``arguments`` is a snapshot of all of them.

        Not ``over``: it is all that comes, and a limit may have cut it.

        Deltas win over the snapshot, which supplies what they did not bring. A call that is not
        known yet is opened, so a snapshot alone is a call.
        """
        self._now.calls.end(fragment, over=over)

    def whole_call(self, fragment: CallFragment) -> None:
        """A call of its own in one piece, whatever else looks like it (gemini)."""
        self._now.calls.whole(fragment)

    # ---- counts and ends

    def usage(self, usage: e.Usage, native: dict[str, Any] | None = None) -> None:
        """Totals so far; known counts replace earlier ones."""
        self._usage = self._usage.merged(usage)
        self._usage_native = native or self._usage_native

    def finish(
        self,
        reason: e.FinishReason,
        raw: str | None = None,
        *,
        stop_sequence: str | None = None,
        native: Native = None,
    ) -> None:
        """The upstream named a reason for the end. Recorded, not obeyed: more may follow, the strongest counts."""
        self._now.finish.record(reason, raw, stop_sequence, native)
        self._final = True

    def interrupt(self, message: str) -> None:
        """The upstream says that it broke off (a known interruption word): the answer is cut."""
        self._interruption = self._interruption or message

    def terminate(self) -> None:
        """A proven end without a reason: ``[DONE]``, ``message_stop``, the end of a whole JSON body."""
        if not self.closed:
            self._close(proven=True)

    def fail(self, error: Error) -> None:
        """The upstream reports a failure: the answer ends here. After a real finish it no longer counts."""
        if self.closed:
            return
        if self._final:
            self.quirk("error-after-finish")
        else:
            self._error = error
            self._close(proven=False)

    def abort(self, error: Error) -> None:
        """The exchange itself failed (connection, time-out, unreadable bytes): the answer ends here."""
        if not self.closed:
            if not self._final:
                self._error = error
            self._close(proven=False)

    def close(self) -> None:
        """The upstream's bytes are over: one end goes out."""
        if not self.closed:
            self._close(proven=False)

    def _close(self, *, proven: bool) -> None:
        self.closed = True
        if self.context.choices > 1:
            self._gather()
        if (error := self._error or self._cut(proven)) is None:
            for choice in self._choices:
                choice.calls.finish(normal=choice.finish.normal)
                choice.sequence.drain()
            error = self._empty(proven)
        else:
            for choice in self._choices:
                choice.calls.break_off()
        self._collect_losses()
        self._now = _Choice(self.context, self.notes)  # what is told from now on goes nowhere
        if error is not None:
            self._end = [e.ResponseError(error)]
            return
        first, *further = map(self._end_of, self._choices)
        self._end = [e.InChoice(number, end) for number, end in enumerate(further, 1)]
        if self._usage != e.Usage():
            self._end.append(e.UsageUpdate(self._usage, self._usage_native, self.context.origin))
        self._end.append(first)

    def _end_of(self, choice: _Choice) -> e.ResponseEnd:
        return choice.finish.end(
            calls=choice.calls.announced > 0, incomplete=choice.calls.incomplete, origin=self.context.origin
        )

    def _cut(self, proven: bool) -> Error | None:
        """The error of an answer that did not come to its end."""
        if self._interruption is not None:
            return Error(kind=ErrorKind.BAD_UPSTREAM, message=self._interruption, code="interrupted")
        for choice in self._choices:
            if choice.finish.reason is None and (not proven or choice.calls.open):
                if not self._content:
                    return self._empty(proven)
                return Error(
                    kind=ErrorKind.BAD_UPSTREAM,
                    message="the upstream's answer was cut off: it ended without a finish",
                    code="truncated",
                )
        return None

    @property
    def _spoken(self) -> bool:
        """Whether anything of the answer came out, or is ready to."""
        return self._said or bool(self._gathered) or any(choice.sequence.out for choice in self._choices)

    @property
    def _content(self) -> bool:
        """The same, or will come out."""
        return self._spoken or any(choice.calls.open for choice in self._choices)

    def _empty(self, proven: bool) -> Error | None:
        """The error of an answer that says nothing, unless it began and ended like that."""
        if self._content:
            return None
        if any(choice.calls.dropped for choice in self._choices):
            message = "the upstream's answer holds no usable output: it called a tool without naming it"
            return Error(kind=ErrorKind.BAD_UPSTREAM, message=message, code="unnamed_tool_call")
        if self._choices[0].finish.reason is None and not (proven and self._heard):
            return Error(kind=ErrorKind.BAD_UPSTREAM, message="the upstream's answer is empty", code="empty_answer")
        return None

    def _collect_losses(self) -> None:
        for choice in self._choices:
            if choice.sequence.stuck:
                self.lose("blocks behind a call that was cut")
            for _ in range(choice.sequence.halves):
                self.lose("half a character")
            for _ in choice.early:
                self.lose("a citation without text")

    # ---- out

    def open(self) -> None:
        """Begins the answer towards the client, whether or not anything real was said."""
        self._opened = self._opened or not self.closed

    def take(self) -> list[e.Event]:
        """The events since the last call."""
        first = self._choices[0].sequence
        if self.context.choices == 1:
            events, first.out = first.out, []
        else:
            self._gather(*(self._choices if self.closed else ()))
            events, self._gathered = self._gathered, []
        self._said = self._said or bool(events)
        if self._end:
            events += self._end
            self._end = []
        if not self._started and (self._opened or (events and type(events[0]) is not e.ResponseError)):
            self._started = True
            events.insert(0, self._start())
        return events

    def _gather(self, *choices: _Choice) -> None:
        """Puts what these choices (else the current one) said behind what others said before them."""
        for choice in choices or (self._now,):
            said, choice.sequence.out = choice.sequence.out, []
            index = self._choices.index(choice)
            self._gathered += [e.InChoice(index, event) for event in said] if index else said

    def _start(self) -> e.ResponseStart:
        origin, native = self.context.origin, self._native or None
        return e.ResponseStart(id=self._id, model=self._model, created=self._created, origin=origin, native=native)
