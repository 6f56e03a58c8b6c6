"""The call log: one JSON line per call, without secrets and without content.

Lines are gathered and written by a thread, so that a slow reader of the log never holds up a call.
"""

import asyncio
import logging
import os
import select
from datetime import UTC, datetime
from functools import lru_cache, partial

import msgspec

from tollkeeper.steady import in_a_thread_of_its_own

FLUSH_AFTER_SECONDS = 0.1
CLOSE_SECONDS = 2.0
BUFFER_BYTES_MOST = 8 * 1024 * 1024
SECONDS_REMEMBERED = 16


class CallLine(msgspec.Struct, kw_only=True, omit_defaults=True):
    time: str
    request_id: str
    address: str | None
    method: str
    path: str
    status: int
    milliseconds: float
    sent_bytes: int
    peer: str
    # The client, where the peer is a proxy that is believed.
    ip: str | None = None
    key_id: int | None = None
    account_id: int | None = None
    # When its rate limits let it pass, by their clock: Unix microseconds.
    admitted_at: int | None = None
    code: str | None = None
    # Of calls that are relayed. The model is the catalog's; the provider account, the one that was asked last.
    model: str | None = None
    provider_account: str | None = None
    attempts: int | None = None
    # How it ended and what it came to, once it is settled: a call that is cut is settled after its line is written.
    ending: str | None = None
    input_units: int | None = None
    cached_units: int | None = None
    output_units: int | None = None
    charged_usd: float | None = None
    # What it cost us.
    cost_usd: float | None = None
    # Of an answer that goes out in pieces.
    first_byte_milliseconds: float | None = None
    # Our own part of the whole, without the wait for the body and the provider's part.
    own_milliseconds: float | None = None
    # What it waited for Redis and, for its hold, for PostgreSQL; also where it was refused.
    limits_milliseconds: float | None = None
    hold_milliseconds: float | None = None


class CallLog:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._encode = msgspec.json.Encoder().encode
        self._lines: list[bytes] = []
        self._buffered_bytes = 0
        self._dropped = 0
        self._dropped_before = 0
        self._flushing: asyncio.Task[None] | None = None

    def write(self, line: CallLine) -> None:
        if self._buffered_bytes > BUFFER_BYTES_MOST:
            self._dropped += 1
            return
        encoded = self._encode(line)
        self._lines.append(encoded)
        self._buffered_bytes += len(encoded)
        if self._flushing is None:
            self._flushing = asyncio.create_task(self._flush_soon())

    @property
    def dropped_lines(self) -> int:
        """Since the process began."""
        return self._dropped_before + self._dropped

    async def close(self) -> None:
        """Write what is left; a reader that does not read is not waited for."""
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                while self._flushing is not None:
                    await asyncio.shield(self._flushing)
        except TimeoutError:
            logging.getLogger(__name__).warning("the reader of the call log does not read; its last lines are lost")

    async def _flush_soon(self) -> None:
        try:
            await asyncio.sleep(FLUSH_AFTER_SECONDS)
            lines = self._take()
            try:
                await in_a_thread_of_its_own(partial(_write_lines, self._descriptor, lines))
            except OSError:
                self._dropped += len(lines)
        finally:
            self._flushing = asyncio.create_task(self._flush_soon()) if self._lines else None

    def _take(self) -> list[bytes]:
        if self._dropped:
            self._lines.append(b'{"dropped_lines":%d}' % self._dropped)
        self._dropped_before += self._dropped
        lines, self._lines, self._buffered_bytes, self._dropped = self._lines, [], 0, 0
        return lines


def time_for_log(unix_milliseconds: int) -> str:
    seconds, milliseconds = divmod(unix_milliseconds, 1_000)
    return f"{_second(seconds)}.{milliseconds:03d}+00:00"


@lru_cache(SECONDS_REMEMBERED)
def _second(unix_seconds: int) -> str:
    return datetime.fromtimestamp(unix_seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _write_lines(descriptor: int, lines: list[bytes]) -> None:
    """Whole lines, in pieces that a pipe takes at once, so that those of several processes do not mix."""
    piece = b""
    for line in lines:
        if len(piece) + len(line) + 1 > select.PIPE_BUF:
            _write_whole(descriptor, piece)
            piece = b""
        piece += line + b"\n"
    _write_whole(descriptor, piece)


def _write_whole(descriptor: int, text: bytes) -> None:
    view = memoryview(text)
    while view:
        view = view[os.write(descriptor, view) :]
