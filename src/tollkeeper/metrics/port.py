"""The port where Prometheus asks: one page for all worker processes of a node.

Each process counts for itself, in memory. All of them listen on the same port (SO_REUSEPORT), and whoever is asked asks
the others, over sockets that have a number instead of a file (Linux's abstract namespace).

Rules of this file
1. A process's number is the socket that it could take: the first that is free. So nobody needs a folder, and the number
   of a dead process is free at once.
2. Only processes of the same user are asked, and answered: anybody on the machine can take such a name.
3. Nothing here can hold up a call: the page is made when it is asked for, and who is slow is given up.
4. A connection lasts for seconds: who sends no request, or does not take the page, is cut off with what is unsent.
   Where all places are taken, who is waited for longest makes room, so that idle connections keep nobody out.
"""

import asyncio
import contextlib
import logging
import os
import socket
import struct
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

import msgspec

from tollkeeper.metrics import process
from tollkeeper.metrics.series import Sample
from tollkeeper.metrics.text import CONTENT_TYPE, Lines, lines_of, page

log = logging.getLogger(__name__)

# What a process tells, now.
Collect = Callable[[], Awaitable[Iterable[Sample]]]
# Why it cannot do its work, for operators; empty where it can.
WhyNotReady = Callable[[], Awaitable[str]]

HEAD_BYTES_MOST = 8 * 1024
HEAD_SECONDS = 2.0
PAGE_SECONDS = 5.0
SIBLING_SECONDS = 2.0
AT_ONCE_MOST = 16
RETRY_SECONDS = 5.0
# Processes that end and those that follow them may be there at the same time.
SPARE_NUMBERS = 2

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(dict[str, str]).decode


