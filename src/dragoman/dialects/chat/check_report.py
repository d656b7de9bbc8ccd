"""The findings of the checker, and the rules that streams and whole answers share."""

from __future__ import annotations

from typing import Any

from dragoman import jsontext
from dragoman.dialects.contract import Violation
from dragoman.jsontext import shown

FINISHES = frozenset({"stop", "length", "tool_calls", "content_filter", "function_call"})
TEXTS = ("content", "refusal", "reasoning_content", "reasoning")


class Report:
    """Collects violations; a rule that is not in the table is a mistake of the checker."""

    def __init__(self, rules: dict[str, str]) -> None:
        self.found: list[Violation] = []
        self._rules = rules

    def add(self, rule: str, where: str, message: str) -> None:
        if rule not in self._rules:
            raise KeyError(rule)
        self.found.append(Violation(rule, where, message))

    def need(self, holds: bool, rule: str, where: str, message: str) -> bool:
        """Adds a violation unless the condition holds; gives the condition back."""
        if not holds:
            self.add(rule, where, message)
        return holds


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_word(value: Any) -> bool:
    """A text with something visible in it."""
    return isinstance(value, str) and bool(value.strip())


def check_error(error: Any, where: str, report: Report) -> None:
    sound = (
        isinstance(error, dict)
        and is_word(error.get("message"))
        and is_word(error.get("type"))
        and all(name in error and isinstance(error[name], str | None) for name in ("param", "code"))
    )
    report.need(sound, "chat.error.shape", where, shown(error))


def check_usage(usage: Any, where: str, report: Report) -> None:
    """Whole numbers throughout; a total that is a sum."""
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    sound = isinstance(usage, dict) and all(is_count(usage.get(name)) for name in names)
    if not report.need(sound, "chat.usage.shape", where, shown(usage)):
        return
    given, made, total = (usage[name] for name in names)
    report.need(given + made == total, "chat.usage.total", where, f"{given} and {made} are not {total}")
    for name in ("prompt_tokens_details", "completion_tokens_details"):
        details = usage.get(name)
        sound = details is None or (
            isinstance(details, dict) and all(held is None or is_count(held) for held in details.values())
        )
        report.need(sound, "chat.usage.shape", f"{where}.{name}", shown(details))


def check_arguments(text: str, where: str, report: Report) -> None:
    """A function's arguments once the finish says that they are whole."""
    try:
        value = jsontext.parse(text)
    except ValueError:
        report.add("chat.call.json", where, f"{shown(text)} is no JSON")
        return
    report.need(isinstance(value, dict), "chat.call.json", where, f"{shown(text)} is no object")
