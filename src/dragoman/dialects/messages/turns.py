"""An arranged history, written as ``system`` and ``messages``.

``history`` has put the turns in order; this is how each part is written, and what this API refuses inside
a turn: blank text, results of a failed call that hold more than text, a turn that ends in
thinking, pictures in the assistant's. Source: protocols/anthropic-google.md, 1.3.
"""

from __future__ import annotations

import base64
from typing import Any

from dragoman import jsontext
from dragoman.canonical import request as q
from dragoman.canonical.errors import invalid_request
from dragoman.dataurl import picture_type
from dragoman.dialects.messages import wire
from dragoman.exceptions import InvalidRequest
from dragoman.history import ASIDE, Answer, History, Placed, Turn

JSON = dict[str, Any]

NOTHING = "(Nothing more was said here.)"
"""A turn holds something, and does not end in thinking (tailcallhq/forgecode#3071)."""
MADE = "[Made by the assistant in its last turn]"
FAILED = "Error"
LEFT_OUT = "[{what} was left out here: it cannot be passed on]"

_MOST_MARKERS = 4
_IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_PLAIN_TYPES = ("application/json", "application/xml")
_THINKING = ("thinking", "redacted_thinking")


class Marker:
    """Writes cache markers, and keeps the last of those that are too many for this API."""

    def __init__(self) -> None:
        self._marked: list[tuple[JSON, str]] = []

    def mark(self, block: JSON, cache: JSON | None, path: str) -> JSON:
        """The block with its marker, if it has one."""
        if cache:
            block["cache_control"] = cache
            self._marked.append((block, path))
        return block

    def drop_excess(self) -> list[q.Loss]:
        """Takes away the earliest markers beyond four. The last ones reach furthest."""
        excess = self._marked[:-_MOST_MARKERS]
        for block, _ in excess:
            del block["cache_control"]
        return [q.Loss(f"{path}.cache", f"messages takes {_MOST_MARKERS} cache markers") for _, path in excess]


class TurnWriter:
    """Writes the history of one request; ``losses`` collects what has no form here."""

    def __init__(self, marker: Marker) -> None:
        self.losses: list[q.Loss] = []
        self._marker = marker
        self._later: list[JSON] = []  # what the user's turn says after its results

    def lose(self, path: str, reason: str) -> None:
        self.losses.append(q.Loss(path, reason))

    def system(self, history: History) -> str | list[JSON]:
        """The ``system`` member: one plain text as a string, for servers that know nothing else."""
        blocks = self._system_blocks(history.system)
        if len(blocks) == 1 and blocks[0].keys() == {"type", "text"}:
            text: str = blocks[0]["text"]
            return text
        return blocks

    def messages(self, history: History) -> list[JSON]:
        """The turns. Raises ``InvalidRequest`` for a file that another API keeps."""
        written = [self._turn(turn) for turn in history.turns]
        if self._later:
            self.lose("messages", "pictures in a final assistant turn have no form in messages")
        return written

    # ---- turns

    def _turn(self, turn: Turn) -> JSON:
        match turn.role:
            case q.Role.ASSISTANT:
                return {"role": "assistant", "content": self._assistant(turn)}
            case q.Role.USER:
                return {"role": "user", "content": self._user(turn)}
        return {"role": "system", "content": self._system_blocks(turn.parts)}

    def _system_blocks(self, parts: list[Placed]) -> list[JSON]:
        blocks: list[JSON] = []
        for placed in parts:
            if isinstance(placed.part, q.Text):
                blocks += self._blocks(placed.part, placed.path)
            else:
                self.lose(placed.path, "system holds text only")
        return blocks

    def _user(self, turn: Turn) -> list[JSON]:
        blocks = [self._result(answer) for answer in turn.answers]
        blocks += self._later
        self._later = []
        for placed in turn.parts:
            blocks += self._blocks(placed.part, placed.path)
        return blocks or [_text(NOTHING)]

    def _assistant(self, turn: Turn) -> list[JSON]:
        blocks: list[JSON] = []
        for placed in turn.parts:
            written = self._blocks(placed.part, placed.path)
            if isinstance(placed.part, q.Image | q.Document):
                self._later += written if self._later else [_text(MADE), *written]
            else:
                blocks += written
        if not blocks or blocks[-1]["type"] in _THINKING:
            blocks.append(_text(NOTHING))
        return blocks

    def _result(self, answer: Answer) -> JSON:
        """A ``tool_result``; one text is a string. A failed one holds text (jlevy/markform#153), and text only."""
        inner = [block for part in answer.parts for block in self._blocks(part, answer.path)]
        if answer.error and (others := [block for block in inner if block["type"] != "text"]):
            inner = [block for block in inner if block["type"] == "text"]
            self._later += [_text(ASIDE.format(id=answer.id)), *others]
            self.lose(answer.path, "a failed result holds text only: the rest follows it")
        block: JSON = {"type": "tool_result", "tool_use_id": answer.id}
        if len(inner) == 1 and inner[0].keys() == {"type", "text"}:
            block["content"] = inner[0]["text"]
        elif inner or answer.error:
            block["content"] = inner or FAILED
        if answer.error:
            block["is_error"] = True
        return self._marker.mark(block, answer.cache, answer.path)

    # ---- parts

    def _blocks(self, part: q.Part, path: str) -> list[JSON]:
        match part:
            case q.Text(text=text):
                return [self._marker.mark(_text(text), part.cache, path)] if text.strip() else []
            case q.Refusal(text=text):
                return [_text(text)]
            case q.Reasoning():
                return _thinking(part)
            case q.ToolCall():
                return [self._call(part, path)]
            case q.Image():
                return self._image(part, path)
            case q.Document():
                return self._document(part, path)
            case q.Native(origin=origin):
                if origin == wire.NAME:
                    return [part.value]
                self.lose(path, f"a part that only {origin} knows")
            case q.Audio():
                return [self._left_out("A sound", path, "audio has no form in messages")]
        return []

    def _call(self, call: q.ToolCall, path: str) -> JSON:
        given = jsontext.parse(call.arguments)
        block = {"type": "tool_use", "id": call.id, "name": call.name, "input": given}
        return self._marker.mark(block, call.cache, path)

    def _left_out(self, what: str, path: str, reason: str) -> JSON:
        """What the model shall know was there."""
        self.lose(path, reason)
        return _text(LEFT_OUT.format(what=what))

    def _image(self, part: q.Image, path: str) -> list[JSON]:
        if part.detail not in (None, "auto"):
            self.lose(f"{path}.detail", "messages has no such member")
        if part.data is not None:
            kind = _image_type(part.media_type, part.data)
            if kind is None:
                return [
                    self._left_out(
                        f"An image of type {part.media_type}", path, f"{part.media_type} has no form in messages"
                    )
                ]
            source: JSON = {"type": "base64", "media_type": kind, "data": part.data}
        else:
            source = _elsewhere(part, path)
        return [self._marker.mark({"type": "image", "source": source}, part.cache, path)]

    def _document(self, part: q.Document, path: str) -> list[JSON]:
        source = _document_source(part, path)
        if source is None:
            what = f"A file{f' {part.name!r}' if part.name else ''} of type {part.media_type}"
            return [self._left_out(what, path, f"{part.media_type}: messages takes PDF and plain text")]
        block: JSON = {"type": "document", "source": source}
        if part.name:
            block["title"] = part.name
        return [self._marker.mark(block, part.cache, path)]


