"""Errors as servers of any make write them, whichever dialect they otherwise speak (design/streams.md, 7).

A proxy before the server, a framework's validation and a cloud's gateway each have a form of their own, and
any of them may stand before any upstream. So the members are found here, once for all dialects; what the
words in them mean is the dialect's.
"""

from __future__ import annotations

import re
from typing import Any

from dragoman import jsontext
from dragoman.canonical.errors import ErrorKind, kind_of_status

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

_SAYING = (
    *("message", "msg", "detail", "details", "status_msg", "error_description", "error_message", "error_msg"),
    *("faultstring", "reason", "title"),
)
"""Members that hold what an error says, however they are spelled (``_respelled``)."""

_WRAPPING = ("error", "errors", "err", "fault", "exception", "base_resp")
"""Members that hold the error itself, or the text of it."""

_SURE = ("error", "errors", "err", "fault", "exception", "detail")
"""Members that only an error has."""

_NAMED = ("error_message", "error_msg")
"""Members that only an error has, unless the code beside them says that there is none."""

_PLAIN = ("message", "msg")
"""Members that tell an error from anything else beside a word that says so, or where nothing else is said."""

_BESIDE = frozenset({*_PLAIN, "request_id", "trace_id", "timestamp"})
"""What may stand beside a message that is all that an object says."""

