"""The ``input`` of a client, read into canonical messages.

Items are flat: calls, their results and reasoning stand beside messages. Neighbouring items of one
voice become one message; two messages of a user stay two.
"""

from __future__ import annotations

from typing import Any

from dragoman import jsontext
from dragoman.canonical.aliases import original
from dragoman.canonical.events import ToolKind
from dragoman.canonical.opaque import Opaque, unseal
from dragoman.canonical.request import (
    Audio,
    Document,
    Image,
    Message,
    Native,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    ToolRun,
)
from dragoman.dialects.responses import compaction
from dragoman.dialects.responses.builtins import CallReader
from dragoman.dialects.responses.errors import refused
from dragoman.dialects.responses.parts import parse_content
from dragoman.dialects.responses.wire import JSON, NAME, RUN_ID, is_minted, list_of, object_of, text_of
from dragoman.streaming.arguments import argument_text

_CALLS = ("function_call", "custom_tool_call")
_RESULTS = ("function_call_output", "custom_tool_call_output")
_OF_USER = ("mcp_approval_response", "configuration_update")
_BOUND = ("item_reference", *compaction.ITEMS)
"""Items that stand for a history which only their own upstream can read."""
_EMPTY = ("", None)


def read_proof(raw: JSON) -> Opaque | None:
    """The proof of a reasoning item: another vendor's if it was sealed on its way to the client."""
    text = text_of(raw.get("encrypted_content"))
    if text is None:
        return None
    id = text_of(raw.get("id"))
    return unseal(text) or Opaque(NAME, "encrypted", text, None if is_minted(id) else id)


