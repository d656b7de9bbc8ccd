"""What upstreams of two dialects send, and what clients ask, for tests of the gateway."""

from __future__ import annotations

import json
from typing import Any

from dragoman.canonical.errors import Error, ErrorKind
from dragoman.upstreams.interface import UpstreamError

CHAT = "/v1/chat/completions"
MESSAGES = "/v1/messages"
FOREVER = 3600.0
PAIR = {"pair": ["a/x", "b/y"]}
"""A model with two targets."""


def gone(message: str = "no connection") -> UpstreamError:
    return UpstreamError(Error(kind=ErrorKind.BAD_UPSTREAM, message=message))


def event(value: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return event({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "up", "choices": [choice]})


ROLE = chunk({"role": "assistant", "content": ""})
"""Says nothing yet: the head is held."""
DONE = chunk({}, "stop") + b"data: [DONE]\n\n"


def say(text: str) -> bytes:
    return chunk({"content": text})


def whole(text: str) -> bytes:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
    value = {"id": "c1", "object": "chat.completion", "created": 1, "model": "up", "choices": [choice], "usage": usage}
    return json.dumps(value).encode()


def failure(message: str) -> bytes:
    return json.dumps({"error": {"message": message, "type": "server_error"}}).encode()


PROMPT = "a prompt said in confidence"


def chat(model: str = "up/m", *, stream: bool = True) -> dict[str, Any]:
    return {"model": model, "stream": stream, "messages": [{"role": "user", "content": PROMPT}]}


def messages(model: str = "up/m", *, stream: bool = True) -> dict[str, Any]:
    return {"model": model, "stream": stream, "max_tokens": 9, "messages": [{"role": "user", "content": PROMPT}]}


def text_of(body: bytes) -> str:
    """The text in a chat stream."""
    out = ""
    for line in body.split(b"\n\n"):
        if line.startswith(b"data: {"):
            for choice in json.loads(line[6:]).get("choices", []):
                out += choice["delta"].get("content") or ""
    return out
