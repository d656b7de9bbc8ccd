"""A client's body, read into a canonical request."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any, get_args

from dragoman.canonical.request import Effort, Message, OutputFormat, ReasoningRequest, Request, Role, Text
from dragoman.dialects.responses.errors import refused
from dragoman.dialects.responses.history import HistoryReader
from dragoman.dialects.responses.tools import Tools, parse_choice
from dragoman.dialects.responses.wire import BOUND, ENCRYPTED, JSON, LOGPROBS, NAME, list_of, text_of

_EFFORTS = get_args(Effort)

_REASONING = ("effort", "summary", "generate_summary")

_READ = frozenset(
    {
        *("model", "input", "instructions", "stream", "stream_options", "tools", "tool_choice", "parallel_tool_calls"),
        *("max_output_tokens", "temperature", "top_p", "top_logprobs", "reasoning", "text", "metadata", "include"),
        *("service_tier", "user", "safety_identifier", "prompt_cache_key", "store", "truncation"),
        *BOUND,
    }
)


class _Body:
    """Typed members of a body: ``null`` is absent, a wrong type raises ``InvalidRequest``."""

    def __init__(self, raw: JSON) -> None:
        self.raw = raw

    def take(self, name: str, fits: Callable[[Any], bool], what: str) -> Any:
        value = self.raw.get(name)
        if value is not None and not fits(value):
            raise refused(f"expected {what}", name)
        return value

    def text(self, name: str) -> str | None:
        return self.take(name, lambda value: isinstance(value, str), "a string") or None

    def flag(self, name: str) -> bool | None:
        found: bool | None = self.take(name, lambda value: isinstance(value, bool), "true or false")
        return found

    def number(self, name: str) -> float | None:
        found: float | None = self.take(name, _is_number, "a number")
        return found

    def whole(self, name: str, least: int) -> int | None:
        value = self.take(
            name, lambda value: _is_number(value) and value % 1 == 0 and value >= least, f"a whole number from {least}"
        )
        return None if value is None else int(value)

    def members(self, name: str) -> JSON:
        return self.take(name, lambda value: isinstance(value, dict), "an object") or {}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)


def parse_request(body: JSON, model: str | None = None, stream: bool | None = None) -> Request:
    """A client's request. Raises ``InvalidRequest`` that names the field at fault."""
    raw = _Body(body)
    model = model or _model(raw)
    bound = [name for name in BOUND if body.get(name)]
    history, tools = HistoryReader(), Tools()
    messages = _messages(raw, history, needed=not bound)
    tools.parse(body.get("tools"))
    for later, path in history.tools:
        tools.parse(later, path)
    choice, not_understood = parse_choice(body.get("tool_choice"), tools.tools)
    unknown = [*history.unknown, *tools.unknown, *not_understood, *_unknown(body)]
    output, verbosity = _text_format(raw, unknown)
    return Request(
        model=model,
        messages=messages,
        origin=NAME,
        stream=bool(raw.flag("stream")) if stream is None else stream,
        tools=tuple(tools.tools),
        hosted_tools=tuple(tools.hosted),
        tool_choice=choice,
        parallel_tool_calls=raw.flag("parallel_tool_calls"),
        max_output_tokens=raw.whole("max_output_tokens", 1),
        temperature=raw.number("temperature"),
        top_p=raw.number("top_p"),
        logprobs=True if LOGPROBS in list_of(body.get("include")) or body.get("top_logprobs") else None,
        top_logprobs=raw.whole("top_logprobs", 0),
        reasoning=_reasoning(raw, unknown),
        output=output,
        verbosity=verbosity,
        service_tier=raw.text("service_tier"),
        user=raw.text("safety_identifier") or raw.text("user"),
        metadata=_metadata(raw),
        stream_usage=True,
        cache_key=raw.text("prompt_cache_key"),
        compact=history.compact,
        unknown=tuple(unknown),
        bound=(*bound, *history.bound),
    )


def _model(raw: _Body) -> str:
    model = raw.text("model")
    if model is None:
        raise refused("expected the name of a model", "model")
    return model


def _messages(raw: _Body, history: HistoryReader, *, needed: bool) -> tuple[Message, ...]:
    given = raw.raw.get("input")
    if given in (None, [], "") and needed:
        raise refused("expected a text or a list of items, not empty", "input")
    messages = history.read([] if given is None else given)
    instructions = raw.text("instructions")
    return messages if instructions is None else (Message(Role.SYSTEM, (Text(text=instructions),)), *messages)


def _unknown(body: JSON) -> list[str]:
    """Members without a canonical form, as far as they ask for something."""
    out = [name for name, value in body.items() if name not in _READ and value not in (None, [], {}, False)]
    out += [f"include[{n}]" for n, word in enumerate(list_of(body.get("include"))) if word not in (ENCRYPTED, LOGPROBS)]
    if body.get("store") is True:
        out.append("store")
    if body.get("truncation") not in (None, "disabled"):
        out.append("truncation")
    return out


def _metadata(raw: _Body) -> dict[str, str] | None:
    pairs = raw.members("metadata")
    for name, value in pairs.items():
        if not isinstance(value, str):
            raise refused("expected a string", f"metadata.{name}")
    return pairs or None


def _reasoning(raw: _Body, unknown: list[str]) -> ReasoningRequest | None:
    members = raw.members("reasoning")
    unknown += [f"reasoning.{name}" for name, value in members.items() if name not in _REASONING and value]
    effort = members.get("effort")
    if effort is not None and effort not in _EFFORTS:
        unknown.append("reasoning.effort")
        effort = None
    summary = text_of(members.get("summary")) or text_of(members.get("generate_summary"))
    if effort is None and summary is None:
        return None
    visible = None if summary is None else summary != "none"
    return ReasoningRequest(effort=effort, summary=summary, visible=visible)


def _text_format(raw: _Body, unknown: list[str]) -> tuple[OutputFormat | None, str | None]:
    members = raw.members("text")
    unknown += [f"text.{name}" for name, value in members.items() if name not in ("format", "verbosity") and value]
    form = members.get("format")
    verbosity = text_of(members.get("verbosity"))
    if form is None:
        return None, verbosity
    match form:
        case {"type": "text"}:
            return None, verbosity
        case {"type": "json_object"}:
            return OutputFormat(type="json"), verbosity
        case {"type": "json_schema"}:
            return _schema(form), verbosity
        case {"type": str()}:
            unknown.append("text.format")
            return None, verbosity
        case _:
            raise refused("expected an object with a type", "text.format")


def _schema(form: JSON) -> OutputFormat:
    inner = form.get("json_schema")
    if isinstance(inner, dict):  # the chat dialect's form
        form = {**form, **inner}
    schema = form.get("schema")
    if not isinstance(schema, dict):
        raise refused("expected a JSON Schema object", "text.format.schema")
    strict = form.get("strict")
    return OutputFormat(
        type="schema",
        name=text_of(form.get("name")),
        description=text_of(form.get("description")),
        schema=schema,
        strict=strict if isinstance(strict, bool) else None,
    )
