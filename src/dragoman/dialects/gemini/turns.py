"""An arranged history, written as Google's ``contents``.

The rules of the API are ``history``'s work; here are the forms of its parts
(protocols/anthropic-google.md, 2.2): a result is an object and names its function, a thought goes back
with its signature, the first call of each step is signed.
"""

from __future__ import annotations

from dragoman import jsontext
from dragoman.canonical import request as q
from dragoman.canonical.opaque import Opaque
from dragoman.dialects.contract import Facts
from dragoman.dialects.gemini.media import Attachment, render_media
from dragoman.dialects.gemini.wire import BYPASS, JSON, NAME
from dragoman.history import ASIDE, BEGINNING, Answer, History, Placed, Turn

_ROLES = {q.Role.USER: "user", q.Role.ASSISTANT: "model", q.Role.SYSTEM: "system", q.Role.DEVELOPER: "system"}
"""``system`` turns come only for servers of whom that is known (``mid_conversation_system``)."""


class TurnWriter:
    """Writes the history of one request; ``losses`` collects what has no form."""

    def __init__(self, facts: Facts, losses: list[q.Loss]) -> None:
        self._losses = losses
        self._media_inside = facts.gemini_thinking == "level"  # models before that take text only in results
        self._bypass = facts.gemini_thinking == "level" and facts.signing_upstream is not False
        self._contents: list[JSON] = []

    def system(self, history: History) -> list[JSON]:
        """The parts of the system instruction."""
        parts: list[JSON] = []
        for placed in history.system:
            if isinstance(placed.part, q.Text):
                parts += self._part(placed)
            else:
                self._lose(placed.path, "only text can stand in a system instruction")
        return parts

    def contents(self, history: History) -> list[JSON]:
        """The contents. Raises ``InvalidRequest`` for a file that cannot be read there."""
        turns = history.turns
        for turn in turns:
            self._add(_ROLES[turn.role], [*self._answers(turn), *self._parts(turn)])
        if turns and turns[0].role is q.Role.USER and (not self._contents or self._contents[0]["role"] == "model"):
            self._contents.insert(0, {"role": "user", "parts": [{"text": BEGINNING}]})  # nothing of it could be said
        return self._contents

    def _lose(self, path: str, reason: str) -> None:
        self._losses.append(q.Loss(path, reason))

    def _add(self, role: str, parts: list[JSON]) -> None:
        """Parts of a turn; what follows a turn of which nothing could be said belongs to the one before."""
        if parts and self._contents and self._contents[-1]["role"] == role:
            self._contents[-1]["parts"] += parts
        elif parts:
            self._contents.append({"role": role, "parts": parts})

    # ---- parts

    def _parts(self, turn: Turn) -> list[JSON]:
        """In the current turn calls are refused without a signature on the first (lbjlaq/Antigravity-Manager#3202).

        Those of earlier turns get the stand-in too: they had it, and prompt caches want the same bytes again.
        """
        parts = [rendered for placed in turn.parts for rendered in self._part(placed)]
        first = next((part for part in parts if "functionCall" in part), None)
        if first is not None and self._bypass:
            first.setdefault("thoughtSignature", BYPASS)
        return parts

    def _part(self, placed: Placed) -> list[JSON]:
        part, path = placed.part, placed.path
        self._unsaid(part, path)
        if isinstance(part, q.Text):
            return [_signed({"text": part.text}, part.signature)]
        if isinstance(part, q.ToolCall):
            call = {"id": part.id, "name": part.name, "args": jsontext.parse(part.arguments)}
            return [_signed({"functionCall": call}, part.signature)]
        if isinstance(part, q.Reasoning):
            return _thoughts(part)
        if isinstance(part, q.Refusal):
            return [{"text": part.text}]
        if isinstance(part, Attachment):
            return [render_media(part, path)]
        if isinstance(part, q.Native) and part.origin == NAME:
            return [part.value]
        self._lose(path, "it has no form here")
        return []

    def _unsaid(self, part: q.Part, path: str) -> None:
        """What is said beside the content of a part, and cannot be said here."""
        for name in ("cache", "detail", *(("name",) if isinstance(part, q.Document) else ())):
            if getattr(part, name, None) not in (None, "", "auto"):
                self._lose(f"{path}.{name}", "it has no form here")

    # ---- results

    def _answers(self, turn: Turn) -> list[JSON]:
        """The results, then what they cannot hold."""
        asides: list[JSON] = []
        responses = [self._response(answer, asides) for answer in turn.answers]
        return responses + asides

    def _response(self, answer: Answer, asides: list[JSON]) -> JSON:
        texts: list[str] = []
        media: list[JSON] = []
        for part in answer.parts:
            for rendered in self._part(Placed(part, answer.path)):
                if "text" in rendered:
                    texts.append(rendered["text"])
                else:
                    media.append(rendered)
        if answer.cache:
            self._lose(f"{answer.path}.cache", "it has no form here")
        outcome = {"error" if answer.error else "output": "\n".join(texts)}
        response: JSON = {"id": answer.id, "name": answer.call.name, "response": outcome}
        if media and self._media_inside:
            response["parts"] = media
        elif media:
            self._lose(answer.path, "a result holds text only there: the rest follows it")
            asides += [{"text": ASIDE.format(id=answer.id)}, *media]
        return {"functionResponse": response}


def _signed(part: JSON, proof: Opaque | None) -> JSON:
    """The part with its signature; ``history`` has left those of Google alone."""
    if proof is not None:
        part["thoughtSignature"] = proof.data
    return part


def _thoughts(part: q.Reasoning) -> list[JSON]:
    """The thought, once for each proof: a part holds one."""
    proofs = [proof.data for proof in part.opaque]
    if not proofs:
        return [{"text": part.text, "thought": True}] if part.text else []
    texts = [part.text, *[""] * (len(proofs) - 1)]
    return [
        {"text": text, "thought": True, "thoughtSignature": proof} for text, proof in zip(texts, proofs, strict=True)
    ]
