"""Whole answers: the same as the stream, in one piece."""

from __future__ import annotations

from openai.types.chat import ChatCompletion

from dragoman import jsontext
from dragoman.canonical import events as e
from dragoman.canonical.events import FinishReason
from dragoman.canonical.opaque import Opaque
from dragoman.canonical.request import Message, Request, Role, Text, Tool
from dragoman.canonical.response import Choice, ReasoningBlock, Response, TextBlock, ToolCallBlock
from dragoman.dialects.chat.check import check
from dragoman.dialects.chat.response import render_response

from .driving import JSON, context


def response(*blocks: object, finish: FinishReason = FinishReason.STOP, **members: object) -> Response:
    choice = Choice(blocks=blocks, finish=finish, origin="chat")  # type: ignore[arg-type]
    return Response(id="chatcmpl-1", model="m-1", created=17, choices=(choice,), origin="chat", **members)  # type: ignore[arg-type]


def rendered(answer: Response, request: Request | None = None) -> JSON:
    body = render_response(answer, context(request))
    assert check(jsontext.render(body)) == []
    ChatCompletion.model_validate(body)
    return body


def test_text() -> None:
    usage = e.Usage(input=10, output=5, cached=4, cache_write=1, reasoning=2)
    assert rendered(response(TextBlock(text="Hello"), usage=usage)) == {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 17,
        "model": "m-1",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Hello", "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": 10,
            "completion_tokens": 5,
            "total_tokens": 15,
            "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1},
            "completion_tokens_details": {"reasoning_tokens": 2},
        },
    }


def test_calls() -> None:
    blocks = (
        TextBlock(text="Look."),
        ToolCallBlock(id="a", name="run", arguments='{"x":1}', signature=Opaque("gemini", "signature", "c2ln")),
        ToolCallBlock(id="b", name="patch", arguments='*** "q"', kind="custom"),
    )
    request = Request(
        model="m",
        messages=(Message(Role.USER, (Text(text="Hi"),)),),
        origin="chat",
        tools=(Tool(name="patch", kind="custom"),),
    )
    answer = response(*blocks, finish=FinishReason.TOOL_CALLS)
    message = rendered(answer, request)["choices"][0]["message"]
    assert message["content"] == "Look."
    assert message["tool_calls"] == [
        {
            "id": "a",
            "type": "function",
            "function": {"name": "run", "arguments": '{"x":1}'},
            "extra_content": {"google": {"thought_signature": "c2ln"}},
        },
        {"id": "b", "type": "custom", "custom": {"name": "patch", "input": '*** "q"'}},
    ]
    wrapped = rendered(answer)["choices"][0]["message"]["tool_calls"][1]
    assert wrapped["function"]["arguments"] == '{"input":"*** \\"q\\""}'


def test_the_first_call_of_a_client_from_before_tools() -> None:
    calls = [ToolCallBlock(id=id, name="run", arguments="{}") for id in ("a", "b")]
    asked = Request(
        model="m",
        messages=(Message(Role.USER, (Text(text="Hi"),)),),
        origin="chat",
        tools=(Tool(name="run", legacy=True),),
    )
    (one,) = rendered(response(calls[0], finish=FinishReason.TOOL_CALLS), asked)["choices"]
    assert one["message"]["function_call"] == {"name": "run", "arguments": "{}"}
    assert one["message"]["content"] is None
    assert one["finish_reason"] == "function_call"
    assert "tool_calls" not in one["message"]
    (two,) = rendered(response(*calls, finish=FinishReason.TOOL_CALLS), asked)["choices"]
    assert two["message"]["function_call"] == one["message"]["function_call"]
    assert [call["id"] for call in two["message"]["tool_calls"]] == ["b"]


def test_the_content_of_a_call_alone_is_null_and_of_an_empty_answer_a_text() -> None:
    call = ToolCallBlock(id="a", name="run", arguments="{}")
    assert rendered(response(call, finish=FinishReason.TOOL_CALLS))["choices"][0]["message"]["content"] is None
    assert rendered(response())["choices"][0]["message"]["content"] == ""


def test_half_a_wrapped_call_is_never_closed() -> None:
    call = ToolCallBlock(id="a", name="patch", arguments="***", kind="custom", complete=False)
    body = rendered(response(call, finish=FinishReason.LENGTH))
    assert body["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] == '{"input":"***'


def test_what_stands_beside_the_text() -> None:
    logprobs = [{"logprobs": {"content": [{"token": token, "logprob": -1.0, "top_logprobs": []}]}} for token in "xy"]
    blocks = (
        ReasoningBlock(text="A.", opaque=(Opaque("messages", "signature", "1"),)),
        ReasoningBlock(text="B."),
        TextBlock(text="xy", native=tuple(logprobs), signature=Opaque("gemini", "signature", "2")),
        TextBlock(text="No.", refusal=True),
        TextBlock(text="z", citations=(e.Citation(url="https://e.org", start=0, end=1),)),
        e.Media(media_type="image/png", data="AAAA"),
        e.ServerTool("chat", ({},)),
    )
    choice = rendered(response(*blocks))["choices"][0]
    message = choice["message"]
    assert (message["content"], message["refusal"], message["reasoning_content"]) == ("xyz", "No.", "A.B.")
    assert [detail["signature"] for detail in message["reasoning_details"]] == ["1"]
    assert message["annotations"][0]["url_citation"] == {
        "url": "https://e.org",
        "title": "https://e.org",
        "start_index": 2,
        "end_index": 3,
    }
    assert message["images"][0]["image_url"]["url"] == "data:image/png;base64,AAAA"
    assert message["extra_content"] == {"google": {"thought_signature": "2"}}
    assert [item["token"] for item in choice["logprobs"]["content"]] == ["x", "y"]


def test_sound() -> None:
    native = {"id": "a_1", "transcript": "Hi.", "expires_at": 9}
    sound = e.Media(media_type="audio/wav", data="UklGRg==", origin="chat", native=native)
    body = rendered(response(TextBlock(text="Hi.", native=({"transcript": True},)), sound))
    message = body["choices"][0]["message"]
    assert (message["content"], message["audio"]) == ("", {**native, "data": "UklGRg=="})
    pieces = [e.Media(media_type="audio/L16", data=piece, origin="gemini") for piece in ("AA==", "BBBB")]
    body = rendered(response(TextBlock(text="Hi."), *pieces))
    message = body["choices"][0]["message"]
    assert (message["content"], message["audio"]["data"], message["audio"]["transcript"]) == ("Hi.", "AAQQQQ==", "")


def test_unknown_usage_is_zeros_and_another_dialects_own_words_stay_out() -> None:
    answer = Response(
        id="msg_1",
        model="",
        created=None,
        choices=(Choice(blocks=(TextBlock(text="x"),), finish=FinishReason.PAUSED, origin="messages"),),
        origin="messages",
        native={"system_fingerprint": "fp"},
        usage_native={"cost": 1},
    )
    body = rendered(answer)
    assert body["id"].startswith("chatcmpl-")
    assert (body["model"], body["created"]) == ("asked-model", 1700)
    assert body["usage"] == {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    assert "system_fingerprint" not in body
    assert body["choices"][0]["finish_reason"] == "length"


def test_several_choices() -> None:
    choices = tuple(Choice(blocks=(TextBlock(text=text),), finish=FinishReason.STOP) for text in "AB")
    answer = Response(id="", model="m", created=1, choices=choices)
    body = rendered(answer)
    assert [(item["index"], item["message"]["content"]) for item in body["choices"]] == [(0, "A"), (1, "B")]
