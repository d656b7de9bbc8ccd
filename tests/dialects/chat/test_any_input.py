"""Whatever an upstream sends, the decoder does not raise and the client gets a well-formed stream."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.crossing import cross
from dragoman.dialects.chat import DIALECT
from dragoman.dialects.chat.check import check
from dragoman.dialects.chat.encode import ChatEncoder
from dragoman.dialects.contract import Facts
from dragoman.exceptions import InvalidRequest

from .driving import DONE, Upstream, context

LEAVES = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.text(max_size=5)
JUNK = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner), max_leaves=6
)


def member(*names: str, value: st.SearchStrategy[Any] = JUNK) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(names), value, max_size=4)


FUNCTION = member("name", "arguments", "input", value=JUNK | st.sampled_from(["run", '{"a":', "1}", "{}"]))
ENTRY = st.fixed_dictionaries(
    {}, optional={"index": JUNK, "id": JUNK, "type": JUNK, "function": FUNCTION | JUNK, "custom": FUNCTION}
)
DETAIL = member("type", "text", "summary", "signature", "data", "format", "id", value=LEAVES)
PART = member("type", "text", "thinking", "summary", "image_url", "refusal")
DELTA = st.fixed_dictionaries(
    {},
    optional={
        "role": JUNK,
        "content": st.text() | st.lists(PART | JUNK, max_size=3) | JUNK,
        "refusal": JUNK,
        "reasoning": JUNK,
        "reasoning_content": st.text(),
        "reasoning_details": st.lists(DETAIL | JUNK, max_size=3) | JUNK,
        "tool_calls": st.lists(ENTRY | JUNK, max_size=3) | ENTRY | JUNK,
        "function_call": FUNCTION | JUNK,
        "annotations": st.lists(member("url", "url_citation", "start_index"), max_size=2) | JUNK,
        "images": st.lists(JUNK, max_size=2),
        "extra_content": member("google", "vertex", value=member("thought", "thought_signature")),
    },
)
WORDS = st.sampled_from([None, "", "stop", "tool_calls", "length", "weird"]) | JUNK
CHOICE = st.fixed_dictionaries(
    {}, optional={"index": JUNK, "delta": DELTA | JUNK, "message": DELTA, "finish_reason": WORDS, "logprobs": JUNK}
)
CHUNK = st.fixed_dictionaries(
    {"choices": st.lists(CHOICE | JUNK, max_size=3) | JUNK},
    optional={
        "id": JUNK,
        "model": JUNK,
        "created": JUNK,
        "usage": JUNK,
        "x_groq": JUNK,
        "citations": JUNK,
        "data": JUNK,
    },
)


@settings(max_examples=300, deadline=None)
@given(chunks=st.lists(CHUNK | JUNK, max_size=5), choices=st.sampled_from([1, 3]), done=st.booleans())
def test_a_stream(chunks: list[Any], choices: int, done: bool) -> None:
    upstream = Upstream(choices)
    encoder = ChatEncoder(context())
    data = b""
    for chunk in chunks:
        upstream.say(chunk)
        data += encoder.encode(upstream.assembler.take())
    data += encoder.encode(upstream.say(*([DONE] if done else [])).end())
    # arguments that are no JSON go out as they are: the model should see its own mistake
    assert [violation for violation in check(data) if violation.rule != "chat.call.json"] == []


@settings(max_examples=200, deadline=None)
@given(body=CHUNK | JUNK)
def test_a_whole_answer(body: Any) -> None:
    upstream = Upstream()
    upstream.decoder.decode_body(body)
    data = ChatEncoder(context()).encode(upstream.end())
    assert [violation for violation in check(data) if violation.rule != "chat.call.json"] == []


MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool", "function"])},
    optional={
        "content": st.text(max_size=5) | st.lists(PART, max_size=2) | JUNK,
        "tool_calls": st.lists(ENTRY, max_size=2) | JUNK,
        "tool_call_id": st.text(max_size=3) | JUNK,
        "function_call": FUNCTION | JUNK,
        "reasoning_content": JUNK,
        "reasoning_details": st.lists(DETAIL, max_size=3) | JUNK,
        "extra_content": JUNK,
    },
)
TOOL = member("type", "function", "custom", value=st.sampled_from(["function", "custom"]) | FUNCTION | JUNK)
BODY = st.fixed_dictionaries(
    {"model": st.just("m"), "messages": st.lists(MESSAGE, min_size=1, max_size=4)},
    optional={
        "tools": st.lists(TOOL, max_size=2),
        "tool_choice": JUNK,
        "stop": JUNK,
        "n": JUNK,
        "reasoning": JUNK,
        "response_format": JUNK,
        "stream_options": JUNK,
        "temperature": JUNK,
    },
)


@settings(max_examples=300, deadline=None)
@given(body=BODY)
def test_a_request_is_read_or_refused_with_the_name_of_its_field(body: dict[str, Any]) -> None:
    fault: InvalidRequest | None = None
    try:
        request = DIALECT.parse_request(body, None, None)
        crossing, _ = cross(request, DIALECT, Facts())
        made = DIALECT.render_request(crossing, Facts())
    except InvalidRequest as refused:
        fault = refused
    if fault is not None:
        assert fault.error.param
        return
    DIALECT.adapt_request(body, request, Facts(reasoning_model=True, structured_output=False))
    assert all(message["role"] in ("system", "user", "assistant", "tool") for message in made.body["messages"])
