"""Canonical events, written as ``chat.completion.chunk`` events.

What strict clients demand (protocols/openai.md, part 1): the role once, a call opened once with id,
type and name and then only its index and arguments, one finish, the usage chunk last, ``[DONE]``.
The head of a choice waits for its first content, as its ``content`` is "" before text and null
before anything else. Deltas are cut from templates: nothing but the text is rendered anew.
"""

from __future__ import annotations

from typing import Any

from dragoman import jsontext
from dragoman.canonical import events as e
from dragoman.dialects.chat.audio import render_audio
from dragoman.dialects.chat.citations import render_annotation
from dragoman.dialects.chat.errors import render_error
from dragoman.dialects.chat.reasoning import render_details
from dragoman.dialects.chat.response import (
    declared_custom,
    declared_legacy,
    identity,
    own_members,
    render_image,
    text_logprobs,
)
from dragoman.dialects.chat.usage import render_usage
from dragoman.dialects.chat.wire import CHUNK, NAME, extra_content, rendered_finish
from dragoman.streaming.encoder import EncodeContext, StreamEncoder
from dragoman.streaming.freeform import InputWriter
from dragoman.streaming.sse import frame

_TAIL = b'},"finish_reason":null}]}\n\n'
_REFUSAL = b'"refusal":'
_CALL_TAIL = b"}}]" + _TAIL
_DONE = frame(b"[DONE]")


class _Choice:
    """What has to be remembered of one of the answers."""

    __slots__ = (
        "annotations",
        "call",
        "call_tail",
        "calls",
        "details",
        "images",
        "lead",
        "legacy",
        "length",
        "offset",
        "signed",
        "summary",
        "text",
        "thoughts",
        "voice",
        "wrapper",
    )

    def __init__(self, lead: bytes) -> None:
        self.lead = lead  # a chunk of this choice up to its delta's first member
        self.text = b""  # ... up to the open block's text
        self.call = b""  # ... up to the open call's arguments
        self.call_tail = _CALL_TAIL  # ... and what comes behind them
        self.wrapper: InputWriter | None = None  # of the open call, if a function stands for its freeform tool
        self.calls = 0
        self.legacy = False  # whether the first call went out in the form from before tools
        self.length = 0  # of the content, in characters
        self.offset = 0  # where in it the open block begins
        self.thoughts: list[str] = []
        self.summary = False
        # lists that clients join by index: each entry gets its own
        self.details = 0
        self.annotations = 0
        self.images = 0
        self.voice = ""  # the id of what is said aloud
        self.signed = False