class HistoryReader:
    """Reads ``input``.

    ``bound`` collects the paths of items that only their own upstream knows, ``tools`` the lists of tools
    that came later, with their paths, ``unknown`` the paths of what has no canonical form; ``compact``: it is
    to be summed up. Raises ``InvalidRequest`` that names the field.
    """

    def __init__(self) -> None:
        self.bound: list[str] = []
        self.tools: list[tuple[Any, str]] = []
        self.unknown: list[str] = []
        self.compact = False
        self._messages: list[Message] = []
        self._role: Role | None = None
        self._parts: list[Part] = []
        self._builtins = CallReader()

    def read(self, raw: Any) -> tuple[Message, ...]:
        if isinstance(raw, str):
            return (Message(Role.USER, (Text(text=raw),)),)
        if isinstance(raw, dict):
            raw = [raw]
        if not isinstance(raw, list):
            raise refused("expected a string or a list of items", "input")
        for number, item in enumerate(raw):
            path = f"input[{number}]"
            if isinstance(item, str):
                item = {"role": "user", "content": item}
            if not isinstance(item, dict):
                raise refused("expected an object", path)
            self._item(item, path)
        self._flush()
        return tuple(self._messages)

    def _item(self, item: JSON, path: str) -> None:
        self.compact = False  # what was asked for before more came was done
        kind = item.get("type")
        if kind is None and "role" not in item and "id" in item:
            kind = "item_reference"
        if kind in ("message", *_EMPTY):
            self._message(item, path)
        elif kind in _CALLS:
            self._add(Role.ASSISTANT, _call(item, path))
        elif kind in _RESULTS:
            self._add(Role.USER, self._result(item, path))
        elif kind == "reasoning":
            self._add(Role.ASSISTANT, _reasoning(item))
        elif not isinstance(kind, str):
            raise refused("expected a string", f"{path}.type")
        elif (part := self._builtins.read(item)) is not None:
            if not part.id:
                raise refused("expected a call_id", f"{path}.call_id")
            self._add(Role.ASSISTANT if isinstance(part, ToolCall) else Role.USER, part)
        else:
            self._native(kind, item, path)

    def _native(self, kind: str, item: JSON, path: str) -> None:
        if kind == "mcp_call" and (shown := text_of(item.get("id"))) and shown.startswith(RUN_ID):
            self._add(Role.ASSISTANT, ToolRun(id=original(shown[len(RUN_ID) :])))
            return
        if kind == compaction.TRIGGER:
            self.compact = True
            return
        if kind in compaction.ITEMS and (told := compaction.read_summary(item)):
            self._flush()
            self._messages.append(Message(Role.USER, (Text(text=told),)))
            return
        if kind in _BOUND:
            self.bound.append(path)
        if kind in ("additional_tools", "tool_search_output"):
            self.tools.append((item.get("tools"), f"{path}.tools"))
        if kind != "additional_tools":
            user = kind.endswith("_output") or kind in _OF_USER
            self._add(Role.USER if user else Role.ASSISTANT, Native(origin=NAME, value=item))

    def _message(self, item: JSON, path: str) -> None:
        try:
            role = Role(str(item.get("role")))
        except ValueError:
            raise refused("expected user, assistant, system or developer", f"{path}.role") from None
        parts = parse_content(item.get("content"), f"{path}.content")
        if role is Role.ASSISTANT:
            for part in parts:
                self._add(role, part)
            return
        self._flush()
        self._messages.append(Message(role, parts))

    def _result(self, item: JSON, path: str) -> ToolResult:
        id, name = text_of(item.get("call_id")), text_of(item.get("name"))
        if id is None and name is None:
            raise refused("expected the call_id of its call", f"{path}.call_id")
        output = item.get("output")
        if isinstance(output, dict) and not isinstance(output.get("type"), str):
            output = jsontext.render(output).decode()  # a JSON value that the client did not write down as text
        elif isinstance(output, (int, float, bool)):
            output = jsontext.render(output).decode()
        parts: list[Text | Image | Document | Audio] = []
        for number, part in enumerate(parse_content(output, f"{path}.output")):
            if isinstance(part, Text | Image | Document | Audio):
                parts.append(part)
            else:
                self.unknown.append(f"{path}.output[{number}]")
        kind: ToolKind = "custom" if item["type"] == "custom_tool_call_output" else "function"
        return ToolResult(id=original(id or ""), parts=tuple(parts), name=name, kind=kind)

    def _add(self, role: Role, part: Part) -> None:
        if role is not self._role:
            self._flush()
            self._role = role
        self._parts.append(part)

    def _flush(self) -> None:
        if self._role is not None and self._parts:
            self._messages.append(Message(self._role, tuple(self._parts)))
        self._role, self._parts = None, []


def _call(item: JSON, path: str) -> ToolCall:
    name, id = text_of(item.get("name")), text_of(item.get("call_id")) or text_of(item.get("id"))
    if name is None or not name.strip():
        raise refused("expected the name of its tool", f"{path}.name")
    if id is None:
        raise refused("expected a call_id", f"{path}.call_id")
    custom = item["type"] == "custom_tool_call"
    return ToolCall(
        id=original(id),
        name=name,
        arguments=argument_text(item.get("input" if custom else "arguments")) or "",
        kind="custom" if custom else "function",
        namespace=text_of(item.get("namespace")),
    )


def _reasoning(item: JSON) -> Part:
    """Reasoning, as raw text if it is there, else as its summary; an item with an id alone is its upstream's."""
    proof = read_proof(item)
    raw = _texts(item.get("content"))
    text = "\n\n".join(raw or _texts(item.get("summary")))
    if not text and proof is None:
        return Native(origin=NAME, value=item)
    foreign = proof is not None and proof.home != NAME  # shown as a summary, but it was none
    return Reasoning(text=text, summary=not raw and not foreign, opaque=() if proof is None else (proof,))


def _texts(raw: Any) -> list[str]:
    if isinstance(raw, str):
        return [raw] if raw else []
    parts = [part if isinstance(part, str) else text_of(object_of(part).get("text")) for part in list_of(raw)]
    return [part for part in parts if part]
