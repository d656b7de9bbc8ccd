"""The checker: each rule is broken once, and sound answers break none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.dialects.gemini import DIALECT
from dragoman.dialects.gemini.check import RULES

from .driving import call, chunk

COUNTS = {"promptTokenCount": 3, "candidatesTokenCount": 1, "totalTokenCount": 4}
TEXT = chunk({"text": "Hi."})
LAST = {**chunk({"text": ""}, finishReason="STOP"), "usageMetadata": COUNTS}
ERROR = {"error": {"code": 503, "message": "Later.", "status": "UNAVAILABLE"}}


def stream(*chunks: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(item).encode() + b"\n\n" for item in chunks)


def last(*parts: Any, counts: Any = COUNTS, **members: Any) -> dict[str, Any]:
    body = chunk(*parts, **{"finishReason": "STOP", **members})
    return {**body, "usageMetadata": counts} if counts is not None else body


def answer(*parts: Any) -> bytes:
    return stream(last({"text": "x"}, *parts))


SOUND = stream(TEXT, LAST)

BROKEN: list[tuple[str, bytes]] = [
    ("gemini.body.empty", b" \n"),
    ("gemini.frame.utf8", b"\xef\xbb\xbf" + SOUND),
    ("gemini.frame.utf8", SOUND + b"data: \xff\n\n"),
    ("gemini.frame.field", b": comment\n\n" + SOUND),
    ("gemini.frame.field", b"event: x\n" + SOUND),
    ("gemini.frame.space", SOUND.replace(b"data: ", b"data:")),
    ("gemini.frame.lines", SOUND.replace(b'{"candidates', b'{\ndata: "candidates', 1)),
    ("gemini.frame.end", SOUND[:-1]),
    ("gemini.frame.array", b"[" + json.dumps(TEXT).encode() + b",\r\n" + json.dumps(LAST).encode()),
    ("gemini.frame.done", SOUND + b"data: [DONE]\n\n"),
    ("gemini.frame.json", SOUND + b"data: {\n\n"),
    ("gemini.frame.json", SOUND + b"data: []\n\n"),
    ("gemini.chunk.spelling", stream({**TEXT, "usage_metadata": {}}, LAST)),
    ("gemini.chunk.spelling", answer({**call("f"), "thought_signature": "U0lH"})),
    ("gemini.chunk.bare", stream(TEXT, {"usageMetadata": COUNTS}, LAST)),
    ("gemini.chunk.envelope", stream({**TEXT, "responseId": "a"}, {**LAST, "responseId": "b"})),
    ("gemini.chunk.envelope", stream({**TEXT, "modelVersion": ""}, LAST)),
    ("gemini.chunk.candidates", stream({"candidates": {"a": 1}}, LAST)),
    ("gemini.chunk.candidates", stream({"candidates": ["x"]}, LAST)),
    ("gemini.chunk.candidates", stream({"candidates": [TEXT["candidates"][0]] * 2}, LAST)),
    ("gemini.content.role", stream({"candidates": [{"content": {"parts": [{"text": "x"}]}}]}, LAST)),
    ("gemini.content.parts", stream(TEXT, {**LAST, "candidates": [{"finishReason": "STOP"}]})),
    ("gemini.content.parts", stream(chunk(), LAST)),
    ("gemini.part.data", answer({"thought": True})),
    ("gemini.part.data", answer({"text": "x", **call("f")})),
    ("gemini.part.type", answer("x")),
    ("gemini.part.type", answer({"text": 5})),
    ("gemini.part.type", answer({"text": "x", "thought": "yes"})),
    ("gemini.part.type", answer({"inlineData": {"mimeType": "image/png"}})),
    ("gemini.part.signature", answer({"text": "", "thoughtSignature": "not base64!"})),
    ("gemini.part.signature", answer({"text": "", "thoughtSignature": ""})),
    ("gemini.part.result", answer({"functionResponse": {"name": "f"}})),
    ("gemini.call.name", answer(call(""))),
    ("gemini.call.name", answer(call("1st"))),
    ("gemini.call.args", answer({"functionCall": {"name": "f"}})),
    ("gemini.call.args", answer(call("f", "{}"))),
    ("gemini.call.id", answer(call("f", id=""))),
    ("gemini.call.id", answer(call("f", id="a"), call("g", id="a"))),
    ("gemini.call.pieces", answer(call("f", willContinue=True))),
    ("gemini.finish.word", stream(TEXT, last({"text": ""}, finishReason="stop"))),
    ("gemini.finish.word", stream(chunk({"text": "x"}, finishReason=None), LAST)),
    ("gemini.finish.failure", stream(TEXT, last({"text": ""}, finishReason="MALFORMED_FUNCTION_CALL"))),
    ("gemini.finish.calls", stream(last(call("f"), finishReason="SAFETY"))),
    ("gemini.finish.missing", stream({**TEXT, "usageMetadata": COUNTS})),
    ("gemini.finish.twice", stream(LAST, {**TEXT, "usageMetadata": COUNTS})),
    ("gemini.finish.silent", stream(last({"text": " \u200b<!-- hidden -->"}, {"text": "x", "thought": True}))),
    ("gemini.usage.missing", stream({**TEXT, "usageMetadata": COUNTS}, last({"text": ""}, counts=None))),
    ("gemini.usage.counts", stream(TEXT, last({"text": ""}, counts={**COUNTS, "promptTokenCount": "3"}))),
    ("gemini.usage.counts", stream(TEXT, last({"text": ""}, counts=[]))),
    ("gemini.usage.counts", stream(TEXT, last({"text": ""}, counts={"candidatesTokenCount": 1}))),
    ("gemini.usage.total", stream(TEXT, last({"text": ""}, counts={**COUNTS, "totalTokenCount": 5}))),
    ("gemini.usage.cached", stream(TEXT, last({"text": ""}, counts={**COUNTS, "cachedContentTokenCount": 4}))),
    ("gemini.usage.shrinks", stream({**TEXT, "usageMetadata": {**COUNTS, "cachedContentTokenCount": 1}}, LAST)),
    ("gemini.feedback.reason", stream({"promptFeedback": {"blockReason": "NEW"}})),
    ("gemini.feedback.reason", stream({**LAST, **TEXT, "promptFeedback": {"blockReason": "SAFETY"}}, LAST)),
    ("gemini.error.form", stream({"error": {"code": "503", "message": "x", "status": "UNAVAILABLE"}})),
    ("gemini.error.form", stream({"error": {"code": 503, "message": "x", "status": "INVALID_ARGUMENT"}})),
    ("gemini.error.form", stream({"error": {"code": 503, "status": "UNAVAILABLE"}})),
    ("gemini.error.form", stream({"error": {**ERROR["error"], "details": {}}})),
    ("gemini.error.form", stream({"error": "x"})),
    ("gemini.error.alone", stream({"responseId": "r", **ERROR})),
    ("gemini.error.last", stream(ERROR, LAST)),
]


@pytest.mark.parametrize(("rule", "body"), BROKEN)
def test_a_broken_rule_is_named(rule: str, body: bytes) -> None:
    assert rule in {violation.rule for violation in DIALECT.check(body)}


def test_every_rule_is_tested_and_has_its_reason() -> None:
    assert {rule for rule, _ in BROKEN} == set(RULES)
    assert all(RULES.values())


def test_a_violation_says_where() -> None:
    found = DIALECT.check(stream(TEXT, last(call("f", "{}"), {"text": "x"})))
    assert [str(violation) for violation in found] == [
        "gemini.call.args @ event 1 candidates[0] parts[0]: args is '{}'",
    ]


@pytest.mark.parametrize(
    "body",
    [
        SOUND,
        b"\n\n" + SOUND.replace(b"\n\n", b"\n\n\n\n"),
        SOUND.replace(b"\n", b"\r\n"),
        b"[" + json.dumps(TEXT).encode() + b",\r\n" + json.dumps(LAST).encode() + b"]",
        json.dumps(last({"text": "Hi."})).encode(),
        json.dumps(ERROR).encode(),
        stream(TEXT, ERROR),
        stream({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": COUNTS}),
        stream(last(call("f", {"a": 1}, id="x"))),
        stream(last({"inlineData": {"mimeType": "image/png", "data": "AAAA"}})),
        stream(TEXT, last({"text": ""}, finishReason="MAX_TOKENS")),
        stream(last({"text": "x", "thought": True, "thoughtSignature": "a-_9"}, {"text": "y"})),
    ],
)
def test_sound_bodies_pass(body: bytes) -> None:
    assert DIALECT.check(body) == []
