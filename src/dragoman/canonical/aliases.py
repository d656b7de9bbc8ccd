"""Reversible aliases for call ids that are illegal in another dialect.

``get_weather:0`` is a legal id for some chat servers, and refused by Anthropic's API on replay.
The alias holds the id itself, so that it is mapped back in the next request without a store
(design/streams.md, 2.6). Long ids, whose alias would be longer than any dialect takes, get a digest: stable, but
not mapped back.
"""

from __future__ import annotations

import base64
import binascii
import hashlib

_PREFIX = "call_dgm"
_LONGEST = 64


def alias(id: str) -> str:
    """An id of letters, digits, ``_`` and ``-`` that stands for this one."""
    text = _PREFIX + base64.urlsafe_b64encode(id.encode("utf-8", "surrogatepass")).decode("ascii").rstrip("=")
    return text if len(text) <= _LONGEST else digest(id)


def digest(id: str) -> str:
    """An id of 40 characters that stands for this one: the longest that every dialect takes. It is not mapped back."""
    return "call_dgh" + hashlib.blake2b(id.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def original(id: str) -> str:
    """The id that an alias stands for; any other id as it is."""
    if not id.startswith(_PREFIX):
        return id
    body = id[len(_PREFIX) :]
    try:
        found = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)).decode("utf-8", "surrogatepass")
    except (binascii.Error, ValueError):
        return id
    return found if found and alias(found) == id else id
