"""What both OpenAI dialects spell alike: error bodies, the list of models, authentication.

A dialect never imports another one, so what ``chat`` and ``responses`` share stands here as plain
functions. Source: protocols/openai.md, part 0. The words of an error (``type``, ``code``) are read
from servers of any make that speak these dialects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dragoman.canonical.errors import Error, ErrorKind
from dragoman.canonical.logprobs import Token, token
from dragoman.canonical.request import Loss, Request, Tool, ToolChoice
from dragoman.dialects.error_shapes import kind_of, members_of, message_of, text_of, told_status
from dragoman.history import History

ORIGINS = ("chat", "responses")
"""The dialects that share these error words."""

_K = ErrorKind

_WORDS: dict[ErrorKind, tuple[str, str | None]] = {
    _K.INVALID_REQUEST: ("invalid_request_error", None),
    _K.CONTEXT_LENGTH: ("invalid_request_error", "context_length_exceeded"),
    _K.AUTHENTICATION: ("invalid_request_error", "invalid_api_key"),
    _K.BILLING: ("insufficient_quota", "insufficient_quota"),
    _K.PERMISSION: ("invalid_request_error", "permission_denied"),
    _K.NOT_FOUND: ("invalid_request_error", "not_found"),
    _K.METHOD_NOT_ALLOWED: ("invalid_request_error", "method_not_allowed"),
    _K.TIMEOUT: ("server_error", "timeout"),
    _K.CONFLICT: ("invalid_request_error", "conflict"),
    _K.TOO_LARGE: ("invalid_request_error", "request_too_large"),
    _K.RATE_LIMIT: ("rate_limit_exceeded", "rate_limit_exceeded"),
    _K.SERVER: ("server_error", "server_error"),
    _K.BAD_UPSTREAM: ("server_error", "server_error"),
    # Codex takes this code for "wait and try again"
    _K.OVERLOADED: ("service_unavailable_error", "server_is_overloaded"),
    _K.UPSTREAM_TIMEOUT: ("server_error", "timeout"),
}


def words_of(error: Error) -> tuple[str, str | None]:
    """``type`` and ``code`` for a client: the upstream's if they are OpenAI's words, else those of the kind."""
    kind, code = _WORDS[error.kind]
    if error.kind is _K.NOT_FOUND and error.param == "model":
        code = "model_not_found"
    if error.origin is None or error.origin in ORIGINS:
        return error.type or kind, error.code or code
    return kind, code


def parse_error(status: int, body: Any, origin: str) -> Error:
    """The error in a body (parsed JSON, or text) that came with this HTTP status; 0 or 200 in a stream.

    Nested and flat, a string, wrapped in a list, with any types of members: never raises.
    """
    members = members_of(body)
    message = message_of(members, status)
    word, code = text_of(members.get("type")), text_of(members.get("code"))
    if word == "error":  # the flat error event of a responses stream: this is the event's type
        word = ""
    status = told_status(status, members)
    return Error(
        kind=kind_of(status, (code, word), message),
        message=message,
        status=status,
        type=word or None,
        code=code or None,
        param=text_of(members.get("param")) or None,
        origin=origin,
    )


def render_error(error: Error, request_id: str) -> dict[str, Any]:
    """The error body; it has no place for the request id, which is a header."""
    word, code = words_of(error)
    return {"error": {"message": error.message, "type": word, "param": error.param, "code": code}}


def status_of(error: Error) -> int:
    """The HTTP status; Anthropic's 529 is unknown to OpenAI's clients, who retry a 503."""
    return 503 if error.status == 529 else error.status


def render_model(model: str, now: int) -> dict[str, Any]:
    """One model, as ``GET /v1/models/{id}`` gives it."""
    return {"id": model, "object": "model", "created": now, "owned_by": "dragoman"}


def render_models(models: list[str], now: int) -> dict[str, Any]:
    """The list of models, without paging."""
    return {"object": "list", "data": [render_model(model, now) for model in models]}


def authorize(key: str) -> dict[str, str]:
    """The header that carries an API key to the upstream."""
    return {"authorization": f"Bearer {key}"}


def client_headers(request_id: str) -> dict[str, str]:
    """Headers of every answer; SDKs show ``x-request-id`` with their errors."""
    return {"x-request-id": request_id}


def read_cache(part: dict[str, Any]) -> dict[str, Any] | None:
    """The cache marker of a part or a tool: Anthropic's, as many gateways take it, or OpenAI's breakpoint."""
    if isinstance(marker := part.get("cache_control"), dict):
        return marker
    if isinstance(marker := part.get("prompt_cache_breakpoint"), dict):
        return {"type": "ephemeral", "ttl": "1h"} if marker.get("ttl") == "12h" else {"type": "ephemeral"}
    return None


def marker_losses(history: History, tools: Sequence[Tool]) -> list[Loss]:
    """The cache markers: most servers know none, and find what they can reuse by themselves."""
    places: list[tuple[str, Any]] = [(placed.path, placed.part) for placed in history.system]
    for turn in history.turns:
        places += [(answer.path, answer) for answer in turn.answers]
        places += [(placed.path, placed.part) for placed in turn.parts]
    places += [(f"tools[{number}]", tool) for number, tool in enumerate(tools)]
    return [Loss(f"{path}.cache", "it has no form here") for path, held in places if getattr(held, "cache", None)]


def known_choice(request: Request, losses: list[Loss]) -> ToolChoice | None:
    """The choice among tools that are there: servers refuse one that names others.

    Nothing is lost where a tool that is missing would have been allowed; where no other is allowed, none is.
    """
    choice = request.tool_choice
    if choice is None:
        return None
    declared = {tool.name for tool in request.tools}
    names = tuple(dict.fromkeys(name for name in choice.names if name in declared))
    if choice.mode == "none" or (choice.mode == "auto" and choice.names and not names):
        return ToolChoice("none")
    if choice.mode == "required" and (not declared or (choice.names and not names)):
        losses.append(Loss("tool_choice", "it names tools that are not there" if declared else "there are no tools"))
        return None
    return ToolChoice(choice.mode, names)


def parse_logprobs(entries: Any) -> list[Token | None]:
    """The tokens of a list of log probabilities."""
    return [_token(entry) for entry in entries] if isinstance(entries, list) else []


def _token(entry: Any) -> Token | None:
    if not isinstance(entry, dict):
        return None
    others = parse_logprobs(entry.get("top_logprobs"))
    return token(entry.get("token"), entry.get("logprob"), entry.get("bytes"), others)


def render_logprobs(tokens: Sequence[Token]) -> list[dict[str, Any]]:
    """The list for a client."""
    return [{**_told(one), "top_logprobs": [_told(other) for other in one.others]} for one in tokens]


def _told(one: Token) -> dict[str, Any]:
    return {"token": one.text, "logprob": one.logprob, "bytes": list(one.bytes)}
