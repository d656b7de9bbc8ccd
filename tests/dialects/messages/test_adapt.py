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
    assert adapted.headers == {"anthropic-version": "2023-06-01"}  # it samples
    assert adapted.losses == ()
    assert body == before


def test_blank_text_of_the_model_goes() -> None:
    said, call = {"type": "text", "text": "a "}, {"type": "tool_use", "id": "a", "name": "run", "input": {}}
    assert history({"type": "text", "text": "\n\n"}, said, call) == [said, call]


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
    (left,) = history(block)
    assert left["type"] == "text"
    assert left["text"].strip()


@pytest.mark.parametrize(
    ("block", "sent", "lost"),
    [
        (
            {"type": "thinking", "thinking": "t", "signature": ""},
            {"type": "thinking", "thinking": "t", "signature": ""},
            [],
        ),
        ({"type": "thinking", "thinking": "t"}, {"type": "thinking", "thinking": "t"}, []),
        (
            {"type": "thinking", "thinking": "t", "signature": SEALED},
            {"type": "thinking", "thinking": "t", "signature": ""},
            ["messages[0].content[0].signature"],
        ),
        ({"type": "redacted_thinking", "data": SEALED}, None, ["messages[0].content[0]"]),
        ({"type": "thinking", "thinking": "", "signature": SEALED}, None, ["messages[0].content[0]"]),
    ],
)
def test_a_server_that_asks_for_no_proof_gets_the_thinking(block: Any, sent: Any, lost: list[str]) -> None:
    said = {"type": "text", "text": "a"}
    turns = [{"role": "assistant", "content": [block, said]}, {"role": "user", "content": "b"}]
    made = adapt({"model": "m", "max_tokens": 10, "messages": turns}, Facts(signing_upstream=False))
    assert made.body["messages"][0]["content"] == ([sent, said] if sent else [said])
    assert [loss.path for loss in made.losses] == lost


def test_thinking_is_off_where_the_turn_that_goes_on_lost_its_own() -> None:
    turns = [
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "t", "signature": SEALED},
                {"type": "tool_use", "id": "a", "name": "run", "input": {}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]},
    ]
    thinking = {"type": "enabled", "budget_tokens": 2000}
    made = adapt({"model": "m", "max_tokens": 5000, "messages": turns, "thinking": thinking})
    assert "thinking" not in made.body
    assert [loss.path for loss in made.losses] == ["messages[1].content[0]", "thinking"]


def said(*roles_and_texts: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"role": role, "content": text} for role, text in roles_and_texts]


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


MARKED = text("<system>\nPlan mode.\n</system>")
CALL = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "run", "input": {}}]}
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": "x"}


@pytest.mark.parametrize(
    ("turns", "sent"),
    [
        (
            said(("user", "a"), ("system", "Plan mode."), ("assistant", "b"), ("user", "c")),
            [{"role": "user", "content": [text("a"), MARKED]}, *said(("assistant", "b"), ("user", "c"))],
        ),
        (said(("system", "Plan mode."), ("user", "a")), [{"role": "user", "content": [MARKED, text("a")]}]),
        (
            [
                *said(("user", "a")),
                CALL,
                *said(("system", "Plan mode.")),
                {"role": "user", "content": [RESULT, text("b")]},
            ],
            [*said(("user", "a")), CALL, {"role": "user", "content": [RESULT, MARKED, text("b")]}],
        ),
        (
            said(("user", "a"), ("assistant", "b"), ("system", "Plan mode."), ("assistant", "c"), ("user", "d")),
            [
                *said(("user", "a"), ("assistant", "b")),
                {"role": "user", "content": [MARKED]},
                *said(("assistant", "c"), ("user", "d")),
            ],
        ),
        (
            said(("user", "a"), ("assistant", "b"), ("system", "Plan mode.")),
            [*said(("user", "a"), ("assistant", "b")), {"role": "user", "content": [MARKED]}],
        ),
    ],
)
def test_system_turns_are_marked_text_where_the_upstream_takes_none(turns: Any, sent: Any) -> None:
    body = {"model": "m", "max_tokens": 10, "messages": turns}
    made = adapt(body)
    assert made.body["messages"] == sent
    place = [turn["role"] for turn in turns].index("system")
    assert [loss.path for loss in made.losses] == [f"messages[{place}]"]
    assert adapt(body, Facts(mid_conversation_system=True)).body["messages"] == turns


def test_a_system_turn_that_is_over_goes() -> None:
    over = {"role": "system", "content": "Once.", "clear_at": "next_user_message"}
    turns = [*said(("user", "a")), over, *said(("assistant", "b"), ("user", "c"))]
    made = adapt({"model": "m", "max_tokens": 10, "messages": turns})
    assert made.body["messages"] == [{"role": "user", "content": [text("a")]}, *said(("assistant", "b"), ("user", "c"))]
    assert made.losses == ()


@pytest.mark.parametrize(
    ("last", "sent"),
    [
        ("The winner is \n", "The winner is"),
        ([text("a "), text("b ")], [text("a "), text("b")]),
        ("x", "x"),
        (" ", " "),
    ],
)
def test_the_end_of_a_prefill_is_trimmed(last: Any, sent: Any) -> None:
    turns = [*said(("user", "a")), {"role": "assistant", "content": last}]
    body = {"model": "m", "max_tokens": 10, "messages": turns}
    assert adapt(body).body["messages"][-1] == {"role": "assistant", "content": sent}
    made = adapt(body, Facts(assistant_prefill=False))
    assert made.body["messages"][-2:] == [turns[-1], {"role": "user", "content": "Continue."}]
    assert [loss.path for loss in made.losses] == ["messages"]


def test_a_paused_turn_is_no_prefill() -> None:
    paused = {"role": "assistant", "content": [{"type": "server_tool_use", "id": "s", "name": "x", "input": {}}]}
    turns = [*said(("user", "a")), paused]
    made = adapt({"model": "m", "max_tokens": 10, "messages": turns}, Facts(assistant_prefill=False))
    assert made.body["messages"] == turns


def test_the_loss_is_told() -> None:
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": ""}]},
    ]
    assert [loss.path for loss in adapt({"model": "m", "max_tokens": 10, "messages": messages}).losses] == [
        "messages[1].content[0]"
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
        (1000, None),
    ],
)
def test_the_upstreams_limit_caps_the_budget_too(limit: int, thinking: Any) -> None:
    body = {
        "model": "m",
        "max_tokens": 16000,
        "messages": [{"role": "user", "content": "Hi"}],
        "thinking": {"type": "enabled", "budget_tokens": 4000},
    }
    adapted = adapt(body, Facts(max_output_tokens=limit)).body
    assert (adapted["max_tokens"], adapted.get("thinking")) == (limit, thinking)
