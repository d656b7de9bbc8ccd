"""What an upstream's failure tells: of the request, of the upstream, or of the gateway's account there."""

from __future__ import annotations

import re

import msgspec

from dragoman.canonical.errors import Error, ErrorKind

REFUSED = "upstream_refused_gateway"
"""The code of an error that says that the gateway's own key was refused."""
NO_CREDIT = "upstream_without_credit"
"""The code of an error that says that the account behind that key has nothing left."""

_MONEY = (
    r"(?:credits?|balance|quota|funds|spend(?:ing)?[ -](?:limit|cap)|usage[ -]limits?|monthly[ -]limit|key[ -]limit)"
)
_GONE = r"(?:too low|not enough|insufficient|exceeded|exhausted|depleted|used up|run out|ran out|reached|negative)"
_NO = (
    r"(?:\b(?:out of|insufficient|exceeded|exhausted|reached|used (?:up )?all|no (?:more|remaining|available))"
    r"|(?:\bnot|n't) have (?:any|enough))"
)
_OUT_OF_CREDIT = re.compile(
    rf"\b{_MONEY}\b[^.]{{0,60}}\b{_GONE}\b"
    rf"|{_NO}\b[^.]{{0,40}}\b{_MONEY}\b"
    r"|insufficient_(?:quota|balance|credits?|funds)|exceeded_current_quota|billing_(?:hard_limit|not_active|error)"
    r"|free tier[^.]{0,60}exhausted|out of call volume quota|payment required|plans? (?:and|&) billing|arrearage"
    r"|余额不足|欠费",
    re.IGNORECASE,
)
"""How vendors say it, where the status does not: a 400 (Anthropic), 401, 403 (xAI, OpenRouter, Azure)."""
_READ = 1000
"""Characters of a message in which it is looked for."""


def accounted(error: Error, upstream: str) -> Error:
    """The error with what it says of the gateway's account at a server of this dialect put in plain words.

    A 401 or 403 becomes a 502: it is not the client's key that was refused (design/streams.md, 7). Another
    refusal that is about money says so, in kind, with the status that it had.
    """
    key = error.kind in (ErrorKind.AUTHENTICATION, ErrorKind.PERMISSION) or error.status in (401, 403)
    broke = error.status == 402 or ((key or error.status == 400) and _is_about_credit(error))
    if key and broke:
        return _own(f"the upstream {upstream} server has no credit left for the gateway's own key", error, NO_CREDIT)
    if key:
        return _own(f"the upstream {upstream} server refused the gateway's own key", error, REFUSED)
    if broke:
        return msgspec.structs.replace(error, kind=ErrorKind.BILLING)
    return error


def _own(message: str, error: Error, code: str) -> Error:
    told = f"{message}: {error.message}"
    return Error(kind=ErrorKind.BAD_UPSTREAM, message=told, code=code, retry_after=error.retry_after)


def _is_about_credit(error: Error) -> bool:
    return error.kind is ErrorKind.BILLING or any(
        _OUT_OF_CREDIT.search(text[:_READ]) for text in (error.message, error.code, error.type) if text
    )


def worth_another(error: Error) -> bool:
    """Whether it says nothing of what another upstream would do with the same request.

    So it is with a lack of credit, 408, 429, and 500 and above, a broken answer and a time-out among them; not with
    any other 4xx, nor where the gateway's key was refused, which somebody has to mend.
    """
    if error.kind is ErrorKind.BILLING or error.status in (408, 429):
        return True
    return error.status >= 500 and not (error.code == REFUSED and error.origin is None)
