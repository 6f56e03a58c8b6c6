"""Calls over raw sockets: one connection each, read to the end of the answer, or left when the caller was told to."""

import asyncio
import re
import socket
import ssl
import struct
import time
from contextlib import suppress

import msgspec

from proofs.rig.patience import patience

# No fault of a proof lasts nearly as long: a caller to whom nothing came for that time waits for ever.
HUNG_AFTER_SECONDS = 45.0
# An answer that comes byte by byte is slow on a busy machine, but has an end.
LONGEST_SECONDS = 300.0
RESET_AT_ONCE = struct.pack("ii", 1, 0)
READ_BYTES = 65_536
# Of a caller who does not read: as little as the kernel keeps for anybody.
UNREAD_BYTES = 4_096
CONNECTS_MOST = 120


class Leaving(msgspec.Struct, frozen=True, kw_only=True):
    """When a caller hangs up: after so many bytes, so much time, or what was to come; whichever is first."""

    after_bytes: int | None = None
    after_seconds: float | None = None
    after: re.Pattern[bytes] | None = None
    reads: bool = True
    by_reset: bool = False

    def is_enough(self, received: bytearray) -> bool:
        if self.after_bytes is not None and len(received) >= self.after_bytes:
            return True
        return self.after is not None and self.after.search(received) is not None


STAYING = Leaving()


class ByTls(msgspec.Struct, frozen=True):
    """A caller who speaks TLS, and wants a certificate for this name."""

    context: ssl.SSLContext
    name: str


class LeftAt(msgspec.Struct, frozen=True):
    """When a caller hung up, in Unix seconds and by the monotonic clock."""

    unix: float
    monotonic: float


class Received(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a call, as it came."""

    raw: bytes
    seconds: float
    hung: bool = False
    # None where the answer came to its end, or broke off, before.
    left_at: LeftAt | None = None


def chat_request(key: str, body: bytes, *, host: str = "localhost", path: str = "/v1/chat/completions") -> bytes:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


async def exchange(
    port: int,
    sent: bytes,
    leaving: Leaving = STAYING,
    *,
    tls: ByTls | None = None,
    connects: int = CONNECTS_MOST,
    longest_seconds: float = LONGEST_SECONDS,
) -> Received:
    """Send a request, and read until the gateway closes the connection or it is time to leave.

    `longest_seconds`: an answer that still goes on then hangs.
    Raise ConnectionError where nobody takes the connection, however often (`connects`) it is tried.
    """
    loop, hung_after = asyncio.get_running_loop(), patience(HUNG_AFTER_SECONDS)
    longest_until = loop.time() + patience(longest_seconds)
    begun, left_at, hung = time.monotonic(), None, False
    received = bytearray()
    reader, writer = await connect(port, reads=leaving.reads, tls=tls, connects=connects)
    try:
        writer.write(sent)
        async with asyncio.timeout(leaving.after_seconds or hung_after) as silence:
            if not leaving.reads:
                await asyncio.sleep(hung_after)
            while piece := await reader.read(READ_BYTES):
                received += piece
                if leaving.after_seconds is None:
                    silence.reschedule(min(loop.time() + hung_after, longest_until))
                if leaving.is_enough(received):
                    left_at = LeftAt(time.time(), time.monotonic())
                    break
    except TimeoutError:
        hung = leaving.after_seconds is None
        left_at = None if hung else LeftAt(time.time(), time.monotonic())
    except ConnectionError:
        # A call that is broken off is judged by what came of it.
        pass
    finally:
        hang_up(writer, by_reset=leaving.by_reset)
    return Received(raw=bytes(received), seconds=time.monotonic() - begun, hung=hung, left_at=left_at)


async def connect(
    port: int, *, reads: bool = True, tls: ByTls | None = None, connects: int = CONNECTS_MOST
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """However busy the machine is: a call that cannot be sent shows nothing."""
    for attempt in range(connects):
        connection = socket.socket()
        connection.setblocking(False)
        if not reads:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, UNREAD_BYTES)
        with suppress(OSError):
            await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", port))
            # A reader that is not asked stops reading at twice its limit.
            limit = READ_BYTES if reads else UNREAD_BYTES
            if tls is None:
                return await asyncio.open_connection(sock=connection, limit=limit)
            return await asyncio.open_connection(
                sock=connection, limit=limit, ssl=tls.context, server_hostname=tls.name
            )
        connection.close()
        await asyncio.sleep(min(0.1 * attempt, 0.5))
    raise ConnectionError(f"nobody listens on port {port}")


def hang_up(writer: asyncio.StreamWriter, *, by_reset: bool) -> None:
    if by_reset:
        with suppress(OSError):
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_ONCE)
    writer.transport.abort()
