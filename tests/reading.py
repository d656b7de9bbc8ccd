"""What a client makes of an answer's bytes, read by a few plain lines for each dialect.

They know nothing of the project's decoders, take nothing on trust (a stream's deltas are held against
its own snapshots), and understand just what dragoman writes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

JSON = dict[str, Any]


@dataclass
class Said:
    """An answer: ``calls`` are id, name and argument text; ``usage`` is inclusive; ``error`` is its message.

    Parts of one reasoning item are paragraphs.
    """

    text: str = ""
    reasoning: str = ""
    calls: list[tuple[str, str, str]] = field(default_factory=list)
    finish: str | None = None
    usage: dict[str, int] | None = None
    error: str | None = None
    further: list[Said] = field(default_factory=list)


def read(client: str, body: bytes) -> Said:
    """The answer in a body, streamed or whole."""
    return _READERS[client](body)


def is_stream(body: bytes) -> bool:
    return not body.startswith(b"{")


def events(body: bytes) -> list[JSON]:
    """The JSON of each event of a stream; ``[DONE]`` has to be the last and is left out."""
    assert body.endswith(b"\n\n"), "the last event is not ended"
    found: list[JSON] = []
    blocks = body.removesuffix(b"\n\n").split(b"\n\n")
    for number, block in enumerate(blocks):
        data = b"".join(line[6:] for line in block.split(b"\n") if line.startswith(b"data: "))
        if data == b"[DONE]":
            assert number == len(blocks) - 1, "events after [DONE]"
            continue
        event = json.loads(data)
        assert isinstance(event, dict)
        names = [line[7:].decode() for line in block.split(b"\n") if line.startswith(b"event: ")]
        assert not names or names == [event["type"]], "an event's name is not its type"
        found.append(event)
    return found


def _counts(**counts: Any) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count is not None}


# ---- chat


def _chat(body: bytes) -> Said:
    bodies = events(body) if is_stream(body) else [json.loads(body)]
    choices: dict[int, Said] = {0: Said()}
    calls: dict[tuple[int, int], list[str]] = {}
    for chunk in bodies:
        if "error" in chunk:
            choices[0].error = chunk["error"]["message"]
        if chunk.get("usage"):
            choices[0].usage = _chat_usage(chunk["usage"])
        for choice in chunk.get("choices", []):
            said = choices.setdefault(choice["index"], Said())
            delta = choice.get("delta") or choice.get("message") or {}
            said.text += (delta.get("content") or "") + (delta.get("refusal") or "")
            said.reasoning += delta.get("reasoning_content") or ""
            said.finish = choice["finish_reason"] or said.finish
            for number, call in enumerate(delta.get("tool_calls") or []):
                known = calls.setdefault((choice["index"], call.get("index", number)), ["", "", ""])
                known[0] += call.get("id") or ""
                known[1] += call["function"].get("name") or ""
                known[2] += call["function"].get("arguments") or ""
    for (index, _), (id, name, arguments) in sorted(calls.items()):
        choices[index].calls.append((id, name, arguments))
    choices[0].further = [said for index, said in sorted(choices.items()) if index]
    return choices[0]


def _chat_usage(usage: JSON) -> dict[str, int]:
    read, made = usage.get("prompt_tokens_details") or {}, usage.get("completion_tokens_details") or {}
    return _counts(
        input=usage["prompt_tokens"],
        output=usage["completion_tokens"],
        cached=read.get("cached_tokens"),
        reasoning=made.get("reasoning_tokens"),
    )


# ---- responses


def _responses(body: bytes) -> Said:
    if not is_stream(body):
        value = json.loads(body)
        return Said(error=value["error"]["message"]) if "output" not in value else _response(value)
    said, calls, end = Said(), {}, None
    for number, event in enumerate(events(body)):
        assert event["sequence_number"] == number
        match event["type"]:
            case "response.output_text.delta" | "response.refusal.delta":
                said.text += event["delta"]
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                said.reasoning += event["delta"]
            case "response.reasoning_summary_part.added" if event["summary_index"]:
                said.reasoning += "\n\n"
            case "response.output_item.added" if "call_id" in event["item"]:
                calls[event["output_index"]] = [event["item"]["call_id"], event["item"]["name"], ""]
            case "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta":
                calls[event["output_index"]][2] += event["delta"]
            case "error":
                said.error = event.get("message") or event["error"]["message"]
            case "response.completed" | "response.incomplete" | "response.failed":
                end = event["response"]
    said.calls = [(id, name, text) for id, name, text in calls.values()]
    if end is None:
        return said
    final = _response(end)
    if end["status"] != "failed":
        assert (final.text, final.reasoning, final.calls) == (said.text, said.reasoning, said.calls)
    said.finish, said.usage, said.error = final.finish, final.usage, final.error
    return said


def _response(value: JSON) -> Said:
    said = Said(error=value["error"]["message"] if value.get("error") else None)
    for item in value["output"]:
        text = "".join(part.get("text") or part.get("refusal") or "" for part in item.get("content") or [])
        match item["type"]:
            case "message":
                said.text += text
            case "reasoning":
                said.reasoning += "\n\n".join(part["text"] for part in item["summary"]) + text
            case "function_call":
                said.calls.append((item["call_id"], item["name"], item["arguments"]))
            case "custom_tool_call":
                said.calls.append((item["call_id"], item["name"], item["input"]))
    if value["status"] == "completed":
        said.finish = "tool_calls" if said.calls else "stop"
    elif value["status"] == "incomplete":
        reason = value["incomplete_details"]["reason"]
        said.finish = {"max_output_tokens": "length"}.get(reason, reason)
    if usage := value.get("usage"):
        said.usage = _counts(
            input=usage["input_tokens"],
            output=usage["output_tokens"],
            cached=usage["input_tokens_details"]["cached_tokens"],
            reasoning=usage["output_tokens_details"]["reasoning_tokens"],
        )
    return said


# ---- messages

_STOP_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
    "pause_turn": "paused",
}


def _messages(body: bytes) -> Said:
    if not is_stream(body):
        value = json.loads(body)
        return Said(error=value["error"]["message"]) if value["type"] == "error" else _message(value)
    message: JSON = {"content": [], "stop_reason": None}
    error: str | None = None
    for event in events(body):
        match event["type"]:
            case "message_start":
                message |= event["message"]
            case "content_block_start":
                assert event["index"] == len(message["content"])
                message["content"].append({**event["content_block"], "input": ""})
            case "content_block_delta":
                assert event["index"] == len(message["content"]) - 1, "blocks overlap"
                delta, block = event["delta"], message["content"][-1]
                for name, member in (("text", "text"), ("thinking", "thinking"), ("partial_json", "input")):
                    if name in delta:
                        block[member] += delta[name]
            case "message_delta":
                message |= event["delta"]
                message["usage"] |= event["usage"]
            case "error":
                error = event["error"]["message"]
    said = _message(message)
    said.error = error
    return said


def _message(value: JSON) -> Said:
    said = Said(finish=_STOP_REASONS.get(value["stop_reason"] or ""))
    for block in value["content"]:
        match block["type"]:
            case "text":
                said.text += block["text"]
            case "thinking":
                said.reasoning += block["thinking"]
            case "tool_use":
                given = block["input"]
                text = given if isinstance(given, str) else json.dumps(given)
                said.calls.append((block["id"], block["name"], text or "{}"))
    if usage := value.get("usage"):
        cached, written = (usage.get(f"cache_{name}_input_tokens") or 0 for name in ("read", "creation"))
        read = usage["input_tokens"] + cached + written
        thought = (usage.get("output_tokens_details") or {}).get("thinking_tokens")
        said.usage = _counts(input=read, output=usage["output_tokens"], cached=cached, reasoning=thought)
        said.usage["cache_write"] = written
    return said


# ---- gemini


def _gemini(body: bytes) -> Said:
    said = Said()
    for chunk in events(body) if is_stream(body) else [json.loads(body)]:
        if "error" in chunk:
            said.error = chunk["error"]["message"]
        if (chunk.get("promptFeedback") or {}).get("blockReason"):
            said.finish = "content_filter"
        for candidate in chunk.get("candidates") or []:
            for part in (candidate.get("content") or {}).get("parts") or []:
                if call := part.get("functionCall"):
                    said.calls.append((call.get("id") or "", call["name"], json.dumps(call["args"])))
                elif part.get("thought"):
                    said.reasoning += part.get("text") or ""
                else:
                    said.text += part.get("text") or ""
            if word := candidate.get("finishReason"):
                stop = "tool_calls" if said.calls else "stop"
                said.finish = {"STOP": stop, "MAX_TOKENS": "length"}.get(word, "content_filter")
        if usage := chunk.get("usageMetadata"):
            thoughts = usage.get("thoughtsTokenCount")
            said.usage = _counts(
                input=usage.get("promptTokenCount"),
                output=usage.get("candidatesTokenCount", 0) + (thoughts or 0),
                cached=usage.get("cachedContentTokenCount"),
                reasoning=thoughts,
            )
    return said


_READERS: dict[str, Callable[[bytes], Said]] = {
    "chat": _chat,
    "responses": _responses,
    "messages": _messages,
    "gemini": _gemini,
}
