"""The official SDK reads what the encoder writes: same text, calls, usage, and the same failures."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import openai
import pytest

from dragoman.canonical import events as e
from dragoman.canonical.errors import Error, ErrorKind

from .driving import DIALECT, encoded, whole

START = e.ResponseStart(id="resp_1", model="m", created=5, origin="chat")
ANSWER: list[e.Event] = [
    START,
    e.ReasoningStart(),
    e.ReasoningDelta("Hm."),
    e.ReasoningEnd(),
    e.TextStart(),
    e.TextDelta("Hel"),
    e.TextDelta("lo"),
    e.CitationAdded(e.Citation(url="https://a.example", title="A")),
    e.TextEnd(),
    e.TextStart(refusal=True),
    e.TextDelta("No."),
    e.TextEnd(),
    e.ToolCallStart(id="call_1", name="run"),
    e.ToolCallDelta('{"a": 1}'),
    e.ToolCallEnd(),
    e.ToolCallStart(id="call_2", name="apply_patch", kind="custom"),
    e.ToolCallDelta("*** Begin"),
    e.ToolCallEnd(),
    e.Media(media_type="image/png", data="aGk="),
    e.UsageUpdate(e.Usage(input=40, output=12)),
    e.ResponseEnd(finish=e.FinishReason.TOOL_CALLS),
]


def client(status: int, kind: str, body: bytes) -> openai.OpenAI:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, headers={"content-type": kind}, content=body)

    transport = httpx2.MockTransport(answer)
    return openai.OpenAI(
        api_key="k", base_url="http://test/v1", http_client=httpx2.Client(transport=transport), max_retries=0
    )


def test_the_accumulator_builds_the_same_response() -> None:
    with client(200, "text/event-stream", encoded(ANSWER)).responses.stream(model="m", input="Hi") as stream:
        texts = [event.delta for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()
    assert texts == ["Hel", "lo"]
    assert final.output_text == "Hello"
    assert [item.type for item in final.output] == [
        "reasoning",
        "message",
        "message",
        "function_call",
        "custom_tool_call",
        "image_generation_call",
    ]
    assert final.usage is not None
    assert final.usage.total_tokens == 52
    body = client(200, "application/json", json.dumps(whole(ANSWER)).encode()).responses.create(model="m", input="Hi")
    assert _bare([item.to_dict(warnings=False) for item in final.output]) == [item.to_dict() for item in body.output]


def _bare(value: Any) -> Any:
    """Items without what the accumulator adds: the parsed forms of texts and arguments."""
    if isinstance(value, list):
        return [_bare(item) for item in value]
    if isinstance(value, dict):
        return {name: _bare(member) for name, member in value.items() if name not in ("parsed", "parsed_arguments")}
    return value


@pytest.mark.parametrize("before", [[], [START], ANSWER[:6]])
def test_a_failure_in_the_stream_is_raised(before: list[e.Event]) -> None:
    failure = e.ResponseError(Error(kind=ErrorKind.RATE_LIMIT, message="Slow down."))
    stream = client(200, "text/event-stream", encoded([*before, failure])).responses.create(
        model="m", input="Hi", stream=True
    )
    with pytest.raises(openai.APIError, match=r"Slow down\."):
        list(stream)


def test_an_error_body_is_raised_by_its_status() -> None:
    error = Error(kind=ErrorKind.NOT_FOUND, message="There is no model x.", param="model")
    body = json.dumps(DIALECT.render_error(error, "req_1")).encode()
    with pytest.raises(openai.NotFoundError) as raised:
        client(DIALECT.status_of(error), "application/json", body).responses.create(model="x", input="Hi")
    assert (raised.value.code, raised.value.param) == ("model_not_found", "model")


def test_an_incomplete_answer() -> None:
    events: list[e.Event] = [*ANSWER[:9], e.ResponseEnd(finish=e.FinishReason.LENGTH)]
    stream = client(200, "text/event-stream", encoded(events)).responses.create(model="m", input="Hi", stream=True)
    *_, last = stream
    assert last.type == "response.incomplete"
    assert last.response.incomplete_details is not None
    assert last.response.incomplete_details.reason == "max_output_tokens"
