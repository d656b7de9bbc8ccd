"""What a function's docstring says of it and of its parameters (Google's and Sphinx' forms)."""

from __future__ import annotations

import inspect
import re

_SECTION = re.compile(r"(args|arguments|parameters|returns?|yields?|raises|examples?|notes?):\s*\Z", re.IGNORECASE)
_PARAMETERS = ("args", "arguments", "parameters")
_GOOGLE = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)\Z")
_FIELD = re.compile(r":(\w+)(?:\s+[^:]*?)??(?:\s+(\w+))?:\s*(.*)\Z")


def described(docstring: str | None) -> tuple[str, dict[str, str]]:
    """The text before the first section, and the descriptions of parameters."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    end = next((index for index, line in enumerate(lines) if _SECTION.match(line) or _FIELD.match(line)), len(lines))
    return "\n".join(lines[:end]).strip(), {name: text for name, text in _parameters(lines[end:]) if text}


def _parameters(lines: list[str]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    form, indent = "", 0
    for line in lines:
        bare = line.strip()
        depth = len(line) - len(line.lstrip())
        if not bare:
            continue
        if depth == 0:
            indent = 0
            field = _FIELD.match(bare)
            if field and field[1] == "param" and field[2]:
                form = "sphinx"
                found.append((field[2], field[3]))
            else:
                form = "google" if bare.rstrip(": ").lower() in _PARAMETERS else ""
        elif form == "google" and depth <= (indent or depth) and (item := _GOOGLE.match(bare)):
            indent = depth
            found.append((item[1], item[2]))
        elif form and found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {bare}".strip())
    return found
