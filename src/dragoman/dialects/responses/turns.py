"""Canonical messages, written down as the items of an upstream's ``input``.

No item carries an id but those that this dialect itself gave: ids are checked by prefix, and looked
up. Reasoning goes back only with a ciphertext of this dialect; without one it cannot stand
(Kilo-Org/kilocode#10197).
"""

from __future__ import annotations

from collections.abc import Iterable

from dragoman.canonical.request import (
    Loss,
    Message,
    Native,
    Part,
    Reasoning,
    Refusal,
    Role,
    Text,
    ToolCall,
    ToolResult,
)
from dragoman.dialects.responses.history import history_arguments
from dragoman.dialects.responses.parts import render_part
from dragoman.dialects.responses.wire import JSON, NAME


class TurnWriter:
    """Writes ``instructions`` and ``input``. Raises ``InvalidRequest`` for what only another vendor holds."""

    def __init__(self) -> None:
        self.instructions: str | None = None
        self.items: list[JSON] = []
        self.losses: list[Loss] = []
        self.proofs = False
        """Whether reasoning goes back to its upstream."""

    def write(self, messages: Iterable[Message]) -> None:
        """System text at the beginning becomes the instructions; later it keeps its place, as a developer's."""
        system: list[str] = []
        begun = False
        for number, message in enumerate(messages):
            path = f"messages[{number}]"
            if message.role is Role.SYSTEM and not begun:
                system += [part.text for part in message.parts if isinstance(part, Text) and part.text]
                continue
            begun = True
            if message.role is Role.ASSISTANT:
                self._assistant(message, path)
            else:
                role = "user" if message.role is Role.USER else "developer"
                self._other(role, message, path)
        self.instructions = "\n\n".join(system) or None

    def _other(self, role: str, message: Message, path: str) -> None:
        content: list[JSON] = []
        for number, part in enumerate(message.parts):
            where = f"{path}.parts[{number}]"
            if isinstance(part, ToolResult):
                self._message(role, content)
                content = []
                self._result(part, where)
            elif isinstance(part, Native) and part.origin == NAME and "role" not in part.value and _is_item(part):
                self._message(role, content)
                content = []
                self.items.append(part.value)
            elif (rendered := render_part(part, where, self.losses)) is not None:
                content.append(rendered)
        self._message(role, content)

    def _assistant(self, message: Message, path: str) -> None:
        content: list[JSON] = []
        for number, part in enumerate(message.parts):
            if isinstance(part, Text):
                if part.text:
                    content.append({"type": "output_text", "text": part.text, "annotations": []})
            elif isinstance(part, Refusal):
                content.append({"type": "refusal", "refusal": part.text})
            else:
                self._message("assistant", content)
                content = []
                self._assistant_item(part, f"{path}.parts[{number}]")
        self._message("assistant", content)

    def _assistant_item(self, part: Part, path: str) -> None:
        match part:
            case ToolCall():
                self.items.append(_call(part))
            case Reasoning():
                self._reasoning(part, path)
            case Native(origin=origin, value=value) if origin == NAME:
                self.items.append(value)
            case _:
                self.losses.append(Loss(path, f"{type(part).__name__.lower()} of an assistant has no form here"))

    def _message(self, role: str, content: list[JSON]) -> None:
        if content:
            self.items.append({"type": "message", "role": role, "content": content})

    def _reasoning(self, part: Reasoning, path: str) -> None:
        own = [proof for proof in part.opaque if proof.origin == NAME and proof.kind == "encrypted"]
        if not own:
            self.losses.append(Loss(path, "reasoning goes back only to the upstream that made it"))
        for number, proof in enumerate(own):
            text = part.text if not number else ""
            item: JSON = {"type": "reasoning"}
            if proof.id is not None:
                item["id"] = proof.id
            item["summary"] = [{"type": "summary_text", "text": text}] if text and part.summary else []
            item["encrypted_content"] = proof.data
            self.items.append(item)
            self.proofs = True

    def _result(self, result: ToolResult, path: str) -> None:
        rendered = [render_part(part, f"{path}.parts[{n}]", self.losses) for n, part in enumerate(result.parts)]
        content = [part for part in rendered if part is not None]
        if result.error:
            content = _marked(content)
        output: str | list[JSON] = content
        if not content:
            output = ""
        elif len(content) == 1 and content[0]["type"] == "input_text":
            output = content[0]["text"]
        kind = "custom_tool_call_output" if result.kind == "custom" else "function_call_output"
        self.items.append({"type": kind, "call_id": result.id, "output": output})


def _is_item(part: Native) -> bool:
    """Whether a native part is an item of its own, not a part of a message's content."""
    return not str(part.value.get("type", "")).startswith("input_")


def _call(part: ToolCall) -> JSON:
    named: JSON = {"call_id": part.id, "name": part.name}
    if part.namespace is not None:
        named["namespace"] = part.namespace
    if part.kind == "custom":
        return {"type": "custom_tool_call", **named, "input": part.arguments}
    return {"type": "function_call", **named, "arguments": history_arguments(part.arguments)}


def _marked(content: list[JSON]) -> list[JSON]:
    """A failed result, which this dialect has no flag for: the text says it."""
    first = content[0] if content else {}
    if first.get("type") != "input_text":
        return [{"type": "input_text", "text": "Error"}, *content]
    text = first["text"]
    if text.lower().startswith("error"):
        return content
    return [{**first, "text": f"Error: {text}"}, *content[1:]]
