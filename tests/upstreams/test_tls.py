"""TLS: whose certificates are believed, and that everything else works above it too."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from dragoman.dialects.contract import UpstreamRequest
from dragoman.upstreams.http import HttpUpstream
from dragoman.upstreams.interface import UpstreamError
from tests.gateway.sockets import HEAD, LAST, chunked

REQUEST = UpstreamRequest(path="/", body={})


class Certificate:
    """One that signed itself, for these names; ``server`` shows it, ``client`` believes in it."""

    def __init__(self, folder: Path, *names: x509.GeneralName) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "of a test")])
        day = datetime.timedelta(days=1)
        now = datetime.datetime.now(datetime.UTC)
        made = (
            x509.CertificateBuilder(issuer_name=subject, subject_name=subject, public_key=key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - day)
            .not_valid_after(now + day)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .sign(key, hashes.SHA256())
        )
        self.file = folder / "certificate.pem"
        secret = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        self.file.write_bytes(secret + made.public_bytes(serialization.Encoding.PEM))
        self.server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.server.load_cert_chain(self.file)
        self.client = ssl.create_default_context(cafile=str(self.file))


LOOPBACK = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))


@contextlib.asynccontextmanager
async def serving(
    certificate: Certificate, tls: ssl.SSLContext | None, size: int = 0
) -> AsyncIterator[tuple[HttpUpstream, list[ssl.SSLObject]]]:
    """A server that answers every request with this many bytes, and an upstream that asks it."""
    shaken: list[ssl.SSLObject] = []

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        shaken.append(writer.get_extra_info("ssl_object"))
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(2)
                body = b"".join(chunked(bytes(1 << 14)) for _ in range(size >> 14))
                writer.write(HEAD + body + LAST)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(play, "127.0.0.1", 0, ssl=certificate.server)
    url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    upstream = HttpUpstream(name="up", dialect="chat", base_url=url, headers={}, connect=30, tls=tls)
    try:
        yield upstream, shaken
    finally:
        await upstream.aclose()
        server.close()


@pytest.fixture
def certificate(tmp_path: Path) -> Certificate:
    return Certificate(tmp_path, LOOPBACK)


async def test_one_connection_for_several_requests(certificate: Certificate) -> None:
    async with serving(certificate, certificate.client, size=1 << 20) as (upstream, shaken):
        for _ in range(3):
            answer = await upstream.send(REQUEST)
            got = 0
            while data := await answer.read():
                got += len(data)
            assert got == 1 << 20
        assert len(shaken) == 1


async def test_nobody_vouches_for_it(certificate: Certificate) -> None:
    async with serving(certificate, None) as (upstream, _):
        with pytest.raises(UpstreamError, match=r"^the upstream 'up' has no valid certificate$"):
            await upstream.send(REQUEST)


async def test_it_is_for_another_name(tmp_path: Path) -> None:
    other = Certificate(tmp_path, x509.DNSName("llm.test"))
    async with serving(other, other.client) as (upstream, _):
        with pytest.raises(UpstreamError, match=r"^the upstream 'up' has no valid certificate$"):
            await upstream.send(REQUEST)


async def test_a_server_without_tls() -> None:
    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 no\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(play, "127.0.0.1", 0)
    url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    upstream = HttpUpstream(name="up", dialect="chat", base_url=url, headers={}, connect=30)
    with pytest.raises(UpstreamError, match=r"^the upstream 'up' cannot be reached: no TLS is spoken there$"):
        await upstream.send(REQUEST)
    server.close()
