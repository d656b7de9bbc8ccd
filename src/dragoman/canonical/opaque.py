"""Proofs of reasoning: bytes that only their maker can read.

A signature, a ciphertext or a redacted block is kept byte for byte and given back to its origin
alone (design/streams.md, 8). Where the client's dialect has a place for opaque text but the value
is another vendor's, it travels *sealed*: tagged with its origin, so that it is known again when the
client echoes it, and can never be mistaken for a proof of the client's own dialect.
"""

from __future__ import annotations

import base64
import binascii
from typing import Literal

import msgspec

from dragoman import jsontext

OpaqueKind = Literal["signature", "encrypted", "redacted", "summary"]
"""A ``summary`` is no proof: it stands for a history that this gateway had summed up."""

_TAG = b"dragoman:"


class Opaque(msgspec.Struct, frozen=True, omit_defaults=True):
    """One opaque value: the dialect of its maker, what it is, and its text as it was sent.

    ``id`` is the origin's id of the item that it belongs to, where the origin wants it back. ``via`` is the
    dialect of the server that passed it on, where that is not its maker's (OpenRouter, Google's chat endpoint).
    """

    origin: str
    kind: OpaqueKind
    data: str
    id: str | None = None
    via: str | None = None

    @property
    def home(self) -> str:
        """The dialect of the upstreams that it goes back to: to the one that gave it, and nobody else."""
        return self.via or self.origin


def seal(value: Opaque) -> str:
    """The value as one base64 text that ``unseal`` reads back; legal wherever base64 is."""
    return base64.b64encode(_TAG + jsontext.render(msgspec.to_builtins(value))).decode("ascii")


def unseal(text: str) -> Opaque | None:
    """The value that ``seal`` made the text of; ``None`` for any other text.

    The URL-safe alphabet and lost padding are accepted: clients re-encode base64
    (google-genai decodes signatures to bytes).
    """
    plain = text.translate({ord("-"): "+", ord("_"): "/"}).rstrip("=")
    try:
        raw = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    if not raw.startswith(_TAG):
        return None
    try:
        return msgspec.json.decode(raw[len(_TAG) :], type=Opaque)
    except msgspec.MsgspecError:
        return None
