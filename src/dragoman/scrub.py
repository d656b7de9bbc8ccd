"""Keys taken out of texts that upstreams send and clients see (design/streams.md, 7)."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from dragoman import jsontext
from dragoman.canonical.errors import Error

_MARK = "[key]"
_KEY = re.compile(
    r"\b(?:(?:sk|rk|pk|gsk|xai|pplx|hf|nvapi|key)[-_][\w*.\-]{6,}\w|AIza[\w\-]{10,}|ya29\.[\w.\-]{10,})"
    r"|(?<=[Bb]earer )[\w.~+/\-]{8,}=*"
)


def scrubbed(text: str, secrets: Sequence[str] = ()) -> str:
    """The text without these secrets, and without what looks like a key of a known vendor."""
    for secret in secrets:
        text = text.replace(secret, _MARK)
    return _KEY.sub(_MARK, text)


def scrubbed_error(error: Error, secrets: Sequence[str] = ()) -> Error:
    """The error, fit for a client: no key in any text of it."""
    details = error.details
    if details is not None:
        details = jsontext.parse(scrubbed(jsontext.render(details).decode(), secrets))
    code, kind = (text and scrubbed(text, secrets) for text in (error.code, error.type))
    return msgspec.structs.replace(
        error, message=scrubbed(error.message, secrets), code=code, type=kind, details=details
    )
