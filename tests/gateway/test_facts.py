"""What is known of a model at an upstream: presets, configuration, patterns."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dragoman import dialects
from dragoman.dialects.contract import Facts
from dragoman.gateway.config import load
from dragoman.gateway.connect import connect
from dragoman.gateway.facts import ModelFacts, Preset, presets


@pytest.mark.parametrize("preset", presets(), ids=lambda preset: f"{preset.dialect} {preset.host} {preset.models[0]}")
def test_a_preset_is_sound(preset: Preset) -> None:
    assert preset.dialect in dialects.names()
    assert preset.facts
    assert isinstance(msgspec.convert(preset.facts, Facts), Facts)
    assert preset.source
    assert preset.date.year >= 2026
    assert preset.host != "*" or preset.models != ("*",)
    assert all(pattern == pattern.lower() for pattern in (preset.host, *preset.models))


CASES: list[tuple[str, str, str, dict[str, Any]]] = [
    ("chat", "api.openai.com", "gpt-4o", {}),
    ("chat", "api.openai.com", "o3-mini", {"reasoning_model": True}),
    ("chat", "openrouter.ai", "openai/gpt-5-mini", {"reasoning_model": True}),
    ("chat", "openrouter.ai", "openai/gpt-oss-120b", {}),
    ("chat", "api.openai.com", "GPT-5-Chat-latest", {"reasoning_model": False}),
    ("chat", "api.mistral.ai", "mistral-large-latest", {"stream_usage": False}),
    ("chat", "api.deepseek.com", "deepseek-reasoner", {"wants_reasoning": True, "structured_output": False}),
    ("chat", "api.groq.com", "llama-3.3-70b-versatile", {"structured_output": False}),
    ("chat", "api.groq.com", "openai/gpt-oss-120b", {"structured_output": True}),
    ("chat", "127.0.0.1", "kimi-k2-thinking", {"wants_reasoning": True}),
    ("responses", "openrouter.ai", "openai/gpt-4o", {"stateless_upstream": True}),
    ("responses", "api.openai.com", "gpt-4o", {"stateless_upstream": False}),
    ("messages", "api.anthropic.com", "claude-3-5-sonnet-20241022", {"thinking": False, "max_output_tokens": 8192}),
    ("messages", "api.anthropic.com", "claude-3-7-sonnet-latest", {"thinking": "budget", "structured_output": False}),
    ("messages", "api.anthropic.com", "claude-opus-4-20250514", {"thinking": "budget", "max_output_tokens": 32000}),
    ("messages", "x", "us.anthropic.claude-haiku-4-5-20251001-v1:0", {"thinking": "budget", "structured_output": True}),
    ("messages", "x", "claude-sonnet-4-6", {"thinking": None, "assistant_prefill": False}),
    ("messages", "x", "anthropic/claude-opus-4.8", {"thinking": "adaptive", "exclusive_sampling": True}),
    ("messages", "x", "claude-sonnet-5", {"thinking": "adaptive", "max_output_tokens": 128000}),
    ("messages", "api.moonshot.ai", "kimi-k2.5", {"signing_upstream": False}),
    ("messages", "127.0.0.1", "qwen3", {}),
    ("gemini", "x", "gemini-2.5-flash", {"gemini_thinking": "budget", "max_thinking_budget": 24576}),
    ("gemini", "x", "gemini-2.5-pro", {"gemini_thinking": "budget", "max_thinking_budget": 32768}),
    ("gemini", "x", "gemini-3-pro-preview", {"gemini_thinking": "level", "max_thinking_budget": None}),
]


@pytest.mark.parametrize(("dialect", "host", "model", "wanted"), CASES)
def test_well_known_models(dialect: str, host: str, model: str, wanted: dict[str, Any]) -> None:
    found = ModelFacts(dialect, host, known=presets()).of(model)
    assert {name: getattr(found, name) for name in wanted} == wanted
    if not wanted:
        assert found == Facts()


def test_the_configuration_wins_and_a_model_over_its_upstream() -> None:
    known = (
        Preset(
            dialect="chat",
            models=("gpt-5*",),
            facts={"reasoning_model": True, "max_output_tokens": 9},
            source="s",
            date=presets()[0].date,
        ),
    )
    facts = ModelFacts(
        "chat",
        "x",
        {"reasoning_model": False, "stream_usage": False},
        {"gpt-5-m*": {"stream_usage": True}, "gpt*": {"stream_usage": False, "wants_reasoning": True}},
        known,
    )
    mini, other = facts.of("gpt-5-mini"), facts.of("gpt-4o")
    assert (mini.reasoning_model, mini.max_output_tokens, mini.stream_usage, mini.wants_reasoning) == (
        False,
        9,
        True,
        True,
    )
    assert (other.max_output_tokens, other.stream_usage) == (None, False)


def test_services_know_their_facts_and_secrets() -> None:
    text = """
    strict: true
    upstreams:
      claude:
        dialect: messages
        base_url: https://api.anthropic.com
        api_key: sk-ant-secret
        headers: {x-team: a-blue-team, x-auth: "Token abcdefghij"}
        accepts: {assistant_prefill: true}
        models: {"claude-*-4-6": {accepts: {max_output_tokens: 5}}}
      local: {dialect: chat, base_url: "http://127.0.0.1:1", api_key: none, strict: false}
    """
    services = connect(load(text, {}))
    found = services["claude"].facts.of("claude-opus-4-6")
    assert (found.assistant_prefill, found.max_output_tokens, found.exclusive_sampling) == (True, 5, True)
    assert [secret.reveal() for secret in services["claude"].secrets] == ["sk-ant-secret", "abcdefghij"]
    assert services["local"].secrets == ()
    assert (services["claude"].strict, services["local"].strict) == (True, False)
