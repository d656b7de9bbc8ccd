"""Canonical messages as Google's ``contents``.

The rules of the API (protocols/anthropic-google.md, 2.2 and 4; design/requests.md, 2): roles
alternate and the user begins; the results of a turn's calls stand together right after it, one for
each call, in the order of the calls; a result is an object and names its function.
"""

from __future__ import annotations

from dragoman import jsontext
from dragoman.canonical import request as q
from dragoman.canonical.opaque import Opaque
from dragoman.dialects.gemini.media import render_media
from dragoman.dialects.gemini.parts import call_arguments
from dragoman.dialects.gemini.wire import BYPASS, JSON, NAME

_BEGIN = "(The conversation goes on.)"
_UNANSWERED = "This call was given no result."


class Turns:
    """Renders the history of one request. ``losses`` collects what is left out."""

    def __init__(self, messages: tuple[q.Message, ...]) -> None:
        self.losses: list[q.Loss] = []
        self.system: list[JSON] = []
        self.contents: list[JSON] = []
        self._messages = messages
        self._results = _results(messages)
        self._used: set[str] = set()  # paths of results that stand with their calls
        self._calls: list[q.ToolCall] = []  # of the model's turn that is being written
        self._begin_of_turn = _begin_of_turn(messages)

    def render(self) -> list[JSON]:
        """The contents; ``system`` then holds the parts of the system instruction."""
        for number, message in enumerate(self._messages):
            path = f"messages[{number}]"
            if message.role in (q.Role.SYSTEM, q.Role.DEVELOPER):
                self._system(message, path)
            elif message.role is q.Role.ASSISTANT:
                self._assistant(message, path, current=number > self._begin_of_turn)
            else:
                self._user(message, path)
        self._answer()
        if not self.contents or self.contents[0]["role"] != "user":
            self.contents.insert(0, {"role": "user", "parts": [{"text": _BEGIN}]})
        return self.contents

    def _system(self, message: q.Message, path: str) -> None:
        parts = [{"text": part.text} for part in message.parts if isinstance(part, q.Text) and part.text.strip()]
        if len(parts) < len(message.parts):
            self.losses.append(q.Loss(path, "only text can stand in a system instruction"))
        if not self.contents:
            self.system += parts
        elif parts:
            self.losses.append(q.Loss(path, "there are no system turns: given as text of the user's turn"))
            self._answer()
            self._add("user", [{"text": f"<system>\n{part['text']}\n</system>"} for part in parts])

    def _user(self, message: q.Message, path: str) -> None:
        self._answer()
        parts: list[JSON] = []
        for number, part in enumerate(message.parts):
            where = f"{path}.content[{number}]"
            if isinstance(part, q.ToolResult):
                if where not in self._used:
                    self.losses.append(q.Loss(where, "a result without its call: given as text"))
                    parts += _orphan(part, where)
            elif isinstance(part, q.Image | q.Document | q.Audio):
                parts.append(render_media(part, where))
            else:
                parts += self._plain(part, where)
        self._add("user", parts)

    def _assistant(self, message: q.Message, path: str, *, current: bool) -> None:
        parts: list[JSON] = []
        for number, part in enumerate(message.parts):
            where = f"{path}.content[{number}]"
            if isinstance(part, q.ToolCall):
                parts.append(self._call(part, where, first=current and not self._calls))
                self._calls.append(part)
            elif isinstance(part, q.Reasoning):
                parts += self._reasoning(part, where)
            elif isinstance(part, q.Image | q.Document | q.Audio):
                parts.append(render_media(part, where))
            else:
                parts += self._plain(part, where)
        self._add("model", parts)

    def _plain(self, part: q.Part, path: str) -> list[JSON]:
        if isinstance(part, q.Text):
            signature = self._own(part.signature, path)
            if signature is None:
                return [{"text": part.text}] if part.text.strip() else []
            return [{"text": part.text, "thoughtSignature": signature}]
        if isinstance(part, q.Refusal):
            return [{"text": part.text}] if part.text.strip() else []
        if isinstance(part, q.Native) and part.origin == NAME:
            return [part.value]
        self.losses.append(q.Loss(path, f"a {type(part).__name__} part has no form here"))
        return []

    def _own(self, proof: Opaque | None, path: str) -> str | None:
        """The signature, if it is Google's own: to anyone else's it would be a forgery."""
        if proof is None:
            return None
        if proof.origin == NAME:
            return proof.data
        self.losses.append(q.Loss(path, f"a proof of reasoning made by {proof.origin}"))
        return None

    def _reasoning(self, part: q.Reasoning, path: str) -> list[JSON]:
        """Thoughts go back only with their signature."""
        own = [proof.data for proof in part.opaque if proof.origin == NAME]
        if len(own) < max(1, len(part.opaque)):
            self.losses.append(q.Loss(path, "reasoning that this provider did not sign"))
        texts = [part.text, *[""] * len(own)]
        return [
            {"text": text, "thought": True, "thoughtSignature": signature}
            for text, signature in zip(texts, own, strict=False)
        ]

    def _call(self, call: q.ToolCall, path: str, *, first: bool) -> JSON:
        args = call_arguments(call.arguments, call.kind, complete=True, sound=False)
        part: JSON = {"functionCall": {"id": call.id, "name": call.name, "args": args}}
        signature = self._own(call.signature, path)
        if signature is None and first:
            signature = BYPASS  # calls of the current turn are refused without (lbjlaq/Antigravity-Manager#3202)
        if signature is not None:
            part["thoughtSignature"] = signature
        return part

    def _answer(self) -> None:
        """The results of the model's turn that has just ended."""
        calls, self._calls = self._calls, []
        parts: list[JSON] = []
        for call in calls:
            found = next((item for item in self._results.get(call.id, ()) if item[1] not in self._used), None)
            if found is None:
                self.losses.append(q.Loss("messages", f"the call {call.id} has no result: an error stands for it"))
                response: JSON = {"error": _UNANSWERED}
                parts.append({"functionResponse": {"id": call.id, "name": call.name, "response": response}})
                continue
            result, path = found
            self._used.add(path)
            parts.append(_response(result, call, path))
        if parts:
            self._add("user", parts)

    def _add(self, role: str, parts: list[JSON]) -> None:
        """Parts of a turn; turns of one role that follow each other are one."""
        if not parts:
            return
        if self.contents and self.contents[-1]["role"] == role:
            self.contents[-1]["parts"] += parts
        else:
            self.contents.append({"role": role, "parts": parts})