class ChatEncoder(StreamEncoder):
    """Writes one answer for a chat client."""

    def __init__(self, context: EncodeContext) -> None:
        super().__init__(context)
        self._custom = declared_custom(context.request)
        self._legacy = declared_legacy(context.request)
        self._envelope = b""
        self._own = False
        self._choices: list[_Choice] = []
        self._usage: e.UsageUpdate | None = None

    # ---- the envelope

    def response_start(self, event: e.ResponseStart) -> None:
        self._own = event.origin == NAME
        members = {
            "id": identity(event.id, event.origin, self.context.ids),
            "object": CHUNK,
            "created": event.created or self.context.now,
            "model": event.model or self.context.model,
            **own_members(event.native, event.origin),
        }
        self._envelope = b"data: " + jsontext.render(members)[:-1] + b',"choices":['

    def _opened(self, content: bytes = b"null") -> _Choice:
        """The choice of this event; it and those before it begin, so that they come in order."""
        while len(self._choices) <= self.choice:
            lead = self._envelope + b'{"index":%d,"delta":{' % len(self._choices)
            self._choices.append(_Choice(lead))
            self.out.append(lead + b'"role":"assistant","content":' + content + b',"refusal":null' + _TAIL)
        return self._choices[self.choice]

    def _delta(self, choice: _Choice, member: bytes, value: Any) -> None:
        self.out.append(choice.lead + member + jsontext.render(value) + _TAIL)

    # ---- text

    def text_start(self, event: e.TextStart) -> None:
        choice = self._opened(b'""')
        choice.text = choice.lead + (_REFUSAL if event.refusal else b'"content":')
        choice.offset = choice.length

    def text_delta(self, event: e.TextDelta) -> None:
        native = event.native
        if native is None:
            self.text(event.text)
            return
        if self._own and native.get("transcript"):
            return  # it goes out with the sound
        choice = self._choices[self.choice]
        logprobs = text_logprobs(native, own=self._own, refusal=choice.text.endswith(_REFUSAL))
        if not logprobs:
            self.text(event.text)
            return
        choice.length += len(event.text)
        tail = b'},"logprobs":' + jsontext.render(logprobs) + _TAIL[1:]
        self.out.append(choice.text + jsontext.quoted(event.text) + tail)

    def text(self, text: str) -> None:
        if text:
            choice = self._choices[self.choice]
            choice.length += len(text)
            self.out.append(choice.text + jsontext.quoted(text) + _TAIL)

    def citation_added(self, event: e.CitationAdded) -> None:
        choice = self._choices[self.choice]
        annotation = render_annotation(event.citation, choice.offset)
        if annotation is not None:
            self._delta(choice, b'"annotations":', [{**annotation, "index": choice.annotations}])
            choice.annotations += 1

    def text_end(self, event: e.TextEnd) -> None:
        choice = self._choices[self.choice]
        if choice.text.endswith(_REFUSAL):
            choice.length = choice.offset  # annotations count the characters of the content
        extra = extra_content(event.signature)
        if extra is not None and not choice.signed:  # clients would join a second one to the first
            choice.signed = True
            self._delta(choice, b'"extra_content":', extra)

    # ---- reasoning

    def reasoning_start(self, event: e.ReasoningStart) -> None:
        choice = self._opened()
        choice.text = choice.lead + b'"reasoning_content":'
        choice.summary = event.summary
        choice.thoughts = []

    def reasoning_delta(self, event: e.ReasoningDelta) -> None:
        choice = self._choices[self.choice]
        choice.thoughts.append(event.text)
        self.out.append(choice.text + jsontext.quoted(event.text) + _TAIL)

    def reasoning_end(self, event: e.ReasoningEnd) -> None:
        if not event.opaque:
            return
        choice = self._choices[self.choice]
        details = render_details("".join(choice.thoughts), choice.summary, event.opaque, choice.details)
        choice.details += len(details)
        self._delta(choice, b'"reasoning_details":', details)

    # ---- calls

    def tool_call_start(self, event: e.ToolCallStart) -> None:
        choice = self._opened()
        if event.name in self._legacy and not choice.calls and not choice.legacy:
            self._function_call(choice, event)
            return
        index = choice.calls
        choice.calls += 1
        native = event.kind == "custom" and event.name in self._custom
        choice.wrapper = InputWriter() if event.kind == "custom" and not native else None
        entry: dict[str, Any] = {"index": index, "id": event.id}
        if native:
            entry |= {"type": "custom", "custom": {"name": event.name, "input": ""}}
        else:
            entry |= {"type": "function", "function": {"name": event.name, "arguments": ""}}
        if extra := extra_content(event.signature):
            entry["extra_content"] = extra
        self._delta(choice, b'"tool_calls":', [entry])
        member = b'"custom":{"input":' if native else b'"function":{"arguments":'
        choice.call = choice.lead + b'"tool_calls":[{"index":%d,' % index + member
        choice.call_tail = _CALL_TAIL

    def _function_call(self, choice: _Choice, event: e.ToolCallStart) -> None:
        """The form from before tools has neither an id nor an index, nor a place for a signature."""
        choice.legacy, choice.wrapper = True, None
        self._delta(choice, b'"function_call":', {"name": event.name, "arguments": ""})
        choice.call, choice.call_tail = choice.lead + b'"function_call":{"arguments":', b"}" + _TAIL

    def _arguments(self, choice: _Choice, text: str) -> None:
        self.out.append(choice.call + jsontext.quoted(text) + choice.call_tail)

    def tool_call_delta(self, event: e.ToolCallDelta) -> None:
        choice = self._choices[self.choice]
        self._arguments(choice, event.text if choice.wrapper is None else choice.wrapper.feed(event.text))

    def tool_call_end(self, event: e.ToolCallEnd) -> None:
        choice = self._choices[self.choice]
        if choice.wrapper is not None and event.complete:
            self._arguments(choice, choice.wrapper.finish())
        if choice.calls and (extra := extra_content(event.signature)):
            entry = {"index": choice.calls - 1, "function": {"arguments": ""}, "extra_content": extra}
            self._delta(choice, b'"tool_calls":', [entry])

    # ---- whole blocks

    def server_tool(self, event: e.ServerTool) -> None:
        """A tool that the upstream ran has no form here: what it found is in the text."""

    def media(self, event: e.Media) -> None:
        if event.media_type.startswith("audio/"):
            choice = self._opened()
            choice.voice = choice.voice or self.context.ids("audio_")
            if audio := render_audio([event], choice.voice, self.context.now):
                self._delta(choice, b'"audio":', audio)
        elif image := render_image(event):
            choice = self._opened()
            self._delta(choice, b'"images":', [{**image, "index": choice.images}])
            choice.images += 1

    # ---- counts and ends

    def usage_update(self, event: e.UsageUpdate) -> None:
        self._usage = event

    def response_end(self, event: e.ResponseEnd) -> None:
        choice = self._opened(b'""')
        word = rendered_finish(event.finish, legacy=choice.legacy).encode()
        self.out.append(choice.lead + b'},"finish_reason":"' + word + b'"}]}\n\n')
        if self.choice == 0:  # the last of the choices to end
            self._counts()
            self.out.append(_DONE)

    def _counts(self) -> None:
        """The usage chunk, if the client asked for it and anything is known."""
        update = self._usage
        if update is None or not self.context.stream_usage or not update.usage.known:
            return
        counts = render_usage(update.usage, update.native if update.origin == NAME else None)
        self.out.append(self._envelope + b'],"usage":' + jsontext.render(counts) + b"}\n\n")

    def response_error(self, event: e.ResponseError) -> None:
        self.out.append(frame(jsontext.render(render_error(event.error, ""))))
        self.out.append(_DONE)
