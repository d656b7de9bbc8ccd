"""Long, plain upstream streams of each dialect, one event per read."""

from __future__ import annotations

import json
from typing import Any


def _frame(data: dict[str, Any], event: str | None = None) -> bytes:
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


def chat(text: list[str], arguments: list[str]) -> list[bytes]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        head = {"id": "chatcmpl-b", "object": "chat.completion.chunk", "created": 1700000000, "model": "m"}
        return _frame({**head, "system_fingerprint": "fp", "choices": [choice]})

    out = [chunk({"role": "assistant", "content": ""})]
    out += [chunk({"content": piece}) for piece in text]
    if arguments:
        header = {"index": 0, "id": "call_b", "type": "function", "function": {"name": "run", "arguments": ""}}
        out.append(chunk({"tool_calls": [header]}))
        out += [chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}) for piece in arguments]
    return [*out, chunk({}, "tool_calls" if arguments else "stop"), b"data: [DONE]\n\n"]


def messages(text: list[str], arguments: list[str]) -> list[bytes]:
    def event(kind: str, **more: Any) -> bytes:
        return _frame({"type": kind, **more}, kind)

    def block(index: int, opening: dict[str, Any], deltas: list[dict[str, Any]]) -> list[bytes]:
        return [
            event("content_block_start", index=index, content_block=opening),
            *(event("content_block_delta", index=index, delta=delta) for delta in deltas),
            event("content_block_stop", index=index),
        ]

    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_b", "type": "message", "role": "assistant", "model": "m", "content": []}
    out = [event("message_start", message={**message, "stop_reason": None, "stop_sequence": None, "usage": usage})]
    if text:
        out += block(0, {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in text])
    if arguments:
        opening = {"type": "tool_use", "id": "toolu_b", "name": "run", "input": {}}
        out += block(1, opening, [{"type": "input_json_delta", "partial_json": piece} for piece in arguments])
    reason = "tool_use" if arguments else "end_turn"
    out.append(event("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage=usage))
    return [*out, event("message_stop")]


def responses(text: list[str], arguments: list[str]) -> list[bytes]:
    out: list[bytes] = []

    def event(kind: str, **more: Any) -> None:
        out.append(_frame({"type": kind, "sequence_number": len(out), **more}, kind))

    response = {"id": "resp_b", "object": "response", "created_at": 1700000000, "model": "m", "output": []}
    event("response.created", response={**response, "status": "in_progress"})
    if text:
        item = {"id": "msg_b", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
        place = {"item_id": "msg_b", "output_index": 0, "content_index": 0}
        event("response.output_item.added", output_index=0, item=item)
        event("response.content_part.added", **place, part={"type": "output_text", "text": "", "annotations": []})
        for piece in text:
            event("response.output_text.delta", **place, delta=piece, logprobs=[])
    if arguments:
        call = {"id": "fc_b", "type": "function_call", "call_id": "call_b", "name": "run", "arguments": ""}
        event("response.output_item.added", output_index=1, item=call)
        for piece in arguments:
            event("response.function_call_arguments.delta", item_id="fc_b", output_index=1, delta=piece)
        event("response.output_item.done", output_index=1, item={**call, "arguments": "".join(arguments)})
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    event("response.completed", response={**response, "status": "completed", "usage": usage})
    return out


def gemini(text: list[str], arguments: list[str]) -> list[bytes]:
    said = 0

    def chunk(parts: list[dict[str, Any]], **more: Any) -> bytes:
        nonlocal said
        said += 1
        candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **more}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": said, "totalTokenCount": said + 1}
        head = {"responseId": "r", "modelVersion": "m", "usageMetadata": usage}
        return _frame({"candidates": [candidate], **head})

    out = [chunk([{"text": piece}]) for piece in text]
    if arguments:
        out.append(chunk([{"functionCall": {"name": "run", "args": json.loads("".join(arguments))}}]))
    return [*out, chunk([{"text": ""}], finishReason="STOP")]


STREAMS = {"chat": chat, "messages": messages, "responses": responses, "gemini": gemini}