def _results(messages: tuple[q.Message, ...]) -> dict[str, list[tuple[q.ToolResult, str]]]:
    """Every result by the id of its call, in order, with its path."""
    found: dict[str, list[tuple[q.ToolResult, str]]] = {}
    for number, message in enumerate(messages):
        for place, part in enumerate(message.parts):
            if isinstance(part, q.ToolResult):
                found.setdefault(part.id, []).append((part, f"messages[{number}].content[{place}]"))
    return found


def _begin_of_turn(messages: tuple[q.Message, ...]) -> int:
    """The place of the user's latest message that is more than results: what follows is the current turn."""
    begin = -1
    for number, message in enumerate(messages):
        if message.role is q.Role.USER and any(not isinstance(part, q.ToolResult) for part in message.parts):
            begin = number
    return begin


def _response(result: q.ToolResult, call: q.ToolCall, path: str) -> JSON:
    texts = [part.text for part in result.parts if isinstance(part, q.Text)]
    media = [render_media(part, path) for part in result.parts if not isinstance(part, q.Text)]
    text = "\n".join([*texts, *(part["text"] for part in media if "text" in part)])
    answer: JSON = {
        "id": call.id,
        "name": call.name,
        "response": {"error" if result.error else "output": text},
    }
    if attached := [part for part in media if "text" not in part]:
        answer["parts"] = attached
    return {"functionResponse": answer}


def _orphan(result: q.ToolResult, path: str) -> list[JSON]:
    """A result whose call the history does not hold, as text that says what it is."""
    texts = [part.text for part in result.parts if isinstance(part, q.Text)]
    media = [render_media(part, path) for part in result.parts if not isinstance(part, q.Text)]
    label = jsontext.render(result.name or result.id).decode()
    return [{"text": "\n".join([f"[Result of an earlier tool call, {label}]", *texts])}, *media]
