"""The agents that can be launched: what each needs to have its traffic on the gateway. One entry each."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

KEY = "DRAGOMAN_API_KEY"
"""The variable with the client key, for agents that take the name of one."""
_PROVIDER = "dragoman"
_PI_PROVIDER = Path(__file__).with_name("pi_provider.js")


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where an agent is sent: the gateway's origin, a key for it, and the dialect in which it shall ask.

    ``model`` is the name that it shall use (``None``: its own choice), ``models`` are all that are listed.
    """

    url: str
    key: str
    dialect: str
    model: str | None
    models: tuple[str, ...]


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent is given: variables, variables that must go, arguments before those of the user."""

    variables: dict[str, str]
    without: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()


class Home(msgspec.Struct, frozen=True, kw_only=True):
    """A home of its own for an agent that reads what it needs from a file only: ``variable`` names it.

    ``settings`` in ``folder`` are the user's with ``forced`` over them; of the user's folder, ``shared`` is linked.
    """

    variable: str
    folder: str
    settings: str
    forced: dict[str, Any]
    shared: tuple[str, ...]


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent. ``dialects``: those it can speak to the gateway, the usual one first, and its own word for each.

    ``patterns``: the names that it asks for by itself, whatever model it was told; ``usual``: the one that
    it asks for if it was told none (``None``: it has to be told).
    """

    title: str
    program: str
    install: str
    setup: Callable[[Place, str], Setup]
    dialects: Mapping[str, str]
    patterns: tuple[str, ...] = ()
    usual: str | None = None
    home: Home | None = None


_CLAUDE_FAMILIES = ("FABLE", "HAIKU", "OPUS", "SONNET")
"""Claude Code asks for a model by its family, for what is small and for sub-tasks."""


def _claude(place: Place, _: str) -> Setup:
    named = ["MODEL", "SMALL_FAST_MODEL", *(f"DEFAULT_{family}_MODEL" for family in _CLAUDE_FAMILIES)]
    told = {f"ANTHROPIC_{name}": place.model for name in named} if place.model else {}
    open_to_see = {"ANTHROPIC_BASE_URL": place.url, **told}
    return Setup(
        variables={**open_to_see, "ANTHROPIC_AUTH_TOKEN": place.key},
        without=(
            *("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"),
            *("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"),
        ),
        # The `env` of the user's settings.json would win over the environment, but not over this.
        arguments=("--settings", _json({"env": open_to_see})),
    )


def _codex(place: Place, _: str) -> Setup:
    provider = {"name": "Dragoman", "base_url": f"{place.url}/v1", "wire_api": "responses", "env_key": KEY}
    table = ", ".join(f"{name} = {_json(value)}" for name, value in provider.items())
    settings = [f"model_provider={_json(_PROVIDER)}", f"model_providers.{_PROVIDER}={{{table}}}"]
    settings += [f"model={_json(place.model)}", f"review_model={_json(place.model)}"] if place.model else []
    return Setup(variables={KEY: place.key}, arguments=tuple(part for one in settings for part in ("-c", one)))


def _gemini(place: Place, _: str) -> Setup:
    return Setup(
        variables={"GOOGLE_GEMINI_BASE_URL": place.url, "GEMINI_API_KEY": place.key},
        without=("GOOGLE_API_KEY", "GOOGLE_GENAI_USE_GCA", "GOOGLE_GENAI_USE_VERTEXAI"),
        arguments=("-m", place.model) if place.model else (),
    )


def _opencode(place: Place, package: str) -> Setup:
    return Setup(variables={"OPENCODE_CONFIG_CONTENT": _with_provider(place, package), KEY: place.key})


def _kilo(place: Place, package: str) -> Setup:
    return Setup(variables={"KILO_CONFIG_CONTENT": _with_provider(place, package), KEY: place.key})


def _with_provider(place: Place, package: str) -> str:
    """A configuration of opencode, and of kilo, which comes from it."""
    provider = {
        "npm": package,
        "name": "Dragoman",
        "options": {"baseURL": _versioned(place), "apiKey": f"{{env:{KEY}}}"},
        "models": {name: {"name": name} for name in place.models},
    }
    model = f"{_PROVIDER}/{place.model}"
    return _json({"provider": {_PROVIDER: provider}, "model": model, "small_model": model})


