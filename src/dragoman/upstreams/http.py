"""A server behind a URL, over a small HTTP/1.1 client of our own (docs/decisions/0012-own-http-client.md).

No redirects (they would carry key and prompt elsewhere), no cookies, no proxy, certificates verified.
Foreign exceptions become ``UpstreamError`` here and nowhere else.
"""

from __future__ import annotations

import asyncio
import functools
import re
import socket
import ssl
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from dragoman import jsontext
from dragoman.canonical.errors import ErrorKind
from dragoman.dialects.contract import UpstreamRequest
from dragoman.upstreams.answer import HEAD_BYTES, HttpAnswer, failed
from dragoman.upstreams.connection import Connection
from dragoman.upstreams.interface import UpstreamError
from dragoman.upstreams.pool import MOST, Pool

_TARGET = re.compile(r"/[\x21-\x7e]*\Z")
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+\Z")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*\Z")
"""What may stand in a request: nothing that could end a line of it."""


@functools.cache
def _trusted() -> ssl.SSLContext:
    """The authorities of the system (or of ``SSL_CERT_FILE``); names are checked."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def _why(failure: OSError | UnicodeError) -> str:
    """What kept a connection from being made, as far as it is one of the common reasons; never an address."""
    match failure:
        case ssl.SSLError():
            return ": no TLS is spoken there"
        case socket.gaierror() | UnicodeError():
            return ": there is no server of its name"
        case ConnectionRefusedError():
            return ": nothing listens there"
    return ""


class HttpUpstream:
    """``Upstream`` for a base URL. ``headers`` go with every request, over those of the dialect.

    ``connect``: seconds that name, connection and TLS may take together, and the wait for the end of another request
    where ``connections`` are in use. ``head_bytes``: what an answer's head may have. ``tls`` is for tests.
    """

    def __init__(
        self,
        *,
        name: str,
        dialect: str,
        base_url: str,
        headers: Mapping[str, str],
        connect: float,
        connections: int = MOST,
        head_bytes: int = HEAD_BYTES,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.dialect = dialect
        self.models: Sequence[str] = ()
        parts = urlsplit(base_url)
        secure, host = parts.scheme == "https", parts.hostname or ""
        self._name = name
        self._path = parts.path
        self._host = f"[{host}]" if ":" in host else host
        if parts.port is not None and parts.port != (443 if secure else 80):
            self._host += f":{parts.port}"
        self._headers = {name.lower(): value for name, value in headers.items()}
        self._connect = connect
        port, context = parts.port or (443 if secure else 80), (tls or _trusted()) if secure else None
        self._pool = Pool(host, port, context, most=connections, head_bytes=head_bytes)

    async def send(self, request: UpstreamRequest) -> HttpAnswer:
        written = self._written(request)
        connection = await self._connection()
        try:
            return await connection.ask(self._name, written)
        except UpstreamError:
            if not connection.unheard:
                raise
        connection = await self._connection(fresh=True)
        return await connection.ask(self._name, written)

    async def aclose(self) -> None:
        self._pool.close()

    async def _connection(self, *, fresh: bool = False) -> Connection:
        waiting = True
        try:
            async with asyncio.timeout(self._connect):
                await self._pool.room()
                waiting = False
                return await self._pool.lend(fresh=fresh)
        except TimeoutError as failure:
            if waiting:
                raise failed(self._name, "has no free connection: all are in use", ErrorKind.OVERLOADED) from failure
            raise failed(self._name, "could not be reached in time", ErrorKind.UPSTREAM_TIMEOUT) from failure
        except ssl.SSLCertVerificationError as failure:
            raise failed(self._name, "has no valid certificate") from failure
        except (OSError, UnicodeError) as failure:  # the latter for a name that cannot be one
            raise failed(self._name, f"cannot be reached{_why(failure)}") from failure

    def _written(self, request: UpstreamRequest) -> bytes:
        body = jsontext.render(request.body)
        headers = {
            "host": self._host,
            "accept": "*/*",
            "accept-encoding": "identity",  # a compressor at the other side would hold events back
            "content-type": "application/json",
            "user-agent": "dragoman",
            **{name.lower(): value for name, value in request.headers.items()},
            **self._headers,
            "content-length": str(len(body)),
        }
        target = self._path + request.path
        sane = _TARGET.match(target) and all(_NAME.match(n) and _VALUE.match(v) for n, v in headers.items())
        if not sane:
            raise failed(self._name, "cannot be asked this: the request has no form in HTTP", ErrorKind.INVALID_REQUEST)
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"{request.method} {target} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + body
