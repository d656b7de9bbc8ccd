"""An upstream's chat completion, streamed or whole, told to the assembler.

The order of looking in a chunk: errors, since what stands beside one is no answer; the envelope;
the choices (each: its delta or message, then its finish); usage; sources of the whole answer. The
body of a whole answer is one chunk whose messages are deltas.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman import jsontext
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.canonical.events import FinishReason, Usage
from dragoman.dialects.chat.citations import read_sources
from dragoman.dialects.chat.deltas import DeltaReader
from dragoman.dialects.chat.errors import error_in, no_answer, parse_error, unreadable
from dragoman.dialects.chat.usage import parse_usage, without_zeros
from dragoman.dialects.chat.wire import ENVELOPE_NATIVE, FAILED, FINISH, INTERRUPTED, RENDERED_FINISH
from dragoman.dialects.contract import Plain
from dragoman.dialects.error_shapes import error_said, is_foreign
from dragoman.streaming.answer import AnswerAssembler
from dragoman.streaming.fragments import read_fragment
from dragoman.streaming.sse import DONE, ServerSentEvent

_JSON = dict[str, Any]
_CONTENT = ("content", "text", "delta", "response", "output_text")
"""Members beside the choices that hold what has no place there."""
_CHUNK = frozenset(
    {*("choices", "usage", "object", "model", "finish_reason", "tool_calls"), *_CONTENT}
    | {"citations", "search_results", "x_groq", "prompt_filter_results"}
)
"""The members of a chunk: what has none of them is something else."""
_LATEST = 1 << 53
"""What is no time, in seconds or in milliseconds."""


class ChatDecoder:
    """Reads the records of one answer; never raises for what is in them."""

    varying: Mapping[str, bool] = {"obfuscation": False}

    def __init__(self, assembler: AnswerAssembler) -> None:
        self.plain: Plain | None = None
        self._assembler = assembler
        self._several = assembler.context.choices > 1
        self._choices = {0: DeltaReader(assembler)}
        self._enveloped = False
        self._usage = Usage()
        self._done = False
        self._answered = False  # by choices, or counts
        self._ended = False  # by a finish word

    # ---- records

    def decode(self, record: ServerSentEvent) -> None:
        """One event of a stream. Nothing counts after ``[DONE]``."""
        self.plain = None
        if self._done:
            return
        data = record.data
        if data[:6] == DONE:
            self._finish_choices(whole=True)
            self._done = True
            if self._answered:
                self._assembler.terminate()
            else:  # nothing was finished
                self._assembler.close()
            return
        try:
            value = jsontext.parse(data)
        except ValueError:
            self._unreadable(record)
            return
        if type(value) is dict:
            self._chunk(value, record.event)
            if not self._several and not self._ended and len(_list(value.get("choices"))) == 1:
                self.plain = self._choices[0].plain
        elif record.event == "error":
            self._fail(parse_error(0, value))
        else:
            self._items(value, record.event)

    def _items(self, value: Any, event: str) -> None:
        """The chunks of an array; what is no object tells nothing that is known."""
        if isinstance(value, list):
            self._assembler.quirk("chunk-in-array")
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                self._chunk(item, event)
            elif item is not None:
                self._assembler.lose("an event that is no object")

    def decode_body(self, body: Any) -> None:
        """A whole answer, from its JSON."""
        if isinstance(body, list):
            body = next((item for item in body if isinstance(item, dict)), None)
        if not isinstance(body, dict):
            self._assembler.fail(unreadable("the upstream's answer is malformed: not a completion"))
        elif self._chunk(body, "", whole=True):
            if _list(_opened(body).get("choices")):
                self._finish_choices(whole=True)
                self._assembler.terminate()
            else:
                self._assembler.fail(no_answer(body))
        self._done = True

    def finish(self) -> None:
        """The end of the bytes: text that was held comes out."""
        if not self._done:
            self._finish_choices(whole=self._ended)

    def _finish_choices(self, *, whole: bool) -> None:
        for index, choice in self._choices.items():
            if self._several:
                self._assembler.choice(index)
            choice.finish(whole=whole)

    def _fail(self, error: Error) -> None:
        """The answer ends in this error, behind the text that was held; after its finish an error says nothing."""
        if not self._ended:
            self._finish_choices(whole=False)
        self._assembler.fail(error)

    def _unreadable(self, record: ServerSentEvent) -> None:
        """Data that is no JSON: a corrupt chunk, unless it is an event of another kind."""
        if record.event in ("", "message", "error") or record.data[:1] in (b"{", b"["):
            said = error_said(record.event, record.data)
            malformed = unreadable("the upstream sent an event that is malformed JSON")
            self._fail(malformed if said is None else parse_error(0, said))

    # ---- one chunk

    def _chunk(self, value: _JSON, event: str, *, whole: bool = False) -> bool:
        """Tells one chunk; false if it reports an error instead."""
        if error := error_in(value, event):
            self._fail(error)
            return False
        if "choices" not in value and (inner := _opened(value)) is not value:
            self._assembler.quirk("answer-wrapped")
            return self._chunk(inner, event, whole=whole)
        if not self._enveloped:
            self._envelope(value)
        usage, choices = value.get("usage"), [item for item in _list(value.get("choices")) if isinstance(item, dict)]
        if (calls := value.get("tool_calls")) and event in ("", "message") and (choices or not whole):
            self._misplaced_calls(calls, choices)
        self._answered = self._answered or bool(choices or value.get("choices") or usage)
        for item in choices:
            self._choice(item, whole)
            if not usage and (usage := item.get("usage")):
                self._assembler.quirk("usage-in-choice")
        if "finish_reason" in value and not self._ended:
            self._misplaced_finish(value["finish_reason"])
        if not usage and isinstance(groq := value.get("x_groq"), dict):
            usage = groq.get("usage")
        if usage:
            self._counts(usage)
        self._aside(value, event, choices)
        return True

    def _misplaced_calls(self, calls: Any, choices: list[_JSON]) -> None:
        """Calls beside the choices are put into the first one, where they are read like any that stand there."""
        first = choices[0] if choices else {"delta": {}}
        if not first.get("tool_calls"):
            choices[:1] = [{**first, "tool_calls": calls}]
        elif calls != first["tool_calls"]:
            self._assembler.lose("tool_calls outside of choices")

    def _counts(self, usage: Any) -> None:
        counts = parse_usage(usage)
        if counts is not None and (counts := without_zeros(counts, self._usage)) != Usage():
            self._usage = self._usage.merged(counts)
            self._assembler.usage(counts, usage)

    def _aside(self, value: _JSON, event: str, choices: list[_JSON]) -> None:
        """What stands beside the choices: sources of the answer, and what has no place there."""
        if event in ("", "message"):
            for name in _CONTENT:
                if (held := value.get(name)) and not (choices and self._repeats(held, choices)):
                    self._assembler.lose(f"{name} outside of choices")
        if not choices and is_foreign(value, _CHUNK):
            self._assembler.lose("an event that is no chunk")
        if value.get("citations") or value.get("search_results"):
            if self._several:
                self._assembler.choice(0)
            for citation in read_sources(value):
                self._choices[0].cite(citation)

    def _repeats(self, held: Any, choices: list[_JSON]) -> bool:
        """Whether a text beside the choices is that of a choice's delta, or of all of them."""
        if not isinstance(held, str):
            return False
        deltas = (item.get("delta") for item in choices)
        return any(isinstance(delta, dict) and delta.get("content") == held for delta in deltas) or any(
            choice.repeats(held) for choice in self._choices.values()
        )

    def _envelope(self, value: _JSON) -> None:
        """Id, model and time come from the first chunk that has them (case ``azure-prompt-filter-first``)."""
        name, model, created = _word(value.get("id")), _word(value.get("model")), _time(value.get("created"))
        native = {member: held for member in ENVELOPE_NATIVE if (held := value.get(member)) is not None}
        self._enveloped = bool(name and model and created)
        self._assembler.envelope(id=name, model=model, created=created, native=native or None)

    def _choice(self, item: _JSON, whole: bool) -> None:
        index = 0
        if self._several:
            index = read_fragment(index=item.get("index")).index or 0
            if index >= self._assembler.context.choices:
                index = 0
            self._assembler.choice(index)
            if index not in self._choices:
                self._choices[index] = DeltaReader(self._assembler)
        self._choices[index].read(item, whole)
        word = item.get("finish_reason")
        if word:
            self._finish(word)
        elif word := item.get("finishReason"):
            self._assembler.quirk("finish-camel-case-key")
            self._finish(word)
        elif isinstance(inner := item.get("delta") or item.get("message"), dict) and "finish_reason" in inner:
            self._misplaced_finish(inner["finish_reason"])

    def _misplaced_finish(self, word: Any) -> None:
        """A finish word inside the delta, or beside the choices."""
        if word:
            self._assembler.quirk("member-misplaced")
            self._finish(word)

    def _finish(self, word: Any) -> None:
        if not isinstance(word, str) or not (word := word.strip()):
            return
        folded = word.lower()
        if folded in FAILED:
            message = f"the upstream ended its answer with an error: {word}"
            self._fail(Error(kind=ErrorKind.BAD_UPSTREAM, message=message, code=folded))
        elif folded in INTERRUPTED:
            self._assembler.interrupt(f"the upstream broke off its answer: {word}")
        else:
            reason = FINISH.get(folded)
            if reason is None:
                self._assembler.quirk("finish-unknown-word")
            elif RENDERED_FINISH[reason] != word:
                self._assembler.quirk("finish-foreign-word")
            self._ended = True
            self._assembler.finish(reason or FinishReason.STOP, word)


# ------------------------------------------------------------------ reading


def _list(value: Any) -> list[Any]:
    """A list; a lone object is a list of one."""
    if isinstance(value, list):
        return value
    return [value] if isinstance(value, dict) else []


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _time(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 < value < _LATEST else None


def _opened(value: _JSON) -> _JSON:
    """The completion in a known envelope, ``{"data": {…}, "success": true}``; else the value itself."""
    if "choices" not in value:
        for name in ("data", "result"):
            if isinstance(inner := value.get(name), dict) and ("choices" in inner or "error" in inner):
                return inner
    return value
