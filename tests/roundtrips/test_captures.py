"""What real agents send reaches every upstream in a form that it takes, and what it loses on the way is known."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.dialects.contract import Facts
from dragoman.testing import validate
from tests.asking import CLIENTS
from tests.roundtrips.captures import FOLDER, LOSSES, Capture, captures
from tests.roundtrips.flat import Entry, flat

CAPTURES = captures()

pytestmark = pytest.mark.skipif(not CAPTURES, reason=f"there are no captures in {FOLDER}: set DRAGOMAN_SHARED")

FACTS = [
    Facts(thinking="budget", gemini_thinking="budget", max_thinking_budget=8_000, max_output_tokens=16_000),
    Facts(thinking="budget", max_output_tokens=512, gemini_schema="openapi-subset", stream_usage=False),
    Facts(thinking=False, structured_output=False, assistant_prefill=False, exclusive_sampling=True, betas=[]),
    Facts(reasoning_model=True, stateless_upstream=True, mid_conversation_system=False),
]
"""Of upstreams that are no laxer than the strictest; models with budgets ask for no signatures."""

every_way = pytest.mark.parametrize("upstream", CLIENTS)
every_capture = pytest.mark.parametrize("capture", CAPTURES, ids=repr)


@every_way
@every_capture
def test_a_strict_upstream_takes_it(capture: Capture, upstream: str) -> None:
    made = capture.sent(upstream)
    if upstream != capture.dialect:
        assert validate(upstream, made.body, headers=made.headers) == []
        return
    headers = {**made.headers, **capture.headers}
    known = validate(upstream, capture.body, headers=headers)  # the client's own affair: nothing new comes to it
    assert set(validate(upstream, made.body, headers=headers)) <= set(known)


@pytest.mark.parametrize("facts", FACTS)
@every_way
@every_capture
def test_a_strict_upstream_takes_it_whatever_else_is_known_of_it(capture: Capture, upstream: str, facts: Facts) -> None:
    if upstream != capture.dialect:
        made = capture.sent(upstream, facts)
        found = validate(upstream, made.body, headers=made.headers)
        assert [fault for fault in found if facts.gemini_thinking == "level" or "must be signed" not in fault] == []


@every_way
@every_capture
def test_its_losses_are_known(capture: Capture, upstream: str) -> None:
    """``python -m tests.roundtrips.captures`` writes them anew."""
    known = json.loads(LOSSES.read_text("utf-8"))
    assert capture.losses(upstream) == known[f"{capture} to {upstream}"]


def test_no_line_is_left_over() -> None:
    known = json.loads(LOSSES.read_text("utf-8"))
    assert list(known) == [f"{capture} to {upstream}" for capture in CAPTURES for upstream in CLIENTS]


@every_way
@every_capture
def test_everything_said_arrives(capture: Capture, upstream: str) -> None:
    """Nothing that was said, called or answered is lost without a word."""
    there = flat(upstream, capture.sent(upstream).body)
    texts = "\n".join(entry.value for entry in there)
    calls = [_arguments(entry) for entry in there if entry.kind == "call"]
    for entry in flat(capture.dialect, capture.body):
        if entry.kind == "call":
            assert _arguments(entry) in calls
        elif entry.kind != "other" and entry.role in ("user", "assistant"):
            assert entry.value.strip() in texts


def _arguments(call: Entry) -> Any:
    try:
        value = json.loads(call.value)
    except ValueError:
        return call.value
    return value["input"] if value.keys() == {"input"} else value  # a freeform tool's where there are none
