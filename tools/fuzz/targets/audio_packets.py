"""Our own readers of audio packets: a length that is none below nothing, or Unmeasurable.

An input is the description of a stream, and behind the first two line ends its packets, one to a line.
"""

from collections.abc import Callable
from fractions import Fraction

from tollkeeper.media.packets import (
    MpegAudio,
    Opus,
    Samples,
    Unmeasurable,
    Vorbis,
    aac_packet_seconds,
    alac_packet_seconds,
)
from tools.fuzz.target import Grown, Target

SIZE_BYTES_MOST = 64 * 1024
SECONDS_EACH_MOST = 2**32


def check(data: bytes) -> None:
    description, _, stream = data.partition(b"\n\n")
    packets = [packet for packet in stream.split(b"\n") if packet]
    for seconds in (aac_packet_seconds, alac_packet_seconds):
        length = _measured(seconds, description)
        assert length is None or 0 < length <= SECONDS_EACH_MOST
    for count in (MpegAudio(), Opus(), Samples(sample_bytes=2, rate=8_000), _vorbis(description)):
        if count is None:
            continue
        for packet in packets:
            count.take(packet)
        assert 0 <= count.seconds() <= SECONDS_EACH_MOST * max(1, len(packets))


def _vorbis(description: bytes) -> Vorbis | None:
    try:
        return Vorbis(description)
    except Unmeasurable:
        return None


def _measured(seconds: Callable[[bytes], Fraction], description: bytes) -> Fraction | None:
    try:
        return seconds(description)
    except Unmeasurable:
        return None


VORBIS = (
    b"\x02\x1e\x0a"
    b"\x01vorbis\0\0\0\0\x02\x44\xac\0\0"
    + b"\0" * 12
    + b"\xb8\x01"
    + b"\x03vorbis\0\0\0"
    + b"\x05vorbis"
    + b"\xff" * 8
    + (1 << 88 | 1 << 47 | 0 << 41).to_bytes(12, "little")
)

TARGET = Target(
    check=check,
    work=check,
    seeds=(
        b"\x12\x10\n\n\xff\xfb\x90\x64\n\xfc\x01\n\x0b",
        b"\x2b\x92\x08\x00\n\n\xff\xf3\x44\n\x03\x82",
        b"\0\0\0\x24alac\0\0\0\0" + b"\0\0\x10\0" + b"\0" * 16 + b"\0\0\xac\x44\n\n\0\0\xff\xfb\x90",
        VORBIS + b"\n\n\x00a\n\x02b\n\x01c",
    ),
    words=(b"\xff\xfb", b"\x01vorbis", b"\x05vorbis", b"\n\n"),
    grown=(
        Grown(b"\xff", b"\x02"),
        Grown(b"\0", VORBIS, b"\n\n\0"),
        Grown(b"\xff\xfb\x90\n", b"\n\n"),
        Grown(b"\0", b"\n\n", b"\xff\xfb\x90"),
    ),
    size_bytes_most=SIZE_BYTES_MOST,
)
