"""The messages of a client, read into canonical turns.

A tool's result is a part of a user message; neighbouring ``tool`` messages become one. Aliases of
call ids that an earlier answer gave out are undone. Broken arguments are wrapped for every upstream,
many of which parse them strictly (design/requests.md, 2).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from dragoman import jsontext
from dragoman.canonical.aliases import original
from dragoman.canonical.request import (
    Audio,
    Document,
    Image,
    Message,
    Part,
    Reasoning,
    Refusal,
    Role,
    Text,
    ToolCall,
    ToolResult,
)
from dragoman.dialects.chat.legacy import legacy_id
from dragoman.dialects.chat.parts import JSON, need_object, need_text, parse_content, refuse
from dragoman.dialects.chat.reasoning import parse_reasoning
from dragoman.dialects.chat.wire import thought_signature
from dragoman.dialects.openai_shapes import read_cache
from dragoman.history import mended_arguments

_COMMON = frozenset({"role", "content", "cache_control", "prompt_cache_breakpoint"})
_THOUGHT = frozenset({"reasoning_content", "reasoning", "reasoning_details", "extra_content"})
_MEMBERS = {
    "system": _COMMON,
    "developer": _COMMON,
    "user": _COMMON,
    "assistant": _COMMON | _THOUGHT | {"refusal", "tool_calls", "function_call"},
    "tool": _COMMON | {"name", "tool_call_id"},
    "function": _COMMON | {"name"},
}
"""What has a canonical form, by the role; sounds, pictures and annotations of an answer have none in a history."""

_RESULT_PARTS = Text | Image | Document | Audio


def history_arguments(value: Any) -> str:
    """The arguments of an earlier call as the text of a JSON object, whatever they are."""
    if isinstance(value, str):
        return mended_arguments(value)
    return "{}" if value is None else mended_arguments(jsontext.render(value).decode())


class HistoryReader:
    """Reads ``messages``; ``unknown`` collects the paths of members that have no canonical form.

    Raises ``InvalidRequest`` that names the field.
    """

    def __init__(self) -> None:
        self.unknown: list[str] = []
        self._messages: list[Message] = []
        self._results: list[Part] = []
        self._legacy = ""  # the id given to the latest call of the old form, which has none

    def read(self, messages: Any) -> tuple[Message, ...]:
        if not isinstance(messages, list) or not messages:
            raise refuse("expected a non-empty list", "messages")
        readers: dict[Any, Callable[[JSON, str], None]] = {
            "system": self._system,
            "developer": self._system,
            "user": self._user,
            "assistant": self._assistant,
            "tool": self._tool,
            "function": self._function,
        }
        for number, message in enumerate(messages):
            where = f"messages[{number}]"
            role = need_object(message, where).get("role")
            if not isinstance(role, str) or role not in readers:
                raise refuse(f"expected one of {', '.join(readers)}", f"{where}.role")
            if role not in ("tool", "function"):
                self._end_results()
            self.unknown += [
                f"{self._place(role)}.{key}" for key, held in message.items() if key not in _MEMBERS[role] and held
            ]
            readers[role](message, where)
        self._end_results()
        return tuple(self._messages)

    def _place(self, role: object) -> str:
        """The canonical path of what the message at hand becomes: a result is a part of a user's message."""
        place = f"messages[{len(self._messages)}]"
        return f"{place}.parts[{len(self._results)}]" if role in ("tool", "function") else place

    def _end_results(self) -> None:
        if self._results:
            self._messages.append(Message(Role.USER, tuple(self._results)))
            self._results = []

    def _system(self, message: JSON, where: str) -> None:
        self._add(Role(message["role"]), self._content(message, where), message)

    def _user(self, message: JSON, where: str) -> None:
        if message.get("content") is None:
            raise refuse("missing", f"{where}.content")
        self._add(Role.USER, self._content(message, where), message)

    def _add(self, role: Role, parts: list[Part], message: JSON) -> None:
        """One more turn; a cache marker of the message's is one of its last part."""
        if (cache := read_cache(message)) is not None:
            last = parts[-1] if parts else None
            if isinstance(last, Text | Image | Document | ToolCall):
                parts[-1] = msgspec.structs.replace(last, cache=last.cache or cache)
            else:
                self.unknown.append(f"{self._place(role)}.cache")
        self._messages.append(Message(role, tuple(parts)))

    def _content(self, message: JSON, where: str) -> list[Part]:
        return parse_content(message.get("content"), f"{where}.content")

    def _tool(self, message: JSON, where: str) -> None:
        id = message.get("tool_call_id")
        if not isinstance(id, str) or not id:
            raise refuse("expected the id of the call that was answered", f"{where}.tool_call_id")
        self._result(message, where, original(id))

    def _function(self, message: JSON, where: str) -> None:
        self._result(message, where, self._legacy)

    def _result(self, message: JSON, where: str, id: str) -> None:
        content = self._content(message, where)
        parts = tuple(part for part in content if isinstance(part, _RESULT_PARTS))
        self.unknown += [
            f"{self._place('tool')}.parts[{number}]"
            for number, part in enumerate(content)
            if not isinstance(part, _RESULT_PARTS)
        ]
        name = message.get("name")
        name = name if isinstance(name, str) and name else None
        self._results.append(ToolResult(id=id, parts=parts, name=name, cache=read_cache(message)))

    def _assistant(self, message: JSON, where: str) -> None:
        parts: list[Part] = [*_reasoning(message)]
        content = self._content(message, where)
        if signature := thought_signature(message.get("extra_content")):
            last = content[-1] if content else None
            if isinstance(last, Text):
                content[-1] = msgspec.structs.replace(last, signature=signature)
            else:
                self.unknown.append(f"{self._place('assistant')}.extra_content")
        parts += content
        if isinstance(refusal := message.get("refusal"), str) and refusal:
            parts.append(Refusal(text=refusal))
        calls = message.get("tool_calls")
        if calls is not None and not isinstance(calls, list):
            raise refuse("expected a list", f"{where}.tool_calls")
        parts += [_call(call, f"{where}.tool_calls[{number}]") for number, call in enumerate(calls or [])]
        if not calls and message.get("function_call"):
            parts.append(self._legacy_call(message["function_call"], where))
        self._add(Role.ASSISTANT, parts, message)

    def _legacy_call(self, call: Any, where: str) -> ToolCall:
        call = need_object(call, f"{where}.function_call")
        name = need_text(call.get("name"), f"{where}.function_call.name")
        self._legacy = legacy_id(len(self._messages), name)
        return ToolCall(id=self._legacy, name=name, arguments=history_arguments(call.get("arguments")))


def _reasoning(message: JSON) -> list[Reasoning]:
    text = message.get("reasoning_content") or message.get("reasoning")
    return parse_reasoning(text if isinstance(text, str) else "", message.get("reasoning_details"))


def _call(call: Any, where: str) -> ToolCall:
    call = need_object(call, where)
    id = call.get("id")
    if not isinstance(id, str) or not id:
        raise refuse("expected a non-empty string", f"{where}.id")
    custom = call.get("type") == "custom"
    member = "custom" if custom else "function"
    body = need_object(call.get(member), f"{where}.{member}")
    name = need_text(body.get("name"), f"{where}.{member}.name")
    text = need_text(body.get("input"), f"{where}.custom.input") if custom else history_arguments(body.get("arguments"))
    return ToolCall(
        id=original(id),
        name=name,
        arguments=text,
        kind="custom" if custom else "function",
        signature=thought_signature(call.get("extra_content")),
        cache=read_cache(call),
    )
