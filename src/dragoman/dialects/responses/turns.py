"""An arranged history, written down as the ``instructions`` and the items of an upstream's ``input``.

No item carries an id but those that this dialect itself gave: ids are checked by prefix, and looked
up. Reasoning goes back with a ciphertext of this dialect; without one it cannot stand at OpenAI
(Kilo-Org/kilocode#10197), and goes as text to upstreams that do not verify it.
"""

from __future__ import annotations

from hashlib import blake2b

from dragoman.canonical.request import Loss, Native, Part, Reasoning, Refusal, Role, Text, ToolCall
from dragoman.dialects.responses.builtins import call_again, result_again
from dragoman.dialects.responses.parts import render_part
from dragoman.dialects.responses.wire import JSON, NAME
from dragoman.history import LEFT_OUT, Answer, History, Placed, Turn
from dragoman.names import BUILTIN


class TurnWriter:
    """Writes one history. Raises ``InvalidRequest`` for what only another vendor holds."""

    def __init__(self, losses: list[Loss]) -> None:
        self.items: list[JSON] = []
        self.proofs = False
        """Whether reasoning goes back to its upstream."""
        self._losses = losses

    def write(self, history: History) -> str | None:
        """The items, and as the result the instructions; later system text keeps its place, as a developer's."""
        system = []
        for placed in history.system:
            if isinstance(placed.part, Text):
                system.append(placed.part.text)
            else:
                self._lose(placed, "a system instruction")
        for turn in history.turns:
            self.items += [self._answer(answer) for answer in turn.answers]
            if turn.role is Role.ASSISTANT:
                self._assistant(turn)
            else:
                self._other(turn)
        return "\n\n".join(system) or None

    def _other(self, turn: Turn) -> None:
        role = "user" if turn.role is Role.USER else "developer"
        written, content = len(self.items), list[JSON]()
        for placed in turn.parts:
            if isinstance(placed.part, Native) and placed.part.origin == NAME:
                self._message(role, content)
                content = []
                self.items.append(placed.part.value)
            elif (part := render_part(placed.part, placed.path, self._losses)) is not None:
                content.append(part)
        if role == "user" and turn.parts and not content and len(self.items) == written:
            content = [{"type": "input_text", "text": LEFT_OUT}]
        self._message(role, content)

    def _assistant(self, turn: Turn) -> None:
        content: list[JSON] = []
        for placed in turn.parts:
            if isinstance(placed.part, Text):
                content.append({"type": "output_text", "text": placed.part.text, "annotations": []})
            elif isinstance(placed.part, Refusal):
                content.append({"type": "refusal", "refusal": placed.part.text})
            else:
                self._message("assistant", content)
                content = []
                self._item(placed)
        self._message("assistant", content)

    def _item(self, placed: Placed) -> None:
        match placed.part:
            case ToolCall() as call:
                self.items.append(call_again(call) or _call(call))
            case Reasoning() as part:
                self._reasoning(part, placed.path)
            case Native(origin=origin, value=value) if origin == NAME:
                self.items.append(value)
            case _:
                self._lose(placed, "an assistant's turn")

    def _message(self, role: str, content: list[JSON]) -> None:
        if content:
            self.items.append({"type": "message", "role": role, "content": content})

    def _reasoning(self, part: Reasoning, path: str) -> None:
        own = [proof for proof in part.opaque if proof.kind == "encrypted"]
        shown = [{"type": "summary_text", "text": part.text}] if part.text and part.summary else []
        for number, proof in enumerate(own):
            item: JSON = {"type": "reasoning"}
            if proof.id is not None:
                item["id"] = proof.id
            item["summary"] = [] if number else shown
            item["encrypted_content"] = proof.data
            self.items.append(item)
            self.proofs = True
        if not own and part.text:
            id = "rs_" + blake2b(f"{path} {part.text}".encode("utf-8", "replace"), digest_size=16).hexdigest()
            content = [] if shown else [{"type": "reasoning_text", "text": part.text}]
            self.items.append({"type": "reasoning", "id": id, "summary": shown, "content": content})

    def _answer(self, answer: Answer) -> JSON:
        rendered = [render_part(part, answer.path, self._losses) for part in answer.parts]
        content = [part for part in rendered if part is not None]
        if all(part["type"] == "input_text" for part in content):
            told = "\n\n".join(part["text"] for part in content)
            if (own := result_again(answer.call, answer.id, told, error=answer.error)) is not None:
                return own
        if answer.error:
            content = _marked(content)
        output: str | list[JSON] = content
        if not content:
            output = ""
        elif len(content) == 1 and content[0]["type"] == "input_text":
            output = content[0]["text"]
        kind = "custom_tool_call_output" if answer.call.kind == "custom" else "function_call_output"
        return {"type": kind, "call_id": answer.id, "output": output}

    def _lose(self, placed: Placed, where: str) -> None:
        self._losses.append(Loss(placed.path, f"{_name(placed.part)} has no form in {where} here"))


def _name(part: Part) -> str:
    return type(part).__name__.lower()


def _call(part: ToolCall) -> JSON:
    named: JSON = {"call_id": part.id, "name": part.name}
    if part.namespace not in (None, BUILTIN):
        named["namespace"] = part.namespace
    if part.kind == "custom":
        return {"type": "custom_tool_call", **named, "input": part.arguments}
    return {"type": "function_call", **named, "arguments": part.arguments}


def _marked(content: list[JSON]) -> list[JSON]:
    """A failed result, which this dialect has no flag for: the text says it."""
    first = content[0] if content else {}
    if first.get("type") != "input_text":
        return [{"type": "input_text", "text": "Error"}, *content]
    text = first["text"]
    if text.lower().startswith("error"):
        return content
    return [{**first, "text": f"Error: {text}"}, *content[1:]]
