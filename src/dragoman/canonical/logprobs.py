"""Log probabilities in a form that every dialect can read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

_MOST = 1e300  # no logarithm comes near; an integer may be beyond all floats
_TOKENS = "tokens"


class Token(msgspec.Struct, frozen=True):
    """A token of a text. ``logprob``: natural logarithm; ``bytes``: of its UTF-8; ``others``: what else was likely."""

    text: str
    logprob: float
    bytes: tuple[int, ...]
    others: tuple[Token, ...] = ()


def token(text: Any, logprob: Any, bytes: Any = None, others: Sequence[Token | None] = ()) -> Token | None:
    """A token as a server gave it; ``None`` if it is none. Without ``bytes`` they are those of the text."""
    if not isinstance(text, str) or not isinstance(logprob, int | float) or isinstance(logprob, bool):
        return None
    if not -_MOST <= logprob <= _MOST:
        return None
    if not isinstance(bytes, list) or not all(type(one) is int and 0 <= one <= 255 for one in bytes):
        bytes = text.encode(errors="surrogatepass")
    return Token(text, float(logprob), tuple(bytes), tuple(filter(None, others)))


def with_tokens(native: dict[str, Any], tokens: Sequence[Token | None]) -> dict[str, Any]:
    """The members beside a text (``TextDelta.native``), with its tokens for the other dialects."""
    sound = tuple(filter(None, tokens))
    return {**native, _TOKENS: sound} if sound else native


def tokens_of(native: Mapping[str, Any]) -> tuple[Token, ...]:
    """The tokens of a text with these members beside it."""
    tokens: tuple[Token, ...] = native.get(_TOKENS, ())
    return tokens
