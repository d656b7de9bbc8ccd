"""The rules of a whole answer."""

from __future__ import annotations

from typing import Any

from dragoman.dialects.chat.check_report import FINISHES, TEXTS, Report, check_arguments, check_usage, is_count, is_word
from dragoman.dialects.chat.wire import BODY
from dragoman.jsontext import shown

BODY_RULES: dict[str, str] = {
    "chat.body.envelope": "object, id, model and created are read by typed clients",
    "chat.body.usage": "typed clients want usage",
    "chat.body.choices": "an answer is a list of choices, numbered from 0",
    "chat.body.message": "a message has the role assistant and its content, null if there is none",
    "chat.body.text": "texts are strings or null",
    "chat.body.calls": "tool_calls is a list of calls, or left out",
    "chat.body.call": "a call has an id of its own, a type, and a body with name and text",
    "chat.body.finish": "finish_reason is a known word that agrees with the calls",
}


class BodyRules:
    """Checks one body."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def check(self, body: dict[str, Any]) -> None:
        need = self._report.need
        need(body.get("object") == BODY, "chat.body.envelope", "body.object", f"{body.get('object')!r}")
        for name in ("id", "model"):
            need(is_word(body.get(name)), "chat.body.envelope", f"body.{name}", shown(body.get(name)))
        need(is_count(body.get("created")), "chat.body.envelope", "body.created", f"{body.get('created')!r}")
        usage = body.get("usage")
        if need(usage is not None, "chat.body.usage", "body.usage", "missing"):
            check_usage(usage, "body.usage", self._report)
        choices = body.get("choices")
        if need(isinstance(choices, list) and bool(choices), "chat.body.choices", "body.choices", shown(choices)):
            for number, choice in enumerate(choices or ()):
                self._choice(choice, number)

    def _choice(self, choice: Any, number: int) -> None:
        need = self._report.need
        where = f"body.choices[{number}]"
        if not need(isinstance(choice, dict), "chat.body.choices", where, "no object"):
            return
        need(choice.get("index") == number, "chat.body.choices", f"{where}.index", f"{choice.get('index')!r}")
        message, finish = choice.get("message"), choice.get("finish_reason")
        need(finish in FINISHES, "chat.body.finish", where, f"{finish!r}")
        where += ".message"
        if not need(isinstance(message, dict), "chat.body.message", where, "no object"):
            return
        need(message.get("role") == "assistant", "chat.body.message", f"{where}.role", f"{message.get('role')!r}")
        need("content" in message, "chat.body.message", f"{where}.content", "missing")
        for name in TEXTS:
            held = message.get(name)
            need(held is None or isinstance(held, str), "chat.body.text", f"{where}.{name}", shown(held))
        calls = message.get("tool_calls")
        if calls is not None:
            need(isinstance(calls, list) and bool(calls), "chat.body.calls", where, shown(calls))
        agrees = (
            finish != "stop"
            if calls
            else finish not in ("tool_calls", "function_call") or bool(message.get("function_call"))
        )
        need(agrees, "chat.body.finish", where, f"{finish} with {'' if calls else 'no '}calls")
        self._calls(calls if isinstance(calls, list) else [], finish == "tool_calls", where)

    def _calls(self, calls: list[Any], over: bool, where: str) -> None:
        need = self._report.need
        seen: set[str] = set()
        for number, call in enumerate(calls):
            place = f"{where}.tool_calls[{number}]"
            kind = call.get("type") if isinstance(call, dict) else None
            body = call.get(kind) if kind in ("function", "custom") else None
            if not isinstance(body, dict):
                self._report.add("chat.body.call", place, shown(call))
                continue
            name = call.get("id")
            fresh = is_word(name) and name not in seen
            need(fresh, "chat.body.call", f"{place}.id", f"{shown(name)} is no id, or another call's")
            seen.add(str(name))
            need(is_word(body.get("name")), "chat.body.call", f"{place}.{kind}.name", shown(body.get("name")))
            text = body.get("arguments" if kind == "function" else "input")
            if not isinstance(text, str):
                self._report.add("chat.body.call", place, f"{shown(text)} is no text")
            elif kind == "function" and over:
                check_arguments(text, place, self._report)
