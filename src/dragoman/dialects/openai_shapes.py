"""What both OpenAI dialects spell alike: error bodies, the list of models, authentication.

A dialect never imports another one, so what ``chat`` and ``responses`` share stands here as plain
functions. Source: protocols/openai.md, part 0. The words of an error (``type``, ``code``) are read
from servers of any make that speak these dialects.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from dragoman.canonical.errors import Error, ErrorKind, kind_of_status
from dragoman.canonical.request import Loss, Request, Tool, ToolChoice
from dragoman.history import History

ORIGINS = ("chat", "responses")
"""The dialects that share these error words."""

_K = ErrorKind

_SPECIFIC: dict[str, ErrorKind] = {
    "context_length_exceeded": _K.CONTEXT_LENGTH,
    "exceed_context_size": _K.CONTEXT_LENGTH,
    "context_window_exceeded": _K.CONTEXT_LENGTH,
    "invalid_api_key": _K.AUTHENTICATION,
    "authentication": _K.AUTHENTICATION,
    "invalid_authentication": _K.AUTHENTICATION,
    "unauthorized": _K.AUTHENTICATION,
    "unauthenticated": _K.AUTHENTICATION,
    "insufficient_quota": _K.BILLING,
    "billing": _K.BILLING,
    "billing_hard_limit_reached": _K.BILLING,
    "billing_not_active": _K.BILLING,
    "insufficient_balance": _K.BILLING,
    "usage_not_included": _K.BILLING,
    "payment_required": _K.BILLING,
    "permission": _K.PERMISSION,
    "permission_denied": _K.PERMISSION,
    "forbidden": _K.PERMISSION,
    "unsupported_country_region_territory": _K.PERMISSION,
    "model_not_found": _K.NOT_FOUND,
    "not_found": _K.NOT_FOUND,
    "method_not_allowed": _K.METHOD_NOT_ALLOWED,
    "conflict": _K.CONFLICT,
    "request_too_large": _K.TOO_LARGE,
    "rate_limit": _K.RATE_LIMIT,
    "rate_limit_exceeded": _K.RATE_LIMIT,
    "rate_limit_reached": _K.RATE_LIMIT,
    "throttling": _K.RATE_LIMIT,
    "throttling_exception": _K.RATE_LIMIT,
    "too_many_requests": _K.RATE_LIMIT,
    "usage_limit_reached": _K.RATE_LIMIT,
    "engine_overloaded": _K.OVERLOADED,
    "overloaded": _K.OVERLOADED,
    "server_is_overloaded": _K.OVERLOADED,
    "slow_down": _K.OVERLOADED,
    "service_unavailable": _K.OVERLOADED,
    "provider_unavailable": _K.OVERLOADED,
    "bad_gateway": _K.BAD_UPSTREAM,
    "gateway_timeout": _K.UPSTREAM_TIMEOUT,
    "timeout": _K.UPSTREAM_TIMEOUT,
}
"""Words that say more than the status they come with (without ``_error``, lower case)."""

_GENERIC: dict[str, ErrorKind] = {
    "invalid_request": _K.INVALID_REQUEST,
    "bad_request": _K.INVALID_REQUEST,
    "invalid_prompt": _K.INVALID_REQUEST,
    "invalid_value": _K.INVALID_REQUEST,
    "unsupported_parameter": _K.INVALID_REQUEST,
    "content_filter": _K.INVALID_REQUEST,
    "content_policy_violation": _K.INVALID_REQUEST,
    "cyber_policy": _K.INVALID_REQUEST,
    "server": _K.SERVER,
    "api": _K.SERVER,
    "internal": _K.SERVER,
    "internal_server": _K.SERVER,
}
"""Words that count only where no status tells more: OpenAI's 401 is an ``invalid_request_error`` too."""

_TOO_LONG = re.compile(
    r"maximum context length|context (?:length|size|window)|prompt is too long|input is too long", re.IGNORECASE
)

_SAYING = ("message", "msg", "detail", "status_msg", "error_description", "error_message", "reason", "title")
"""Members that hold what an error says."""

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


def _snake(word: str) -> str:
    """``BadRequestError`` and ``bad-request error`` are ``bad_request``."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", word.rpartition("#")[2])  # AWS puts a namespace before it
    return re.sub(r"[^a-z0-9]+", "_", spaced.lower()).strip("_").removesuffix("_error")


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    return None


def _members(body: Any) -> dict[str, Any]:
    """The object that holds message, type and code, however it is wrapped."""
    for _ in range(4):
        if isinstance(body, list):
            body = next((item for item in body if item), None)
            continue
        inner = (body.get("error") or body.get("errors")) if isinstance(body, dict) else None
        if isinstance(inner, (dict, list)):
            body = inner
        elif isinstance(inner, str) and inner.strip() and not _text(body.get("message")):
            return {**body, "message": inner}
        else:
            break
    if isinstance(body, dict):
        return body
    return {"message": body}


def _message(members: dict[str, Any], status: int) -> str:
    """What the error says."""
    return _reduced(next((text for name in _SAYING if (text := _said(members.get(name)))), ""), status)


def _said(value: Any, depth: int = 4) -> str:
    """A text, that in an object, or those in a list: FastAPI's ``detail`` is a text, or a list of ``{loc, msg}``."""
    if depth and isinstance(value, list):
        return "; ".join(text for item in value if (text := _said(item, depth - 1)))
    if depth and isinstance(value, dict):
        return next((text for name in (*_SAYING, "text", "error") if (text := _said(value.get(name), depth - 1))), "")
    return _text(value) or ""


def _page(status: int) -> str:
    return f"the upstream answered{f' {status}' if status else ''} with an HTML or XML page"


def _reduced(text: str, status: int) -> str:
    """An HTML page, reduced to its title or first heading; other text as it is."""
    if not text.startswith("<"):
        return text
    found = re.search(r"<(title|h1)[^>]*>(.*?)</\1>", text[:10_000], re.IGNORECASE | re.DOTALL)
    return " ".join(found[2].split()) if found else _page(status)


def _status(status: int, *words: str | None) -> int:
    """The HTTP status, or a code that is one; 0 where there is none."""
    if 400 <= status <= 599:
        return status
    return next((int(word) for word in words if word and re.fullmatch("[45][0-9][0-9]", word)), 0)


def _kind(status: int, words: tuple[str | None, ...], message: str) -> ErrorKind:
    plain = [_snake(word) for word in words if word]
    kind = next((_SPECIFIC[word] for word in plain if word in _SPECIFIC), None)
    if kind is None and status:
        kind = kind_of_status(status)
    if kind is None:
        kind = next((_GENERIC[word] for word in plain if word in _GENERIC), _K.SERVER)
    if kind in (_K.INVALID_REQUEST, _K.SERVER) and _TOO_LONG.search(message):
        return _K.CONTEXT_LENGTH
    return kind


def parse_error(status: int, body: Any, origin: str) -> Error:
    """The error in a body (parsed JSON, or text) that came with this HTTP status; 0 or 200 in a stream.

    Nested and flat, a string, wrapped in a list, with any types of members: never raises.
    """
    members = _members(body)
    message = _message(members, status)
    word, code = _text(members.get("type")) or _text(members.get("__type")), _text(members.get("code"))
    if word == "error":  # the flat error event of a responses stream: this is the event's type
        word = None
    status = _status(status, code, _text(members.get("status_code")), _text(members.get("status")))
    return Error(
        kind=_kind(status, (code, word), message),
        message=message,
        status=status,
        type=word,
        code=code,
        param=_text(members.get("param")),
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
