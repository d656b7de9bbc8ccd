"""The checker: clean answers are clean, and each mistake has its rule."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.dialects.chat.check import RULES, check

from .driving import JSON, calls, chunk, whole

USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
HEAD = chunk({"role": "assistant", "content": ""})
TEXT = chunk({"content": "Hi"})
END = chunk({}, "stop")
CALLED = chunk({}, "tool_calls")
OPENING = {"index": 0, "id": "a", "type": "function", "function": {"name": "run", "arguments": ""}}
MORE = {"index": 0, "function": {"arguments": "{}"}}
SECOND = {"index": 1, "id": "b", "type": "function", "function": {"name": "run", "arguments": "{}"}}


def stream(*items: Any) -> bytes:
    """Chunks, or raw frames, with ``[DONE]``."""
    frames = [item if isinstance(item, bytes) else b"data: " + json.dumps(item).encode() + b"\n\n" for item in items]
    return b"".join(frames) + b"data: [DONE]\n\n"


def changed(item: JSON, **members: Any) -> JSON:
    """The chunk with other members in its only choice; ``...`` takes one away."""
    choice = {**item["choices"][0], **members}
    return {**item, "choices": [{name: held for name, held in choice.items() if held is not ...}]}


def rules(data: bytes) -> set[str]:
    return {violation.rule for violation in check(data)}


@pytest.mark.parametrize(
    "data",
    [
        stream(HEAD, TEXT, END),
        stream(b": keep-alive\n\n", HEAD, TEXT, END, chunk(choices=[], usage=USAGE)),
        stream(HEAD, calls(OPENING), calls(MORE), calls(SECOND), CALLED),
        stream(HEAD, TEXT, {"error": {"message": "m", "type": "t", "param": None, "code": None}}),
        stream(HEAD, TEXT, END).replace(b"\n", b"\r\n"),
        stream(HEAD, chunk({"role": "assistant"}, index=1), END, chunk({}, "stop", index=1)),
        stream(HEAD, END, chunk({"audio": {"expires_at": 1}})),
        json.dumps(whole({"role": "assistant", "content": "x"}, usage=USAGE)).encode(),
        json.dumps({"error": {"message": "m", "type": "t", "param": None, "code": "c"}}).encode(),
    ],
)
def test_clean_answers(data: bytes) -> None:
    assert check(data) == []


WRONG: list[tuple[str, bytes]] = [
    ("chat.frame.utf8", b"\xef\xbb\xbf" + stream(HEAD, END)),
    ("chat.frame.utf8", stream(b": \xff\n\n", HEAD, END)),
    ("chat.frame.field", stream(b"id: 1\n" + b"data: " + json.dumps(HEAD).encode() + b"\n\n", END)),
    ("chat.frame.field", stream(b"event: message\ndata: " + json.dumps(HEAD).encode() + b"\n\n", END)),
    ("chat.frame.no-data", stream(HEAD, b"retry: 3000\n\n", END)),
    ("chat.frame.unfinished", stream(HEAD, END)[:-1]),
    ("chat.frame.json", stream(HEAD, b"data: {\n\n", END)),
    ("chat.frame.json", stream(HEAD, b"data: []\n\n", END)),
    ("chat.frame.empty", stream()),
    ("chat.frame.empty", b""),
    ("chat.done.missing", stream(HEAD, END).removesuffix(b"data: [DONE]\n\n")),
    ("chat.done.exact", stream(HEAD, END).replace(b"[DONE]", b"[DONE] ")),
    ("chat.done.last", stream(HEAD, END) + stream(TEXT)),
    ("chat.error.shape", stream({"error": "text"})),
    ("chat.error.shape", stream({"error": {"message": "m", "type": "t", "code": 5, "param": None}})),
    ("chat.error.last", stream({"error": {"message": "m", "type": "t", "param": None, "code": None}}, TEXT)),
    ("chat.chunk.object", stream(HEAD, {**TEXT, "object": ""}, END)),
    ("chat.chunk.envelope", stream(HEAD, {**TEXT, "id": ""}, END)),
    ("chat.chunk.constant", stream(HEAD, {**TEXT, "created": 18}, END)),
    ("chat.chunk.choices", stream(HEAD, {**TEXT, "choices": None}, END)),
    ("chat.chunk.choices", stream(HEAD, {**TEXT, "choices": []}, END)),
    ("chat.choice.index", stream(HEAD, changed(TEXT, index=...), END)),
    ("chat.choice.index", stream(HEAD, chunk({"role": "assistant"}, "stop", index=2), END)),
    ("chat.choice.delta", stream(HEAD, changed(TEXT, delta=None), END)),
    ("chat.role.first", stream(TEXT, END)),
    ("chat.role.first", stream(chunk({"role": "", "content": ""}), END)),
    ("chat.role.again", stream(HEAD, HEAD, END)),
    ("chat.text.type", stream(HEAD, chunk({"content": ["x"]}), END)),
    ("chat.list.index", stream(HEAD, *[chunk({"annotations": [{"type": "x"}]})] * 2, END)),
    ("chat.call.shape", stream(HEAD, calls({**OPENING, "index": None}), END)),
    ("chat.call.shape", stream(HEAD, calls(OPENING, {"index": 0}), CALLED)),
    ("chat.call.shape", stream(HEAD, chunk({"tool_calls": {}}), END)),
    ("chat.call.index", stream(HEAD, calls({**OPENING, "index": 1}, MORE), CALLED)),
    ("chat.call.index", stream(HEAD, calls(OPENING, SECOND, MORE), CALLED)),
    ("chat.call.opening", stream(HEAD, calls({**OPENING, "id": ""}, MORE), CALLED)),
    ("chat.call.opening", stream(HEAD, calls({**OPENING, "type": None}, MORE), CALLED)),
    ("chat.call.opening", stream(HEAD, calls({**OPENING, "function": {"arguments": "{}"}}), CALLED)),
    ("chat.call.id", stream(HEAD, calls(OPENING, MORE, {**SECOND, "id": "a"}), CALLED)),
    ("chat.call.again", stream(HEAD, calls(OPENING, {**MORE, "id": ""}), CALLED)),
    ("chat.call.again", stream(HEAD, calls(OPENING, {**MORE, "function": {"name": "run", "arguments": ""}}), CALLED)),
    ("chat.call.json", stream(HEAD, calls(OPENING), CALLED)),
    ("chat.call.json", stream(HEAD, calls(OPENING, {**MORE, "function": {"arguments": "[]"}}), CALLED)),
    ("chat.finish.missing", stream(HEAD, TEXT)),
    ("chat.finish.word", stream(HEAD, chunk({}, "end_turn"))),
    ("chat.finish.again", stream(HEAD, END, END)),
    ("chat.finish.after", stream(HEAD, END, TEXT)),
    ("chat.finish.calls", stream(HEAD, calls(OPENING, MORE), END)),
    ("chat.finish.calls", stream(HEAD, TEXT, CALLED)),
    ("chat.usage.shape", stream(HEAD, END, chunk(choices=[], usage={**USAGE, "prompt_tokens": None}))),
    ("chat.usage.shape", stream(HEAD, END, chunk(choices=[], usage={**USAGE, "prompt_tokens_details": {"x": "1"}}))),
    ("chat.usage.total", stream(HEAD, END, chunk(choices=[], usage={**USAGE, "total_tokens": 4}))),
    ("chat.usage.place", stream(HEAD, {**END, "usage": USAGE})),
    ("chat.usage.place", stream(HEAD, chunk(choices=[], usage=USAGE), END)),
]


@pytest.mark.parametrize(("rule", "data"), WRONG)
def test_mistakes_of_a_stream(rule: str, data: bytes) -> None:
    assert rule in rules(data)


CALL = {"id": "a", "type": "function", "function": {"name": "run", "arguments": "{}"}}


def body(message: JSON, finish: str | None = "stop", **members: Any) -> JSON:
    return whole({"role": "assistant", "content": None, **message}, finish, usage=USAGE, **members)


WRONG_BODIES: list[tuple[str, JSON]] = [
    ("chat.body.envelope", {**body({}), "object": "chat.completion.chunk"}),
    ("chat.body.envelope", {**body({}), "model": None}),
    ("chat.body.usage", {**body({}), "usage": None}),
    ("chat.body.choices", {**body({}), "choices": []}),
    ("chat.body.choices", {**body({}), "choices": [None]}),
    ("chat.body.message", whole({"role": "assistant"}, usage=USAGE)),
    ("chat.body.message", whole({"content": None}, usage=USAGE)),
    ("chat.body.text", body({"content": ["x"]})),
    ("chat.body.calls", body({"tool_calls": []})),
    ("chat.body.call", body({"tool_calls": [{**CALL, "id": None}]}, "tool_calls")),
    ("chat.body.call", body({"tool_calls": [CALL, CALL]}, "tool_calls")),
    ("chat.body.call", body({"tool_calls": [{**CALL, "type": "x"}]}, "tool_calls")),
    ("chat.body.call", body({"tool_calls": [{**CALL, "function": {"name": "", "arguments": "{}"}}]}, "tool_calls")),
    ("chat.call.json", body({"tool_calls": [{**CALL, "function": {"name": "r", "arguments": "{"}}]}, "tool_calls")),
    ("chat.body.finish", body({"tool_calls": [CALL]}, "stop")),
    ("chat.body.finish", body({}, "tool_calls")),
    ("chat.body.finish", body({}, None)),
]


@pytest.mark.parametrize(("rule", "value"), WRONG_BODIES)
def test_mistakes_of_a_whole_answer(rule: str, value: JSON) -> None:
    assert rule in rules(json.dumps(value).encode())


def test_every_rule_has_a_test() -> None:
    assert {rule for rule, _ in WRONG} | {rule for rule, _ in WRONG_BODIES} == set(RULES)
