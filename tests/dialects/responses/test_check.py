"""The strict checker: each rule is broken once, and only where it is broken."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from dragoman.canonical import events as e
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.dialects.responses.check import RULES, check

from .driving import JSON, encoded, read, whole

EVENTS: list[e.Event] = [
    e.ResponseStart(id="resp_1", model="m", created=5, origin="responses"),
    e.ReasoningStart(summary=True),
    e.ReasoningDelta("Hm."),
    e.ReasoningEnd(),
    e.TextStart(),
    e.TextDelta("Hello"),
    e.CitationAdded(e.Citation(url="https://a.example")),
    e.TextEnd(),
    e.ToolCallStart(id="call_1", name="run"),
    e.ToolCallDelta("{}"),
    e.ToolCallEnd(),
    e.ResponseEnd(finish=e.FinishReason.TOOL_CALLS),
]
GOOD = read(encoded(EVENTS))
BODY = whole(EVENTS)
FAILED = read(encoded([EVENTS[0], e.ResponseError(Error(kind=ErrorKind.SERVER, message="Broken."))]))


def written(events: list[JSON], *, numbered: bool = True) -> bytes:
    out = []
    for number, event in enumerate(events):
        data = {**event, "sequence_number": number} if numbered else event
        out.append(f"event: {event.get('type')}\ndata: {json.dumps(data)}\n\n")
    return "".join(out).encode()


def at(events: list[JSON], kind: str, place: int = 0) -> int:
    return [n for n, event in enumerate(events) if event["type"] == f"response.{kind}"][place]


def of(events: list[JSON], kind: str, place: int = 0) -> JSON:
    return events[at(events, kind, place)]


def put(path: str, value: Any, kind: str, place: int = 0) -> Callable[[list[JSON]], None]:
    """Replaces a member of an event; ``del`` as the value takes it out."""

    def change(events: list[JSON]) -> None:
        target: Any = of(events, kind, place)
        *steps, last = path.split(".")
        for step in steps:
            target = target[int(step) if step.isdigit() else step]
        if value == "del":
            del target[last]
        else:
            target[last] = value

    return change


def drop(kind: str, place: int = 0) -> Callable[[list[JSON]], None]:
    return lambda events: events.pop(at(events, kind, place))  # type: ignore[return-value]


def again(kind: str) -> Callable[[list[JSON]], None]:
    return lambda events: events.insert(at(events, kind), copy.deepcopy(of(events, kind)))


BROKEN: list[tuple[str, Callable[[list[JSON]], None]]] = [
    ("responses.event.type", put("type", "response.future", "output_text.delta")),
    ("responses.event.members", put("logprobs", "del", "output_text.delta")),
    ("responses.event.members", put("delta", {"text": "x"}, "output_text.delta")),
    ("responses.event.members", put("content_index", "0", "output_text.delta")),
    ("responses.stream.opening", drop("created")),
    ("responses.stream.opening", drop("in_progress")),
    ("responses.stream.opening", again("in_progress")),
    ("responses.stream.opening", put("response.output", [{}], "created")),
    ("responses.stream.end", drop("completed")),
    ("responses.stream.end", again("completed")),
    ("responses.stream.identity", put("response.id", "resp_2", "completed")),
    ("responses.stream.identity", put("response.created_at", 6, "in_progress")),
    ("responses.response.members", put("response.tools", "del", "created")),
    ("responses.response.members", put("response.model", "", "in_progress")),
    ("responses.response.members", put("response.created_at", "5", "created")),
    ("responses.response.status", put("response.status", "completed", "created")),
    ("responses.response.status", put("response.error", {"code": "x", "message": "y"}, "completed")),
    ("responses.response.status", put("response.incomplete_details", {"reason": "x"}, "completed")),
    ("responses.response.output", put("response.output", [], "completed")),
    ("responses.usage", put("response.usage", None, "completed")),
    ("responses.usage", put("response.usage.total_tokens", 7, "completed")),
    ("responses.usage", put("response.usage.input_tokens", None, "completed")),
    ("responses.usage", put("response.usage.output_tokens_details", "del", "completed")),
    ("responses.item.place", put("output_index", 5, "output_item.added", 1)),
    ("responses.item.place", drop("output_item.done")),
    ("responses.item.place", drop("output_item.added", 2)),
    ("responses.item.id", put("item.id", "", "output_item.added")),
    ("responses.item.id", put("item.id", "other", "output_item.done", 1)),
    ("responses.item.id", put("item.name", "walk", "output_item.done", 2)),
    ("responses.item.shape", put("item.role", "user", "output_item.done", 1)),
    ("responses.item.shape", put("item.summary", "del", "output_item.added")),
    ("responses.item.shape", put("item.arguments", {}, "output_item.done", 2)),
    ("responses.item.empty", put("item.arguments", "{", "output_item.added", 2)),
    ("responses.item.status", put("item.status", "completed", "output_item.added", 1)),
    ("responses.item.status", put("item.status", "del", "output_item.done", 2)),
    ("responses.item.whole", put("item.content", [], "output_item.done", 1)),
    ("responses.item.whole", put("item.arguments", '{"a": 1}', "output_item.done", 2)),
    ("responses.item.whole", drop("content_part.done")),
    ("responses.item.unfinished", drop("output_item.done", 2)),
    ("responses.call.identity", put("item.name", " ", "output_item.added", 2)),
    ("responses.call.identity", put("item.call_id", "del", "output_item.done", 2)),
    ("responses.call.arguments", put("item.arguments", "{", "output_item.done", 2)),
    ("responses.part.place", put("content_index", 1, "content_part.added")),
    ("responses.part.place", put("part.type", "reasoning_text", "content_part.added")),
    ("responses.part.shape", put("part.annotations", "del", "content_part.done")),
    ("responses.part.shape", put("part.type", "text", "content_part.done")),
    ("responses.part.empty", put("part.text", "x", "content_part.added")),
    ("responses.part.whole", put("part.text", "Bye", "content_part.done")),
    ("responses.part.whole", drop("output_text.done")),
    ("responses.text.place", put("item_id", "other", "output_text.delta")),
    ("responses.text.place", put("output_index", 0, "output_text.delta")),
    ("responses.text.place", put("summary_index", 3, "reasoning_summary_text.delta")),
    ("responses.text.place", drop("content_part.added")),
    ("responses.text.whole", put("text", "Bye", "output_text.done")),
    ("responses.text.whole", again("output_text.delta")),
    ("responses.text.whole", put("arguments", "", "function_call_arguments.done")),
    ("responses.annotation", put("annotation_index", 1, "output_text.annotation.added")),
    ("responses.annotation", put("part.annotations", [], "content_part.done")),
]


def test_what_the_encoder_writes_breaks_no_rule() -> None:
    for events in (GOOD, FAILED):
        assert check(written(events)) == []
    assert check(json.dumps(BODY).encode()) == []


@pytest.mark.parametrize(("rule", "change"), BROKEN)
def test_each_rule_is_enforced(rule: str, change: Callable[[list[JSON]], None]) -> None:
    events = copy.deepcopy(GOOD)
    change(events)
    assert rule in {violation.rule for violation in check(written(events))}


FRAMES: list[tuple[str, bytes]] = [
    ("responses.framing", b""),
    ("responses.framing", written(GOOD)[:-1]),
    ("responses.framing", written(GOOD).replace(b"\ndata: ", b"\nid: 1\ndata: ", 1)),
    ("responses.framing", b"retry: 3000\n\n" + written(GOOD)),
    ("responses.framing", written(GOOD) + b"data: [DONE]\n\n"),
    ("responses.json", written(GOOD).replace(b'"sequence_number": 0,', b'"sequence_number": NaN,')),
    ("responses.json", written(GOOD).replace(b'data: {"type": "response.created"', b"data: {", 1)),
    ("responses.event.name", written(GOOD).replace(b"event: response.created", b"event: message")),
    (
        "responses.sequence",
        written(GOOD, numbered=False).replace(b'"sequence_number": 3,', b'"sequence_number": 9,'),
    ),
    ("responses.sequence", written(GOOD, numbered=False).replace(b'"sequence_number": 3,', b"")),
    ("responses.stream.error", written([*FAILED[:3], *GOOD[2:]])),
    ("responses.error", written([*FAILED[:2], {"type": "error", "message": ""}, FAILED[3]])),
    ("responses.error", written([*FAILED[:2], {"type": "error", "message": "x", "code": 7}, FAILED[3]])),
    ("responses.response.status", written([*FAILED[:3], {**FAILED[3], "response": GOOD[-1]["response"]}])),
]


@pytest.mark.parametrize(("rule", "stream"), FRAMES)
def test_rules_of_the_frame(rule: str, stream: bytes) -> None:
    assert rule in {violation.rule for violation in check(stream)}


BODIES: list[tuple[str, Any]] = [
    ("responses.json", "{"),
    ("responses.item.id", {**BODY, "output": [BODY["output"][1], BODY["output"][1]]}),
    ("responses.item.shape", {**BODY, "output": [7]}),
    ("responses.call.identity", {**BODY, "output": [BODY["output"][2], {**BODY["output"][2], "id": "fc_2"}]}),
    ("responses.call.arguments", {**BODY, "output": [{**BODY["output"][2], "arguments": "[]"}]}),
    ("responses.item.status", {**BODY, "output": [{**BODY["output"][1], "status": "in_progress"}]}),
    ("responses.response.status", {**BODY, "status": "in_progress"}),
    ("responses.response.status", {**BODY, "status": "failed"}),
    ("responses.response.status", {**BODY, "status": "incomplete"}),
    ("responses.usage", {**BODY, "usage": None}),
    ("responses.error", {"error": "x"}),
    ("responses.error", {"error": {"message": "x", "type": "y", "code": None}}),
    ("responses.error", {"error": {"message": "", "type": "y", "code": None, "param": None}}),
]


@pytest.mark.parametrize(("rule", "body"), BODIES)
def test_rules_of_bodies(rule: str, body: Any) -> None:
    data = body if isinstance(body, str) else json.dumps(body)
    assert rule in {violation.rule for violation in check(data.encode())}


def test_every_rule_has_a_test() -> None:
    assert {case[0] for case in (*BROKEN, *FRAMES, *BODIES)} == set(RULES)


def test_comments_are_no_events() -> None:
    assert check(b": keep-alive\n\n" + written(GOOD)) == []
