"""The deltas of one choice, told to the assembler: text, reasoning, calls, and what stands beside them."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec

from dragoman.canonical import events as e
from dragoman.canonical.opaque import Opaque
from dragoman.dataurl import read_data_url
from dragoman.dialects.chat.audio import AudioReader
from dragoman.dialects.chat.citations import read_annotation
from dragoman.dialects.chat.reasoning import Detail, continues, parse_reasoning, read_detail
from dragoman.dialects.chat.wire import NAME, REASONING, thought_signature
from dragoman.dialects.contract import Plain
from dragoman.streaming.answer import AnswerAssembler
from dragoman.streaming.fragments import read_fragment
from dragoman.streaming.text import SnapshotText, ThinkSplitter

_JSON = dict[str, Any]


class DeltaReader:
    """Reads the deltas of one choice, or the messages that stand for them. Never raises."""

    def __init__(self, assembler: AnswerAssembler) -> None:
        self.plain: Plain | None = None
        """As in ``contract.Decoder``, of the entry that was read last."""
        self._assembler = assembler
        self._snapshot = SnapshotText()
        # until it is known where the reasoning stands: in the content, elsewhere, or nowhere
        self._thoughts: ThinkSplitter | None = ThinkSplitter()
        self._marked = False  # the content before was marked as thought
        self._by_delta = False  # a delta said something: messages only repeat
        self._called = False  # by ``tool_calls``: ``function_call`` only repeats
        self._called_beside = False  # by such calls that stood outside of the deltas
        self._spoke = False
        self._block: int | None = None  # which reasoning block, where details tell them apart
        self._detail: Detail | None = None
        self._told: list[str] = []  # reasoning of the open block that came in a field of its own
        self._logprobs: _JSON | None = None  # of text that is still held
        self._images: set[str] = set()
        self._audio: AudioReader | None = None
        self._cited: set[object] = set()
        self._sources: list[e.Citation] = []  # that came before any text

    def read(self, item: _JSON, whole: bool) -> None:
        """One entry of ``choices``; ``whole``: of a body, whose calls are told apart by their places."""
        self.plain = None
        logprobs = item.get("logprobs")
        if logprobs and isinstance(logprobs, dict):
            self._logprobs = logprobs if self._logprobs is None else _joined_logprobs(self._logprobs, logprobs)
        delta = item.get("delta")
        said = isinstance(delta, dict) and self._delta(delta, whole)
        if said:
            self._by_delta = True
        elif isinstance(message := item.get("message"), dict) and not self._by_delta:
            said = self._delta(message, whole)
            if said and not whole:
                self._assembler.quirk("message-instead-of-delta")
        if type(delta) is not dict or "text" in item or "tool_calls" in item:
            self._beside(item, whole, said=said or self._by_delta)
            self.plain = None
        elif logprobs:
            self.plain = None

    def _beside(self, item: _JSON, whole: bool, *, said: bool) -> None:
        """Text and calls that stand in the choice itself, unless the deltas and messages tell them."""
        found: _JSON = {}
        texts = (text for name in ("delta", "message", "text") if isinstance(text := item.get(name), str))
        if not said and (text := next(filter(None, texts), "")):
            found["content"] = text
        if (calls := item.get("tool_calls")) and (not self._called or self._called_beside):
            found["tool_calls"] = calls
            self._called_beside = True
        if found:
            self._assembler.quirk("member-misplaced")
            self._delta(found, whole)
        if item.get("delta") and not isinstance(item["delta"], dict | str):
            self._assembler.lose("a delta that is no object")

    def cite(self, citation: e.Citation) -> None:
        """A source: each one once, as servers repeat them on every chunk (case ``citations-top-level``)."""
        key: object = (citation.url, citation.start, citation.end) if citation.url else repr(citation.native)
        if key in self._cited:
            return
        self._cited.add(key)
        if self._spoke:
            self._assembler.cite(citation)
        else:
            self._sources.append(citation)

    def finish(self, *, whole: bool) -> None:
        """The answer is over: what was held comes out. ``whole``: as far as is known it was not cut."""
        if rest := self._snapshot.finish():
            self._split(rest)
        if self._snapshot.latched:
            self._assembler.quirk("content-cumulative")
        self._release()
        if self._audio is not None:
            self._sound(self._audio, whole)
        self._cite_held()
        if self._logprobs is not None:
            self._assembler.lose("logprobs")

    # ---- one delta

    def _delta(self, delta: _JSON, whole: bool) -> bool:
        """Tells a delta; whether it said anything."""
        content = delta.get("content")
        if len(delta) == 1 and type(content) is str and not self._marked:  # nearly all of them
            if content:
                self._text(content)
                if self._thoughts is None and self._snapshot.sees_none:
                    self.plain = (content, self._assembler.more("text"))
            return bool(content)
        thought = self._reasoning(delta, whole)
        if content and (self._marked or "extra_content" in delta):
            content = self._unmarked(content, delta.get("extra_content"))
        if content:
            self._content(content)
        if refusal := _text_of(delta.get("refusal")):
            self._assembler.text(refusal, refusal=True)
        calls, legacy = delta.get("tool_calls"), delta.get("function_call")
        if calls:
            self._calls(_entries(calls), whole)
            if sum(map(bool, delta.values())) > 1:
                self.plain = None
        elif isinstance(legacy, dict) and legacy and not self._called:
            self._legacy_call(legacy)
        aside = self._aside(delta)
        return bool(thought or content or refusal or calls or legacy or aside)

    def _aside(self, delta: _JSON) -> bool:
        """What stands beside the text: its sources, images, sound, Gemini's signature."""
        annotations, images, audio = delta.get("annotations"), delta.get("images"), delta.get("audio")
        for annotation in annotations if isinstance(annotations, list) else ():
            if citation := read_annotation(annotation):
                self.cite(citation)
        for image in images if isinstance(images, list) else ():
            self._image(image)
        if audio:
            self._audio = self._audio or AudioReader()
            self._audio.feed(audio)
        if signature := thought_signature(delta.get("extra_content")):
            self._assembler.sign_text(_passed_on(signature))
        return bool(annotations or images or audio)

    def _sound(self, audio: AudioReader, whole: bool) -> None:
        """The sound, if it is whole. Where no other text came its transcript is the text; chat clients have it beside
        the sound."""
        media = audio.media() if whole else None
        if (transcript := audio.transcript) and not self._spoke:
            self._spoke = True
            self._assembler.text(transcript, native={"transcript": True} if media is not None else None)
        if media is not None:
            self._assembler.media(media)
        elif audio.begun:
            self._assembler.lose("audio")

    def _image(self, image: Any) -> None:
        value = image.get("image_url") if isinstance(image, dict) else image
        url = value.get("url") if isinstance(value, dict) else value
        if not isinstance(url, str) or not url:
            self._assembler.lose("image")
        elif url not in self._images:
            self._images.add(url)
            if found := read_data_url(url):
                self._assembler.media(e.Media(media_type=found[0] or "image/png", data=found[1], origin=NAME))
            else:
                self._assembler.media(e.Media(media_type="image/*", url=url, origin=NAME))

    # ---- content

    def _content(self, content: Any) -> None:
        if isinstance(content, str):
            self._text(content)
            return
        self._assembler.quirk("content-parts")
        for part in content if isinstance(content, list) else [content]:
            if isinstance(part, str):
                self._text(part)
            elif isinstance(part, dict):
                self._part(part)

    def _part(self, part: _JSON) -> None:
        kind = part.get("type")
        match kind:
            case "thinking" | "reasoning":
                self._release(for_good=True)
                self._assembler.reasoning(_text_of(part), self._block, summary=bool(part.get("summary")))
            case "refusal":
                self._assembler.text(_text_of(part.get("refusal")), refusal=True)
            case "image_url":
                self._image(part)
            case _:
                if isinstance(text := part.get("text"), str):
                    self._text(text)
                else:
                    self._assembler.lose(f"content part {kind}" if isinstance(kind, str) else "content part")

    def _unmarked(self, content: Any, extra: Any) -> Any:
        """The content that is no thought: Google marks thoughts beside the content, and puts tags into it.

        The tag that closes them is at the start of the first content without the mark
        (ai.google.dev/gemini-api/docs/openai#thinking).
        """
        if not isinstance(content, str):
            return content
        google = extra.get("google") if isinstance(extra, dict) else None
        if isinstance(google, dict) and google.get("thought") is True:
            self._release(for_good=True)
            self._assembler.quirk("thought-mark")
            thought, closed, rest = content.removeprefix("<thought>").partition("</thought>")
            self._assembler.reasoning(thought, self._block, summary=True)
            self._marked = not closed
            return rest
        if self._marked:
            self._marked = False
            return content.removeprefix("</thought>")
        return content

    # ---- text

    def _text(self, text: str) -> None:
        if text := self._snapshot.feed(text):
            self._split(text)

    def _split(self, text: str) -> None:
        if self._thoughts is None:
            self._say(text)
            return
        for thought, piece in self._thoughts.feed(text):
            if thought:
                self._assembler.reasoning(piece, self._block)
            else:  # later tags are text
                self._thoughts = None
                self._say(piece)

    def _say(self, text: str) -> None:
        if self._logprobs is None:
            self._assembler.text(text)
        else:
            self._assembler.text(text, native={"logprobs": self._logprobs})
            self._logprobs = None
        if not self._spoke:
            self._spoke = True
            self._cite_held()

    def _cite_held(self) -> None:
        for citation in self._sources:
            self._assembler.cite(citation)
        self._sources.clear()

    def _release(self, *, for_good: bool = False) -> None:
        """Something else follows: what was held because it might begin a ``<think>`` block is said first."""
        if self._thoughts is not None:
            for thought, piece in self._thoughts.finish():
                if thought:
                    self._assembler.reasoning(piece, self._block)
                else:
                    self._say(piece)
            if for_good:
                self._thoughts = None

    # ---- reasoning

    def _next_block(self) -> None:
        self._block = (self._block or 0) + 1
        self._told.clear()

    def _reasoning(self, delta: _JSON, whole: bool) -> bool:
        """One source for each delta: a field of its own, else the details; proofs come from those only."""
        member, thought = next(((name, text) for name in REASONING if (text := _text_of(delta.get(name)))), ("", ""))
        details = delta.get("reasoning_details")
        if not thought and not details:
            return False
        self._release(for_good=True)
        if details and whole:
            for part in parse_reasoning(thought, details):
                self._next_block()
                self._assembler.reasoning(part.text, self._block, summary=part.summary)
                for proof in part.opaque:
                    self._assembler.prove(_passed_on(proof), self._block)
            return True
        for entry in details if isinstance(details, list) else ():
            self._read_detail(entry, speaks=not thought)
        if thought:
            if not details and self._detail is not None and self._detail.proof is not None:
                self._next_block()  # a proof ends its block
                self._detail = None
            summary = self._detail is not None and self._detail.summary
            self._told.append(thought)
            self._assembler.reasoning(thought, self._block, summary=summary, item_id=member)
        return True

    def _read_detail(self, entry: Any, *, speaks: bool) -> None:
        detail = read_detail(entry)
        if detail is None:
            return
        if self._detail is not None and not continues(self._detail, detail):
            self._next_block()
        self._detail = detail
        if speaks and detail.text and not self._repeated(detail.text):
            self._assembler.reasoning(detail.text, self._block, summary=detail.summary)
        if detail.proof is not None:
            self._assembler.prove(_passed_on(detail.proof), self._block)

    def _repeated(self, text: str) -> bool:
        """Whether the field told this before: at its end a block is written once more, whole, with its proof."""
        return len(self._told) > 0 and "".join(self._told).endswith(text)

    # ---- calls

    def _calls(self, entries: list[Any], whole: bool) -> None:
        self._release()
        self._called = True
        for place, entry in enumerate(entries):
            if not isinstance(entry, dict):
                if entry:
                    self._assembler.lose("a call that is no object")
                continue
            custom = entry.get("type") == "custom" or isinstance(entry.get("custom"), dict)
            body = entry.get("custom" if custom else "function")
            body = body if isinstance(body, dict) else entry if "arguments" in entry else {}
            arguments = body.get("input" if custom else "arguments")
            fragment = read_fragment(
                index=place if whole else entry.get("index"),
                id=entry.get("id"),
                name=body.get("name"),
                arguments=arguments,
                kind="custom" if custom else "function",
                signature=_signature(entry),
            )
            self._assembler.call(fragment)
            if len(entries) == 1 and fragment.only_goes_on and isinstance(arguments, str):
                self.plain = (arguments, partial(self._assembler.go_on, fragment.index, fragment.kind))

    def _legacy_call(self, call: _JSON) -> None:
        """A call of the form before ``tool_calls``: there is one, so its fragments get the key that they lack."""
        self._release()
        self._assembler.quirk("legacy-function-call")
        self._assembler.call(read_fragment(index=0, name=call.get("name"), arguments=call.get("arguments")))


