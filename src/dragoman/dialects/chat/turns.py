"""An arranged history, written as the messages of a chat upstream.

The answers of a turn come right after its calls, as ``tool`` messages of text; ``history`` has paired
them and set aside what they cannot hold (design/requests.md, 2).
"""

from __future__ import annotations

from dragoman.canonical.request import Loss, Part, Reasoning, Refusal, Role, Text, ToolCall
from dragoman.dialects.chat.parts import JSON, render_part
from dragoman.dialects.chat.reasoning import render_details
from dragoman.dialects.chat.wire import extra_content
from dragoman.history import LEFT_OUT, Answer, History, Placed, Turn


class TurnWriter:
    """Writes the messages of one request; ``losses`` collects what had no form.

    ``developer``: the upstream knows that role, elsewhere it is ``system``. ``reasoning_text``: it
    wants the reasoning of earlier turns as text.
    """

    def __init__(self, losses: list[Loss], *, developer: bool = False, reasoning_text: bool = False) -> None:
        self._losses = losses
        self._developer = developer
        self._reasoning_text = reasoning_text
        self._messages: list[JSON] = []

    def write(self, history: History) -> list[JSON]:
        """The messages, in order. Raises ``InvalidRequest`` for a file that cannot be read here."""
        self._system(history.system, Role.SYSTEM)
        for turn in history.turns:
            self._messages += [_answer(answer) for answer in turn.answers]
            match turn.role:
                case Role.SYSTEM | Role.DEVELOPER:
                    self._system(turn.parts, turn.role)
                case Role.USER:
                    self._user(turn)
                case Role.ASSISTANT:
                    self._assistant(turn)
        return self._messages

    def _lose(self, placed: Placed) -> None:
        self._losses.append(Loss(placed.path, f"{type(placed.part).__name__} has no form in chat completions"))

    def _reasoning(self, part: Reasoning, path: str, body: JSON, index: int) -> list[JSON]:
        """Writes the text where it is wanted, or where it came from in the answer under way; gives the details."""
        member = part.item_id or ("reasoning_content" if self._reasoning_text else None)
        if member is not None and part.text:
            body[member] = body.get(member, "") + part.text
        details = render_details(part.text, part.summary, part.opaque, index)
        if member is None and part.text and not details:
            self._losses.append(Loss(path, "reasoning goes back only to upstreams that ask for it"))
        return details

    def _system(self, parts: list[Placed], role: Role) -> None:
        texts = []
        for placed in parts:
            if isinstance(placed.part, Text):
                texts.append(placed.part.text)
            else:
                self._lose(placed)
        if text := "\n\n".join(text for text in texts if text):
            name = "developer" if self._developer and role is Role.DEVELOPER else "system"
            self._messages.append({"role": name, "content": text})

    def _user(self, turn: Turn) -> None:
        content: list[JSON] = []
        for placed in turn.parts:
            rendered = render_part(placed.part, placed.path)
            if rendered is not None:
                content.append(rendered)
            elif not _is_empty(placed.part):
                self._lose(placed)
        if turn.parts and not content:
            content = [{"type": "text", "text": LEFT_OUT}]
        if len(content) == 1 and content[0].get("type") == "text":
            self._messages.append({"role": "user", "content": content[0]["text"]})
        elif content:
            self._messages.append({"role": "user", "content": content})

    def _assistant(self, turn: Turn) -> None:
        body: JSON = {"role": "assistant", "content": None}
        texts: list[str] = []
        calls: list[JSON] = []
        details: list[JSON] = []
        for placed in turn.parts:
            match placed.part:
                case Text(text=text, signature=signature):
                    texts.append(text)
                    if extra := extra_content(signature):
                        body["extra_content"] = extra
                case Refusal(text=text):
                    body["refusal"] = body.get("refusal", "") + text
                case ToolCall() as call:
                    calls.append(_call(call))
                case Reasoning() as part:
                    details += self._reasoning(part, placed.path, body, len(details))
                case _:
                    self._lose(placed)
        if said := "".join(texts):
            body["content"] = said
        if details:
            body["reasoning_details"] = details
        if calls:
            body["tool_calls"] = calls
        if len(body) > 2 or said:
            self._messages.append(body)


def _is_empty(part: Part) -> bool:
    return isinstance(part, Text) and not part.text


def _answer(answer: Answer) -> JSON:
    text = "\n".join(part.text for part in answer.parts if isinstance(part, Text) and part.text)
    if answer.error and not text.lower().startswith("error"):
        text = f"Error: {text}"
    return {"role": "tool", "tool_call_id": answer.id, "content": text}


def _call(call: ToolCall) -> JSON:
    if call.kind == "custom":
        entry: JSON = {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": call.arguments}}
    else:
        function = {"name": call.name, "arguments": call.arguments}
        entry = {"id": call.id, "type": "function", "function": function}
    if extra := extra_content(call.signature):
        entry["extra_content"] = extra
    return entry