class MetricsPort:
    """The port of one worker process, which asks the others of its node."""

    def __init__(
        self,
        part: str,
        host: str,
        port: int,
        collect: Collect,
        *,
        processes: int = 1,
        why_not_ready: WhyNotReady | None = None,
    ) -> None:
        """`part`: gateway, console or worker. `processes`: how many of them share the port. `why_not_ready`: of a part
        that has no other port to be asked on."""
        self._part = part
        self._host = host
        self._port = port
        self._collect = collect
        self._several = processes > 1
        self._why_not_ready = why_not_ready
        self._numbers = range(2 * processes + SPARE_NUMBERS)
        # Not when this module was loaded: processes may be forked after that.
        self._begun = time.time()
        self._own = 0
        self._busy = 0
        # Whose request, or whose reading of the page, is waited for: the longest first.
        self._waited_for: dict[asyncio.StreamWriter, None] = {}

    async def serve(self) -> None:
        """Until cancelled. Where the port is taken it is tried again: calls do not depend on it."""
        if not self._port:
            return
        while True:
            try:
                await self._listen()
            except OSError as problem:
                where = f"{self._host}:{self._port}"
                log.error("metrics cannot be told on %s: %s; trying again", where, problem.strerror)
            await asyncio.sleep(RETRY_SECONDS)

    async def _listen(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            for_siblings = self._take_number()
            if for_siblings is not None:
                await stack.enter_async_context(await asyncio.start_unix_server(self._tell_sibling, sock=for_siblings))
            public = await asyncio.start_server(
                self._answer, self._host, self._port, limit=HEAD_BYTES_MOST, reuse_port=self._several
            )
            async with public:
                await public.serve_forever()

    def _take_number(self) -> socket.socket | None:
        """The socket for siblings; None where the system has no such names: a process then tells of itself alone."""
        if sys.platform != "linux":
            return None
        for number in self._numbers:
            taken = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                taken.bind(self._name(number))
            except OSError:
                taken.close()
                continue
            self._own = number
            return taken
        return None

    def _name(self, number: int) -> str:
        return f"\0tollkeeper-metrics/{self._part}/{self._port}/{number}"

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._busy >= AT_ONCE_MOST and not self._made_room():
            writer.transport.abort()
            return
        self._busy += 1
        try:
            await self._answer_in_time(reader, writer)
        finally:
            self._busy -= 1
            _hang_up(writer)

    def _made_room(self) -> bool:
        if not self._waited_for:
            return False
        longest = next(iter(self._waited_for))
        del self._waited_for[longest]
        longest.transport.abort()
        return True

    @contextlib.asynccontextmanager
    async def _waiting_for(self, writer: asyncio.StreamWriter, seconds: float) -> AsyncIterator[None]:
        self._waited_for[writer] = None
        try:
            async with asyncio.timeout(seconds):
                yield
        finally:
            self._waited_for.pop(writer, None)

    async def _answer_in_time(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with self._waiting_for(writer, HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            asked = head.split(b"\r\n", 1)[0].split(b" ")
            status, body = await self._asked_for(asked[:2])
            told = f"HTTP/1.1 {status}\r\ncontent-type: {CONTENT_TYPE}\r\ncontent-length: {len(body)}\r\n"
            async with self._waiting_for(writer, PAGE_SECONDS):
                await _send(writer, told.encode() + b"connection: close\r\n\r\n" + body)

    async def _asked_for(self, asked: list[bytes]) -> tuple[str, bytes]:
        if asked == [b"GET", b"/metrics"]:
            return "200 OK", page([await self._lines(), *await self._siblings()]).encode()
        if asked == [b"GET", b"/livez"]:
            # The process turns. No store is asked: whoever restarts it for a database that is away mends nothing.
            return "200 OK", b"alive\n"
        if asked == [b"GET", b"/readyz"] and self._why_not_ready is not None:
            trouble = await self._why_not_ready()
            return ("503 Service Unavailable", f"{trouble}\n".encode()) if trouble else ("200 OK", b"ok\n")
        return "404 Not Found", b"Ask for GET /metrics, or GET /livez.\n"

    async def _lines(self) -> Lines:
        return lines_of([*process.samples(self._part, self._begun), *await self._collect()], self._own)

    async def _siblings(self) -> list[Lines]:
        if sys.platform != "linux":
            return []
        others = [number for number in self._numbers if number != self._own]
        told = await asyncio.gather(*map(self._ask, others))
        return [lines for lines in told if lines is not None]

    def _connected(self, number: int) -> socket.socket:
        """Raise OSError where nobody listens, or takes it at once. (uvloop itself knows no names without a file.)"""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.setblocking(False)
        try:
            connection.connect(self._name(number))
        except OSError:
            connection.close()
            raise
        return connection

    async def _ask(self, number: int) -> Lines | None:
        try:
            async with asyncio.timeout(SIBLING_SECONDS):
                reader, writer = await asyncio.open_unix_connection(sock=self._connected(number))
                try:
                    return decode(await reader.read()) if _is_ours(writer) else None
                finally:
                    writer.close()
        except (OSError, TimeoutError, msgspec.MsgspecError):
            return None

    async def _tell_sibling(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, TimeoutError):
            try:
                if _is_ours(writer):
                    lines = encode(await self._lines())
                    async with asyncio.timeout(SIBLING_SECONDS):
                        await _send(writer, lines)
            finally:
                _hang_up(writer)


async def _send(writer: asyncio.StreamWriter, content: bytes) -> None:
    """Until the system has the last byte of it."""
    writer.transport.set_write_buffer_limits(high=0)
    writer.write(content)
    await writer.drain()


def _hang_up(writer: asyncio.StreamWriter) -> None:
    """Closing would wait, without end, for whoever does not take what is still unsent."""
    if writer.transport.get_write_buffer_size():
        writer.transport.abort()
    else:
        writer.close()


def _is_ours(writer: asyncio.StreamWriter) -> bool:
    """Whether a process of the same user is at the other end."""
    credentials = writer.get_extra_info("socket").getsockopt(
        socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")
    )
    _, user, _ = struct.unpack("3i", credentials)
    return bool(user == os.geteuid())
