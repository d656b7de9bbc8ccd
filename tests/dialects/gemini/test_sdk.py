"""Google's own SDK as the client: it reads what is written here, and its requests are read here."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from dragoman import jsontext
from dragoman.canonical import events as e
from dragoman.canonical import request as q
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.canonical.events import FinishReason, Usage
from dragoman.canonical.opaque import Opaque
from dragoman.dialects.gemini import DIALECT

from .driving import START, STOP, context, whole_answer, written

genai = pytest.importorskip("google.genai")
httpx = pytest.importorskip("httpx")

FOREIGN = Opaque("messages", "signature", "abc.def/+")
ANSWER: list[e.Event] = [
    e.ReasoningStart(),
    e.ReasoningDelta("Pl"),
    e.ReasoningDelta("an."),
    e.ReasoningEnd((FOREIGN,)),
    e.TextStart(),
    e.TextDelta("Let me "),
    e.TextDelta("look."),
    e.TextEnd(),
    e.ToolCallStart(id="weather:0", name="get_weather"),
    e.ToolCallDelta('{"city": "Par'),
    e.ToolCallDelta('is"}'),
    e.ToolCallEnd(),
    e.UsageUpdate(Usage(input=30, output=9, reasoning=4, cached=20)),
]
CALLED = e.ResponseEnd(finish=FinishReason.TOOL_CALLS)


class Server:
    """Answers every request of the SDK with the same bytes, and keeps what was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.answers: list[tuple[int, bytes]] = []

    def __call__(self, request: Any) -> Any:
        self.paths.append(request.url.raw_path.decode())
        self.asked.append(json.loads(request.content))
        status, body = self.answers.pop(0)
        return httpx.Response(status, content=body, headers={"content-type": "application/json"})


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def client(server: Server) -> Iterator[Any]:
    transport = httpx.Client(transport=httpx.MockTransport(server))
    options = genai.types.HttpOptions(
        base_url="http://gateway.test",
        httpx_client=transport,
        retry_options=genai.types.HttpRetryOptions(attempts=1),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = genai.Client(vertexai=False, api_key="k", http_options=options)
        yield made
        made.close()


def test_a_stream_with_a_call_and_the_turn_after_it(client: Any, server: Server) -> None:
    server.answers = [
        (200, b"\n" + written(START, *ANSWER, CALLED)),
        (200, written(START, e.TextStart(), e.TextDelta("18 C."), e.TextEnd(), STOP)),
    ]
    chat = client.chats.create(
        model="a/model",
        config={
            "tools": [{"function_declarations": [{"name": "get_weather"}]}],
            "automatic_function_calling": {"disable": True},
        },
    )
    chunks = list(chat.send_message_stream("Weather?"))
    calls = [call for chunk in chunks for call in chunk.function_calls or []]
    assert [(call.id, call.name, call.args) for call in calls] == [("weather:0", "get_weather", {"city": "Paris"})]
    assert chunks[-1].usage_metadata.total_token_count == 39
    assert chunks[-1].usage_metadata.thoughts_token_count == 4
    assert chunks[-1].candidates[0].finish_reason == "STOP"

    answer = genai.types.Part.from_function_response(name="get_weather", response={"result": "18 C"})
    assert "".join(chunk.text or "" for chunk in chat.send_message_stream(answer)) == "18 C."

    request = DIALECT.parse_request(server.asked[1], "m", True)
    assert [message.role for message in request.messages] == [q.Role.USER, q.Role.ASSISTANT, q.Role.USER]
    assert request.messages[1].parts == (
        q.Reasoning(text="Plan.", opaque=(FOREIGN,)),
        q.Text(text="Let me look."),
        q.ToolCall(id="weather:0", name="get_weather", arguments='{"city":"Paris"}'),
    )
    result = request.messages[2].parts[0]
    assert isinstance(result, q.ToolResult)
    assert (result.id, result.parts) == ("weather:0", (q.Text(text="18 C"),))


def test_a_whole_answer(client: Any, server: Server) -> None:
    server.answers = [(200, jsontext.render(whole_answer(*ANSWER, finish=CALLED)))]
    response = client.models.generate_content(model="m", contents="x")
    assert response.text == "Let me look."
    assert response.function_calls[0].args == {"city": "Paris"}
    assert response.response_id == "r1"
    assert DIALECT.parse_request(server.asked[0], "m", False).messages == (q.Message(q.Role.USER, (q.Text(text="x"),)),)


def test_an_error_in_mid_stream_is_raised(client: Any, server: Server) -> None:
    failure = e.ResponseError(Error(kind=ErrorKind.OVERLOADED, message="Later.", retry_after=3.0))
    server.answers = [(200, written(START, e.TextStart(), e.TextDelta("x"), failure))]
    with pytest.raises(genai.errors.ServerError) as caught:
        list(client.models.generate_content_stream(model="m", contents="x"))
    assert (caught.value.code, caught.value.status, caught.value.message) == (503, "UNAVAILABLE", "Later.")


def test_an_error_before_the_stream_is_raised(client: Any, server: Server) -> None:
    error = Error(kind=ErrorKind.NOT_FOUND, message="No such model.", param="model")
    server.answers = [(DIALECT.status_of(error), jsontext.render(DIALECT.render_error(error, "req_1")))]
    with pytest.raises(genai.errors.ClientError) as caught:
        list(client.models.generate_content_stream(model="m", contents="x"))
    assert (caught.value.code, caught.value.status) == (404, "NOT_FOUND")


def test_the_lists_of_models(client: Any) -> None:
    body = DIALECT.render_models(["a/b"], 0)
    models = [
        genai.types.Model.model_validate(model) for model in body["models"] if model.pop("supportedGenerationMethods")
    ]
    assert [model.name for model in models] == ["models/a/b"]
    assert context().model == "a-model"
