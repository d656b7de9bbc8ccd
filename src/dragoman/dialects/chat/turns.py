"""Canonical turns, written as the messages of a chat upstream.

Every call has its one result right after it, in the order of the calls and before any other content:
servers refuse a history in which one is missing. A ``tool`` message holds text only, so what else
a result has goes into the user message that follows (design/requests.md, 2).
"""

from __future__ import annotations

from typing import Any

from dragoman import jsontext
from dragoman.canonical.opaque import Opaque
from dragoman.canonical.request import (
    Document,
    Loss,
    Message,
    Part,
    Reasoning,
    Refusal,
    Request,
    Role,
    Text,
    ToolCall,
    ToolResult,
)
from dragoman.dialects.chat.history import history_arguments
from dragoman.dialects.chat.parts import JSON, render_part
from dragoman.dialects.chat.reasoning import render_details
from dragoman.dialects.chat.wire import NAME, extra_content

_NO_RESULT = "Error: the call was not answered."
_ORPHAN = "A tool's result, whose call is not in this conversation:"
_ASIDE = "The result is in the next message."


class TurnWriter:
    """Writes the messages of one request; ``losses`` collects what had no form.

    ``developer`` tells whether the upstream knows that role: elsewhere it is ``system``.
    """

    def __init__(self, losses: list[Loss], developer: bool = False) -> None:
        self._losses = losses
        self._developer = developer
        self._messages: list[JSON] = []
        self._answers: set[int] = set()  # ``id`` of the results that found their call
        self._aside: list[JSON] = []
        self._minted = 0

    def write(self, request: Request) -> list[JSON]:
        """The messages, in order. Raises ``InvalidRequest`` for a file that cannot be read here."""
        turns = _turns(request.messages)
        for number, (where, message) in enumerate(turns):
            match message.role:
                case Role.SYSTEM | Role.DEVELOPER:
                    self._system(message, where)
                case Role.USER:
                    self._user(message, where)
                case Role.ASSISTANT:
                    self._put_aside()
                    calls = self._assistant(message, where)
                    self._results(calls, _results_after(turns, number), where)
        self._put_aside()
        return self._messages

    def _lose(self, where: str, part: Part) -> None:
        self._losses.append(Loss(where, f"{type(part).__name__} has no form in chat completions"))

    # ---- system and user

    def _system(self, message: Message, where: str) -> None:
        texts = []
        for number, part in enumerate(message.parts):
            if isinstance(part, Text):
                texts.append(part.text)
            else:
                self._lose(f"{where}.parts[{number}]", part)
        if text := "\n\n".join(text for text in texts if text):
            role = "developer" if self._developer and message.role is Role.DEVELOPER else "system"
            self._messages.append({"role": role, "content": text})

    def _user(self, message: Message, where: str) -> None:
        content, self._aside = self._aside, []
        for number, part in enumerate(message.parts):
            place = f"{where}.parts[{number}]"
            if not isinstance(part, ToolResult):
                content += self._part(part, place)
            elif id(part) not in self._answers:
                content.append({"type": "text", "text": _ORPHAN})
                for inner in part.parts:
                    content += self._part(inner, place)
        self._say(content)

    def _say(self, content: list[JSON]) -> None:
        if len(content) == 1 and content[0].get("type") == "text":
            self._messages.append({"role": "user", "content": content[0]["text"]})
        elif content:
            self._messages.append({"role": "user", "content": content})

    def _put_aside(self) -> None:
        """What stood in results and is no text, where no user message follows them."""
        content, self._aside = self._aside, []
        self._say(content)

    def _part(self, part: Part, where: str) -> list[JSON]:
        rendered = render_part(part, where)
        if rendered is None and not (isinstance(part, Text) and not part.text):
            self._lose(where, part)
        return [rendered] if rendered else []

    # ---- results

    def _results(self, calls: list[tuple[ToolCall, str]], results: list[ToolResult], where: str) -> None:
        for call, name in calls:
            result = next((result for result in results if _answers(result, call)), None)
            text = _NO_RESULT
            if result is not None:
                results.remove(result)
                self._answers.add(id(result))
                text = self._result(result, where)
            self._messages.append({"role": "tool", "tool_call_id": name, "content": text})

    def _result(self, result: ToolResult, where: str) -> str:
        """The text of a result; the rest of it is put aside."""
        texts: list[str] = []
        for part in result.parts:
            if isinstance(part, Text | Document) and part.text is not None:
                texts.append(part.text)
            else:
                self._aside += self._part(part, where)
        text = "\n".join(text for text in texts if text)
        if not text and len(texts) < len(result.parts):
            text = _ASIDE
        return f"Error: {text}" if result.error and not text.lower().startswith("error") else text

    # ---- assistant

    def _assistant(self, message: Message, where: str) -> list[tuple[ToolCall, str]]:
        """Writes the message; its calls, each with the id that it got."""
        body: JSON = {"role": "assistant", "content": None}
        texts: list[str] = []
        calls: list[tuple[ToolCall, str]] = []
        details: list[JSON] = []
        for number, part in enumerate(message.parts):
            match part:
                case Text():
                    texts.append(part.text)
                case Refusal():
                    body["refusal"] = body.get("refusal", "") + part.text
                case ToolCall():
                    calls.append((part, part.id or self._mint()))
                case Reasoning():
                    details += _own_details(part, len(details))
                case _:
                    self._lose(f"{where}.parts[{number}]", part)
        if text := "".join(texts):
            body["content"] = text
        if details:
            body["reasoning_details"] = details
        if calls:
            body["tool_calls"] = [_call(call, name) for call, name in calls]
        if len(body) > 2 or text:
            self._messages.append(body)
        return calls

    def _mint(self) -> str:
        """An id for a call that has none (gemini histories); the same history gives the same ids."""
        self._minted += 1
        return f"call_{self._minted}"