_SUCCESS = frozenset({"", "0", "ok", "success", "succeeded", "none"})
_FAILED = frozenset({"error", "fail", "failed", "failure"})
_HTTP_ERROR = re.compile("[45][0-9][0-9]")
_ERROR_TEXT = re.compile(r"\W*(?:error|exception)\b[\s:\]>-]*(.*)", re.IGNORECASE | re.DOTALL)
_TITLE = re.compile(r"<(title|h1)[^>]*>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
_PAGE_CHARACTERS = 10_000  # how far into a page its title is looked for

_TOO_LONG = re.compile(
    r"maximum context length|context (?:length|size|window)|exceeds? the (?:maximum )?context"
    r"|(?:prompt|input) is too long|input token count.*exceed|exceeds? the maximum number of (?:input )?tokens",
    re.IGNORECASE,
)


def members_of(body: Any) -> dict[str, Any]:
    """The object that holds message, type and code, however it is wrapped: nested, in a list, a bare text."""
    for _ in range(4):
        if isinstance(body, list):
            body = next((item for item in body if item), None)
            continue
        if not isinstance(body, dict):
            break
        body = _respelled(body)
        inner = next((held for name in _WRAPPING if (held := body.get(name))), body.get("response"))
        if isinstance(inner, (dict, list)):
            body = inner
        elif isinstance(inner, str) and inner.strip() and not any(_said(body.get(name)) for name in _SAYING):
            return {**body, "message": inner}
        else:
            break
    return body if isinstance(body, dict) else {"message": body}


def is_bare_error(value: Any) -> bool:
    """Whether a value that is no part of an answer is an error of another API: FastAPI's, AWS's, a proxy's.

    Of a list its first item counts, as in ``members_of``; members that are ``null`` say nothing.
    """
    if isinstance(value, list):
        value = next((item for item in value if item), None)
    if not isinstance(value, dict):
        return False
    value = {name: held for name, held in _respelled(value).items() if held is not None}
    if any(is_said(value.get(name)) for name in _SURE) or has_failed_base(value):
        return True
    if isinstance(inner := value.get("response"), dict) and is_said(_respelled(inner).get("error")):
        return True
    if _says_failure(value):
        return any(_said(value.get(name)) for name in _SAYING)
    code, plain = value.get("code"), [value[name] for name in _PLAIN if value.get(name)]
    if any(is_said(value.get(name)) for name in _NAMED) and (code is None or _fails(code)):
        return True
    if _fails(code):
        return any(isinstance(said, (str, dict)) for said in plain)
    return any(isinstance(said, str) for said in plain) and value.keys() <= _BESIDE


def _says_failure(value: dict[str, Any]) -> bool:
    """Whether the type, the status or a flag of an object says that something failed."""
    word = value.get("type")
    if isinstance(word, str) and word.lower().endswith(("error", "exception")):
        return True
    if value.get("object") == "error" or value.get("success") is False:
        return True
    for status in (value.get("status"), value.get("status_code")):
        if isinstance(status, str) and (status.lower() in _FAILED or _HTTP_ERROR.fullmatch(status)):
            return True
        if isinstance(status, int) and _fails(status):
            return True
    return False


def is_foreign(value: dict[str, Any], own: frozenset[str]) -> bool:
    """Whether an object has none of an answer's own members and yet tells something: a ping is a type alone."""
    return own.isdisjoint(value) and any(held for name, held in value.items() if name != "type")


def has_failed_base(value: dict[str, Any]) -> bool:
    """Whether there is a ``base_resp`` (MiniMax) that tells of a failure."""
    base = value.get("base_resp")
    return isinstance(base, dict) and _respelled(base).get("status_code") not in (None, 0, "0", "")


def is_said(error: Any) -> bool:
    """Whether an ``error`` member tells of one: some servers always send it, empty."""
    if isinstance(error, dict):
        return any(error.values())
    return bool(error.strip()) if isinstance(error, str) else bool(error)


def error_said(event: str, data: bytes) -> Any:
    """What an event with data that is no JSON says of an error; ``None`` if it is none.

    All of its data if the event is called so, else what follows the word: ``error: …``, ``[ERROR] …``.
    """
    text = data.decode("utf-8", "replace")
    if event == "error":
        return text
    found = _ERROR_TEXT.match(text)
    if found is None:
        return None
    try:
        return jsontext.parse(found[1].encode()) or found[0]
    except ValueError:
        return found[1] or found[0]


def message_of(members: dict[str, Any], status: int) -> str:
    """What the error says, ``""`` if nothing; an HTML page is reduced to its title or first heading."""
    said = next((text for name in _SAYING if (text := _said(members.get(name)))), "")
    if not said.startswith("<"):
        return said
    if found := _TITLE.search(said[:_PAGE_CHARACTERS]):
        return " ".join(found[2].split())
    return f"the upstream answered{f' {status}' if status else ''} with an HTML or XML page"


def text_of(value: Any) -> str:
    """A text or a number as text; ``""`` for anything else."""
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else ""


def told_status(status: int, members: dict[str, Any]) -> int:
    """The HTTP status, or the first member that is one; 0 where there is none."""
    if 400 <= status <= 599:
        return status
    words = (text_of(members.get(name)) for name in ("code", "status_code", "status"))
    return next((int(word) for word in words if _HTTP_ERROR.fullmatch(word)), 0)


def kind_of(status: int, words: tuple[str, ...], message: str) -> ErrorKind:
    """The kind that status, words (``type``, ``code``) and message tell, in this order of trust: see the tables."""
    plain = [_snake(word) for word in words if word]
    kind = next((_SPECIFIC[word] for word in plain if word in _SPECIFIC), None)
    if kind is None and status:
        kind = kind_of_status(status)
    if kind is None:
        kind = next((_GENERIC[word] for word in plain if word in _GENERIC), _K.SERVER)
    if says_too_long(kind, message):
        return _K.CONTEXT_LENGTH
    return kind


def says_too_long(kind: ErrorKind, message: str) -> bool:
    """Whether an error of this kind tells that the request does not fit the model's context."""
    return kind in (_K.INVALID_REQUEST, _K.TOO_LARGE, _K.SERVER) and _TOO_LONG.search(message) is not None


def _respelled(members: dict[str, Any]) -> dict[str, Any]:
    """The members with their names in one spelling: ``statusCode`` is ``status_code``, ``errmsg`` ``error_msg``."""
    exact = {name: value for name, value in members.items() if _spelled(name) == name}
    return {**{_spelled(name): value for name, value in members.items()}, **exact}


def _spelled(name: str) -> str:
    """Snake case; AWS's ``__type`` is a code, too."""
    plain = re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower()
    plain = re.sub("^err(or)?_?(?=(code|msg|message)$)", "error_", plain)
    return "code" if plain in ("__type", "_type", "error_code") else plain


def _fails(code: Any) -> bool:
    """Whether a code that stands beside a message tells of a failure: HTTP's, a vendor's number, or a word."""
    text = str(code).strip().lower()
    return text not in _SUCCESS and not re.fullmatch("[1-3][0-9][0-9]", text) and not isinstance(code, bool)


def _said(value: Any, depth: int = 4) -> str:
    """A text, that in an object, or those in a list: FastAPI's ``detail`` is a text, or a list of ``{loc, msg}``."""
    if depth and isinstance(value, list):
        return "; ".join(text for item in value if (text := _said(item, depth - 1)))
    if depth and isinstance(value, dict):
        found = next((text for name in (*_SAYING, "text", "error") if (text := _said(value.get(name), depth - 1))), "")
        return found or (jsontext.render(value).decode() if any(value.values()) else "")
    return text_of(value)


def _snake(word: str) -> str:
    """``BadRequestError`` and ``bad-request error`` are ``bad_request``."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", word.rpartition("#")[2])  # AWS puts a namespace before it
    return re.sub(r"[^a-z0-9]+", "_", spaced.lower()).strip("_").removesuffix("_error")
