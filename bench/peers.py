"""Other gateways, for comparison: ``make bench-peers`` installs them into a virtual environment of their own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

LITELLM, ROSETTA = "LiteLLM", "llm-rosetta"
_BASES = {"chat": "/v1", "responses": "/v1", "messages": "", "gemini": ""}


class Peer(msgspec.Struct, frozen=True):
    """``command`` starts it on a port; ``ready_path`` is answered once it serves. ``pairs``: client and upstream."""

    name: str
    command: Callable[[int], list[str]]
    model: Callable[[str], str]
    """The model that leads to the upstream of this dialect."""
    pairs: tuple[tuple[str, str], ...]
    ready_path: str


def installed(venv: Path, folder: Path, behind: int) -> Iterator[Peer]:
    """Those that this virtual environment has; their upstreams are on the port ``behind``."""
    for program, make in (("litellm", _litellm), ("llm-rosetta-gateway", _rosetta)):
        if (found := venv.absolute() / "bin" / program).exists():
            yield make(found, folder, behind)


def _base(dialect: str, behind: int) -> str:
    return f"http://127.0.0.1:{behind}{_BASES[dialect]}"


def _litellm(program: Path, folder: Path, behind: int) -> Peer:
    providers = {"chat": "openai", "messages": "anthropic"}
    models = [
        {
            "model_name": f"{dialect}/m",
            "litellm_params": {"model": f"{provider}/m", "api_base": _base(dialect, behind), "api_key": "k"},
        }
        for dialect, provider in providers.items()
    ]
    open_to_all = {"dangerously_permit_weak_or_unset_master_key": True}
    config = folder / "litellm.yaml"
    config.write_text(json.dumps({"model_list": models, "general_settings": open_to_all}))  # JSON is YAML
    return Peer(
        LITELLM,
        lambda port: [str(program), "--config", str(config), "--host", "127.0.0.1", "--port", str(port)],
        lambda upstream: f"{upstream}/m",
        (("chat", "chat"), ("chat", "messages"), ("messages", "chat"), ("responses", "chat")),
        "/health/liveliness",
    )


def _rosetta(program: Path, folder: Path, behind: int) -> Peer:
    types = {"chat": "openai_chat", "responses": "openai_responses", "messages": "anthropic", "gemini": "google"}
    providers = {
        dialect: {"type": kind, "api_key": "k", "base_url": _base(dialect, behind)} for dialect, kind in types.items()
    }
    models = {f"{dialect}-m": dialect for dialect in types}
    config = folder / "rosetta.jsonc"
    config.write_text(
        json.dumps({"providers": providers, "models": models, "server": {"host": "127.0.0.1", "open_on_no_keys": True}})
    )
    options = ("--no-banner", "--log-level", "warning", "--data-dir", str(folder))
    chat = "chat"
    return Peer(
        ROSETTA,
        lambda port: [str(program), "--config", str(config), "--port", str(port), *options],
        lambda upstream: f"{upstream}-m",
        ((chat, chat), *(pair for one in ("messages", "responses", "gemini") for pair in ((chat, one), (one, chat)))),
        "/health",
    )
