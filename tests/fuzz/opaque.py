"""Any text as an id or a proof that a client gives back."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman import jsontext
from dragoman.canonical import aliases
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.canonical.opaque import Opaque, seal, unseal
from dragoman.scrub import scrubbed, scrubbed_error

_LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")
KEY = "canary-0123456789"


def carried(data: bytes) -> None:
    """Whatever text comes: an alias stands for one id, a seal for one proof, no other text is one, and no key stays in an error."""
    text = data.decode("utf-8", "replace")
    aliases.original(text)
    made = aliases.alias(text)
    assert _LEGAL.fullmatch(made)
    assert aliases.original(made) == (text if text and made.startswith("call_dgm") else made)
    proof = Opaque("messages", "signature", text)
    sealed = seal(proof)
    for form in (sealed, sealed.rstrip("="), sealed.translate({ord("+"): "-", ord("/"): "_"})):
        assert unseal(form) == proof
    if (found := unseal(text)) is not None:
        assert unseal(seal(found)) == found
    assert KEY not in scrubbed(text, (KEY,))
    error = Error(kind=ErrorKind.BAD_UPSTREAM, message=text, code=text, type=text, details=[{"a": [text]}])
    assert KEY.encode() not in jsontext.render(scrubbed_error(error, (KEY,)).message)
    assert KEY.encode() not in jsontext.render([scrubbed_error(error, (KEY,)).details])


def seeds() -> Iterator[bytes]:
    """Ids and proofs as they are seen, and a key in a sentence."""
    yield from (b"call_1", b"get_weather:0", b"call_dgmeA", b"call_dgh00", b"toolu_01", b"x" * 70)
    yield seal(Opaque("gemini", "signature", "c2ln")).encode()
    yield f'Incorrect API key provided: {KEY}. "{KEY}"\n'.encode()
