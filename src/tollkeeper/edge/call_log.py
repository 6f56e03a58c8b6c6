"""The call log: one JSON line per call, without secrets and without content.

Lines are gathered and written by a thread, so that a slow reader of the log never holds up a call.
"""

import asyncio
import os
import re

import msgspec

FLUSH_AFTER_SECONDS = 0.1
BUFFER_BYTES_MOST = 8 * 1024 * 1024
PATH_CHARACTERS_MOST = 100

# Long runs of key-like characters: a key pasted into a path must not reach the log.
_KEY_LIKE = re.compile(r"[A-Za-z0-9_~+=-]{24,}|sk-\w+")


class CallLine(msgspec.Struct, kw_only=True, omit_defaults=True):
    time: str
    request_id: str
    address: str
    method: str
    path: str
    status: int
    milliseconds: float
    sent_bytes: int
    peer: str
    key_id: int | None = None
    account_id: int | None = None
    code: str | None = None


class CallLog:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._encode = msgspec.json.Encoder().encode
        self._lines: list[bytes] = []
        self._buffered_bytes = 0
        self._dropped = 0
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

    async def close(self) -> None:
        while self._flushing is not None:
            await self._flushing

    async def _flush_soon(self) -> None:
        try:
            await asyncio.sleep(FLUSH_AFTER_SECONDS)
            await asyncio.to_thread(_write_whole, self._descriptor, self._take())
        finally:
            self._flushing = asyncio.create_task(self._flush_soon()) if self._lines else None

    def _take(self) -> bytes:
        if self._dropped:
            self._lines.append(b'{"dropped_lines":%d}' % self._dropped)
        lines, self._lines, self._buffered_bytes, self._dropped = self._lines, [], 0, 0
        return b"\n".join(lines) + b"\n"


def path_for_log(path: str) -> str:
    return _KEY_LIKE.sub("…", path[: PATH_CHARACTERS_MOST * 2])[:PATH_CHARACTERS_MOST]


def _write_whole(descriptor: int, text: bytes) -> None:
    view = memoryview(text)
    while view:
        view = view[os.write(descriptor, view) :]
