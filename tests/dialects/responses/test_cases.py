"""The corpus of real streams beside this repository, decoded and written again; skipped without it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.canonical import events as e
from dragoman.dialects.responses.check import check
from dragoman.streaming.accumulate import Accumulator
from dragoman.streaming.answer import AnswerAssembler
from dragoman.streaming.body import BodyReader, Document, StreamLimits

from .driving import DIALECT, JSON, assembler, context

CORPUS = Path(__file__).parents[4] / "shared" / "cases" / "streams" / "responses"
CASES = sorted(CORPUS.glob("*/case.json"))

pytestmark = pytest.mark.skipif(not CASES, reason="the shared corpus is not here")


def answered(body: bytes, size: int) -> AnswerAssembler:
    """The body as it is read in pieces of this size (bytes)."""
    answer = assembler()
    decoder, reader = DIALECT.decoder(answer), BodyReader(StreamLimits())
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    for records in (*map(reader.feed, pieces), reader.finish()):
        for record in records:
            if isinstance(record, Document):
                decoder.decode_body(json.loads(record.data))
            else:
                decoder.decode(record)
    decoder.finish()
    answer.close()
    return answer


def calls_of(output: list[JSON]) -> list[tuple[str, str, Any]]:
    found = []
    for item in output:
        if item["type"] in ("function_call", "custom_tool_call"):
            text = str(item.get("arguments", item.get("input")))
            try:
                value = json.loads(text)
            except ValueError:
                value = text
            found.append((item["call_id"], item["name"], value))
    return found


def texts_of(output: list[JSON], *kinds: str) -> str:
    """The texts of these parts; the parts of one reasoning item are paragraphs."""
    texts = []
    for item in output:
        parts = [part for name in ("summary", "content") for part in item.get(name) or [] if part["type"] in kinds]
        between = "\n\n" if item["type"] == "reasoning" else ""
        texts.append(between.join(part.get("text", part.get("refusal")) for part in parts))
    return "".join(texts)


@pytest.mark.parametrize("size", [1, 1 << 20])
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.parent.name)
def test_a_case_comes_out_as_expected(path: Path, size: int) -> None:
    case = json.loads(path.read_text())
    body = next(path.parent.glob("upstream.*")).read_bytes()
    events = answered(body, size).take()
    encoder = DIALECT.encoder(context())
    stream = b"".join(encoder.encode([event]) for event in events)
    expect = case["expect"]
    broken = {violation.rule for violation in check(stream)}
    if any("arguments_text" in call for call in expect["tool_calls"]):
        broken -= {"responses.call.arguments"}
    assert broken == set()
    final = json.loads(stream.rstrip().rpartition(b"data: ")[2])["response"]
    output = final["output"]
    assert texts_of(output, "output_text", "refusal") == expect["text"]
    assert texts_of(output, "summary_text", "reasoning_text") == expect["reasoning"]
    wanted = [
        (call["id"], call["name"], call.get("arguments_text", call.get("arguments"))) for call in expect["tool_calls"]
    ]
    assert calls_of(output) == wanted
    assert [proof for proof in expect.get("replay", []) if proof.encode() not in stream] == []
    if expect["outcome"] != "complete":
        assert final["status"] == "failed"
        assert expect.get("error", {}).get("message_contains", "") in final["error"]["message"]
        return
    reasons = {"stop": None, "tool_calls": None, "length": "max_output_tokens", "content_filter": "content_filter"}
    assert (final["incomplete_details"] or {}).get("reason") == reasons[expect["finish"]]
    assert (final["usage"]["input_tokens"], final["usage"]["output_tokens"]) == tuple(expect["usage"].values())
    whole = Accumulator()
    whole.add(events)
    assert whole.response is not None
    assert DIALECT.render_response(whole.response, context()) == final
    assert isinstance(events[-1], e.ResponseEnd)
