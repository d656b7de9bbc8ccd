"""Google's chunks and whole answers, told to the assembler.

Each record is one partial response; a whole body is one, too. Here words are translated, no more:
what belongs to which call, in which order, and how it ends is the assembler's business.
Source: protocols/anthropic-google.md, 2.3, 2.4 and 0.5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from dragoman import jsontext
from dragoman.canonical.events import FinishReason, Media
from dragoman.canonical.opaque import Opaque
from dragoman.dialects.contract import Plain
from dragoman.dialects.error_shapes import error_said, is_bare_error, is_foreign, is_said
from dragoman.dialects.gemini.citations import parse_citations
from dragoman.dialects.gemini.errors import failure, parse_error, unreadable
from dragoman.dialects.gemini.logprobs import beside_text
from dragoman.dialects.gemini.parts import parse_proof
from dragoman.dialects.gemini.streamed_calls import StreamedCalls
from dragoman.dialects.gemini.usage import Counts, parse_usage
from dragoman.dialects.gemini.wire import (
    FAILURES,
    FINISH,
    JSON,
    NAME,
    NO_BLOCK,
    NO_FINISH,
    PART_DATA,
    SERVER_TOOL_PARTS,
    as_count,
    as_list,
    as_object,
    as_text,
    camel_case,
    maybe_snake_case,
)
from dragoman.streaming.answer import AnswerAssembler
from dragoman.streaming.fragments import read_fragment
from dragoman.streaming.sse import DONE, ServerSentEvent

_ENVELOPE = ("createTime", "modelStatus")
"""Members of a response that only clients of this dialect get."""

_CHUNK = frozenset({"candidates", "usageMetadata", "promptFeedback", "responseId", "modelVersion", *_ENVELOPE})
"""The members of a response: what has none of them is something else."""

_OWN_MEMBERS = frozenset({"content", "finishReason", "index", "logprobsResult"})
"""Members of a candidate that have a form of their own; the others go on to this dialect's clients as they are."""

_PLAIN = frozenset({"content", "index"})
"""The members of a candidate that only adds content."""

_BESIDE_DATA = frozenset({"thought", "thoughtSignature"})


class _Candidate:
    """What is known of one of the answers."""

    __slots__ = ("calls", "cited", "finish", "index", "native", "proof", "speaking", "texts", "thoughts")

    def __init__(self, index: int, calls: StreamedCalls) -> None:
        self.index = index
        self.calls = calls
        self.speaking = False  # a text block is open
        self.proof: Opaque | None = None  # of that block, which ends with it
        self.texts: list[list[str]] = []  # the text blocks, in pieces: citations count their bytes
        self.thoughts = 0  # thought blocks that are over
        self.native: JSON = {}
        self.cited: set[tuple[str | None, str | None, int | None, int | None]] = set()
        self.finish: tuple[FinishReason, str | None] | None = None


