"""The rules of what the chunks of one answer say, chunk by chunk (see ``check``)."""

from __future__ import annotations

import re
from typing import Any

from dragoman.dialects.contract import Violation
from dragoman.dialects.gemini.parts import is_base64
from dragoman.dialects.gemini.wire import (
    BLOCK_REASONS,
    COUNTS,
    FAILURES,
    FINISH,
    JSON,
    PART_DATA,
    SERVER_TOOL_PARTS,
    STATUS_CODES,
    WITH_CALLS,
    as_object,
)
from dragoman.jsontext import shown

RULES: dict[str, str] = {
    "gemini.body.empty": "an answer needs at least one chunk",
    "gemini.frame.utf8": "bodies are UTF-8 without a byte order mark",
    "gemini.frame.field": "comments, event names and ids make SDKs lose the event or the whole stream",
    "gemini.frame.space": "the Python SDK knows only `data: ` with its space",
    "gemini.frame.lines": "the JavaScript SDK reads one data line an event",
    "gemini.frame.end": "an event without a blank line after it is lost, or an error",
    "gemini.frame.array": "a streamed array is one JSON value",
    "gemini.frame.done": "[DONE] is not JSON, and read as such",
    "gemini.frame.json": "each event is one JSON object",
    "gemini.chunk.spelling": "answers are in camelCase, other keys are ignored",
    "gemini.chunk.bare": "a chunk with neither candidate nor prompt feedback voids the turn",
    "gemini.chunk.envelope": "responseId and modelVersion are texts and stay what they are",
    "gemini.chunk.candidates": "candidates are objects, each with an index of its own",
    "gemini.content.role": "the content of an answer has the role model",
    "gemini.content.parts": "a candidate without parts voids the turn",
    "gemini.part.data": "a part holds exactly one kind of data",
    "gemini.part.type": "a member of a part has its documented type",
    "gemini.part.signature": "a signature is base64: SDKs decode it",
    "gemini.part.result": "results of functions are the client's to give",
    "gemini.call.name": "a call without a legal name is skipped, or run under a made-up one",
    "gemini.call.args": "args is an object and always there",
    "gemini.call.id": "an id is a text; a second call with the same one is dropped",
    "gemini.call.pieces": "only some clients understand arguments in pieces; others count each as a call",
    "gemini.finish.word": "a finishReason is one of Google's words",
    "gemini.finish.failure": "this finishReason reports a failure: clients expect an error",
    "gemini.finish.calls": "with this finishReason the calls of the turn are not run",
    "gemini.finish.missing": "without a finishReason the turn counts as cut, and is asked for again",
    "gemini.finish.twice": "nothing of a candidate follows its finishReason",
    "gemini.finish.silent": "a turn that stops without text, call or data is asked for again",
    "gemini.usage.missing": "the chunk with the finishReason holds the counts",
    "gemini.usage.counts": "counts are whole numbers from 0 up, and promptTokenCount is one of them",
    "gemini.usage.total": "the total is the sum of its four parts",
    "gemini.usage.cached": "what was cached is part of the prompt",
    "gemini.usage.shrinks": "counts that were given do not go down or away",
    "gemini.feedback.reason": "prompt feedback names a known reason, and no candidate stands beside it",
    "gemini.error.form": "an error has an integer code of 400 to 599, a message and a status that fits",
    "gemini.error.alone": "an error beside other members goes unnoticed",
    "gemini.error.last": "nothing follows an error",
}
"""Every rule, and what a client does where it is broken."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
_SNAKE = re.compile(r"[a-z]+(?:_[a-z]+)+")
_INVISIBLE = re.compile("[\u200b-\u200f\ufeff\\s]+|<!--.*?-->", re.DOTALL)
_NEEDED: dict[str, tuple[str, ...]] = {
    "inlineData": ("mimeType", "data"),
    "fileData": ("fileUri",),
    **SERVER_TOOL_PARTS,
}
_KEPT = ("candidatesTokenCount", "totalTokenCount", "cachedContentTokenCount")


class Report:
    """Collects violations."""

    def __init__(self) -> None:
        self.found: list[Violation] = []

    def add(self, rule: str, where: str, message: str) -> None:
        if rule not in RULES:
            raise KeyError(rule)
        self.found.append(Violation(rule, where, message))

    def need(self, holds: bool, rule: str, where: str, message: str) -> bool:
        """Reports unless it holds; gives back whether it does."""
        if not holds:
            self.add(rule, where, message)
        return holds


class _Candidate:
    """One of the answers, as far as it was read."""

    def __init__(self) -> None:
        self.finish: str | None = None
        self.where = ""
        self.text: list[str] = []
        self.calls = 0
        self.data = False
        self.counted = False


class AnswerRules:
    """Judges the chunks of one answer in their order."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._candidates: dict[int, _Candidate] = {}
        self._envelope: dict[str, Any] = {}
        self._ids: set[str] = set()
        self._usage: JSON = {}
        self._blocked = False
        self._failed = False
        self._any = False

    def chunk(self, chunk: JSON, where: str) -> None:
        """One chunk, or a whole body."""
        report = self._report
        self._any = True
        report.need(not self._failed, "gemini.error.last", where, "a chunk after the error")
        if "error" in chunk:
            self._error(chunk, where)
            return
        self._spelling(chunk, where)
        for name in ("responseId", "modelVersion"):
            if name in chunk:
                value = chunk[name]
                same = isinstance(value, str) and value != "" and self._envelope.setdefault(name, value) == value
                report.need(same, "gemini.chunk.envelope", where, f"{name} is {value!r}")
        if "usageMetadata" in chunk:
            self._counts(chunk["usageMetadata"], where)
        feedback = chunk.get("promptFeedback")
        if feedback is not None:
            self._feedback(feedback, bool(chunk.get("candidates")), where)
        candidates = chunk.get("candidates")
        if not candidates:
            report.need(feedback is not None, "gemini.chunk.bare", where, f"members: {', '.join(sorted(chunk))}")
            return
        self._candidates_of(candidates, "usageMetadata" in chunk, where)

    def end(self) -> None:
        """The body is over."""
        if self._failed or (self._blocked and not self._candidates):
            return
        report = self._report
        if self._any:
            report.need(bool(self._candidates), "gemini.finish.missing", "end", "there was no candidate")
        for index, candidate in self._candidates.items():
            where = f"candidate {index}"
            if report.need(candidate.finish is not None, "gemini.finish.missing", where, "no finishReason"):
                self._ending(candidate)
        if self._candidates and not any(candidate.counted for candidate in self._candidates.values()):
            report.add("gemini.usage.missing", "end", "no finishReason came with usageMetadata")
        if self._usage:
            known = "promptTokenCount" in self._usage
            report.need(known, "gemini.usage.counts", "end", "the last usageMetadata has no promptTokenCount")

    # ---- candidates

    def _candidates_of(self, candidates: Any, counted: bool, where: str) -> None:
        report = self._report
        if not report.need(isinstance(candidates, list), "gemini.chunk.candidates", where, "candidates is no list"):
            return
        seen: set[int] = set()
        for position, candidate in enumerate(candidates):
            place = f"{where} candidates[{position}]"
            if not report.need(isinstance(candidate, dict), "gemini.chunk.candidates", place, "not an object"):
                continue
            index = candidate.get("index", 0)
            good = _is_count(index) and index not in seen
            if report.need(good, "gemini.chunk.candidates", place, f"index {index!r}"):
                seen.add(index)
                self._candidate(candidate, self._candidates.setdefault(index, _Candidate()), counted, place)

    def _candidate(self, value: JSON, candidate: _Candidate, counted: bool, where: str) -> None:
        report = self._report
        self._spelling(value, where)
        report.need(candidate.finish is None, "gemini.finish.twice", where, f"{candidate.finish} came before")
        content = as_object(value.get("content"))
        parts = content.get("parts")
        if report.need(isinstance(parts, list) and parts != [], "gemini.content.parts", where, f"parts: {parts!r}"):
            role = content.get("role")
            report.need(role == "model", "gemini.content.role", where, f"role is {role!r}")
            for number, part in enumerate(parts or []):
                self._part(part, candidate, f"{where} parts[{number}]")
        if "finishReason" not in value:
            return
        word = value["finishReason"]
        known = isinstance(word, str) and (word in FINISH or word in FAILURES)
        report.need(known, "gemini.finish.word", where, f"finishReason is {word!r}")
        if word:
            candidate.finish, candidate.where = str(word), where
            candidate.counted = candidate.counted or counted

    def _ending(self, candidate: _Candidate) -> None:
        report, word, where = self._report, candidate.finish, candidate.where
        report.need(word not in FAILURES, "gemini.finish.failure", where, f"finishReason is {word}")
        if candidate.calls:
            report.need(word in WITH_CALLS, "gemini.finish.calls", where, f"{candidate.calls} calls and {word}")
        elif word == "STOP" and not candidate.data:
            visible = _INVISIBLE.sub("", "".join(candidate.text))
            report.need(visible != "", "gemini.finish.silent", where, "nothing that anyone can see")

    # ---- parts

    def _part(self, part: Any, candidate: _Candidate, where: str) -> None:
        report = self._report
        if not report.need(isinstance(part, dict), "gemini.part.type", where, "a part is an object"):
            return
        self._spelling(part, where)
        kinds = sorted(PART_DATA & part.keys())
        report.need(len(kinds) == 1, "gemini.part.data", where, f"data: {', '.join(kinds) or 'none'}")
        thought = part.get("thought", False)
        report.need(isinstance(thought, bool), "gemini.part.type", where, f"thought is {thought!r}")
        if "thoughtSignature" in part:
            signature = part["thoughtSignature"]
            good = isinstance(signature, str) and is_base64(signature)
            report.need(good, "gemini.part.signature", where, f"thoughtSignature is {shown(signature)}")
        for kind in kinds:
            self._data(kind, part[kind], thought is True, candidate, where)

    def _data(self, kind: str, value: Any, thought: bool, candidate: _Candidate, where: str) -> None:
        report = self._report
        if kind == "text":
            if report.need(isinstance(value, str), "gemini.part.type", where, f"text is {value!r}") and not thought:
                candidate.text.append(value)
        elif kind == "functionCall":
            candidate.calls += 1
            self._call(value, where)
        elif kind == "functionResponse":
            report.add("gemini.part.result", where, "a functionResponse in an answer")
        else:
            candidate.data = True
            lacking = [name for name in _NEEDED[kind] if not _is_text(as_object(value).get(name))]
            report.need(not lacking, "gemini.part.type", where, f"{kind} lacks {', '.join(lacking)}")

    def _call(self, call: Any, where: str) -> None:
        report = self._report
        call = as_object(call)
        name = call.get("name")
        legal = isinstance(name, str) and _NAME.fullmatch(name) is not None
        report.need(legal, "gemini.call.name", where, f"name is {name!r}")
        args = call.get("args")
        report.need(isinstance(args, dict), "gemini.call.args", where, f"args is {shown(args)}")
        whole = "partialArgs" not in call and "willContinue" not in call
        report.need(whole, "gemini.call.pieces", where, "partialArgs or willContinue")
        if "id" in call:
            id = call["id"]
            if report.need(_is_text(id) and id not in self._ids, "gemini.call.id", where, f"id is {id!r}"):
                self._ids.add(id)

    # ---- the rest of a chunk

    def _spelling(self, value: JSON, where: str) -> None:
        for name in value:
            if _SNAKE.fullmatch(name):
                self._report.add("gemini.chunk.spelling", where, f"key {name!r}")

    def _counts(self, usage: Any, where: str) -> None:
        report = self._report
        if not report.need(isinstance(usage, dict), "gemini.usage.counts", where, "usageMetadata is no object"):
            return
        self._spelling(usage, where)
        for name in (*COUNTS, "totalTokenCount", "cachedContentTokenCount"):
            if name in usage:
                report.need(_is_count(usage[name]), "gemini.usage.counts", where, f"{name} is {usage[name]!r}")
        sure = {name: value for name, value in usage.items() if _is_count(value)}
        total = sum(sure.get(name, 0) for name in COUNTS)
        said = sure.get("totalTokenCount", total)
        report.need(said == total, "gemini.usage.total", where, f"total {said}, parts {total}")
        cached = sure.get("cachedContentTokenCount", 0)
        inside = cached <= sure.get("promptTokenCount", 0)
        report.need(inside, "gemini.usage.cached", where, f"{cached} cached")
        for name in _KEPT:
            before = self._usage.get(name, 0)
            falls = name in self._usage and (name not in sure or (name == _KEPT[0] and sure[name] < before))
            report.need(not falls, "gemini.usage.shrinks", where, f"{name} was {before}")
        self._usage = sure

    def _feedback(self, feedback: Any, candidates: bool, where: str) -> None:
        reason = as_object(feedback).get("blockReason")
        good = isinstance(reason, str) and reason in BLOCK_REASONS and not candidates
        self._report.need(good, "gemini.feedback.reason", where, f"blockReason is {reason!r}")
        self._blocked = self._blocked or bool(reason)

    def _error(self, chunk: JSON, where: str) -> None:
        report = self._report
        self._failed = True
        report.need(len(chunk) == 1, "gemini.error.alone", where, f"members: {', '.join(sorted(chunk))}")
        error = as_object(chunk["error"])
        code, status = error.get("code"), error.get("status")
        report.need(isinstance(error.get("message"), str), "gemini.error.form", where, "no message")
        numbered = isinstance(code, int) and not isinstance(code, bool) and 400 <= code <= 599
        report.need(numbered, "gemini.error.form", where, f"code is {code!r}")
        meant = STATUS_CODES.get(status) if isinstance(status, str) else None
        fits = meant is not None and (not numbered or meant // 100 == int(code or 0) // 100)
        report.need(fits, "gemini.error.form", where, f"status is {status!r}")
        report.need(isinstance(error.get("details", []), list), "gemini.error.form", where, "details is no list")


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
