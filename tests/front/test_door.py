"""The front's door: TLS, and a gateway that is away."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tollkeeper.front import Door, DoorLimits, GatewayAddress
from tools.certificate import write_certificate
from tools.services.process import free_port

LIMITS = DoorLimits(connections=10, connections_per_ip=2, head_seconds=30)
REQUEST = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    return write_certificate(tmp_path / "certificate.pem", ["localhost"])


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
        door = Door(GatewayAddress("127.0.0.1", gateway), LIMITS)
        async with await door.open("127.0.0.1", port, str(certificate)):
            assert await asked(port, ssl.create_default_context(cafile=str(certificate))) == ANSWER
            async with asyncio.timeout(30):
                await door.wait_until_empty()
    assert heard == [REQUEST[:-2] + b"X-Forwarded-For: 127.0.0.1\r\n\r\n"]


async def test_a_gateway_that_is_away_is_503() -> None:
    port = free_port()
    async with await Door(GatewayAddress("127.0.0.1", free_port()), LIMITS).open("127.0.0.1", port):
        answer = await asked(port)
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"Nothing was charged" in answer
