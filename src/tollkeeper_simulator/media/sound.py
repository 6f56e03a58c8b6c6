"""Speech: silence that can be played as wav, pcm and mp3, and bytes that are always the same in every other format."""

import random
import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import msgspec

from tollkeeper_simulator.media.answer import Answer, Fields, Part, Setting
from tollkeeper_simulator.media.refusal import check_choice, check_range, check_text, converted, missing, wrong

CHARACTER_BYTES = 200
CHUNK_BYTES = 1_000
# Of an answer whose size is directed, which may be large.
LARGE_CHUNK_BYTES = 16_000
INPUT_CHARACTERS_MOST = 4_096
SPEEDS = (0.25, 4.0)
SAMPLES_PER_SECOND = 24_000
WAV_HEAD_BYTES = 44
PATTERN_BYTES = 65_521
# A frame of MPEG-2 layer III, 24 kbit/s, 24 kHz, one channel: 24 ms. Nothing of its 9 bytes of side information is set,
# so what follows them is no sound to a decoder, whatever it is.
MP3_HEAD = b"\xff\xf3\x34\xc4" + bytes(9)
MP3_FRAME_BYTES = 72

VOICES = {
    *("alloy", "ash", "ballad", "cedar", "coral", "echo", "fable"),
    *("marin", "nova", "onyx", "sage", "shimmer", "verse"),
}


class Sound(NamedTuple):
    """A format: its type, and how its files begin."""

    content_type: bytes
    beginning: bytes = b""


SOUNDS = {
    "mp3": Sound(b"audio/mpeg"),
    "opus": Sound(b"audio/opus", b"OggS\0\x02"),
    "aac": Sound(b"audio/aac", b"\xff\xf1\x50\x40"),
    "flac": Sound(b"audio/flac", b"fLaC"),
    "wav": Sound(b"audio/wav"),
    "pcm": Sound(b"audio/pcm"),
}


class SpeechOrder(msgspec.Struct):
    """A request for speech."""

    model: str = ""
    input: str | None = None
    voice: str | dict[str, object] | None = None
    response_format: str = "mp3"
    speed: float = 1.0
    stream_format: str = "audio"

    file_bytes = 0
    tokens = 0

    @property
    def asked(self) -> str:
        return self.input or ""

    @property
    def characters(self) -> int:
        return len(self.asked)

    def answer(self, setting: Setting) -> Answer:
        directed = setting.directions.bytes
        size = self.characters * CHARACTER_BYTES if directed is None else directed
        chunk_bytes = CHUNK_BYTES if directed is None else LARGE_CHUNK_BYTES
        parts = (Part(data, ends_chunk=True) for data in sound_chunks(self.response_format, size, chunk_bytes))
        kind = SOUNDS[self.response_format].content_type
        return Answer(kind, size, parts, -(-size // chunk_bytes), chunked=True)


def read_speech_order(fields: Fields) -> SpeechOrder:
    """Raise Refused for what the vendor would not take."""
    order = converted(fields, SpeechOrder)
    if not order.model:
        raise missing("model")
    check_text("input", order.input, INPUT_CHARACTERS_MOST)
    if order.voice is None:
        raise missing("voice")
    if isinstance(order.voice, str):
        check_choice("voice", order.voice, sorted(VOICES))
    check_choice("response_format", order.response_format, SOUNDS)
    check_range("speed", order.speed, *SPEEDS)
    if order.stream_format != "audio":
        raise wrong("stream_format", "this model does not support it.", "unsupported_value")
    return order


def sound_of(response_format: str, size: int) -> bytes:
    """All bytes of an answer of this size."""
    return b"".join(sound_chunks(response_format, size, LARGE_CHUNK_BYTES))


def sound_chunks(response_format: str, size: int, chunk_bytes: int) -> Iterator[bytes]:
    beginning = _wav_head(size) if response_format == "wav" else SOUNDS[response_format].beginning
    pattern = _pattern(response_format)
    for start in range(0, size, chunk_bytes):
        wanted = min(chunk_bytes, size - start)
        at = start % len(pattern)
        data = (pattern + pattern)[at : at + wanted] if at + wanted > len(pattern) else pattern[at : at + wanted]
        yield (beginning + data[len(beginning) :])[:wanted] if start == 0 else data


def _wav_head(size: int) -> bytes:
    """The head of a file with 16 bits in one channel."""
    rate, data_bytes = SAMPLES_PER_SECOND, max(size - WAV_HEAD_BYTES, 0)
    described = struct.pack("<IHHIIHH", 16, 1, 1, rate, rate * 2, 2, 16)
    sizes = struct.pack("<I", data_bytes + WAV_HEAD_BYTES - 8), struct.pack("<I", data_bytes)
    return b"RIFF" + sizes[0] + b"WAVEfmt " + described + b"data" + sizes[1]


@lru_cache(maxsize=len(SOUNDS))
def _pattern(response_format: str) -> bytes:
    """Silence, or bytes by whose order a lost piece shows."""
    if response_format in ("wav", "pcm"):
        return bytes(PATTERN_BYTES)
    noise = random.Random(response_format).randbytes(PATTERN_BYTES)  # noqa: S311 - a pattern, not a secret
    return _mp3_frames(noise) if response_format == "mp3" else noise


def _mp3_frames(noise: bytes) -> bytes:
    """Silence, with the pattern where no decoder looks; nothing in it looks like the beginning of a frame."""
    quiet = bytes(byte & 0x7F for byte in noise)
    held = MP3_FRAME_BYTES - len(MP3_HEAD)
    frames = PATTERN_BYTES // MP3_FRAME_BYTES
    return b"".join(MP3_HEAD + quiet[index * held : (index + 1) * held] for index in range(frames))
