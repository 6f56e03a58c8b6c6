"""The front's door: TLS, and a gateway that is away."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tollkeeper.front import Door, Gate, Limits
from tools.services.process import free_port

LIMITS = Limits(connections=10, connections_per_ip=2, head_seconds=30)
REQUEST = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    form, hidden = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    file = tmp_path / "certificate.pem"
    file.write_bytes(
        signed.public_bytes(serialization.Encoding.PEM) + key.private_bytes(serialization.Encoding.PEM, form, hidden)
    )
    return file


@asynccontextmanager
async def a_gateway(heard: list[bytes]) -> AsyncIterator[int]:
    """Answers every request alike, and closes."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(ANSWER)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


async def asked(port: int, tls: ssl.SSLContext | None = None) -> bytes:
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=tls, server_hostname="localhost" if tls else None
    )
    writer.write(REQUEST)
    try:
        return await reader.read()
    finally:
        writer.close()


async def test_callers_speak_tls_where_there_is_a_certificate(certificate: Path) -> None:
    heard: list[bytes] = []
    port = free_port()
    async with a_gateway(heard) as gateway:
        door = Door(Gate("127.0.0.1", gateway), LIMITS)
        async with await door.open("127.0.0.1", port, str(certificate)):
            assert await asked(port, ssl.create_default_context(cafile=str(certificate))) == ANSWER
            await door.wait_until_empty(30)
    assert heard == [REQUEST[:-2] + b"X-Forwarded-For: 127.0.0.1\r\n\r\n"]


async def test_a_gateway_that_is_away_is_503() -> None:
    port = free_port()
    async with await Door(Gate("127.0.0.1", free_port()), LIMITS).open("127.0.0.1", port):
        answer = await asked(port)
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"Nothing was charged" in answer
