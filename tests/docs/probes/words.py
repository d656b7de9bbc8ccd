"""Answers, calls and results in the words of each dialect."""

from __future__ import annotations

from tests.docs.probes import JSON, Change, turns

MORE = "And now?"


def calling(client: str, arguments: str = '{"city": "Utrecht"}', **beside: JSON) -> JSON:
    """A call, without the turn that it stands in."""
    match client:
        case "chat":
            return {
                "id": "call_1",
                "type": "function",
                "function": {"name": "weather", "arguments": arguments},
                **beside,
            }
        case "responses":
            return {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": arguments, **beside}
        case "messages":
            return {"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Utrecht"}, **beside}
    return {"functionCall": {"id": "call_1", "name": "weather", "args": {"city": "Utrecht"}}, **beside}


def called(client: str, content: object, call: JSON | None = None, **beside: object) -> Change:
    """A call and its result; ``beside`` are members of the result."""
    call = call or calling(client)
    match client:
        case "chat":
            result = {"role": "tool", "tool_call_id": "call_1", "content": content, **beside}
            return turns({"role": "assistant", "content": None, "tool_calls": [call]}, result)
        case "responses":
            return turns(call, {"type": "function_call_output", "call_id": "call_1", "output": content, **beside})
        case "messages":
            block = {"type": "tool_result", "tool_use_id": "call_1", "content": content, **beside}
            return turns({"role": "assistant", "content": [call]}, {"role": "user", "content": [block]})
    response = {"functionResponse": {"id": "call_1", "name": "weather", "response": content, **beside}}
    return turns({"role": "model", "parts": [call]}, {"role": "user", "parts": [response]})


def said(client: str, *parts: JSON, prompt: bool = True, **members: object) -> Change:
    """A turn of the assistant's, and a further prompt after it. ``members``: those of a chat message."""
    content = list(parts)
    answer: dict[str, JSON] = {
        "chat": {"role": "assistant", **members},
        "messages": {"role": "assistant", "content": content},
        "gemini": {"role": "model", "parts": content},
    }
    asked: JSON = (
        {"role": "user", "parts": [{"text": MORE}]} if client == "gemini" else {"role": "user", "content": MORE}
    )
    return turns(*([answer[client]] if client in answer else parts), *([asked] if prompt else []))


SAYS: JSON = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Hi", "annotations": []}],
}
THINKS: JSON = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]}
NOTE: JSON = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Hi"}}
ANSWERS = {
    "chat": said("chat", content="Hi"),
    "responses": said("responses", {**SAYS}),
    "messages": said("messages", {"type": "text", "text": "Hi"}),
    "gemini": said("gemini", {"text": "Hi"}),
}
CALLED = {
    "chat": called("chat", "18 C"),
    "responses": called("responses", "18 C"),
    "messages": called("messages", "18 C"),
    "gemini": called("gemini", {"output": "18 C"}),
}
"""An answer, and a call with its result, in each dialect."""
TEXT: JSON = {"type": "text", "text": "Hi"}
