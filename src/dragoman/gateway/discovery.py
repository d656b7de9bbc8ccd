"""Where the configuration comes from: a file that was named, a file that lies here, API keys in the environment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from dragoman.exceptions import ConfigurationError
from dragoman.gateway.config import check_models, load, parse, read
from dragoman.gateway.settings import BaseUrl, DialectName, Secret, Settings, UpstreamSettings

FILE = "dragoman.yaml"
MODELS = "DRAGOMAN_MODELS"
"""The variable with names for models, as the file's ``models`` has them; those of the file count more."""
DEMO = "demo"
"""The upstream that there is without any other."""

WELL_KNOWN: dict[str, tuple[str, str, str]] = {
    "OPENAI_API_KEY": ("openai", "responses", "https://api.openai.com/v1"),
    "ANTHROPIC_API_KEY": ("claude", "messages", "https://api.anthropic.com"),
    "GEMINI_API_KEY": ("google", "gemini", "https://generativelanguage.googleapis.com"),
    "OPENROUTER_API_KEY": ("openrouter", "chat", "https://openrouter.ai/api/v1"),
    "DEEPSEEK_API_KEY": ("deepseek", "chat", "https://api.deepseek.com/v1"),
    "MISTRAL_API_KEY": ("mistral", "chat", "https://api.mistral.ai/v1"),
    "GROQ_API_KEY": ("groq", "chat", "https://api.groq.com/openai/v1"),
    "XAI_API_KEY": ("xai", "chat", "https://api.x.ai/v1"),
    "MOONSHOT_API_KEY": ("moonshot", "chat", "https://api.moonshot.ai/v1"),
}
"""Variable → upstream name, dialect, base URL: what a key in the environment sets up without a file."""


class Found(msgspec.Struct, frozen=True):
    """Settings, where they came from in words, and their file. Without upstreams the demo is meant."""

    settings: Settings
    source: str
    file: Path | None = None

    @property
    def folder(self) -> Path | None:
        """That of the file."""
        return self.file.resolve().parent if self.file is not None else None

    def again(self, environment: Mapping[str, str]) -> Found:
        """What the same file says now; what came from elsewhere stays. Raises ``ConfigurationError``."""
        return self if self.file is None else _with_models(_from_file(self.file, environment), environment)


def discover(named: str | None, environment: Mapping[str, str], folder: Path) -> Found:
    """The configuration that applies. Raises ``ConfigurationError`` for a file that cannot be read or is wrong."""
    return _with_models(_found(named, environment, folder), environment)


def _with_models(found: Found, environment: Mapping[str, str]) -> Found:
    own = found.settings
    models = models_of(environment, list(own.upstreams) or [DEMO])
    return msgspec.structs.replace(found, settings=msgspec.structs.replace(own, models={**models, **own.models}))


def models_of(environment: Mapping[str, str], upstreams: list[str]) -> dict[str, list[str]]:
    """The names for models that the environment gives. Raises ``ConfigurationError``."""
    mistakes: list[str] = []
    try:
        raw = parse(environment.get(MODELS, "")) or {}
    except ConfigurationError as error:
        raise ConfigurationError([f"{MODELS}: {mistake}" for mistake in error.mistakes]) from None
    models = read(dict[str, list[str]], raw, MODELS, mistakes)
    check_models(raw, upstreams, MODELS, mistakes)
    if mistakes:
        raise ConfigurationError(mistakes)
    assert isinstance(models, dict)
    return models


def _found(named: str | None, environment: Mapping[str, str], folder: Path) -> Found:
    if file := named or environment.get("DRAGOMAN_CONFIG"):
        return _from_file(Path(file), environment)
    if (folder / FILE).is_file():
        return _from_file(folder / FILE, environment)
    if upstreams := _from_keys(environment):
        return Found(Settings(upstreams=upstreams), "API keys in the environment")
    return Found(Settings(), "no configuration")


def _from_file(file: Path, environment: Mapping[str, str]) -> Found:
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "not a text in UTF-8"
        raise ConfigurationError([f"{file}: {why}"]) from None
    try:
        settings = load(text, environment)
    except ConfigurationError as error:
        raise ConfigurationError(error.mistakes, str(file)) from None
    if not settings.upstreams:
        mistake = "upstreams: none is configured (for the demo upstream: dragoman serve --demo)"
        raise ConfigurationError([mistake], str(file))
    return Found(settings, str(file), file)


def _from_keys(environment: Mapping[str, str]) -> dict[str, UpstreamSettings]:
    found = {}
    for variable, (name, dialect, base_url) in WELL_KNOWN.items():
        if key := environment.get(variable, "").strip():
            try:
                secret = Secret.read(key)
            except ValueError as error:
                raise ConfigurationError([f"{variable} (in the environment): {error}"]) from None
            found[name] = UpstreamSettings(dialect=DialectName(dialect), base_url=BaseUrl(base_url), api_key=secret)
    return found
