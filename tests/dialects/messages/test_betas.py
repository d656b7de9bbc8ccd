"""Beta headers and the members that belong to them, for upstreams that serve few or none."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dragoman.dialects.contract import Facts
from dragoman.dialects.messages import DIALECT
from dragoman.dialects.messages.request import adapt_request, parse_request

SENT = "claude-code-20250219, context-management-2025-06-27,effort-2025-11-24"


@pytest.mark.parametrize(
    ("betas", "expected"),
    [
        (None, SENT),
        ("passthrough", SENT),
        (["effort-2025-11-24", "claude-code-20250219", "other"], "claude-code-20250219,effort-2025-11-24"),
        (["other"], None),
        ([], None),
    ],
)
def test_the_header(betas: Any, expected: str | None) -> None:
    headers = {"anthropic-version": "2023-06-01", "anthropic-beta": SENT, "x-app": "cli"}
    kept = DIALECT.forwarded(headers, Facts(betas=betas))
    assert kept.pop("anthropic-version") == "2023-06-01"
    assert kept == ({"anthropic-beta": expected} if expected else {})
    assert DIALECT.forwarded({"x-app": "cli"}, Facts(betas=betas)) == {}


BETA: dict[str, Any] = {
    "context_management": {"edits": []},
    "future_member": 1,
    "thinking": {"type": "adaptive", "display": "updates", "block_binding": {}},
    "output_config": {"effort": "low", "task_budget": {"total": 5}},
    "tools": [
        {"name": "a", "input_schema": {"type": "object"}, "defer_loading": True, "eager_input_streaming": True},
        {"type": "bash_20250124", "name": "bash", "max_characters": 5},
    ],
}
PLAIN: dict[str, Any] = {
    "thinking": {"type": "adaptive"},
    "output_config": {"effort": "low"},
    "tools": [{"name": "a", "input_schema": {"type": "object"}}, BETA["tools"][1]],
}
LOST = [
    "context_management",
    "future_member",
    "thinking.display",
    "thinking.block_binding",
    "output_config.task_budget",
    "tools[0].defer_loading",
    "tools[0].eager_input_streaming",
]


@pytest.mark.parametrize(
    ("betas", "kept"),
    [
        ([], set()),
        (["context-management-2025-06-27"], {"context_management"}),
        (["compact-2026-01-12", "future-member-2027-01-01"], {"context_management", "future_member"}),
        (["thinking-display-updates-2026-08-18"], {"thinking.display"}),
        (["advanced-tool-use-2025-11-20"], {"tools[0].defer_loading"}),
        (["task-budgets-2026-03-13"], {"output_config.task_budget"}),
    ],
)
def test_members_go_with_their_beta(betas: list[str], kept: set[str]) -> None:
    body = {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": "Hi"}], **BETA}
    made = adapt_request(body, parse_request(body), Facts(betas=betas))
    assert [loss.path for loss in made.losses] == [path for path in LOST if path not in kept]
    for path in LOST:
        holder: Any = made.body
        for step in path.replace("[0]", ".0").split(".")[:-1]:
            holder = holder[int(step) if step.isdigit() else step]
        assert (path.rpartition(".")[2] in holder) is (path in kept)


def test_stable_members_stay() -> None:
    body = {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": "Hi"}], **PLAIN}
    made = adapt_request(body, msgspec.structs.replace(parse_request(body), model="m"), Facts(betas=[]))
    assert made.body == body
    assert made.losses == ()


@pytest.mark.parametrize("betas", [None, "passthrough"])
def test_everything_passes_where_betas_do(betas: Any) -> None:
    body = {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": "Hi"}], **BETA}
    assert adapt_request(body, parse_request(body), Facts(betas=betas)).body == body