class Decoder:
    """Reads the records of one answer."""

    varying: Mapping[str, bool] = {"usageMetadata": True}

    def __init__(self, assembler: AnswerAssembler) -> None:
        self.plain: Plain | None = None
        self._assembler = assembler
        self._several = assembler.context.choices > 1
        self._candidates: dict[int, _Candidate] = {}
        self._counts = Counts()
        self._identified = False
        self._spoke = False

    def decode(self, record: ServerSentEvent) -> None:
        """One chunk; its data may be anything."""
        self.plain = None
        try:
            value = jsontext.parse(record.data)
        except ValueError:
            self._unreadable(record)
            return
        if record.event == "error":
            self._assembler.fail(parse_error(0, value))
            return
        if maybe_snake_case(record.data):
            respelled = camel_case(value)
            if respelled != value:
                self._assembler.quirk("gemini-snake-case")
            value = respelled
        self._value(value)
        if self._several or not isinstance(value, dict) or not _one_candidate(value):
            self.plain = None

    def decode_body(self, body: Any) -> None:
        """A whole answer (or an array of chunks), already parsed."""
        self._value(camel_case(body))
        self._terminate()

    def finish(self) -> None:
        """The bytes are over."""
        self._conclude()

    # ---- records

    def _unreadable(self, record: ServerSentEvent) -> None:
        if record.data.strip() == DONE:
            self._assembler.quirk("gemini-done")
            self._terminate()
        elif (said := error_said(record.event, record.data)) is not None:
            self._assembler.fail(parse_error(0, said))
        else:
            self._assembler.fail(unreadable("the upstream sent an event that is not JSON"))

    def _terminate(self) -> None:
        """The proven end of an answer, if one came: chunks of another dialect are none."""
        if not self._spoke:
            self._assembler.fail(unreadable("the upstream's answer holds no candidates"))
        self._conclude()
        self._assembler.terminate()

    def _value(self, value: Any) -> None:
        if isinstance(value, list):
            for item in value:
                self._value(item)
        elif isinstance(value, dict):
            self._chunk(value)
        elif value is not None:
            self._assembler.lose("an event that is no object")

    def _chunk(self, chunk: JSON) -> None:
        if is_said(chunk.get("error")):
            self._spoke = True
            self._assembler.fail(parse_error(0, chunk))
            return
        candidates = chunk.get("candidates")
        if candidates is None and isinstance(inner := chunk.get("response"), dict):
            self._assembler.quirk("gemini-wrapped")  # so does Google's Code Assist server
            self._chunk(camel_case(inner))
            return
        if candidates is None and is_bare_error(chunk):
            self._spoke = True
            self._assembler.fail(parse_error(0, chunk))
            return
        if is_foreign(chunk, _CHUNK):
            self._assembler.lose("an event that is no response")
        if not self._identified:
            self._identify(chunk)
        if counts := chunk.get("usageMetadata"):
            self._counts.add(counts)
        for position, candidate in enumerate(as_list(candidates)):
            if isinstance(candidate, dict):
                self._candidate(candidate, position)
        if feedback := chunk.get("promptFeedback"):
            self._feedback(as_object(feedback))

    def _identify(self, chunk: JSON) -> None:
        id, model = as_text(chunk.get("responseId")), as_text(chunk.get("modelVersion"))
        self._identified = bool(id and model)
        native = {name: chunk[name] for name in _ENVELOPE if chunk.get(name)}
        self._assembler.envelope(id=id or None, model=model or None, native=native or None)

    def _feedback(self, feedback: JSON) -> None:
        reason = as_text(feedback.get("blockReason")).strip().upper()
        if reason and reason not in NO_BLOCK:
            self._spoke = True
            native = {"promptFeedback": {**feedback, "blockReason": reason}}
            self._assembler.finish(FinishReason.CONTENT_FILTER, reason, native=native)

    # ---- candidates

    def _candidate(self, candidate: JSON, position: int) -> None:
        index = 0
        if self._several:
            told = as_count(candidate.get("index"))
            index = position if told is None else told
            self._assembler.choice(index)
        answer = self._candidates.get(index)
        if answer is None:
            calls = StreamedCalls(self._assembler, first=index)
            answer = self._candidates[index] = _Candidate(index, calls)
            self._spoke = True
        content = candidate.get("content")
        if content:
            self._content(answer, content, candidate)
        if not candidate.keys() <= _PLAIN:
            self._rest(answer, candidate)
            self.plain = None
        if answer.proof is not None:
            self._silence(answer)

    def _content(self, answer: _Candidate, content: Any, candidate: JSON) -> None:
        parts = content.get("parts") if isinstance(content, dict) else content
        if isinstance(parts, dict):
            parts = [parts]
        logprobs = candidate.get("logprobsResult")
        for part in as_list(parts):
            if isinstance(part, dict):
                logprobs = self._part(answer, part, logprobs)
        if len(as_list(parts)) != 1:
            self.plain = None
        if logprobs:
            answer.native["logprobsResult"] = logprobs

    def _rest(self, answer: _Candidate, candidate: JSON) -> None:
        """Everything but the content: how it ended, and what only this dialect knows."""
        extra = {name: item for name, item in candidate.items() if name not in _OWN_MEMBERS and item is not None}
        if extra:
            answer.native = {**answer.native, **extra}
        word = as_text(candidate.get("finishReason")).strip().upper()
        if word and word != NO_FINISH:
            self._finish(answer, word)
        elif extra and answer.finish is not None:
            self._cite(answer)
            self._assembler.finish(*answer.finish, native=answer.native)

    def _finish(self, answer: _Candidate, word: str) -> None:
        answer.calls.turn_ended(normal=FINISH.get(word) is FinishReason.STOP)
        if word in FAILURES:
            self._assembler.fail(failure(word, as_text(answer.native.get("finishMessage"))))
            return
        reason = FINISH.get(word)
        if reason is None:
            self._assembler.quirk("gemini-finish-unknown")
        answer.finish = (reason or FinishReason.STOP, word)
        self._cite(answer)
        self._assembler.finish(*answer.finish, native=answer.native or None)

    def _cite(self, answer: _Candidate) -> None:
        if "groundingMetadata" not in answer.native and "citationMetadata" not in answer.native:
            return
        for citation in parse_citations(answer.native, ["".join(pieces) for pieces in answer.texts]):
            key = (citation.url, citation.title, citation.start, citation.end)
            if key in answer.cited:
                continue
            answer.cited.add(key)
            if answer.speaking:
                self._assembler.cite(citation)
            else:
                self._assembler.lose("a citation that came when no text was open")

    def _conclude(self) -> None:
        """What is told at the end: counts are running totals, and a call may lack its closing part."""
        if counts := self._counts.total():
            self._assembler.usage(parse_usage(counts), counts)
        for answer in self._candidates.values():
            if self._several:
                self._assembler.choice(answer.index)
            answer.calls.finish()
            if answer.finish is None:
                self._cite(answer)

    # ---- parts

    def _silence(self, answer: _Candidate) -> None:
        """The open text block, if any, is over."""
        if answer.proof is not None:
            self._assembler.sign_text(answer.proof)
            answer.proof = None
        answer.speaking = False

    def _part(self, answer: _Candidate, part: JSON, logprobs: Any) -> Any:
        """Tells one part; gives back the log probabilities if no text took them along."""
        if answer.proof is not None:
            self._silence(answer)
        text = part.get("text")
        if len(part) > 1 or not isinstance(text, str):
            return self._rich_part(answer, part, logprobs)
        if not text:
            return logprobs
        self._text(answer, text, logprobs)
        self.plain = (text, partial(self._go_on, answer.texts[-1], self._assembler.more("text")))
        return None

    def _go_on(self, pieces: list[str], tell: Callable[[str], object], text: str, counts: bytes = b"") -> None:
        """Another chunk that holds only text, and counts in place of those of the chunk before."""
        if counts:
            self._counts.replace(counts)
        pieces.append(text)
        tell(text)

    def _rich_part(self, answer: _Candidate, part: JSON, logprobs: Any) -> Any:
        """A part with more than a text. Its signature belongs to the data beside the text, if there is any."""
        proof = parse_proof(part.get("thoughtSignature"))
        text = part.get("text")
        kinds = [name for name in part if name in PART_DATA and name != "text" and part[name] is not None]
        if isinstance(text, str) and (text or not kinds):
            own = None if kinds else proof
            if part.get("thought") is not True:
                logprobs = self._signed_text(answer, text, own, logprobs)
            else:
                self._thought(answer, text, own)
        elif not kinds:
            unknown = sorted(name for name in part if name not in _BESIDE_DATA and part[name] is not None)
            if unknown:
                self._assembler.lose(f"a part with {', '.join(unknown)}")
            if proof is not None:
                self._thought(answer, "", proof)
        for kind in kinds:
            self._data(answer, kind, part, proof)
        return logprobs

    def _text(self, answer: _Candidate, text: str, logprobs: Any) -> None:
        if answer.speaking:
            answer.texts[-1].append(text)
        else:
            answer.speaking = True
            answer.thoughts += 1
            answer.texts.append([text])
        if logprobs:
            self._assembler.text(text, native=beside_text(logprobs))
        else:
            self._assembler.text(text)

    def _signed_text(self, answer: _Candidate, text: str, proof: Opaque | None, logprobs: Any) -> Any:
        """Only the flag ``thought`` makes a thought: signed text is text (aaif-goose/goose#7204)."""
        if text:
            self._text(answer, text, logprobs)
            logprobs = None
        if proof is not None and answer.speaking:
            answer.proof = proof  # told when the block's citations are
        elif proof is not None:
            self._thought(answer, "", proof)
        return logprobs

    def _thought(self, answer: _Candidate, text: str, proof: Opaque | None) -> None:
        self._silence(answer)
        key = (answer.index, answer.thoughts)
        if text:
            self._assembler.reasoning(text, key)
        if proof is not None:
            self._assembler.prove(proof, key)
            self._assembler.end_block(key)
            answer.thoughts += 1

    def _data(self, answer: _Candidate, kind: str, part: JSON, proof: Opaque | None) -> None:
        value = part[kind]
        if kind == "functionCall":
            self._function_call(answer, value, proof)
            return
        self._silence(answer)
        answer.thoughts += 1
        if any(not as_text(as_object(value).get(name)) for name in SERVER_TOOL_PARTS.get(kind, ())):
            self._assembler.lose(f"a {kind} part that is not whole")
        elif kind in SERVER_TOOL_PARTS or (part.get("thought") is True and kind != "functionResponse"):
            self._assembler.server_tool(part)  # a picture of a thought is for this dialect's clients alone
        elif kind in ("inlineData", "fileData") and (media := _media(kind, as_object(value), part, proof)):
            self._assembler.media(media)
        else:
            self._assembler.lose(f"a {kind} part")

    def _function_call(self, answer: _Candidate, call: Any, proof: Opaque | None) -> None:
        if not isinstance(call, dict):
            self._assembler.lose("a functionCall that is not an object")
            return
        if answer.calls.take(call, proof):
            return
        self._silence(answer)
        answer.thoughts += 1
        args = call.get("args")
        arguments = "{}" if args is None or args == "" else args
        self._assembler.whole_call(
            read_fragment(id=call.get("id"), name=call.get("name"), arguments=arguments, signature=proof)
        )


def _media(kind: str, value: JSON, part: JSON, proof: Opaque | None) -> Media | None:
    media_type = as_text(value.get("mimeType"))
    data, url = as_text(value.get("data")), as_text(value.get("fileUri"))
    if not (data if kind == "inlineData" else url):
        return None
    beside = {name: item for name, item in part.items() if name not in (kind, "thoughtSignature", "text")}
    return Media(
        media_type=media_type or "application/octet-stream",
        data=data or None,
        url=url or None,
        signature=proof,
        native=beside or None,
        origin=NAME,
    )


def _one_candidate(chunk: JSON) -> bool:
    return len(as_list(chunk.get("candidates"))) == 1 and not chunk.get("promptFeedback")
