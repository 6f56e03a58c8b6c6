"""How files are damaged, swollen and made to lie: pure functions of bytes."""

import gzip
import io
import struct
import zipfile
import zlib
from functools import cache
from random import Random

import msgspec

from proofs.media.sounds import WEBM, Kind, Sound

MEGABYTE = 1024 * 1024
# How a cluster of a WebM file begins.
CLUSTER = bytes.fromhex("1f43b675")
LARGEST = b"\xff" * 4


@cache
def good(kind: Kind) -> bytes:
    """Two seconds or a little more."""
    return Sound(kind=kind, samples=96_000).file()


def cut(content: bytes, chance: Random, least: float, most: float) -> bytes:
    """The file up to somewhere between two shares of its size."""
    return content[: int(len(content) * chance.uniform(least, most))]


def turned(content: bytes, chance: Random, bits: int) -> bytes:
    damaged = bytearray(content)
    for _ in range(bits):
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
    return bytes(damaged)


def zipped(content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("sound.mp3", content)
    return file.getvalue()


def gzip_bomb(size: int, layers: int = 1) -> bytes:
    content = bytes(size)
    for _ in range(layers):
        content = gzip.compress(content)
    return content


def wav(samples: bytes, *, channels: int = 1, rate: int = 8_000, bits: int = 16, said: int | None = None) -> bytes:
    """A WAV file that may say anything of itself, and that it has `said` bytes of samples."""
    width = channels * bits // 8
    form = struct.pack("<HHIIHH", 1, channels, rate, rate * width % 2**32, width % 2**16, bits)
    size = len(samples) if said is None else said
    head = b"RIFF" + struct.pack("<I", min(36 + size, 2**32 - 1)) + b"WAVEfmt " + struct.pack("<I", 16) + form
    return head + b"data" + struct.pack("<I", size) + samples


def with_remarks(content: bytes, remarks: bytes) -> bytes:
    """A WAV file with something between its form and its data."""
    at = content.index(b"data")
    return content[:at] + b"LIST" + struct.pack("<I", len(remarks)) + remarks + content[at:]


def box(kind: bytes, content: bytes) -> bytes:
    """What MP4 files are made of."""
    return struct.pack(">I4s", 8 + len(content), kind) + content


FILE_TYPE = box(b"ftyp", b"isom" + bytes(4))


def with_largest(content: bytes, table: bytes, at: int) -> bytes:
    """An MP4 file with the largest number there is in one of its tables."""
    place = content.index(table) + 4 + at
    return content[:place] + LARGEST + content[place + 4 :]


def squeezed_header(size: int) -> bytes:
    """An MP4 file whose header is small while it is compressed."""
    inside = struct.pack(">I", size) + zlib.compress(bytes(size))
    return FILE_TYPE + box(b"moov", box(b"cmov", box(b"dcom", b"zlib") + box(b"cmvd", inside)))


def hours_of_silence(hours: int, packet_milliseconds: int) -> bytes:
    """WebM with the same half minute over and over, at the same time each time: its clock never gets any further."""
    kind = msgspec.structs.replace(
        WEBM,
        codec_options=(("frame_duration", str(packet_milliseconds)), ("b", "6000")),
        container_options=(("live", "1"), ("cluster_time_limit", "32000"), ("cluster_size_limit", "5000000")),
    )
    content = Sound(kind=kind, samples=30 * kind.rate, silent=True).file()
    begins = content.index(CLUSTER)
    return content[:begins] + content[begins:] * (hours * 120)


def smallest_frames(size: int) -> bytes:
    """As many frames as there is room for: MPEG 2.5, layer III, 8 kbit/s at 8 kHz, so that 72 bytes are 72 ms."""
    frame = b"\xff\xe3\x18\xc4" + bytes(68)
    return frame * (size // len(frame))


def random_frames(size: int, chance: Random) -> bytes:
    """Beginnings of frames one after the other, each of another kind."""
    content = bytearray(chance.randbytes(size))
    content[::4] = b"\xff" * len(content[::4])
    return bytes(content)
