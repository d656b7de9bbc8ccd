"""An answer's bytes as a client's SDK keeps them, and what its user sends next.

A few plain lines for each dialect that know nothing of the project's code. What is kept is what the official
SDKs keep: their accumulators join deltas just so, members that they do not know included.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from tests.reading import events, is_stream

JSON = dict[str, Any]


class Call(msgspec.Struct, frozen=True):
    """``id`` may be empty in gemini's answers. ``freeform``: a custom tool's."""

    id: str
    name: str
    freeform: bool = False


Results = list[tuple[Call, str]]


class Kept(msgspec.Struct):
    """The model's turn in the client's own words."""

    client: str
    turn: list[JSON]
    calls: list[Call]

    @property
    def silent(self) -> bool:
        """Whether the turn says nothing that a history could hold."""
        return not any(item.get("content", item.get("parts", item)) for item in self.turn) and not self.calls


def keep(client: str, body: bytes) -> Kept:
    """The turn in a body, streamed or whole."""
    return _KEEPERS[client](body)


def follow(kept: Kept, results: Sequence[str], prompt: str = "") -> list[JSON]:
    """What comes after the turn: a result for each call, and a new prompt if there is one."""
    return _FOLLOWERS[kept.client](list(zip(kept.calls, results, strict=True)), prompt)


def said(client: str, text: str) -> list[JSON]:
    """A turn of the model that is nothing but text."""
    turns: dict[str, list[JSON]] = {
        "chat": [{"role": "assistant", "content": text}],
        "responses": [{"role": "assistant", "content": [{"type": "output_text", "text": text, "annotations": []}]}],
        "messages": [{"role": "assistant", "content": [{"type": "text", "text": text}]}],
        "gemini": [{"role": "model", "parts": [{"text": text}]}],
    }
    return turns[client]


def forgetful(kept: Kept) -> Kept:
    """The same turn as clients keep it that know nothing of reasoning and its proofs."""
    return msgspec.structs.replace(kept, turn=_FORGETTERS[kept.client](kept.turn))


# ---- chat


def _joined(old: Any, new: Any) -> Any:
    """A delta added to what was there, as the SDKs do it with members of any name."""
    if old is None:
        return new
    if isinstance(old, dict) and isinstance(new, dict):
        merged = {**old}
        for name, value in new.items():
            merged[name] = old[name] if name in ("index", "type") and name in old else _joined(old.get(name), value)
        return merged
    if isinstance(old, list) and isinstance(new, list):
        return _joined_lists(old, new)
    return old if new is None else old + new


def _joined_lists(old: list[Any], new: list[Any]) -> list[Any]:
    merged = [*old]
    for entry in new:
        at = next((n for n, known in enumerate(merged) if known["index"] == entry["index"]), None)
        if at is None:
            merged.append(entry)
        else:
            merged[at] = _joined(merged[at], entry)
    return merged


def _keep_chat(body: bytes) -> Kept:
    if is_stream(body):
        message: Any = None
        for chunk in events(body):
            for choice in chunk["choices"]:
                if choice["index"] == 0:
                    message = _joined(message, choice["delta"])
    else:
        message = json.loads(body)["choices"][0]["message"]
    calls = message.get("tool_calls") or []
    for call in calls:
        call.pop("index", None)
    kept = {name: value for name, value in message.items() if value is not None}
    if not calls:
        kept.setdefault("content", "")
    return Kept("chat", [kept], [Call(call["id"], call[call["type"]]["name"]) for call in calls])


def _follow_chat(results: Results, prompt: str) -> list[JSON]:
    answers: list[JSON] = [{"role": "tool", "tool_call_id": call.id, "content": text} for call, text in results]
    return [*answers, *([{"role": "user", "content": prompt}] if prompt else [])]


def _forget_chat(turn: list[JSON]) -> list[JSON]:
    extensions = ("reasoning_content", "reasoning_details", "extra_content")
    message = {name: value for name, value in turn[0].items() if name not in extensions}
    if "tool_calls" in message:
        message["tool_calls"] = [
            {name: value for name, value in call.items() if name != "extra_content"} for call in message["tool_calls"]
        ]
    return [message]


# ---- responses


def _keep_responses(body: bytes) -> Kept:
    response = events(body)[-1]["response"] if is_stream(body) else json.loads(body)
    items = response["output"]
    calls = [
        Call(item["call_id"], item["name"], item["type"] == "custom_tool_call")
        for item in items
        if item["type"] in ("function_call", "custom_tool_call")
    ]
    return Kept("responses", items, calls)


def _follow_responses(results: Results, prompt: str) -> list[JSON]:
    answers: list[JSON] = [
        {
            "type": "custom_tool_call_output" if call.freeform else "function_call_output",
            "call_id": call.id,
            "output": text,
        }
        for call, text in results
    ]
    return [*answers, *([{"role": "user", "content": prompt}] if prompt else [])]


def _forget_responses(turn: list[JSON]) -> list[JSON]:
    return [item for item in turn if item["type"] != "reasoning"]


# ---- messages


def _keep_messages(body: bytes) -> Kept:
    content: list[JSON] = []
    if not is_stream(body):
        content = json.loads(body)["content"]
    else:
        for event in events(body):
            if event["type"] == "content_block_start":
                content.append(event["content_block"])
            elif event["type"] == "content_block_delta":
                _add_delta(content[event["index"]], event["delta"])
        for block in content:
            if "partial" in block:
                block["input"] = _input(block.pop("partial"))
    calls = [Call(block["id"], block["name"]) for block in content if block["type"] == "tool_use"]
    return Kept("messages", [{"role": "assistant", "content": content}], calls)


def _add_delta(block: JSON, delta: JSON) -> None:
    match delta["type"]:
        case "text_delta":
            block["text"] += delta["text"]
        case "thinking_delta":
            block["thinking"] += delta["thinking"]
        case "signature_delta":
            block["signature"] = delta["signature"]
        case "input_json_delta":
            block["partial"] = block.get("partial", "") + delta["partial_json"]
        case "citations_delta":
            block["citations"] = [*(block.get("citations") or []), delta["citation"]]


def _input(text: str) -> JSON:
    try:
        value = json.loads(text or "{}")
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"INVALID_JSON": text}


def _follow_messages(results: Results, prompt: str) -> list[JSON]:
    blocks: list[JSON] = [{"type": "tool_result", "tool_use_id": call.id, "content": text} for call, text in results]
    if prompt:
        blocks.append({"type": "text", "text": prompt})
    return [{"role": "user", "content": blocks}]


def _forget_messages(turn: list[JSON]) -> list[JSON]:
    blocks = [block for block in turn[0]["content"] if block["type"] not in ("thinking", "redacted_thinking")]
    return [{"role": "assistant", "content": blocks}]


# ---- gemini


def _keep_gemini(body: bytes) -> Kept:
    chunks = events(body) if is_stream(body) else [json.loads(body)]
    found = [(chunk.get("candidates") or [{}])[0].get("content") or {} for chunk in chunks]
    parts = [part for content in found for part in content.get("parts") or []]
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    turn = {"role": "model", "parts": parts}
    return Kept("gemini", [turn], [Call(call.get("id") or "", call["name"]) for call in calls])


def _follow_gemini(results: Results, prompt: str) -> list[JSON]:
    parts: list[JSON] = [
        {"functionResponse": {**({"id": call.id} if call.id else {}), "name": call.name, "response": {"output": text}}}
        for call, text in results
    ]
    if prompt:
        parts.append({"text": prompt})
    return [{"role": "user", "parts": parts}]


def _forget_gemini(turn: list[JSON]) -> list[JSON]:
    parts = [part for part in turn[0]["parts"] if not part.get("thought")]
    bare = [{name: value for name, value in part.items() if name != "thoughtSignature"} for part in parts]
    return [{"role": "model", "parts": bare}]


_KEEPERS: dict[str, Callable[[bytes], Kept]] = {
    "chat": _keep_chat,
    "responses": _keep_responses,
    "messages": _keep_messages,
    "gemini": _keep_gemini,
}
_FOLLOWERS: dict[str, Callable[[Results, str], list[JSON]]] = {
    "chat": _follow_chat,
    "responses": _follow_responses,
    "messages": _follow_messages,
    "gemini": _follow_gemini,
}
_FORGETTERS: dict[str, Callable[[list[JSON]], list[JSON]]] = {
    "chat": _forget_chat,
    "responses": _forget_responses,
    "messages": _forget_messages,
    "gemini": _forget_gemini,
}
