"""The deltas of one choice, told to the assembler: text, reasoning, calls, and what stands beside them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from dragoman.canonical import events as e
from dragoman.canonical.request import Reasoning
from dragoman.dataurl import read_data_url
from dragoman.dialects.chat.audio import AudioReader
from dragoman.dialects.chat.calls import entries_in, passed_on, read_call, read_legacy_call
from dragoman.dialects.chat.citations import read_annotation
from dragoman.dialects.chat.reasoning import Detail, continues, parse_reasoning, read_detail
from dragoman.dialects.chat.texts import Texts
from dragoman.dialects.chat.wire import NAME, REASONING, thought_signature
from dragoman.dialects.contract import Plain
from dragoman.streaming.answer import AnswerAssembler
from dragoman.streaming.snapshots import supply_calls

_JSON = dict[str, Any]
_BESIDE = ("message", "text", "tool_calls")
"""Members of a choice that may say what belongs into its delta."""


class DeltaReader:
    """Reads the deltas of one choice, and the messages that stand for them or beside them. Never raises."""

    def __init__(self, assembler: AnswerAssembler) -> None:
        self.plain: Plain | None = None
        """As in ``contract.Decoder``, of the entry that was read last."""
        self._assembler = assembler
        self._texts = Texts(assembler)
        self._marked = False  # the content before was marked as thought
        self._by_delta = False  # a delta said something: messages are snapshots
        self._called = False  # by ``tool_calls``: ``function_call`` only repeats
        self._called_beside = False  # by such calls that stood outside of the deltas
        self._detail: Detail | None = None
        self._told: list[str] = []  # reasoning of the open block that came in a field of its own
        self._images: set[str] = set()
        self._audio: AudioReader | None = None
        self._cited: set[object] = set()
        self._signed = False

    def read(self, item: _JSON, whole: bool) -> None:
        """One entry of ``choices``; ``whole``: of a body, whose calls are told apart by their places."""
        self.plain = None
        logprobs = item.get("logprobs")
        if logprobs and isinstance(logprobs, dict):
            self._texts.weigh(logprobs)
        delta = item.get("delta")
        if type(delta) is dict and item.keys().isdisjoint(_BESIDE):  # nearly all of them
            if self._delta(delta, whole):
                self._by_delta = True
            if logprobs:
                self.plain = None
        else:
            self._scattered(item, whole)
            self.plain = None

    def _scattered(self, item: _JSON, whole: bool) -> None:
        """An entry that says something elsewhere than in its delta."""
        delta, message = self._object(item, "delta"), self._object(item, "message")
        said = self._delta(delta, whole)
        self._by_delta = self._by_delta or said
        if self._by_delta:
            if self._supply(message, delta):
                self._assembler.quirk("message-instead-of-delta")
        elif self._delta(message, whole):
            said = True
            if not whole:
                self._assembler.quirk("message-instead-of-delta")
        text, calls = item.get("text"), item.get("tool_calls")
        if isinstance(text, str) and text:
            self._beside({"content": text}, whole, (delta, message) if said or self._by_delta else None)
        if calls:
            repeats = self._called and not self._called_beside
            self._called_beside = not repeats
            self._beside({"tool_calls": calls}, whole, (delta, message) if repeats else None)

    def _object(self, item: _JSON, name: str) -> _JSON:
        """The delta or the message; a text is its content."""
        value = item.get(name)
        if isinstance(value, str) and value:
            self._assembler.quirk("member-misplaced")
            return {"content": value}
        if value and not isinstance(value, dict):
            self._assembler.lose(f"a {name} that is no object")
        return value if isinstance(value, dict) else {}

    def _beside(self, found: _JSON, whole: bool, said: tuple[_JSON, ...] | None) -> None:
        """What stands in the choice itself; where others ``said`` such things, it is a snapshot."""
        if self._delta(found, whole) if said is None else self._supply(found, *said):
            self._assembler.quirk("member-misplaced")

    def repeats(self, content: str) -> bool:
        """Whether this text says no more than what was told."""
        return self._texts.repeats(content)

    def cite(self, citation: e.Citation) -> None:
        """A source: each one once, as servers repeat them on every chunk (case ``citations-top-level``)."""
        key: object = (citation.url, citation.start, citation.end) if citation.url else repr(citation.native)
        if key not in self._cited:
            self._cited.add(key)
            self._texts.cite(citation)

    def finish(self, *, whole: bool) -> None:
        """The answer is over: what was held comes out. ``whole``: as far as is known it was not cut."""
        self._texts.finish()
        if self._audio is not None:
            self._sound(self._audio, whole)
        self._texts.close()

    # ---- a message beside deltas

    def _supply(self, message: _JSON, *said: _JSON) -> bool:
        """A snapshot: it supplies what deltas did not bring (``streaming.snapshots``). Whether there was any.

        Members that ``said`` has too are no news: some servers put each delta into a message once more.
        """
        news = {name: held for name, held in message.items() if held and all(held != one.get(name) for one in said)}
        if not news:
            return False
        parts = list(_parts(news.get("content")))
        texts = {kind: "".join(held for one, held in parts if one == kind) for kind in ("text", "refusal")}
        thoughts = [held for kind, held in parts if kind == "thought"]
        new = self._supply_reasoning(news, thoughts, texts["text"])
        if texts["text"]:
            new |= self._texts.supply_text(texts["text"])
        if refusal := _text_of(news.get("refusal")) or texts["refusal"]:
            new |= self._texts.supply_refusal(refusal)
        new |= self._supply_calls(news)
        for kind, held in parts:
            self._other_part(kind, held)
        self._aside({**news, "audio": news.get("audio") if self._audio is None else None}, signs=not self._signed)
        return new

    def _supply_reasoning(self, news: _JSON, thoughts: list[Reasoning], content: str) -> bool:
        member, thought = _thought_in(news)
        if details := news.get("reasoning_details"):
            member, thoughts = "", parse_reasoning(thought, details)
        elif thought:
            thoughts = [Reasoning(text=thought)]
        return self._texts.supply_reasoning(thoughts, member or None, content)

    def _supply_calls(self, news: _JSON) -> bool:
        if calls := news.get("tool_calls"):
            found = [read_call(entry, entry.get("index"), self._assembler) for entry in self._objects(calls)]
        elif isinstance(legacy := news.get("function_call"), dict):
            found = [read_legacy_call(legacy, self._assembler)]
        else:
            return False
        self._called = True
        self._texts.release()
        return supply_calls(self._assembler, found)

    # ---- one delta

    def _delta(self, delta: _JSON, whole: bool) -> bool:
        """Tells a delta; whether it said anything."""
        content = delta.get("content")
        if len(delta) == 1 and type(content) is str and not self._marked:  # nearly all of them
            if content:
                self._texts.text(content)
                if more := self._texts.more():
                    self.plain = (content, more)
            return bool(content)
        thought = self._reasoning(delta, whole)
        if content and (self._marked or "extra_content" in delta):
            content = self._unmarked(content, delta.get("extra_content"))
        if content:
            self._content(content)
        if refusal := _text_of(delta.get("refusal")):
            self._texts.refuse(refusal)
        calls, legacy = delta.get("tool_calls"), delta.get("function_call")
        if calls:
            self._calls(self._objects(calls), whole)
            if sum(map(bool, delta.values())) > 1:
                self.plain = None
        elif isinstance(legacy, dict) and legacy and not self._called:
            self._texts.release()
            self._assembler.quirk("legacy-function-call")
            self._assembler.call(read_legacy_call(legacy, self._assembler))
        aside = self._aside(delta)
        return bool(thought or content or refusal or calls or legacy or aside)

    def _aside(self, delta: _JSON, *, signs: bool = True) -> bool:
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
        if signs and (signature := thought_signature(delta.get("extra_content"))):
            self._signed = True
            self._assembler.sign_text(passed_on(signature))
        return bool(annotations or images or audio)

    def _sound(self, audio: AudioReader, whole: bool) -> None:
        """The sound, if it is whole. Where no other text came its transcript is the text; chat clients have it beside
        the sound."""
        media = audio.media() if whole else None
        if (transcript := audio.transcript) and not self._texts.spoke:
            self._texts.spoke = True
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
            self._texts.text(content)
            return
        self._assembler.quirk("content-parts")
        for kind, held in _parts(content):
            match kind:
                case "text":
                    self._texts.text(held)
                case "thought":
                    self._texts.release(for_good=True)
                    self._texts.think(held.text, summary=held.summary)
                case "refusal":
                    self._texts.refuse(held)
                case _:
                    self._other_part(kind, held)

    def _other_part(self, kind: str, held: Any) -> None:
        if kind == "image":
            self._image(held)
        elif kind == "unknown":
            self._assembler.lose(f"content part {held}" if isinstance(held, str) else "content part")

    def _unmarked(self, content: Any, extra: Any) -> Any:
        """The content that is no thought: Google marks thoughts beside the content, and puts tags into it.

        The tag that closes them is at the start of the first content without the mark
        (ai.google.dev/gemini-api/docs/openai#thinking).
        """
        if not isinstance(content, str):
            return content
        google = extra.get("google") if isinstance(extra, dict) else None
        if isinstance(google, dict) and google.get("thought") is True:
            self._texts.release(for_good=True)
            self._assembler.quirk("thought-mark")
            thought, closed, rest = content.removeprefix("<thought>").partition("</thought>")
            self._texts.think(thought, summary=True)
            self._marked = not closed
            return rest
        if self._marked:
            self._marked = False
            return content.removeprefix("</thought>")
        return content

    # ---- reasoning

    def _next_block(self) -> None:
        self._texts.begin_block()
        self._told.clear()

    def _reasoning(self, delta: _JSON, whole: bool) -> bool:
        """One source for each delta: a field of its own, else the details; proofs come from those only."""
        member, thought = _thought_in(delta)
        details = delta.get("reasoning_details")
        if not thought and not details:
            return False
        self._texts.release(for_good=True)
        if details and whole:
            for part in parse_reasoning(thought, details):
                self._next_block()
                self._texts.think(part.text, summary=part.summary)
                for proof in part.opaque:
                    self._texts.prove(proof)
            return True
        for entry in details if isinstance(details, list) else ():
            self._read_detail(entry, speaks=not thought)
        if thought:
            if not details and self._detail is not None and self._detail.proof is not None:
                self._next_block()  # a proof ends its block
                self._detail = None
            summary = self._detail is not None and self._detail.summary
            self._told.append(thought)
            self._texts.think(thought, summary=summary, item_id=member)
        return True

    def _read_detail(self, entry: Any, *, speaks: bool) -> None:
        detail = read_detail(entry)
        if detail is None:
            return
        if self._detail is not None and not continues(self._detail, detail):
            self._next_block()
        self._detail = detail
        if speaks and detail.text and not self._repeated(detail.text):
            self._texts.think(detail.text, summary=detail.summary)
        if detail.proof is not None:
            self._texts.prove(detail.proof)

    def _repeated(self, text: str) -> bool:
        """Whether the field told this before: at its end a block is written once more, whole, with its proof."""
        return len(self._told) > 0 and "".join(self._told).endswith(text)

    # ---- calls

    def _calls(self, entries: list[_JSON], whole: bool) -> None:
        self._texts.release()
        self._called = True
        for place, entry in enumerate(entries):
            fragment = read_call(entry, place if whole else entry.get("index"), self._assembler)
            self._assembler.call(fragment)
            if len(entries) == 1 and fragment.arguments and fragment.only_goes_on:
                self.plain = (fragment.arguments, partial(self._assembler.go_on, fragment.index, fragment.kind))

    def _objects(self, calls: Any) -> list[_JSON]:
        entries = entries_in(calls)
        for entry in entries:
            if entry and not isinstance(entry, dict):
                self._assembler.lose("a call that is no object")
        return [entry for entry in entries if isinstance(entry, dict)]


# ------------------------------------------------------------------ reading


def _thought_in(delta: _JSON) -> tuple[str, str]:
    """The field that has reasoning, and its text."""
    return next(((name, text) for name in REASONING if (text := _text_of(delta.get(name)))), ("", ""))


def _parts(content: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a content, each with what it is."""
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            yield "text", part
        elif isinstance(part, dict):
            match part.get("type"):
                case "thinking" | "reasoning":
                    yield "thought", Reasoning(text=_text_of(part), summary=bool(part.get("summary")))
                case "refusal":
                    yield "refusal", _text_of(part.get("refusal"))
                case "image_url":
                    yield "image", part
                case kind:
                    text = part.get("text")
                    yield ("text", text) if isinstance(text, str) else ("unknown", kind)


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