def _image_type(told: str | None, data: str) -> str | None:
    """One of the types that this API takes, as it is told or as the data begins; ``None``: it is none of them."""
    guessed = picture_type(data)
    kind = (told or guessed or "image/png").lower().replace("image/jpg", "image/jpeg")
    return kind if kind in _IMAGE_TYPES else guessed


def _text(text: str) -> JSON:
    return {"type": "text", "text": text}


def _thinking(part: q.Reasoning) -> list[JSON]:
    """What this API signed, byte for byte (design/streams.md, 8); without a proof, for a server that asks for none."""
    blocks: list[JSON] = []
    text = part.text
    for proof in part.opaque:
        if proof.kind == "redacted":
            blocks.append({"type": "redacted_thinking", "data": proof.data})
        else:
            blocks.append({"type": "thinking", "thinking": text, "signature": proof.data})
            text = ""
    return blocks or ([{"type": "thinking", "thinking": text, "signature": ""}] if text else [])


def _elsewhere(part: q.Image | q.Document, path: str) -> JSON:
    """The source of what is not in the request itself."""
    if part.url is not None:
        return {"type": "url", "url": part.url}
    if part.origin != wire.NAME:
        message = f"{path}: the file {part.file_id} is not in the upstream's file store"
        raise InvalidRequest(invalid_request(message, path))
    return {"type": "file", "file_id": part.file_id}


def _document_source(part: q.Document, path: str) -> JSON | None:
    if part.text is not None:
        return {"type": "text", "media_type": "text/plain", "data": part.text}
    if part.data is None:
        return _elsewhere(part, path)
    kind = part.media_type or "application/pdf"
    if kind == "application/pdf":
        return {"type": "base64", "media_type": kind, "data": part.data}
    text = _decoded(part.data) if kind.startswith("text/") or kind in _PLAIN_TYPES else None
    return None if text is None else {"type": "text", "media_type": "text/plain", "data": text}


def _decoded(data: str) -> str | None:
    try:
        return base64.b64decode(data, validate=False).decode("utf-8")
    except ValueError:
        return None
