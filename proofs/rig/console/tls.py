"""HTTPS before the console, as a proxy would speak it: a certificate for this run alone, and bytes passed both ways."""

import asyncio
import contextlib
import ssl
import tempfile
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tools.services.process import free_port

HOST = "localhost"
READ_BYTES = 64 * 1024


class TlsDoor:
    """Listens on a port of this machine from start to stop."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"https://{HOST}:{self.port}"
        # Of the server behind it.
        self.behind = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._pass, "127.0.0.1", self.port, ssl=_context())

    async def _close(self) -> None:
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            there, back = await asyncio.open_connection("127.0.0.1", self.behind)
            await asyncio.gather(_copy(reader, back), _copy(there, writer))


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while piece := await source.read(READ_BYTES):
            target.write(piece)
            await target.drain()
    with contextlib.suppress(OSError):
        target.close()


def _context() -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    with tempfile.NamedTemporaryFile(prefix="tollkeeper-tls-") as file:
        secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
        Path(file.name).write_bytes(secret + certificate.public_bytes(pem))
        context.load_cert_chain(file.name)
    return context
