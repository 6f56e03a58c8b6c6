"""Callers over raw sockets: each sends one call, reads as much of the answer as it likes, and hangs up."""

import asyncio
import re
import socket
import time
from contextlib import suppress

import msgspec

from tollkeeper.demo.speech import WORDS
from tools.proofs.attack_rig.moments import Leaving
from tools.proofs.fault_rig.answer import unchunked
from tools.proofs.fault_rig.caller import CONNECTS_MOST, HUNG_AFTER_SECONDS, READ_BYTES, hang_up

# Of a caller who does not read: as little as the kernel keeps for anybody.
UNREAD_BYTES = 4_096
# Words of an answer stand after a space, or begin it.
SAID = re.compile(rb' (?:%b)\b|"(?:%b|%b)\b' % tuple(map(str.encode, ("|".join(WORDS), WORDS[0], WORDS[-1]))))
ERROR = b'"error":{'
PROBLEM_BYTES = 300


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a call, for its caller."""

    status: int = 0
    size_bytes: int = 0
    # Words of the answer that came, each of them a token.
    words: int = 0
    hung: bool = False
    # By the monotonic clock; None where the answer came to its end before.
    left_at: float | None = None
    leaked: bool = False
    # Of what is no answer, its beginning.
    problem: str = ""


def request(key: str, body: bytes, path: str = "/v1/chat/completions") -> bytes:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


async def call(port: int, sent: bytes, leaving: Leaving, secrets: tuple[bytes, ...] = ()) -> Heard:
    received, left_at, hung = bytearray(), None, False
    reader, writer = await _connect(port, unread=not leaving.reads)
    try:
        writer.write(sent)
        async with asyncio.timeout(leaving.after_seconds or HUNG_AFTER_SECONDS):
            if not leaving.reads:
                await asyncio.sleep(HUNG_AFTER_SECONDS)
            while piece := await reader.read(READ_BYTES):
                received += piece
                if _is_enough(received, leaving):
                    left_at = time.monotonic()
                    break
    except TimeoutError:
        hung = leaving.after_seconds is None
        left_at = None if hung else time.monotonic()
    except ConnectionError:
        # A call that is broken off is judged by what came of it.
        pass
    finally:
        hang_up(writer, by_reset=leaving.by_reset)
    return _heard(bytes(received), hung, left_at, secrets)


def _is_enough(received: bytearray, leaving: Leaving) -> bool:
    if leaving.after_bytes is not None and len(received) >= leaving.after_bytes:
        return True
    return leaving.after is not None and leaving.after.search(received) is not None


def _heard(received: bytes, hung: bool, left_at: float | None, secrets: tuple[bytes, ...]) -> Heard:
    head, _, rest = received.partition(b"\r\n\r\n")
    body = unchunked(rest)[0] if b"transfer-encoding" in head.lower() else rest
    status = int(head.split()[1]) if head.startswith(b"HTTP/1.1 ") and len(head) > 12 else 0
    words = len(SAID.findall(body.partition(ERROR)[0])) if status == 200 else 0
    return Heard(
        status=status,
        size_bytes=len(received),
        words=words,
        hung=hung,
        left_at=left_at,
        leaked=any(secret in received for secret in secrets),
        problem="" if status == 200 else body[:PROBLEM_BYTES].decode("utf-8", "replace"),
    )


async def _connect(port: int, *, unread: bool) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """However busy the machine is: a call that cannot be sent shows nothing."""
    for attempt in range(CONNECTS_MOST):
        connection = socket.socket()
        connection.setblocking(False)
        if unread:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, UNREAD_BYTES)
        with suppress(OSError):
            await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", port))
            # A reader that is not asked stops reading at twice its limit.
            return await asyncio.open_connection(sock=connection, limit=UNREAD_BYTES if unread else READ_BYTES)
        connection.close()
        await asyncio.sleep(min(0.1 * attempt, 0.5))
    raise ConnectionError(f"nobody listens on port {port}")