def _turns(messages: tuple[Message, ...]) -> list[tuple[str, Message]]:
    """The messages with their paths; neighbours of the assistant become one, so that its calls stand together."""
    turns: list[tuple[str, Message]] = []
    for number, message in enumerate(messages):
        if turns and message.role is Role.ASSISTANT and turns[-1][1].role is Role.ASSISTANT:
            where, before = turns[-1]
            gap = (Text(text="\n\n"),) if _speaks(before) and _speaks(message) else ()
            turns[-1] = where, Message(Role.ASSISTANT, before.parts + gap + message.parts)
        else:
            turns.append((f"messages[{number}]", message))
    return turns


def _speaks(message: Message) -> bool:
    return any(isinstance(part, Text) and part.text for part in message.parts)


def _results_after(turns: list[tuple[str, Message]], number: int) -> list[ToolResult]:
    """The results that come before the assistant speaks again."""
    results: list[ToolResult] = []
    for _, message in turns[number + 1 :]:
        if message.role is Role.ASSISTANT:
            break
        results += [part for part in message.parts if isinstance(part, ToolResult)]
    return results


def _answers(result: ToolResult, call: ToolCall) -> bool:
    """By id; where there is none (gemini), by name and place."""
    if result.id or call.id:
        return result.id == call.id
    return result.name in (None, call.name)


def _call(call: ToolCall, name: str) -> JSON:
    if call.kind == "custom":  # declared as a function with one text argument
        arguments = jsontext.render({"input": call.arguments}).decode()
    else:
        arguments = history_arguments(call.arguments)
    entry: JSON = {"id": name, "type": "function", "function": {"name": call.name, "arguments": arguments}}
    if extra := extra_content(call.signature):
        entry["extra_content"] = extra
    return entry


def _own_details(part: Reasoning, index: int) -> list[dict[str, Any]]:
    """The proofs that a chat upstream made itself; others are given to their origin alone.

    Reasoning without a proof is not replayed: most upstreams refuse the member.
    """
    proofs: tuple[Opaque, ...] = tuple(proof for proof in part.opaque if proof.origin == NAME)
    return render_details(part.text, part.summary, proofs, index)
