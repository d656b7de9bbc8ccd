"""Whatever a client sends: it is refused by name, or goes on as a body that keeps the rules of the Messages API."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.canonical.opaque import Opaque, seal
from dragoman.crossing import cross
from dragoman.dialects.contract import Facts
from dragoman.dialects.messages import DIALECT, wire
from dragoman.dialects.messages.request import adapt_count, adapt_request, parse_request
from dragoman.exceptions import InvalidRequest

SEALED = seal(Opaque("gemini", "signature", "R0VN", "of:a"))

leaves = (
    st.none() | st.booleans() | st.integers(-2, 5000) | st.floats(allow_nan=False) | st.sampled_from(["", "a", " "])
)
names = st.sampled_from(["type", "text", "id", "name", "anyOf", "properties", "$ref", "citations", "budget_tokens"])
junk = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2), max_leaves=4
)

text = st.fixed_dictionaries({"type": st.just("text"), "text": st.sampled_from(["a", "b ", " "])})
image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBOR"}}
thinking = st.fixed_dictionaries(
    {"type": st.just("thinking"), "thinking": st.just("Hm."), "signature": st.sampled_from(["U0lH", "", SEALED])}
)
redacted = st.fixed_dictionaries(
    {"type": st.just("redacted_thinking"), "data": st.sampled_from(["UkVE", SEALED])}
)  # fmt: skip
call = st.fixed_dictionaries(
    {
        "type": st.just("tool_use"),
        "id": st.sampled_from(["a", "b", "c.1"]),
        "name": st.just("run"),
        "input": st.sampled_from([{}, {"x": 1}]),
    }
)
result = st.fixed_dictionaries(
    {
        "type": st.just("tool_result"),
        "tool_use_id": st.sampled_from(["a", "b", "c.1", "z"]),
        "content": st.just("done") | st.lists(text | st.just(image), max_size=2),
        "is_error": st.booleans(),
    }
)
native = st.just({"type": "future_block"})
turns = st.one_of(
    st.builds(
        lambda content: {"role": "user", "content": content}, st.lists(text | result | st.just(image), max_size=3)
    ),
    st.builds(
        lambda content: {"role": "assistant", "content": content},
        st.lists(text | call | thinking | redacted | native | st.just(image), max_size=4),
    ),
    st.builds(lambda content: {"role": "system", "content": content}, st.lists(text, max_size=1)),
)
tool = st.fixed_dictionaries(
    {"name": st.sampled_from(["run", "b"]), "input_schema": st.dictionaries(names, junk, max_size=2)}
)
settings_of_a_body = st.fixed_dictionaries(
    {"model": st.just("m"), "messages": st.lists(turns, min_size=1, max_size=5)},
    optional={
        "max_tokens": st.sampled_from([0, 100, 2000, 40000]),
        "system": st.just("s") | st.lists(text, max_size=2),
        "tools": st.lists(tool, max_size=2),
        "tool_choice": st.sampled_from([{"type": "any"}, {"type": "tool", "name": "run"}, {"type": "none"}]),
        "thinking": st.sampled_from(
            [{"type": "enabled", "budget_tokens": 3000}, {"type": "adaptive"}, {"type": "disabled"}, {"type": "enabled"}]
        ),
        "output_config": st.sampled_from(
            [{"effort": "low"}, {"format": {"type": "json_schema", "schema": {"properties": {"a": {"type": "string"}}}}}]
        ),
        "temperature": st.sampled_from([0, 1, 0.5]),
        "top_p": st.sampled_from([0.5, 1]),
    },
)  # fmt: skip
all_facts = st.builds(
    Facts,
    thinking=st.sampled_from(["budget", "adaptive", False, None]),
    max_output_tokens=st.sampled_from([None, 3000]),
    max_thinking_budget=st.sampled_from([None, 2000]),
    assistant_prefill=st.booleans(),
    mid_conversation_system=st.sampled_from([None, False]),
    exclusive_sampling=st.booleans(),
    structured_output=st.booleans(),
    signing_upstream=st.sampled_from([None, False]),
    betas=st.sampled_from([None, []]),
)


@given(st.dictionaries(st.sampled_from([*wire.SAMPLING, "model", "messages", "tools", "thinking", "system"]), junk))
@settings(max_examples=300, deadline=None)
def test_odd_bodies_are_refused_or_read(body: dict[str, Any]) -> None:
    try:
        asked = parse_request(body)
    except InvalidRequest as refused:
        named = refused.error.param
    else:
        adapt_request(body, asked, Facts(betas=[], thinking="budget"))
        named = asked.model
    assert named


@given(settings_of_a_body, all_facts)
@settings(max_examples=300, deadline=None)
def test_what_crosses_keeps_the_rules(body: dict[str, Any], facts: Facts) -> None:
    crossing, _ = cross(parse_request(body), DIALECT, facts)
    made = DIALECT.render_request(crossing, facts)
    sent = made.body
    keeps_the_settings(sent, facts)
    previous: list[str] = []
    for number, message in enumerate(sent["messages"]):
        assert message["role"] == ("user", "assistant")[number % 2]
        kinds = [block["type"] for block in message["content"]]
        assert kinds
        assert all(block["text"].strip() for block in message["content"] if block["type"] == "text")
        answered = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        assert answered == previous
        assert kinds[: len(answered)] == ["tool_result"] * len(answered)
        previous = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        assert all(re.fullmatch(wire.CALL_ID_PATTERN, id) for id in previous)
        if message["role"] == "assistant":
            assert kinds[-1] not in ("thinking", "redacted_thinking")
            assert "image" not in kinds
    assert not previous
    assert SEALED not in json.dumps(sent)


def keeps_the_settings(sent: dict[str, Any], facts: Facts) -> None:
    limit = sent["max_tokens"]
    assert facts.max_output_tokens is None or limit <= facts.max_output_tokens
    thinking = sent.get("thinking", {})
    if thinking.get("type") == "enabled":
        assert 1024 <= thinking["budget_tokens"] < limit
        assert facts.max_thinking_budget is None or thinking["budget_tokens"] <= facts.max_thinking_budget
        assert facts.thinking == "budget"
    if thinking.get("type") in ("enabled", "adaptive"):
        assert facts.thinking is not False
        assert sent.get("tool_choice", {}).get("type") not in ("any", "tool")
        assert sent.get("temperature", 1) == 1
    if facts.exclusive_sampling:
        assert not ("temperature" in sent and "top_p" in sent)
    if not facts.structured_output:
        assert "format" not in sent.get("output_config", {})
    for tool in sent.get("tools", ()):
        assert tool["input_schema"]["type"] == "object"
        assert not {"anyOf", "oneOf", "allOf"} & tool["input_schema"].keys()


@given(settings_of_a_body, all_facts)
@settings(max_examples=300, deadline=None)
def test_a_clients_own_body_is_copied_and_fits(body: dict[str, Any], facts: Facts) -> None:
    before = json.dumps(body)
    asked = msgspec.structs.replace(parse_request(body), model="up")
    sent = adapt_request(body, asked, facts).body
    counted = adapt_count(body, asked, facts).body
    assert json.dumps(body) == before
    assert (sent["model"], counted["model"]) == ("up", "up")
    assert not {"max_tokens", "stream"} & counted.keys()
    assert all(message["role"] != "system" for message in sent["messages"])
    assert SEALED not in json.dumps(sent)
    assert facts.max_output_tokens is None or sent["max_tokens"] <= facts.max_output_tokens
    thinking = sent.get("thinking", {})
    if isinstance(thinking.get("budget_tokens"), int):
        assert 1024 <= thinking["budget_tokens"] < sent["max_tokens"]
