"""Proofs of reasoning go to whatever client there is, and with the client's next turn back to their maker."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman import dialects, jsontext
from dragoman.canonical.opaque import Opaque, seal
from dragoman.dialects.contract import UpstreamRequest
from dragoman.memory import ReasoningMemory
from dragoman.testing import validate
from dragoman.translate import Exchange
from tests.asking import CLIENTS, ask
from tests.corpus.crossing import NOW, SEED, Answer, cross
from tests.fixtures import Fixture, fixtures

JSON = dict[str, Any]

FORGOTTEN = {
    # a responses client has no place for the signature of a text, and what is remembered belongs to calls
    ("gemini/signed-text-is-visible-text", "responses"),
}
"""Known limits: no turn fails of them, but the model has to do without its earlier reasoning."""
PROVEN = [
    pytest.param(fixture, client, id=f"{fixture}-to-{client}")
    for upstream in CLIENTS
    for fixture in fixtures(upstream)
    for client in CLIENTS
    if fixture.expected.opaque
]
THANKS = "Thanks, and now?"


@pytest.mark.parametrize(("fixture", "client"), PROVEN)
def test_the_maker_gets_its_proofs_again(fixture: Fixture, client: str) -> None:
    memory = ReasoningMemory()
    answer = cross(fixture, client, stream=False, memory=memory)
    sent = _next_request(fixture, client, answer, fixture.dialect, memory)
    texts = list(_strings(sent.body))
    missing = [proof for proof in fixture.expected.opaque if proof not in texts]
    assert missing == (list(fixture.expected.opaque) if (str(fixture), client) in FORGOTTEN else [])
    assert validate(fixture.dialect, sent.body) == []


@pytest.mark.parametrize(("fixture", "client"), PROVEN)
def test_nobody_else_takes_them_for_proofs(fixture: Fixture, client: str) -> None:
    memory = ReasoningMemory()
    answer = cross(fixture, client, stream=False, memory=memory)
    strangers = set(CLIENTS) - {client, fixture.expected.maker or fixture.dialect, "chat"}  # chat tells whose they are
    for stranger in sorted(strangers):
        sent = _next_request(fixture, client, answer, stranger, memory)
        found = [text for text in _strings(sent.body) for proof in fixture.expected.opaque if proof in text]
        sealed = [text for text in _strings(sent.body) if text.startswith(seal(Opaque("", "signature", ""))[:12])]
        assert found + sealed == [], stranger
        assert validate(stranger, sent.body) == [], stranger


def _next_request(
    fixture: Fixture, client: str, answer: Answer, upstream: str, memory: ReasoningMemory
) -> UpstreamRequest:
    """What the upstream is asked after the client has taken the answer into its history."""
    assert answer.status == 200
    asked = ask(client, fixture.slug, stream=False, history=kept(client, json.loads(answer.body)))
    exchange = Exchange(dialects.get(client), dialects.get(upstream), seed=SEED + "2", now=NOW, memory=memory)
    return exchange.request(asked.body, fixture.slug, path_model=asked.model, path_stream=asked.stream)


def kept(client: str, answer: JSON) -> list[JSON]:
    """The turn as a client keeps it, with a result for each call, or else a further word of the user."""
    made = _KEPT[client](answer)
    return json.loads(jsontext.render(made))  # type: ignore[no-any-return]


def _kept_chat(answer: JSON) -> list[JSON]:
    message = answer["choices"][0]["message"]
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": "18 C"} for call in message.get("tool_calls") or []
    ]
    return [message, *(results or [{"role": "user", "content": THANKS}])]


def _kept_responses(answer: JSON) -> list[JSON]:
    calls = [item["call_id"] for item in answer["output"] if item["type"] == "function_call"]
    results = [{"type": "function_call_output", "call_id": id, "output": "18 C"} for id in calls]
    return [*answer["output"], *(results or [{"role": "user", "content": THANKS}])]


def _kept_messages(answer: JSON) -> list[JSON]:
    calls = [block["id"] for block in answer["content"] if block["type"] == "tool_use"]
    results = [{"type": "tool_result", "tool_use_id": id, "content": "18 C"} for id in calls]
    turn = {"role": "assistant", "content": answer["content"]}
    return [turn, {"role": "user", "content": results or THANKS}]


def _kept_gemini(answer: JSON) -> list[JSON]:
    content = answer["candidates"][0]["content"]
    calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
    results: list[JSON] = [
        {"functionResponse": {"id": call.get("id"), "name": call["name"], "response": {"output": "18 C"}}}
        for call in calls
    ]
    return [content, {"role": "user", "parts": results or [{"text": THANKS}]}]


_KEPT = {"chat": _kept_chat, "responses": _kept_responses, "messages": _kept_messages, "gemini": _kept_gemini}


def _strings(value: Any) -> list[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.values() for text in _strings(item)]
    return [text for item in value for text in _strings(item)] if isinstance(value, list) else []
