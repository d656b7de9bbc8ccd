"""A client's own body for an upstream of the same dialect: the least change. Source: design/requests.md, 7."""

from __future__ import annotations

from typing import Any

from dragoman.canonical.aliases import original
from dragoman.canonical.request import Loss, Request
from dragoman.dialects.chat.endpoints import UPSTREAM_PATH
from dragoman.dialects.chat.history import history_arguments
from dragoman.dialects.chat.legacy import modernize
from dragoman.dialects.chat.parts import JSON
from dragoman.dialects.chat.render import REFUSED, tell
from dragoman.dialects.contract import Facts, UpstreamRequest
from dragoman.structured import instruction


def adapt_request(body: JSON, request: Request, facts: Facts) -> UpstreamRequest:
    """The client's own body with another model name, and changed only where the upstream needs it."""
    adapted = {**body, "model": request.model}
    losses: list[Loss] = []
    _adapt_usage(adapted, request, facts)
    modernize(adapted)
    if facts.reasoning_model:
        if (limit := adapted.pop("max_tokens", None)) is not None:
            adapted.setdefault("max_completion_tokens", limit)
        for name in REFUSED:
            if adapted.pop(name, None) is not None:
                losses.append(Loss(name, "refused by reasoning models"))
    if facts.max_output_tokens is not None:
        for name in ("max_completion_tokens", "max_tokens"):
            if isinstance(limit := adapted.get(name), int) and limit > facts.max_output_tokens:
                adapted[name] = facts.max_output_tokens
                losses.append(Loss(name, f"the upstream's limit is {facts.max_output_tokens}"))
    adapted["messages"] = [_adapt_message(message) for message in adapted["messages"]]
    if facts.exclusive_sampling and adapted.get("temperature") is not None and adapted.pop("top_p", None) is not None:
        losses.append(Loss("top_p", "refused beside temperature"))
    if not facts.structured_output:
        _instruct(adapted, losses)
    return UpstreamRequest(path=UPSTREAM_PATH, body=adapted, losses=tuple(losses))


def _instruct(body: JSON, losses: list[Loss]) -> None:
    """Tells the model the schema of its answer, which cannot be demanded."""
    output, messages = body.get("response_format"), body.get("messages")
    if not isinstance(output, dict) or output.get("type") != "json_schema" or not isinstance(messages, list):
        return
    del body["response_format"]
    losses.append(Loss("response_format", "the schema is an instruction only: nothing enforces it"))
    form = output.get("json_schema")
    schema = form.get("schema") if isinstance(form, dict) else None
    body["messages"] = tell(messages, instruction(schema if isinstance(schema, dict) else None))


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
