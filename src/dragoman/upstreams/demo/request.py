"""What a request asks of the demo: the few things in a Chat Completions body that its answer depends on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.exceptions import DragomanError
from dragoman.upstreams.demo.arguments import words_in

JSON = dict[str, Any]

ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})

_READS = {"list", "ls", "glob", "grep", "search", "find", "get", "weather", "time", "lookup", "query"}
_SHELLS = {"bash", "shell", "exec", "command", "terminal", "run", "powershell"}
_ACTS = {
    *("write", "edit", "create", "update", "delete", "remove", "patch", "replace", "insert", "move", "rename"),
    *("send", "post", "kill", "stop", "task", "agent", "spawn", "ask", "plan", "exit", "todo", "set", "install"),
}


class BadRequestError(DragomanError):
    """A request that gets an error status; ``code`` and ``param`` go into the error body."""

    def __init__(self, message: str, *, param: str | None = None, status: int = 400, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body: JSON = {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


class Tool(msgspec.Struct, frozen=True):
    """A function that the client declared."""

    name: str
    parameters: Any


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A request, read.

    ``said`` is what the user said last. ``results`` are what the tools gave in this turn. ``tools``
    are those that may be called, the most suitable first; ``must_call`` and ``may_call`` come from
    ``tool_choice``. ``size`` is about how many characters the messages have.
    """

    model: str
    said: str
    results: tuple[str, ...]
    tools: tuple[Tool, ...]
    may_call: bool
    must_call: bool
    one_call: bool
    stream: bool
    stream_usage: bool
    size: int


def read_question(body: Mapping[str, Any]) -> Question:
    """Reads a body; raises ``BadRequestError`` if it is none that can be answered."""
    model = body.get("model")
    if not isinstance(model, str) or not model:
        raise BadRequestError("model: expected a name", param="model")
    if body.get("n") not in (None, 1):
        raise BadRequestError("n: the demo gives one answer", param="n")
    messages = _messages(body.get("messages"))
    mode, tools = _chosen(body.get("tool_choice"), _tools(body.get("tools")))
    said = _said(messages)
    options = body.get("stream_options")
    return Question(
        model=model.removeprefix("demo/"),
        said=said,
        results=_results(messages),
        tools=_by_suitability(tools, said),
        may_call=mode != "none",
        must_call=mode == "required",
        one_call=body.get("parallel_tool_calls") is False,
        stream=body.get("stream") is True,
        stream_usage=isinstance(options, dict) and options.get("include_usage") is True,
        size=sum(len(_text(message)) for message in messages),
    )


def _messages(value: Any) -> list[JSON]:
    if not isinstance(value, list) or not value:
        raise BadRequestError("messages: expected a list with at least one message", param="messages")
    for place, message in enumerate(value):
        if not isinstance(message, dict) or message.get("role") not in ROLES:
            known = ", ".join(sorted(ROLES))
            raise BadRequestError(
                f"messages[{place}]: expected a message with one of the roles {known}", param="messages"
            )
    return value


def _text(message: JSON) -> str:
    """The text of a message, from a string or from its parts."""
    return "\n".join(_parts(message))


def _parts(message: JSON) -> list[str]:
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return [text for text in texts if isinstance(text, str)]


def _said(messages: list[JSON]) -> str:
    """The user's last words, without what agents wrap in tags and put beside them."""
    for message in reversed(messages):
        if message["role"] == "user":
            parts = [part.strip() for part in _parts(message) if part.strip()]
            plain = [part for part in parts if not part.startswith("<")]
            return " ".join([*parts, *plain][-1].split()) if parts else ""
    return ""


def _results(messages: list[JSON]) -> tuple[str, ...]:
    """What the tools gave since the user spoke.

    A user's message right behind results does not begin a turn: agents put reminders there, and
    to answer those with a further call would never end.
    """
    found: list[str] = []
    for place in range(len(messages) - 1, -1, -1):
        role = messages[place]["role"]
        if role in ("tool", "function"):
            found.insert(0, _text(messages[place]))
        elif role == "user" and not (place and messages[place - 1]["role"] in ("user", "tool", "function")):
            break
    return tuple(found)


def _tools(value: Any) -> list[Tool]:
    if value is not None and not isinstance(value, list):
        raise BadRequestError("tools: expected a list", param="tools")
    tools = []
    for place, tool in enumerate(value or ()):
        function = tool.get("function") if isinstance(tool, dict) else None
        if isinstance(tool, dict) and tool.get("type", "function") != "function":
            continue  # the demo calls functions only
        if not isinstance(function, dict) or not isinstance(function.get("name"), str) or not function["name"]:
            raise BadRequestError(f"tools[{place}]: expected a function with a name", param="tools")
        tools.append(Tool(function["name"], function.get("parameters")))
    return tools


def _chosen(choice: Any, tools: list[Tool]) -> tuple[str, list[Tool]]:
    """``auto``, ``none`` or ``required``, and the tools that are left by the choice."""
    if isinstance(choice, dict) and choice.get("type") == "allowed_tools":
        choice = choice.get("allowed_tools")
        allowed = choice.get("tools") if isinstance(choice, dict) else None
        names = [_named(one) for one in allowed] if isinstance(allowed, list) else []
        tools = [tool for tool in tools if tool.name in names]
        choice = choice.get("mode") if isinstance(choice, dict) else None
    if isinstance(choice, dict) and choice.get("type") == "function":
        tools = [tool for tool in tools if tool.name == _named(choice)][:1]
        choice = "required"
    if choice not in (None, "auto", "none", "required"):
        raise BadRequestError("tool_choice: expected auto, none, required, or a function", param="tool_choice")
    if choice == "required" and not tools:
        raise BadRequestError("tool_choice: no such tool is declared", param="tool_choice")
    return choice or "auto", tools


def _named(value: Any) -> Any:
    function = value.get("function") if isinstance(value, dict) else None
    return function.get("name") if isinstance(function, dict) else None


def _by_suitability(tools: list[Tool], said: str) -> tuple[Tool, ...]:
    """What the user named, then what only looks, then shells, then the rest.

    What changes something is not called unless there is nothing else: the demo does not know what it does.
    """
    named = set(re.findall(r"[\w-]+", said))

    def rank(tool: Tool) -> int:
        words = words_in(tool.name)
        if words & _ACTS:
            return 4
        if tool.name in named:
            return 0
        return 1 if words & _READS else 2 if words & _SHELLS else 3

    ranked = sorted(tools, key=rank)
    harmless = [tool for tool in ranked if rank(tool) < 4]
    return tuple(harmless or ranked[:1])
