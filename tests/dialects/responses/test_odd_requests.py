"""Any value in any place of a client's body: it is served, or refused with a 400 that names a field."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from dragoman.dialects.contract import Facts
from dragoman.exceptions import InvalidRequest

from .driving import DIALECT, JSON

BODY: JSON = {
    "model": "m",
    "instructions": "Be brief.",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_image", "file_id": "f"}]},
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "a"}],
            "encrypted_content": "x",
        },
        {"type": "function_call", "call_id": "c", "name": "run", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "a"}]},
        {"type": "custom_tool_call", "call_id": "d", "name": "patch", "input": "x"},
        {"type": "mcp_call", "id": "mcp_1"},
        {"role": "developer", "content": [{"type": "input_text", "text": "a"}]},
        {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "more"}]},
        {"role": "assistant", "id": "msg_1", "content": "a"},
    ],
    "tools": [
        {"type": "function", "name": "run", "parameters": {}},
        {"type": "namespace", "name": "n", "tools": [{"type": "custom", "name": "patch"}]},
    ],
    "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "run"}]},
    "text": {"format": {"type": "json_schema", "name": "x", "schema": {}}},
    "reasoning": {"effort": "low"},
    "temperature": 1,
    "max_output_tokens": 5,
    "metadata": {"a": "b"},
    "include": ["x"],
}
ODD: list[Any] = [None, 0, -1, 1.5, float("inf"), "", "x", [], {}, [[]], [None], {"type": None}, True]


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if place:
        yield place
    if isinstance(value, dict | list):
        for step in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[step], (*place, step))


PLAIN = Facts(
    structured_output=False,
    mid_conversation_system=False,
    assistant_prefill=False,
    signing_upstream=False,
    exclusive_sampling=True,
    max_output_tokens=3,
)


@pytest.mark.parametrize("facts", [Facts(), PLAIN, Facts(stateless_upstream=True, reasoning_model=True)])
@pytest.mark.parametrize("place", list(places(BODY)), ids=lambda place: ".".join(map(str, place)))
def test_odd_values_are_served_or_refused_by_name(place: tuple[Any, ...], facts: Facts) -> None:
    for odd in ODD:
        body: Any = copy.deepcopy(BODY)
        target = body
        for step in place[:-1]:
            target = target[step]
        target[place[-1]] = odd
        refused, sent = None, {}
        try:
            request = DIALECT.parse_request(body, None, None)
            sent = DIALECT.adapt_request(body, request, facts).body
        except InvalidRequest as refusal:
            refused = refusal.error
        assert (refused is None) == ("model" in sent), odd
        assert refused is None or (refused.param and refused.status == 400), odd
