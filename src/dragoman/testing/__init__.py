"""A test kit: what the real APIs refuse in a request, without one of them at hand.

    from dragoman.testing import validate

    assert validate("messages", body) == []

``validate`` is as strict as the strictest server of a dialect that is known: what passes here should pass
anywhere. It looks at the form of a request and at what its history must hold, not at models, files or
keys. It does no IO and shares no code with what makes requests.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any

from dragoman.testing.chat import validate as _chat
from dragoman.testing.faults import Faults
from dragoman.testing.gemini import validate as _gemini
from dragoman.testing.messages import validate as _messages
from dragoman.testing.responses import validate as _responses

__all__ = ["validate"]

_VALIDATORS: dict[str, Callable[[Any, Faults], None]] = {
    "chat": _chat,
    "responses": _responses,
    "messages": _messages,
    "gemini": _gemini,
}


def validate(
    dialect: str,
    body: Any,
    *,
    headers: Mapping[str, str] | None = None,
    proofs: Container[str] | None = None,
) -> list[str]:
    """What an API of this dialect would refuse in a request: one line for each fault, first its path.

    ``headers``: names in lower case; only messages has rules that depend on them, and without headers they
    are not looked at. ``proofs``: the signatures and ciphertexts that the upstream has given out; without
    them any is taken for good. Raises ``KeyError`` for an unknown dialect.
    """
    faults = Faults(headers, proofs)
    _VALIDATORS[dialect](body, faults)
    return faults.found
