"""Requests: a client's body, the body for an upstream, and a client's own body with the least change.

Sources: protocols/openai.md, part 1; design/requests.md.
"""

from __future__ import annotations

from typing import Any, get_args

from dragoman import jsontext
from dragoman.canonical.aliases import original
from dragoman.canonical.request import Effort, Loss, OutputFormat, ReasoningRequest, Request
from dragoman.dialects.chat.endpoints import UPSTREAM_PATH
from dragoman.dialects.chat.history import HistoryReader, history_arguments
from dragoman.dialects.chat.parts import JSON, need_object, need_text, refuse
from dragoman.dialects.chat.tools import (
    parse_tool_choice,
    parse_tools,
    refuse_hosted,
    render_tool_choice,
    render_tools,
)
from dragoman.dialects.chat.turns import TurnWriter
from dragoman.dialects.chat.wire import NAME
from dragoman.dialects.contract import Crossing, Facts, UpstreamRequest

_NUMBERS = ("temperature", "top_p", "presence_penalty", "frequency_penalty")
_INTEGERS = ("seed", "top_k", "top_logprobs")
_BOOLEANS = ("parallel_tool_calls", "logprobs")
_STRINGS = ("verbosity", "service_tier")
_SAMPLING = (*_NUMBERS, "logprobs", "top_logprobs", "logit_bias")
"""What OpenAI's reasoning models refuse."""

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

INSTRUCTION = "Answer with JSON that follows this schema, and nothing else:\n{schema}"

_BUDGETS: tuple[tuple[int, Effort], ...] = ((2_048, "low"), (8_192, "medium"))
"""Up to how many thinking tokens an effort stands for; more is ``high``."""

# ------------------------------------------------------------------ reading


def parse_request(body: JSON, model: str | None = None, stream: bool | None = None) -> Request:
    """A client's body. Raises ``InvalidRequest`` that names the field at fault."""
    history = HistoryReader()
    unknown = history.unknown
    unknown += [name for name, held in body.items() if _is_unknown(name, held)]
    model = model if model is not None else body.get("model")
    if not isinstance(model, str) or not model:
        raise refuse("model must be a non-empty string.", "model")
    tools, hosted = parse_tools(body)
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
        **_scalars(body),
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
        raise refuse(f"{name} must be a number.", name)
    return value


def _integer(body: JSON, name: str) -> int | None:
    value = _number(body, name)
    if value is None or isinstance(value, int):
        return value
    if not value.is_integer():
        raise refuse(f"{name} must be a whole number.", name)
    return int(value)


def _boolean(body: JSON, name: str) -> bool | None:
    value = body.get(name)
    if value is not None and not isinstance(value, bool):
        raise refuse(f"{name} must be true or false.", name)
    return value


def _string(body: JSON, name: str, inside: str = "") -> str | None:
    value = body.get(name)
    return None if value is None else need_text(value, f"{inside}.{name}" if inside else name)


def _limit(body: JSON) -> int | None:
    for name in ("max_completion_tokens", "max_tokens"):
        value = _integer(body, name)
        if value is not None:
            if value < 1:
                raise refuse(f"{name} must be at least 1.", name)
            return value
    return None


def _parse_choices(body: JSON) -> int:
    n = _integer(body, "n")
    if n is None:
        return 1
    if not 1 <= n <= 128:
        raise refuse("n must be from 1 to 128.", "n")
    return n


