"""Who may ask: client keys, or this machine alone.

With keys, who may do what depends on the key only. Without keys, a page in a browser could still
send requests here, from a foreign origin or under a foreign name that resolves to this machine, so
both are refused (design/product.md, routes).
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from dragoman.canonical.errors import Error, ErrorKind
from dragoman.exceptions import InvalidRequest
from dragoman.gateway.client import ClientRequest, Refusal
from dragoman.gateway.settings import Secret, is_loopback

_NEEDED = "a client key is needed: authorization: Bearer, x-api-key, x-goog-api-key or ?key="
OPEN_PATHS = ("/health", "/ready")
"""What is answered without a key, and not logged: whoever watches the gateway asks every few seconds."""
_UNKNOWN = "this key is not known here: it has to be one of the gateway's own client keys"


class ClientKeys:
    """The keys that clients may use. Only digests are kept, compared in constant time."""

    def __init__(self, keys: Iterable[Secret]) -> None:
        self._digests = tuple(_digest(key.reveal()) for key in keys)

    def demand(self, client: ClientRequest) -> str:
        """A name for the client's key that tells nothing of it; ``""`` without keys. With keys, ``OPEN_PATHS`` are open.

        Raises ``InvalidRequest`` if this request may not be served.
        """
        if not self._digests:
            _demand_local(client)
            return ""
        key = next((key for key in _offered(client) if self._knows(key)), None)
        if key is not None:
            return hashlib.blake2b(_digest(key), digest_size=16, person=b"dragoman scope").hexdigest()
        if client.path not in OPEN_PATHS:
            message = _UNKNOWN if any(_offered(client)) else _NEEDED
            raise Refusal(Error(kind=ErrorKind.AUTHENTICATION, message=message), {"www-authenticate": "Bearer"})
        return ""

    def _knows(self, key: str) -> bool:
        digest = _digest(key)
        # A sum, not any(): every key is compared, whichever fits.
        return sum(hmac.compare_digest(digest, known) for known in self._digests) > 0


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "replace")).digest()


def _offered(client: ClientRequest) -> Iterator[str]:
    scheme, _, token = client.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        yield token.strip()
    for name in ("x-api-key", "x-goog-api-key"):
        if name in client.headers:
            yield client.headers[name]
    if key := client.parameter("key"):
        yield key


def _demand_local(client: ClientRequest) -> None:
    hosts = [value.decode("latin-1") for name, value in client.raw_headers if name == b"host"]
    if len(hosts) != 1 or not is_loopback(_host(f"//{hosts[0]}")):
        message = "a gateway without client keys answers only under a loopback name, such as 127.0.0.1 or localhost"
        raise InvalidRequest(Error(kind=ErrorKind.PERMISSION, message=message))
    origin = client.headers.get("origin")
    if origin is not None and not is_loopback(_host(origin)):
        message = "a gateway without client keys answers no pages of other origins"
        raise InvalidRequest(Error(kind=ErrorKind.PERMISSION, message=message))


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
