"""The form of calls from before tools (``functions``, ``function_call``, the role ``function``), for upstreams.

Most servers know nothing but tools, and OpenAI refuses the two side by side. Source: design/requests.md, 7.
"""

from __future__ import annotations

from typing import Any

from dragoman.dialects.chat.parts import JSON


def legacy_id(number: int, name: str) -> str:
    """The id of the call in a history's message ``number``, which has none of its own."""
    return f"call_{number}_{name}"[:64]


def modernize(body: JSON) -> None:
    """Gives a parsed request's functions, choice and history the form of tools, in place."""
    if isinstance(functions := body.pop("functions", None), list) and functions:
        tools = [{"type": "function", "function": function} for function in functions]
        body["tools"] = [*tools, *(body.get("tools") or [])]
        body.setdefault("parallel_tool_calls", False)
    choice = body.pop("function_call", None)
    if choice is not None:
        body.setdefault("tool_choice", {"type": "function", "function": choice} if isinstance(choice, dict) else choice)
    body["messages"] = _messages(body["messages"])


def _messages(messages: list[JSON]) -> list[JSON]:
    modern: list[JSON] = []
    id = ""  # of the latest call of the old form
    for number, message in enumerate(messages):
        call: Any = message.get("function_call")
        if message["role"] == "assistant" and call and not message.get("tool_calls"):
            id = legacy_id(number, call["name"])
            message = {key: held for key, held in message.items() if key != "function_call"}
            message["tool_calls"] = [{"id": id, "type": "function", "function": call}]
        elif message["role"] == "function":
            message = {**message, "role": "tool", "tool_call_id": id}
        modern.append(message)
    return modern
