"""The truth file: what was sent, call by call, for others to compare their books with.

Rules of this file
1. One JSON line for each call, when it is over, however it ended.
2. Counts, times and names only: nothing that a caller or an answer said.
3. A reader sees a line within FLUSH_SECONDS of the call's end. Processes may share a file: lines are appended whole.
"""

import asyncio
import os
import time
from pathlib import Path

import msgspec

FLUSH_SECONDS = 0.02
MOMENTS_MOST = 4_096


class TruthLine(msgspec.Struct):
    """One call. `bytes_sent` counts everything that went to the socket, headers too; `status` is 0 if nothing did.

    All input is in `input_tokens`, cached, cache-written and of media too, and all output that was sent is in
    `output_tokens`, thoughts too, shown or not. What was written for an hour is in `cache_write_tokens`, too. Of
    calls that are no chat `characters` are the code points to be spoken, `images` the objects that were sent whole, and
    `fields` the names of the fields that came.

    `key_number` says which of the keys that are accepted came, from 1 on; 0 where any is.

    `made_at` is there where it was asked for: by which monotonic second how many tokens were out. When it is full,
    every second moment is dropped, so its last is the last that was noted.
    """

    request_id: str
    received_at: float
    model: str = ""
    stream: bool = False
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    thinking_tokens: int = 0
    bytes_sent: int = 0
    status: int = 0
    ending: str = ""
    first_byte_at: float | None = None
    closed_at: float = 0.0
    vendor: str = ""
    kind: str = "chat"
    images: int = 0
    characters: int = 0
    file_bytes: int = 0
    fields: str = ""
    cache_write_1h_tokens: int = 0
    image_input_tokens: int = 0
    audio_input_tokens: int = 0
    image_output_tokens: int = 0
    audio_output_tokens: int = 0
    tool_uses: int = 0
    key_number: int = 0
    made_at: list[tuple[float, int]] | msgspec.UnsetType = msgspec.UNSET

    def note_moment(self) -> None:
        if self.made_at is msgspec.UNSET:
            return
        if len(self.made_at) >= MOMENTS_MOST:
            del self.made_at[::2]
        self.made_at.append((round(time.monotonic(), 6), self.output_tokens))


class TruthFile:
    """Where lines go; without a path, nowhere."""

    def __init__(self, path: Path | None) -> None:
        # Appended in one write: whole lines, whoever else writes into the same file.
        self._file = None if path is None else os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._waiting: list[TruthLine] = []
        self._encoder = msgspec.json.Encoder()

    def add(self, line: TruthLine) -> None:
        if self._file is None:
            return
        # Thoughts come first: what broke off among them had no others.
        line.thinking_tokens = min(line.thinking_tokens, line.output_tokens)
        spoken = line.output_tokens - line.thinking_tokens
        line.image_output_tokens = min(line.image_output_tokens, spoken)
        line.audio_output_tokens = min(line.audio_output_tokens, spoken - line.image_output_tokens)
        if not self._waiting:
            asyncio.get_running_loop().call_later(FLUSH_SECONDS, self.flush)
        self._waiting.append(line)

    def flush(self) -> None:
        if self._file is None or not self._waiting:
            return
        lines, self._waiting = self._waiting, []
        data = memoryview(self._encoder.encode_lines(lines))
        while data:
            data = data[os.write(self._file, data) :]

    def close(self) -> None:
        self.flush()
        if self._file is not None:
            os.close(self._file)
            self._file = None
