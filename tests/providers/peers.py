"""Peers on real sockets, each following a script: what the client under test talks to."""

import asyncio
import re
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


class Connection:
    """A connection that the client opened, as its peer has it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.heads: list[str] = []
        self.bodies: list[bytes] = []

    async def hear(self) -> str:
        """The next request's head; its body is in `bodies`."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        self.heads.append(head)
        length = re.search(r"content-length: (\d+)", head)
        self.bodies.append(await self.reader.readexactly(int(length[1]) if length else 0))
        return head

    async def say(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def hang_up(self) -> None:
        self.writer.close()
        await self.writer.wait_closed()

    def reset(self) -> None:
        linger_not_at_all = struct.pack("ii", 1, 0)
        self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_not_at_all)
        self.writer.transport.abort()

    async def ended(self) -> None:
        """Wait until the client has closed it."""
        with suppress(ConnectionError):
            while await self.reader.read(65_536):
                pass


Script = Callable[[Connection], Awaitable[None]]


class Peer:
    """A server that gives each connection to its script."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0
        self.connections: list[Connection] = []
        self.arrivals: asyncio.Queue[Connection] = asyncio.Queue()

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}/v1"

    @property
    def secure_url(self) -> str:
        return f"https://localhost:{self.port}/v1"

    @property
    def heads(self) -> list[str]:
        return [head for connection in self.connections for head in connection.heads]

    @property
    def bodies(self) -> list[bytes]:
        return [body for connection in self.connections for body in connection.bodies]

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(reader, writer)
        self.connections.append(connection)
        self.arrivals.put_nowait(connection)
        task = asyncio.create_task(self._follow(connection))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _follow(self, connection: Connection) -> None:
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await self._script(connection)
        finally:
            connection.writer.transport.abort()

    async def leave(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def a_peer(script: Script, tls: ssl.SSLContext | None = None) -> AsyncIterator[Peer]:
    peer = Peer(script)
    server = await asyncio.start_server(peer.accept, "127.0.0.1", 0, ssl=tls)
    peer.port = server.sockets[0].getsockname()[1]
    try:
        yield peer
    finally:
        server.close()
        await peer.leave()
        await server.wait_closed()


def saying(*pieces: bytes) -> Script:
    """Hear one request, say this, and wait for the client to go."""

    async def script(connection: Connection) -> None:
        await connection.hear()
        for piece in pieces:
            await connection.say(piece)
        await connection.ended()

    return script


async def answering(connection: Connection) -> None:
    """Answer every request in full, and keep the connection."""
    while True:
        await connection.hear()
        await connection.say(OK)


async def proxying(connection: Connection) -> None:
    """Be an egress proxy: join tunnels, and answer what is in the clear."""
    head = await connection.hear()
    if not head.startswith("connect "):
        await connection.say(OK)
        return await connection.ended()
    host, _, port = head.split()[1].rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    await connection.say(b"HTTP/1.1 200 OK\r\n\r\n")
    try:
        await asyncio.gather(pour(connection.reader, writer), pour(reader, connection.writer))
    finally:
        writer.transport.abort()


async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()
    writer.write_eof()


class Authority:
    """A private certificate authority."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"Authority {uuid4()}")])
        authority = x509.BasicConstraints(ca=True, path_length=None)
        root = self._certificate(self._name, self._key, datetime.now(UTC) + timedelta(days=1), authority)
        self.pem = root.public_bytes(serialization.Encoding.PEM)

    def tls_for(self, name: str, *, valid: timedelta = timedelta(days=1)) -> ssl.SSLContext:
        """What a server of this name needs."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        names = x509.SubjectAlternativeName([x509.DNSName(name)])
        certificate = self._certificate(subject, key, datetime.now(UTC) + valid, names)
        file = self._folder / f"{name}.pem"
        file.write_bytes(
            certificate.public_bytes(serialization.Encoding.PEM)
            + key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def _certificate(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        until: datetime,
        extension: x509.BasicConstraints | x509.SubjectAlternativeName,
    ) -> x509.Certificate:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(datetime.now(UTC) - timedelta(days=2))
            .not_valid_after(until)
            .add_extension(extension, critical=False)
            .sign(self._key, hashes.SHA256())
        )
