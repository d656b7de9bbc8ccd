"""Stands for an agent: asks the gateway over real HTTP, with what it was given and in no other way.

It is run under the agent's name and knows what the real program reads of its environment and arguments,
not what Dragoman thinks that it reads. It asks once with the model that it was told and once with the
name that the real program uses for small work, and prints what came of it as one JSON line.
``DRAGOMAN_TEST=wait`` makes it wait for signals instead, ``DRAGOMAN_TEST=exit N`` end with a status.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
import tomllib
from http.client import HTTPConnection
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

MESSAGES = [{"role": "user", "content": "Hello"}]


class Asking:
    """One way of asking: where, in which dialect, with which headers."""

    def __init__(self, base: str, dialect: str, key: str) -> None:
        self.base, self.dialect, self.key = base, dialect, key

    def ask(self, model: str) -> dict[str, Any]:
        path, body, headers = getattr(self, self.dialect)(model)
        parts = urlsplit(self.base)
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=30)
        connection.request("POST", parts.path + path, json.dumps(body), {**headers, "content-type": "application/json"})
        answer = connection.getresponse()
        text = answer.read().decode()
        return {"model": model, "path": parts.path + path, "status": answer.status, "text": text}

    def chat(self, model: str) -> tuple[str, Any, dict[str, str]]:
        return "/chat/completions", {"model": model, "messages": MESSAGES}, self.bearer()

    def responses(self, model: str) -> tuple[str, Any, dict[str, str]]:
        return "/responses", {"model": model, "input": "Hello"}, self.bearer()

    def messages(self, model: str) -> tuple[str, Any, dict[str, str]]:
        body = {"model": model, "max_tokens": 99, "messages": MESSAGES}
        return "/v1/messages", body, {**self.bearer(), "anthropic-version": "2023-06-01"}

    def gemini(self, model: str) -> tuple[str, Any, dict[str, str]]:
        body = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
        place = model if "/" in model else f"models/{model}"  # as Vercel's AI SDK does
        return f"/{place}:generateContent", body, {"x-goog-api-key": self.key}

    def bearer(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.key}"}


def claude(environment: dict[str, str], arguments: list[str]) -> tuple[Asking, list[str]]:
    """The ``env`` of settings is over the environment, and of settings those on the command line count most."""
    file = Path.home() / ".claude" / "settings.json"
    of_user = json.loads(file.read_text()).get("env", {}) if file.exists() else {}
    of_line = json.loads(after("--settings", arguments) or "{}").get("env", {})
    found = {**environment, **of_user, **of_line}
    assert "ANTHROPIC_API_KEY" not in found
    asking = Asking(found["ANTHROPIC_BASE_URL"], "messages", found["ANTHROPIC_AUTH_TOKEN"])
    small = found.get("ANTHROPIC_DEFAULT_HAIKU_MODEL", "claude-haiku-4-5-20251001")
    return asking, [found.get("ANTHROPIC_MODEL", "claude-sonnet-4-5"), small, "claude-of-a-later-version"]


def codex(environment: dict[str, str], arguments: list[str]) -> tuple[Asking, list[str]]:
    lines = [value for flag, value in pairwise(arguments) if flag == "-c"]
    found = tomllib.loads("\n".join(lines))
    provider = found["model_providers"][found["model_provider"]]
    assert provider["wire_api"] == "responses"
    asking = Asking(provider["base_url"], "responses", environment[provider["env_key"]])
    return asking, [found.get("model", "gpt-5.5"), "codex-auto-review"]


def gemini(environment: dict[str, str], arguments: list[str]) -> tuple[Asking, list[str]]:
    settings = json.loads((Path(environment["GEMINI_CLI_HOME"]) / ".gemini" / "settings.json").read_text())
    assert settings["security"]["auth"]["selectedType"] == "gemini-api-key"
    asking = Asking(environment["GOOGLE_GEMINI_BASE_URL"] + "/v1beta", "gemini", environment["GEMINI_API_KEY"])
    return asking, [after("-m", arguments) or "gemini-2.5-pro", "gemini-3.5-flash-lite"]


def opencode(environment: dict[str, str], arguments: list[str]) -> tuple[Asking, list[str]]:
    return from_provider(environment, environment["OPENCODE_CONFIG_CONTENT"])


def kilo(environment: dict[str, str], arguments: list[str]) -> tuple[Asking, list[str]]:
    return from_provider(environment, environment["KILO_CONFIG_CONTENT"])


def from_provider(environment: dict[str, str], settings: str) -> tuple[Asking, list[str]]:
    found = json.loads(re.sub(r"\{env:(\w+)\}", lambda name: environment[name[1]], settings))
    name, _, model = found["model"].partition("/")
    provider = found["provider"][name]
    assert model in provider["models"]
    speaks = {
        "@ai-sdk/openai-compatible": "chat",
        "@ai-sdk/openai": "responses",
        "@ai-sdk/anthropic": "messages",
        "@ai-sdk/google": "gemini",
    }
    dialect = speaks[provider["npm"]]
    base = provider["options"]["baseURL"]
    asking = Asking(base.removesuffix("/v1") if dialect == "messages" else base, dialect, provider["options"]["apiKey"])
    return asking, [model, found["small_model"].partition("/")[2]]


def pi(environment: dict[str, str], arguments: list[str]) -> tuple[Asking, list[str]]:
    extension = Path(after("--extension", arguments) or "").read_text()
    name, variable = re.findall(r'registerProvider\("(\w+)", JSON.parse\(process.env.(\w+)\)\)', extension)[0]
    provider = json.loads(environment[variable])
    assert after("--provider", arguments) == name
    model = after("--model", arguments) or ""
    (known,) = (one for one in provider["models"] if one["id"] == model)
    assert {"reasoning", "input", "cost", "contextWindow", "maxTokens"} < set(known)
    speaks = {
        "openai-completions": "chat",
        "openai-responses": "responses",
        "anthropic-messages": "messages",
        "google-generative-ai": "gemini",
    }
    return Asking(provider["baseUrl"], speaks[provider["api"]], environment[provider["apiKey"]]), [model]


def qwen(environment: dict[str, str], arguments: list[str]) -> tuple[Asking, list[str]]:
    speaks = {"openai": "chat", "openai-responses": "responses", "anthropic": "messages"}
    dialect = speaks[after("--auth-type", arguments) or ""]
    vendor = "ANTHROPIC" if dialect == "messages" else "OPENAI"
    asking = Asking(environment[f"{vendor}_BASE_URL"], dialect, environment[f"{vendor}_API_KEY"])
    return asking, [after("--model", arguments) or ""]


def aider(environment: dict[str, str], arguments: list[str]) -> tuple[Asking, list[str]]:
    models = [after(flag, arguments) or "" for flag in ("--model", "--weak-model")]
    assert all(model.startswith("openai/") for model in models)
    asking = Asking(environment["OPENAI_API_BASE"], "chat", environment["OPENAI_API_KEY"])
    return asking, [model.removeprefix("openai/") for model in models]


def after(flag: str, arguments: list[str]) -> str | None:
    return arguments[arguments.index(flag) + 1] if flag in arguments else None


def wait() -> int:
    """Waits for a signal, and then a moment for a second one; prints what came."""
    came: list[str] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda one, _: came.append(signal.Signals(one).name))
    print("waiting", flush=True)
    while not came:
        time.sleep(0.01)
    time.sleep(0.3)
    print(json.dumps(came), flush=True)
    return 5


def main(arguments: list[str]) -> int:
    environment = dict(os.environ)
    word, _, number = environment.get("DRAGOMAN_TEST", "").partition(" ")
    if word == "exit":
        return int(number)
    if word == "kill":
        os.kill(os.getpid(), int(number))
    asking, models = globals()[Path(sys.argv[0]).name](environment, arguments)
    print(json.dumps({"base": asking.base, "key": asking.key, "arguments": arguments}), flush=True)
    if word == "wait":
        return wait()
    print(json.dumps([asking.ask(model) for model in models]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