def _parse_stop(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        raise refuse("stop must be a string or a list of strings.", "stop")
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
    raise refuse("response_format.type must be text, json_object or json_schema.", "response_format.type")


# ------------------------------------------------------------------ writing


def render_request(crossing: Crossing, facts: Facts) -> UpstreamRequest:
    """The request for a chat upstream. Raises ``InvalidRequest`` where the meaning would change.

    Only members that servers of this dialect commonly take: many refuse a body for one they do not know.
    """
    request, losses = crossing.request, list(crossing.losses)
    writer = TurnWriter(losses, developer=facts.reasoning_model, reasoning_text=facts.wants_reasoning)
    body: JSON = {"model": request.model, "messages": writer.write(crossing.history)}
    if request.stream:
        body["stream"] = True
        if facts.stream_usage:
            body["stream_options"] = {"include_usage": True}
    refuse_hosted(request, facts)
    if tools := render_tools(request, losses):
        body["tools"] = tools
        if (choice := render_tool_choice(request.tool_choice)) is not None:
            body["tool_choice"] = choice
        if request.parallel_tool_calls is not None:
            body["parallel_tool_calls"] = request.parallel_tool_calls
    _render_limit(body, request, facts)
    _render_sampling(body, request, facts, losses)
    _render_options(body, request, losses)
    _render_reasoning(body, request, facts, losses)
    if request.output is not None:
        body["response_format"] = _render_output(request.output)
    _fit_facts(body, facts, losses)
    return UpstreamRequest(path=UPSTREAM_PATH, body=body, losses=tuple(losses))


def _fit_facts(body: JSON, facts: Facts, losses: list[Loss]) -> None:
    """What this upstream does not take, in a body of this dialect whoever wrote it."""
    if facts.exclusive_sampling and body.get("temperature") is not None and body.pop("top_p", None) is not None:
        losses.append(Loss("top_p", "refused beside temperature"))
    output = body.get("response_format")
    if facts.structured_output or not isinstance(output, dict) or output.get("type") != "json_schema":
        return
    del body["response_format"]
    losses.append(Loss("response_format", "the schema is an instruction only: nothing enforces it"))
    schema = output.get("json_schema")
    text = INSTRUCTION.format(schema=jsontext.render(schema.get("schema") if isinstance(schema, dict) else {}).decode())
    messages = body.get("messages")
    if isinstance(messages, list):
        roles = [message.get("role") if isinstance(message, dict) else None for message in messages]
        place = next((n for n, role in enumerate(roles) if role not in ("system", "developer")), len(roles))
        body["messages"] = [*messages[:place], {"role": "system", "content": text}, *messages[place:]]


def _render_limit(body: JSON, request: Request, facts: Facts) -> None:
    limits = [limit for limit in (request.max_output_tokens, facts.max_output_tokens) if limit is not None]
    if limits:
        body["max_completion_tokens" if facts.reasoning_model else "max_tokens"] = min(limits)


def _render_sampling(body: JSON, request: Request, facts: Facts, losses: list[Loss]) -> None:
    for name in (*_NUMBERS, "logprobs", "top_logprobs"):
        value = getattr(request, name)
        if value is None:
            continue
        if facts.reasoning_model:
            losses.append(Loss(name, "refused by reasoning models"))
        else:
            body[name] = value
    if request.top_k is not None:
        losses.append(Loss("top_k", "no parameter of chat completions"))


def _render_options(body: JSON, request: Request, losses: list[Loss]) -> None:
    if request.choices > 1:
        body["n"] = request.choices
    if request.stop:
        body["stop"] = list(request.stop)
    for name in ("seed", "verbosity", "user"):
        if (value := getattr(request, name)) is not None:
            body[name] = value
    if request.service_tier is not None:
        if request.origin in (NAME, "responses"):  # the same vendor's words
            body["service_tier"] = request.service_tier
        else:
            losses.append(Loss("service_tier", "another vendor's tiers"))
    if request.metadata:
        losses.append(Loss("metadata", "chat completions take it for stored answers only"))


def _render_reasoning(body: JSON, request: Request, facts: Facts, losses: list[Loss]) -> None:
    asked = request.reasoning
    if asked is None:
        return
    if asked.effort is not None:
        body["reasoning_effort"] = asked.effort
    elif asked.budget is not None:
        if facts.reasoning_model:
            body["reasoning_effort"] = next((word for most, word in _BUDGETS if asked.budget <= most), "high")
        else:
            losses.append(Loss("reasoning.budget", "chat completions know efforts only"))


def _render_output(output: OutputFormat) -> JSON:
    if output.type == "json" or output.schema is None:
        return {"type": "json_object"}
    schema: JSON = {"name": output.name or "answer", "schema": output.schema}
    if output.description is not None:
        schema["description"] = output.description
    if output.strict is not None:
        schema["strict"] = output.strict
    return {"type": "json_schema", "json_schema": schema}


# ------------------------------------------------------------------ within the dialect


def adapt_request(body: JSON, request: Request, facts: Facts) -> UpstreamRequest:
    """The client's own body with another model name, and changed only where the upstream needs it."""
    adapted = {**body, "model": request.model}
    losses: list[Loss] = []
    _adapt_usage(adapted, request, facts)
    if facts.reasoning_model:
        if (limit := adapted.pop("max_tokens", None)) is not None:
            adapted.setdefault("max_completion_tokens", limit)
        for name in _SAMPLING:
            if adapted.pop(name, None) is not None:
                losses.append(Loss(name, "refused by reasoning models"))
    if facts.max_output_tokens is not None:
        for name in ("max_completion_tokens", "max_tokens"):
            if isinstance(limit := adapted.get(name), int):
                adapted[name] = min(limit, facts.max_output_tokens)
    if isinstance(messages := adapted.get("messages"), list):
        adapted["messages"] = [_adapt_message(message) for message in messages]
    _fit_facts(adapted, facts, losses)
    return UpstreamRequest(path=UPSTREAM_PATH, body=adapted, losses=tuple(losses))


def _adapt_usage(body: JSON, request: Request, facts: Facts) -> None:
    """Usage is asked for whatever the client wants to see: the gateway counts too."""
    given = body.get("stream_options")
    options = dict(given) if isinstance(given, dict) else {}
    if request.stream and facts.stream_usage:
        options["include_usage"] = True
    else:
        options.pop("include_usage", None)
    if options and request.stream:
        body["stream_options"] = options
    else:
        body.pop("stream_options", None)


def _adapt_message(message: Any) -> Any:
    """The message with sound arguments, and with the upstream's own call ids; as it was if both are so."""
    if not isinstance(message, dict):
        return message
    if isinstance(id := message.get("tool_call_id"), str) and original(id) != id:
        return {**message, "tool_call_id": original(id)}
    calls = message.get("tool_calls")
    if isinstance(calls, list) and (adapted := [_adapt_call(call) for call in calls]) != calls:
        return {**message, "tool_calls": adapted}
    return message


def _adapt_call(call: Any) -> Any:
    if not isinstance(call, dict):
        return call
    if isinstance(id := call.get("id"), str) and original(id) != id:
        call = {**call, "id": original(id)}
    function = call.get("function")
    if isinstance(function, dict):
        sound = history_arguments(given := function.get("arguments"))
        if sound != given:
            call = {**call, "function": {**function, "arguments": sound}}
    return call
