"""Which target a model name means: design/product.md, configuration."""

from __future__ import annotations

import pytest

from dragoman.gateway.routing import Reason, Router, Target, target_mistake

MODELS = {
    "fast": ["local/qwen3-coder", "openai/gpt-5-mini"],
    "local/pinned": ["openai/gpt-5"],
    "claude-*": ["claude/claude-*", "openai/gpt-5"],
    "claude-haiku-*": ["local/small-*"],
    "*-latest": ["openai/*"],
}


@pytest.fixture
def router() -> Router:
    return Router({"openai": (), "claude": (), "local": ("small",)}, MODELS)


@pytest.mark.parametrize(
    ("name", "targets"),
    [
        ("fast", ["local/qwen3-coder", "openai/gpt-5-mini"]),
        ("local/pinned", ["openai/gpt-5"]),
        ("local/other", ["local/other"]),
        ("local/org/model:8b", ["local/org/model:8b"]),
        ("claude-sonnet-4", ["claude/claude-sonnet-4", "openai/gpt-5"]),
        ("claude-haiku-4", ["local/small-4"]),
        ("claude-", ["claude/claude-", "openai/gpt-5"]),
        ("gpt-latest", ["openai/gpt"]),
        ("unknown", []),
        ("local/", []),
        ("nowhere/model", []),
        ("", []),
    ],
)
def test_targets(router: Router, name: str, targets: list[str]) -> None:
    assert [str(target) for target in router.targets(name)] == targets


def test_no_target_is_tried_twice() -> None:
    router = Router({"a": ()}, {"claude-*": ["a/claude-*", "a/claude-best"], "twice": ["a/x", "a/y", "a/x"]})
    assert router.targets("claude-best") == (Target("a", "claude-best"),)
    assert router.targets("twice") == (Target("a", "x"), Target("a", "y"))


def test_a_text_is_matched_once_by_both_ends_of_a_pattern() -> None:
    router = Router({"a": (), "b": ()}, {"ab*ba": ["a/*"]})
    assert router.targets("aba") == ()
    assert router.targets("abba") == (Target("a", ""),)


@pytest.mark.parametrize("name", ["gpt-5", "org/model"])
def test_a_bare_name_goes_to_the_only_upstream(name: str) -> None:
    assert Router({"local": ()}, {}).targets(name) == (Target("local", name),)


def test_no_name_goes_nowhere() -> None:
    assert Router({"local": ()}, {}).targets("") == ()
    assert Router({}, {}).targets("gpt-5") == ()


def test_patterns_are_not_listed(router: Router) -> None:
    assert router.names == ("fast", "local/pinned", "local/small")


@pytest.mark.parametrize(
    ("name", "known"),
    [("fast", True), ("local/small", True), ("local/other", False), ("claude/any", True), ("unknown", False)],
)
def test_what_may_be_there(router: Router, name: str, known: bool) -> None:
    assert router.knows(name) is known


@pytest.mark.parametrize(
    ("name", "target", "words"),
    [
        ("fast", "local", "expected UPSTREAM/MODEL"),
        ("fast", "local/", "expected UPSTREAM/MODEL"),
        ("fast", "lokal/m", "did you mean local?"),
        ("fast", "local/*", "needs one in the name"),
        ("a-*-*", "local/m", "one *"),
        ("a-*", "local/*-*", "one *"),
    ],
)
def test_mistakes(name: str, target: str, words: str) -> None:
    assert words in (target_mistake(name, target, ["local", "openai"]) or "")


def test_no_mistake() -> None:
    assert target_mistake("a-*", "local/b-*", ["local"]) is None


@pytest.mark.parametrize(
    ("name", "reason", "entry"),
    [
        ("fast", Reason.NAME, "fast"),
        ("local/pinned", Reason.NAME, "local/pinned"),
        ("claude-haiku-4", Reason.PATTERN, "claude-haiku-*"),
        ("claude-sonnet-4", Reason.PATTERN, "claude-*"),
        ("local/other", Reason.DIRECT, "local"),
    ],
)
def test_why(router: Router, name: str, reason: Reason, entry: str) -> None:
    found = router.find(name)
    assert found
    assert (found.reason, found.entry) == (reason, entry)


def test_why_at_the_only_upstream() -> None:
    found = Router({"local": ()}, {}).find("any")
    assert found
    assert (found.reason, found.entry) == (Reason.ONLY, "local")
