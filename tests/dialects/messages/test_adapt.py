"""Within the dialect: the client's own body, changed as little as can be."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from dragoman.canonical.opaque import Opaque, seal
from dragoman.dialects.contract import Facts, UpstreamRequest
from dragoman.dialects.messages.request import adapt_request, parse_request

SEALED = seal(Opaque("responses", "encrypted", "ENC"))


def adapt(body: dict[str, Any], facts: Facts | None = None) -> UpstreamRequest:
    request = msgspec.structs.replace(parse_request(body), model="upstream-model")
    return adapt_request(body, request, facts or Facts())


def history(*blocks: dict[str, Any]) -> list[Any]:
    """What is left of an assistant turn with these blocks."""
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": list(blocks)},
        {"role": "user", "content": "Go on"},
    ]
    adapted: list[Any] = adapt({"model": "m", "max_tokens": 10, "messages": messages}).body["messages"]
    assert adapted[0] == messages[0]
    assert adapted[-1] == messages[-1]
    return adapted[1]["content"] if len(adapted) == 3 else []


def test_everything_else_passes() -> None:
    body = {
        "model": "m",
        "max_tokens": 100,
        "stream": True,
        "messages": [{"role": "user", "content": [{"type": "future_block", "a": 1}, {"type": "text", "text": " "}]}],
        "future_member": {"b": 2},
        "tools": [{"name": "run", "input_schema": {"type": "object"}, "eager_input_streaming": True}],
        "temperature": 1.5,
    }
    before = json.loads(json.dumps(body))
    adapted = adapt(body)
    assert adapted.body == {**before, "model": "upstream-model"}
    assert adapted.headers == {"anthropic-version": "2023-06-01"}
    assert adapted.losses == ()
    assert body == before


def test_stream_is_the_clients() -> None:
    body = {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": "Hi"}], "stream": False}
    assert "stream" not in adapt(body).body


def test_signed_thinking_stays_as_it_is() -> None:
    blocks = (
        {"type": "thinking", "thinking": "Plan. ", "signature": "U0lH"},
        {"type": "redacted_thinking", "data": "UkVE"},
    )
    assert history(*blocks) == list(blocks)


def test_a_cache_marker_on_thinking_goes() -> None:
    block = {"type": "thinking", "thinking": "t", "signature": "U0lH"}
    marker = {"cache_control": {"type": "ephemeral"}}
    said = {"type": "text", "text": "a", **marker}
    assert history({**block, **marker}, said) == [block, said]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "thinking", "thinking": "t", "signature": ""},
        {"type": "thinking", "thinking": "t"},
        {"type": "thinking", "thinking": "t", "signature": SEALED},
        {"type": "redacted_thinking", "data": SEALED},
    ],
)
def test_thinking_that_the_upstream_did_not_sign_goes(block: dict[str, Any]) -> None:
    said = {"type": "text", "text": "a"}
    assert history(block, said) == [said]
    assert history(block) == []


def test_the_loss_is_told() -> None:
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": ""}]},
    ]
    assert [loss.path for loss in adapt({"model": "m", "max_tokens": 10, "messages": messages}).losses] == [
        "messages.1.content.0"
    ]


def test_citations_that_this_gateway_made_go() -> None:
    made = {"type": "web_search_result_location", "url": "https://a.example", "encrypted_index": ""}
    real = {**made, "encrypted_index": "E"}
    said = {"type": "text", "text": "a"}
    assert history({**said, "citations": [made]}) == [said]
    assert history({**said, "citations": [made, real]}) == [{**said, "citations": [real]}]
    assert history({**said, "citations": [real]}) == [{**said, "citations": [real]}]


@pytest.mark.parametrize(
    ("limit", "thinking"),
    [
        (8000, {"type": "enabled", "budget_tokens": 4000}),
        (3000, {"type": "enabled", "budget_tokens": 2999}),
        (1000, {"type": "disabled"}),
    ],
)
def test_the_upstreams_limit_caps_the_budget_too(limit: int, thinking: dict[str, Any]) -> None:
    body = {
        "model": "m",
        "max_tokens": 16000,
        "messages": [{"role": "user", "content": "Hi"}],
        "thinking": {"type": "enabled", "budget_tokens": 4000},
    }
    adapted = adapt(body, Facts(max_output_tokens=limit)).body
    assert (adapted["max_tokens"], adapted["thinking"]) == (limit, thinking)
