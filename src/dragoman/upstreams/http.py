"""A server behind a URL, through aiohttp.

One session, and so one pool of connections, for all upstreams of a gateway (``HttpSession``). No
redirects (they would carry key and prompt elsewhere), no cookies, no proxy from the environment,
certificates verified. Foreign exceptions become ``UpstreamError`` here and nowhere else.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NoReturn

import aiohttp
from aiohttp.http_exceptions import ContentEncodingError, HttpProcessingError
from yarl import URL

from dragoman import jsontext
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.dialects.contract import UpstreamRequest
from dragoman.upstreams.interface import UpstreamError

_READ_BUFFER = 1 << 16
_HEADER_BYTES = 1 << 16
_FAILURES = (aiohttp.ClientError, HttpProcessingError, OSError, ValueError)
"""What aiohttp raises for a broken connection or a broken answer (a time-out is an ``OSError``)."""


class HttpSession:
    """The shared pool of connections: opened with the first request, as that needs a running event loop."""

    def __init__(self) -> None:
        self._client: aiohttp.ClientSession | None = None

    @property
    def client(self) -> aiohttp.ClientSession:
        if self._client is None:
            trace = aiohttp.TraceConfig()
            trace.on_connection_reuseconn.append(_note_reuse)
            self._client = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=30),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                trace_configs=[trace],
                read_bufsize=_READ_BUFFER,
                max_line_size=_HEADER_BYTES,
                max_field_size=_HEADER_BYTES,
            )
        return self._client

    async def aclose(self) -> None:
        """Closes what is open; a later request opens a pool again."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()


async def _note_reuse(_session: aiohttp.ClientSession, context: SimpleNamespace, _params: Any) -> None:
    context.trace_request_ctx["reused"] = True


class HttpAnswer:
    """``UpstreamAnswer`` over an aiohttp response."""

    def __init__(self, upstream: str, response: aiohttp.ClientResponse) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in response.headers.items()}
        self._upstream = upstream
        self._response = response
        connection = response.connection  # none if the body came with the head
        if connection is not None and connection.protocol is not None and (closed := connection.protocol.closed):
            closed.add_done_callback(self._lost)

    def _lost(self, closed: asyncio.Future[None]) -> None:
        """aiohttp does not tell a reader of a body that cannot be parsed (a bad chunk size): it would wait on."""
        content = self._response.content
        if not closed.cancelled() and (content.is_eof() or content.exception() or closed.exception()):
            return
        content.set_exception(aiohttp.ClientPayloadError())

    async def read(self) -> bytes:
        content = self._response.content
        try:
            return await content.readany()
        except _FAILURES as failure:
            # aiohttp raises before it gives what came before the failure.
            if rest := content._read_nowait(-1):
                return rest
            _fail(self._upstream, failure, "broke off its answer")

    def close(self) -> None:
        self._response.close()


class HttpUpstream:
    """``Upstream`` for a base URL. ``headers`` go with every request, over those of the dialect."""

    def __init__(
        self,
        session: HttpSession,
        *,
        name: str,
        dialect: str,
        base_url: str,
        headers: Mapping[str, str],
        connect: float,
    ) -> None:
        self.dialect = dialect
        self.models: Sequence[str] = ()
        self._session = session
        self._name = name
        self._base_url = base_url
        self._headers = {name.lower(): value for name, value in headers.items()}
        self._timeout = aiohttp.ClientTimeout(total=None, connect=connect)

    async def send(self, request: UpstreamRequest) -> HttpAnswer:
        url = URL(self._base_url + request.path, encoded=True)
        body = jsontext.render(request.body)
        headers = {
            "content-type": "application/json",
            "accept-encoding": "identity",  # a compressor at the other side would hold events back
            "user-agent": "dragoman",
            **{name.lower(): value for name, value in request.headers.items()},
            **self._headers,
        }
        while True:
            context: dict[str, bool] = {}
            try:
                response = await self._session.client.request(
                    request.method,
                    url,
                    data=body,
                    headers=headers,
                    allow_redirects=False,
                    timeout=self._timeout,
                    trace_request_ctx=context,
                )
            except _FAILURES as failure:
                # A kept connection that the upstream closed as the request came: it was not read, so
                # ask again. Each try takes a connection out of the pool, so this ends.
                if context.get("reused") and _nothing_read(failure):
                    continue
                _fail(self._name, failure, "gave no answer that can be read")
            return HttpAnswer(self._name, response)

    async def aclose(self) -> None:
        """Closes the session, for all that share it."""
        await self._session.aclose()


def _nothing_read(failure: Exception) -> bool:
    """Whether the connection ended before a byte of the answer came."""
    if isinstance(failure, aiohttp.ServerDisconnectedError):
        return isinstance(failure.message, str)  # else it is the head that began
    return isinstance(failure, ConnectionResetError | BrokenPipeError) or (
        isinstance(failure, aiohttp.ClientOSError) and failure.errno in (errno.ECONNRESET, errno.EPIPE)
    )


def _fail(upstream: str, failure: Exception, otherwise: str) -> NoReturn:
    kind, what = ErrorKind.BAD_UPSTREAM, otherwise
    if isinstance(failure, TimeoutError):
        kind, what = ErrorKind.UPSTREAM_TIMEOUT, "could not be reached in time"
    elif isinstance(failure, aiohttp.ClientConnectorCertificateError):
        what = "has no valid certificate"
    elif isinstance(failure, aiohttp.ClientConnectorError):
        what = "cannot be reached"
    elif isinstance(failure, ContentEncodingError):
        what = "sent an encoding that was not asked for, or broken"
    raise UpstreamError(Error(kind=kind, message=f"the upstream {upstream!r} {what}")) from failure
