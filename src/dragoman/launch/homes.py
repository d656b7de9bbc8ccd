"""Homes of their own for agents that take what they need from a file only: the user's files stay as they are."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dragoman.launch.agents import Home


def prepare(home: Home, name: str, environment: Mapping[str, str]) -> tuple[Path, str | None]:
    """Makes the home of the agent of this name; returns it, and what is to be said of it. Raises ``OSError``.

    It stays, so that the agent finds its sessions again.
    """
    own = Path(environment.get(home.variable) or Path.home()) / home.folder
    state = Path(environment.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    made = state / "dragoman" / name
    folder = made / home.folder
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    settings, note = _settings(own / home.settings)
    _write(folder / home.settings, json.dumps(_over(settings, home.forced), indent=2, ensure_ascii=False))
    for one in home.shared:
        _link(own / one, folder / one)
    return made, note


def _settings(file: Path) -> tuple[dict[str, Any], str | None]:
    """The user's settings, and what is to be said of them."""
    try:
        settings = json.loads(file.read_text("utf-8-sig"))
    except FileNotFoundError:
        return {}, None
    except (OSError, ValueError):
        return {}, f"{file} does not count: it cannot be read as JSON"
    return (settings, None) if isinstance(settings, dict) else ({}, None)


def _over(settings: dict[str, Any], forced: dict[str, Any]) -> dict[str, Any]:
    merged = dict(settings)
    for key, value in forced.items():
        before = merged.get(key)
        merged[key] = _over(before, value) if isinstance(value, dict) and isinstance(before, dict) else value
    return merged


def _write(file: Path, text: str) -> None:
    """Anew, readable for the user alone: settings may hold secrets."""
    new = file.with_name(f"{file.name}.{os.getpid()}")
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
        out.write(text)
    new.replace(file)


def _link(there: Path, here: Path) -> None:
    """A link to what the user has, as far as the agent has none of its own by now."""
    if here.is_symlink() and not there.exists():
        here.unlink()
    elif there.exists() and not here.exists():
        here.symlink_to(there)