# ------------------------------------------------------------------ reading


def _text_of(value: Any) -> str:
    """The text of a text, a typed part, or a list of them."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(map(_text_of, value))
    if isinstance(value, dict):
        members = (value.get(name) for name in ("text", "thinking", "summary", "content"))
        return next((text for member in members if (text := _text_of(member))), "")
    return ""


def _entries(calls: Any) -> list[Any]:
    """The calls of a list, of an object whose keys are their indexes, or a lone one."""
    if isinstance(calls, dict) and all(key.isdecimal() for key in calls):
        return [{"index": key, **entry} if isinstance(entry, dict) else entry for key, entry in calls.items()]
    return calls if isinstance(calls, list) else [calls]


def _signature(entry: _JSON) -> Opaque | None:
    """Gemini's signature of a call, where Google's servers, LiteLLM or Databricks place it."""
    found = None
    if "extra_content" in entry:
        found = thought_signature(entry["extra_content"])
    elif "provider_specific_fields" in entry:
        found = thought_signature({"google": entry["provider_specific_fields"]})
    elif isinstance(data := entry.get("thoughtSignature"), str) and data:
        found = Opaque("gemini", "signature", data)
    return None if found is None else _passed_on(found)


def _passed_on(proof: Opaque) -> Opaque:
    """A proof that another vendor made and a chat server gave: back to that server it goes."""
    return proof if proof.origin == NAME else msgspec.structs.replace(proof, via=NAME)


def _joined_logprobs(before: _JSON, more: _JSON) -> _JSON:
    """Log probabilities of text that goes out in one delta."""
    joined = {**before, **more}
    for name in ("content", "refusal"):
        if isinstance(first := before.get(name), list) and isinstance(second := more.get(name), list):
            joined[name] = [*first, *second]
        elif isinstance(first, list):
            joined[name] = first
    return joined
