"""A client's body, read into the canonical request. Source: protocols/openai.md, part 1."""

from __future__ import annotations

from typing import Any, get_args

from dragoman.canonical.request import Effort, OutputFormat, ReasoningRequest, Request
from dragoman.dialects.chat.history import HistoryReader
from dragoman.dialects.chat.parts import JSON, need_object, need_text, refuse
from dragoman.dialects.chat.tools import parse_tool_choice, parse_tools
from dragoman.dialects.chat.wire import NAME

_NUMBERS = ("temperature", "top_p", "presence_penalty", "frequency_penalty")
_INTEGERS = ("seed", "top_k", "top_logprobs")
_BOOLEANS = ("parallel_tool_calls", "logprobs")
_STRINGS = ("verbosity", "service_tier")

_READ = frozenset(
    {
        *("model", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens", "stop", "n"),
        *("tools", "functions", "tool_choice", "function_call", "web_search_options"),
        *("reasoning_effort", "reasoning", "response_format"),
        *("metadata", "user", "safety_identifier", "prompt_cache_key"),
        *(*_NUMBERS, *_INTEGERS, *_BOOLEANS, *_STRINGS),
    }
)

_HARMLESS: dict[str, Any] = {"store": False, "modalities": ["text"], "logit_bias": {}}
"""Values that ask for nothing: leaving them out is no loss."""


def parse_request(body: JSON, model: str | None = None, stream: bool | None = None) -> Request:
    """A client's body. Raises ``InvalidRequest`` that names the field at fault."""
    history = HistoryReader()
    unknown = history.unknown
    unknown += [name for name, held in body.items() if _is_unknown(name, held)]
    model = model if model is not None else body.get("model")
    if not isinstance(model, str) or not model:
        raise refuse("expected a non-empty string", "model")
    tools, hosted = parse_tools(body, unknown)
    scalars = _scalars(body)
    if any(tool.legacy for tool in tools):
        scalars["parallel_tool_calls"] = False  # there is one ``function_call`` in a message
    return Request(
        model=model,
        messages=history.read(body.get("messages")),
        origin=NAME,
        stream=stream if stream is not None else bool(_boolean(body, "stream")),
        tools=tools,
        hosted_tools=hosted,
        tool_choice=parse_tool_choice(body, unknown),
        max_output_tokens=_limit(body),
        stop=_parse_stop(body.get("stop")),
        choices=_parse_choices(body),
        reasoning=_parse_reasoning(body, unknown),
        output=_parse_output(body.get("response_format"), unknown),
        user=_string(body, "user") or _string(body, "safety_identifier"),
        metadata=_parse_metadata(body, unknown),
        stream_usage=_parse_stream_usage(body),
        cache_key=_string(body, "prompt_cache_key"),
        unknown=tuple(unknown),
        **scalars,
    )


def _scalars(body: JSON) -> dict[str, Any]:
    """The members that have the same name and form in ``Request``."""
    readers = ((_NUMBERS, _number), (_INTEGERS, _integer), (_BOOLEANS, _boolean), (_STRINGS, _string))
    return {name: read(body, name) for names, read in readers for name in names}


def _is_unknown(name: str, held: Any) -> bool:
    return name not in _READ and held is not None and _HARMLESS.get(name, ...) != held


def _number(body: JSON, name: str) -> float | None:
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise refuse("expected a number", name)
    return value


def _integer(body: JSON, name: str) -> int | None:
    value = _number(body, name)
    if value is None or isinstance(value, int):
        return value
    if not value.is_integer():
        raise refuse("expected a whole number", name)
    return int(value)


def _boolean(body: JSON, name: str) -> bool | None:
    value = body.get(name)
    if value is not None and not isinstance(value, bool):
        raise refuse("expected true or false", name)
    return value


def _string(body: JSON, name: str, inside: str = "") -> str | None:
    value = body.get(name)
    return None if value is None else need_text(value, f"{inside}.{name}" if inside else name)


def _limit(body: JSON) -> int | None:
    for name in ("max_completion_tokens", "max_tokens"):
        value = _integer(body, name)
        if value is not None:
            if value < 1:
                raise refuse("expected a whole number from 1", name)
            return value
    return None


def _parse_choices(body: JSON) -> int:
    n = _integer(body, "n")
    if n is None:
        return 1
    if not 1 <= n <= 128:
        raise refuse("expected a whole number from 1 to 128", "n")
    return n


def _parse_stop(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        raise refuse("expected a string or a list of strings", "stop")
    return tuple(word for number, word in enumerate(value) if need_text(word, f"stop[{number}]"))


def _parse_stream_usage(body: JSON) -> bool:
    options = body.get("stream_options")
    return options is not None and need_object(options, "stream_options").get("include_usage") is True


def _parse_metadata(body: JSON, unknown: list[str]) -> dict[str, str] | None:
    if body.get("metadata") is None:
        return None
    metadata = need_object(body["metadata"], "metadata")
    unknown += [f"metadata.{key}" for key, held in metadata.items() if not isinstance(held, str)]
    return {key: held for key, held in metadata.items() if isinstance(held, str)} or None


def _parse_reasoning(body: JSON, unknown: list[str]) -> ReasoningRequest | None:
    """``reasoning_effort``, or OpenRouter's ``reasoning`` object."""
    effort: Any = _string(body, "reasoning_effort")
    value = body.get("reasoning")
    options = need_object(value, "reasoning") if value is not None else {}
    where = "reasoning_effort" if effort is not None else "reasoning.effort"
    effort = effort if effort is not None else options.get("effort")
    if effort is not None and effort not in get_args(Effort):
        unknown.append(where)
        effort = None
    budget = options.get("max_tokens")
    if effort is None and options.get("enabled") is False:
        effort = "none"
    hidden = options.get("exclude")
    asked = ReasoningRequest(
        effort=effort,
        budget=budget if isinstance(budget, int) and not isinstance(budget, bool) and budget > 0 else None,
        adaptive=options.get("enabled") is True and effort is None,
        visible=not hidden if isinstance(hidden, bool) else None,
    )
    return None if asked == ReasoningRequest() else asked


def _parse_output(value: Any, unknown: list[str]) -> OutputFormat | None:
    if value is None:
        return None
    match need_object(value, "response_format").get("type"):
        case "text":
            return None
        case "json_object":
            return OutputFormat(type="json")
        case "json_schema":
            where = "response_format.json_schema"
            body = need_object(value.get("json_schema"), where)
            strict = body.get("strict")
            return OutputFormat(
                type="schema",
                name=_string(body, "name", where),
                description=_string(body, "description", where),
                schema=None if body.get("schema") is None else need_object(body["schema"], f"{where}.schema"),
                strict=strict if isinstance(strict, bool) else None,
            )
        case str():
            unknown.append("response_format")
            return None
    raise refuse("expected text, json_object or json_schema", "response_format.type")
