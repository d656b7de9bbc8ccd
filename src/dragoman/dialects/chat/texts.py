"""Text, refusal and reasoning of one choice, told to the assembler: what deltas say, and what messages add to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dragoman.canonical import events as e
from dragoman.canonical.logprobs import with_tokens
from dragoman.canonical.opaque import Opaque
from dragoman.canonical.request import Reasoning
from dragoman.dialects.chat.calls import passed_on
from dragoman.dialects.openai_shapes import parse_logprobs
from dragoman.streaming.answer import AnswerAssembler
from dragoman.streaming.text import SnapshotText, ThinkSplitter
from dragoman.streaming.told import Told

_JSON = dict[str, Any]


class Texts:
    """Cuts down snapshots, lifts a leading ``<think>`` block out of the text, and knows what was told."""

    def __init__(self, assembler: AnswerAssembler) -> None:
        self.spoke = False
        """Whether any text came."""
        self.block: int | None = None
        """Which reasoning block is open, where details tell them apart."""
        self._assembler = assembler
        self._snapshot = SnapshotText()
        # until it is known where the reasoning stands: in the content, elsewhere, or nowhere
        self._thoughts: ThinkSplitter | None = ThinkSplitter()
        self._lifted = False  # such a block, with the blanks behind it
        self._logprobs: _JSON | None = None  # of text that is still held
        self._sources: list[e.Citation] = []  # that came before any text
        self._said, self._thought, self._refused = Told(), Told(), Told()
        self._proofs: set[tuple[str, str]] = set()

    # ---- deltas

    def text(self, text: str) -> None:
        """More content."""
        if text := self._snapshot.feed(text):
            self._split(text)

    def more(self) -> Callable[[str], object] | None:
        """What tells more content, where nothing about it is open any more (``contract.Decoder.plain``)."""
        if self._thoughts is not None or not self._snapshot.sees_none:
            return None
        tell, keep = self._assembler.more("text"), self._said.add

        def go_on(text: str) -> None:
            keep(text)
            tell(text)

        return go_on

    def refuse(self, text: str) -> None:
        """More of a refusal."""
        self._refused.add(text)
        self._assembler.text(text, refusal=True)

    def think(self, text: str, *, summary: bool = False, item_id: str | None = None) -> None:
        """More reasoning."""
        self._thought.add(text)
        self._assembler.reasoning(text, self.block, summary=summary, item_id=item_id)

    def prove(self, proof: Opaque) -> None:
        """A proof of the reasoning."""
        self._proofs.add((proof.kind, proof.data))
        self._assembler.prove(passed_on(proof), self.block)

    def begin_block(self) -> None:
        """What follows is a reasoning block of its own."""
        self.block = (self.block or 0) + 1

    def cite(self, citation: e.Citation) -> None:
        """A source of the text; it waits for text that has not begun."""
        if self.spoke:
            self._assembler.cite(citation)
        else:
            self._sources.append(citation)

    def weigh(self, logprobs: _JSON) -> None:
        """Log probabilities of the text that comes next."""
        self._logprobs = logprobs if self._logprobs is None else _joined_logprobs(self._logprobs, logprobs)

    def release(self, *, for_good: bool = False) -> None:
        """Something else follows: what was held, as it might be a snapshot or begin a ``<think>`` block, comes first."""
        if held := self._snapshot.finish():
            self._split(held)
        if self._thoughts is not None:
            self._tell(self._thoughts.finish())
            if for_good:
                self._thoughts = None

    def finish(self) -> None:
        """No more content comes: what was held is said."""
        self.release()
        if self._snapshot.latched:
            self._assembler.quirk("content-cumulative")

    def close(self) -> None:
        """The answer is over."""
        self._cite_held()
        if self._logprobs is not None:
            self._assembler.lose("logprobs")

    def _split(self, text: str) -> None:
        if self._thoughts is None:
            self._say(text)
            return
        pieces = self._thoughts.feed(text)
        if not all(thought for thought, _ in pieces):
            self._thoughts = None  # later tags are text
        self._tell(pieces)

    def _tell(self, pieces: list[tuple[bool, str]]) -> None:
        for thought, piece in pieces:
            if thought:
                self._lifted = True
                self.think(piece)
            else:
                self._say(piece)

    def _say(self, text: str) -> None:
        self._said.add(text)
        if self._logprobs is None:
            self._assembler.text(text)
        else:
            told = self._logprobs.get("content") or self._logprobs.get("refusal")
            self._assembler.text(text, native=with_tokens({"logprobs": self._logprobs}, parse_logprobs(told)))
            self._logprobs = None
        if not self.spoke:
            self.spoke = True
            self._cite_held()

    def _cite_held(self) -> None:
        for citation in self._sources:
            self._assembler.cite(citation)
        self._sources.clear()

    # ---- messages after deltas (``streaming.snapshots``)

    def supply_reasoning(self, parts: list[Reasoning], item_id: str | None, content: str) -> bool:
        """All of the reasoning; whether it says anything new. ``content`` comes next: what is held is a part of it."""
        whole = "".join(part.text for part in parts)
        rest = self._thought.rest(whole)
        if rest is None:
            self._assembler.quirk("snapshot-differs")
            return False
        told, position, new = len(whole) - len(rest), 0, False
        for part in parts:
            text = part.text[max(0, told - position) :]
            proofs = [proof for proof in part.opaque if (proof.kind, proof.data) not in self._proofs]
            if text or proofs:
                new = True
                if not content:
                    self.release(for_good=True)
                if position >= told and (part.opaque or len(parts) > 1):
                    self.begin_block()
            if text:
                self.think(text, summary=part.summary, item_id=item_id)
            for proof in proofs:
                self.prove(proof)
            position += len(part.text)
        return new

    def supply_refusal(self, whole: str) -> bool:
        """All of the refusal; whether it says anything new."""
        rest = self._refused.rest(whole)
        if rest is None:
            self._assembler.quirk("snapshot-differs")
        elif rest:
            self.refuse(rest)
        return bool(rest)

    def supply_text(self, content: str) -> bool:
        """All of the content; whether it says anything new."""
        if held := self._snapshot.finish():
            self._settle(held, content)
        missing = self._missing(content)
        if missing is None:
            self._assembler.quirk("snapshot-differs")
            return False
        thought, text = missing
        if (thought or text) and self._thoughts is not None:
            self._thoughts.finish()  # what is held is a part of what is missing
        if thought:
            self.think(thought)
        if text:
            self._thoughts = None
            self._say(text)
        return bool(thought or text)

    def repeats(self, content: str) -> bool:
        """Whether this content says nothing new."""
        return self._missing(content) == ("", "")

    def _settle(self, held: str, content: str) -> None:
        """Deltas may have repeated the text before them (``SnapshotText``): the content shows what they did."""
        missing = self._missing(content)
        if missing is None or not content.startswith(held) or "".join(missing).startswith(held):
            self._split(held)
        else:
            self._assembler.quirk("content-cumulative")

    def _missing(self, content: str) -> tuple[str, str] | None:
        """The reasoning and the text that the content has beyond what was told; ``None`` if it is something else."""
        for thought, text in self._readings(content):
            more, rest = self._thought.rest(thought), self._said.rest(text)
            if more is not None and rest is not None:
                return more, rest
        return None

    def _readings(self, content: str) -> Iterator[tuple[str, str]]:
        """The content with its ``<think>`` block lifted out; also as it stands, where tags are known to be text."""
        pieces = ThinkSplitter().feed(content)
        if pieces or self._thoughts is not None:
            found: dict[bool, str] = {True: "", False: ""}
            for thought, piece in pieces:
                found[thought] += piece
            yield found[True], found[False].lstrip() if self._lifted else found[False]
        if self._thoughts is None:
            yield "", content


def _joined_logprobs(before: _JSON, more: _JSON) -> _JSON:
    """Log probabilities of text that goes out in one delta."""
    joined = {**before, **more}
    for name in ("content", "refusal"):
        if isinstance(first := before.get(name), list) and isinstance(second := more.get(name), list):
            joined[name] = [*first, *second]
        elif isinstance(first, list):
            joined[name] = first
    return joined