def _pi(place: Place, api: str) -> Setup:
    provider = {
        "name": "Dragoman",
        "baseUrl": place.url if place.dialect == "messages" else _versioned(place),
        "apiKey": KEY,
        "api": api,
        "models": [{**_PI_MODEL, "id": name, "name": name} for name in place.models],
    }
    return Setup(
        variables={"DRAGOMAN_PI_PROVIDER": _json(provider), KEY: place.key},
        arguments=("--extension", str(_PI_PROVIDER), "--provider", _PROVIDER, "--model", str(place.model)),
    )


_PI_MODEL = {
    "reasoning": True,
    "input": ["text", "image"],
    "cost": dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0),
    "contextWindow": 128_000,
    "maxTokens": 16_384,
}
"""What pi takes for granted of a model that it does not know; it demands all of these of an extension."""


def _qwen(place: Place, auth: str) -> Setup:
    vendor = "ANTHROPIC" if place.dialect == "messages" else "OPENAI"
    url = place.url if place.dialect == "messages" else _versioned(place)
    return Setup(
        variables={f"{vendor}_BASE_URL": url, f"{vendor}_API_KEY": place.key},
        arguments=("--auth-type", auth, "--model", str(place.model)),
    )


def _aider(place: Place, prefix: str) -> Setup:
    model = prefix + str(place.model)
    named = ("--model", "--weak-model", "--editor-model")
    return Setup(
        variables={"OPENAI_API_BASE": _versioned(place), "OPENAI_API_KEY": place.key},
        arguments=tuple(part for one in named for part in (one, model)),
    )


def _versioned(place: Place) -> str:
    """The base URL for clients that add the path below the version only."""
    return place.url + ("/v1beta" if place.dialect == "gemini" else "/v1")


def _json(value: Any) -> str:
    """As JSON; of a text or a table of texts, TOML reads the same."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


AGENTS: dict[str, Agent] = {
    "claude": Agent(
        title="Claude Code",
        program="claude",
        install="npm install -g @anthropic-ai/claude-code",
        setup=_claude,
        dialects={"messages": ""},
        patterns=("claude-*",),
        usual="claude-sonnet-4-5",
    ),
    "codex": Agent(
        title="Codex",
        program="codex",
        install="npm install -g @openai/codex",
        setup=_codex,
        dialects={"responses": ""},
        patterns=("gpt-*", "codex-*"),
        usual="gpt-5.5",
    ),
    "gemini": Agent(
        title="Gemini CLI",
        program="gemini",
        install="npm install -g @google/gemini-cli",
        setup=_gemini,
        dialects={"gemini": ""},
        patterns=("gemini-*",),
        usual="gemini-2.5-pro",
        home=Home(
            variable="GEMINI_CLI_HOME",
            folder=".gemini",
            settings="settings.json",
            # The base URL alone makes it choose a way to log in that it then refuses.
            forced={"security": {"auth": {"selectedType": "gemini-api-key"}}},
            shared=("GEMINI.md", "agents", "commands", "extensions", "policies", "skills", "trustedFolders.json"),
        ),
    ),
    "opencode": Agent(
        title="opencode",
        program="opencode",
        install="npm install -g opencode-ai",
        setup=_opencode,
        dialects={
            "chat": "@ai-sdk/openai-compatible",
            "responses": "@ai-sdk/openai",
            "messages": "@ai-sdk/anthropic",
            "gemini": "@ai-sdk/google",
        },
    ),
    "pi": Agent(
        title="pi",
        program="pi",
        install="npm install -g @mariozechner/pi-coding-agent",
        setup=_pi,
        dialects={
            "chat": "openai-completions",
            "responses": "openai-responses",
            "messages": "anthropic-messages",
            "gemini": "google-generative-ai",
        },
    ),
    "qwen": Agent(
        title="Qwen Code",
        program="qwen",
        install="npm install -g @qwen-code/qwen-code",
        setup=_qwen,
        dialects={"chat": "openai", "responses": "openai-responses", "messages": "anthropic"},
    ),
    "kilo": Agent(
        title="Kilo Code",
        program="kilo",
        install="npm install -g @kilocode/cli",
        setup=_kilo,
        dialects={"chat": "@ai-sdk/openai-compatible"},
    ),
    "aider": Agent(
        title="aider",
        program="aider",
        install="pip install aider-chat",
        setup=_aider,
        dialects={"chat": "openai/"},
    ),
}
