"""How long the packets of an audio stream last, by what stands in them and not by what their container says of them.

Rules of this file
1. A count gives what a decoder would give, in fractions of a second: no timestamps, no durations, no rounding.
2. A long file has millions of packets. They are counted by kind; how long a kind lasts is worked out once, at the end.
3. What cannot be counted exactly is refused: Unmeasurable.
"""

from collections import Counter
from fractions import Fraction
from typing import SupportsBytes


class Unmeasurable(Exception):
    """Audio whose length does not follow from its packets."""


class Uniform:
    """Packets that all last as long as each other: AAC and ALAC."""

    def __init__(self, each: Fraction) -> None:
        self._each = each
        self._packets = 0

    def take(self, _: SupportsBytes) -> None:
        self._packets += 1

    def seconds(self) -> Fraction:
        return self._packets * self._each


class Samples:
    """Packets of plain samples, each of the same size: PCM."""

    def __init__(self, *, sample_bytes: int, rate: int) -> None:
        if sample_bytes <= 0 or rate <= 0:
            raise Unmeasurable
        self._sample_bytes = sample_bytes
        self._rate = rate
        self._bytes = 0

    def take(self, packet: SupportsBytes) -> None:
        self._bytes += len(bytes(packet))

    def seconds(self) -> Fraction:
        return Fraction(self._bytes // self._sample_bytes, self._rate)


class MpegAudio:
    """Frames of MPEG audio, layers I to III, each with its own header."""

    def __init__(self) -> None:
        self._heads: Counter[bytes] = Counter()

    def take(self, packet: SupportsBytes) -> None:
        head = bytes(packet)[:3]
        # A decoder passes over zeros in front of a frame.
        self._heads[head if head[:1] != b"\0" else bytes(packet).lstrip(b"\0")[:3]] += 1

    def seconds(self) -> Fraction:
        return sum((count * mpeg_frame_seconds(head) for head, count in self._heads.items()), Fraction())


class Opus:
    """Packets of Opus, each with a table of contents in front (RFC 6716, 3.1 and 3.2)."""

    def __init__(self) -> None:
        self._heads: Counter[bytes] = Counter()

    def take(self, packet: SupportsBytes) -> None:
        self._heads[bytes(packet)[:2]] += 1

    def seconds(self) -> Fraction:
        return sum((count * opus_packet_seconds(head) for head, count in self._heads.items()), Fraction())


class Vorbis:
    """Packets of Vorbis: each is a long or a short block, and overlaps by half with the one before it."""

    def __init__(self, headers: bytes) -> None:
        self._rate, self._blocks = vorbis_blocks(headers)
        self._kinds: Counter[int] = Counter()
        self._first = self._last = -1

    def take(self, packet: SupportsBytes) -> None:
        self._last = bytes(packet)[0]
        if self._first < 0:
            self._first = self._last
        self._kinds[self._last] += 1

    def seconds(self) -> Fraction:
        if self._first < 0:
            return Fraction()
        twice = sum(2 * count * self._block(kind) for kind, count in self._kinds.items())
        return Fraction(twice - self._block(self._first) - self._block(self._last), 4 * self._rate)

    def _block(self, first_byte: int) -> int:
        """Samples in the block that a packet holds: its mode stands behind one bit that is zero."""
        mode = first_byte >> 1 & ((1 << (len(self._blocks) - 1).bit_length()) - 1)
        return 0 if first_byte & 1 or mode >= len(self._blocks) else self._blocks[mode]


MPEG_RATES = (44100, 48000, 32000)
# By the two bits of a header: how far the rates are halved in MPEG 2.5, 2 and 1. The fourth value is reserved.
MPEG_HALVINGS = {0: 2, 2: 1, 3: 0}
LAYER_3, LAYER_2, LAYER_1 = 1, 2, 3


def mpeg_frame_seconds(head: bytes) -> Fraction:
    """Nothing, where these three bytes are no header: a decoder drops the packet."""
    if len(head) < 3 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return Fraction()
    version, layer, rate = head[1] >> 3 & 3, head[1] >> 1 & 3, head[2] >> 2 & 3
    if version not in MPEG_HALVINGS or layer == 0 or rate >= len(MPEG_RATES):
        return Fraction()
    halvings = MPEG_HALVINGS[version]
    samples = {LAYER_1: 384, LAYER_2: 1152, LAYER_3: 576 if halvings else 1152}[layer]
    return Fraction(samples, MPEG_RATES[rate] >> halvings)


# Frame sizes of the three modes of Opus, in units of 2.5 ms.
SILK, HYBRID, CELT = (4, 8, 16, 24), (4, 8), (1, 2, 4, 8)
OPUS_UNIT = Fraction(1, 400)
OPUS_UNITS_MOST = 48


def opus_packet_seconds(head: bytes) -> Fraction:
    """Nothing, where the packet breaks the rules: a decoder drops it."""
    if not head:
        return Fraction()
    configuration, code = head[0] >> 3, head[0] & 3
    if configuration < 12:
        units = SILK[configuration % 4]
    elif configuration < 16:
        units = HYBRID[configuration % 2]
    else:
        units = CELT[configuration % 4]
    frames = (1, 2, 2, head[1] & 0x3F if len(head) > 1 else 0)[code]
    return units * frames * OPUS_UNIT if units * frames <= OPUS_UNITS_MOST else Fraction()


AAC_RATES = (96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350)
# Main, LC, LTP; spectral band replication and parametric stereo stand around one of these.
AAC_KINDS = {1, 2, 4}
AAC_EXTENSIONS = {5, 29}


class Bits:
    """Reads numbers from the front of some bytes, the highest bit first."""

    def __init__(self, content: bytes) -> None:
        self._number = int.from_bytes(content, "big")
        self._left = len(content) * 8

    def take(self, bits: int) -> int:
        self._left -= bits
        if self._left < 0:
            raise Unmeasurable
        return self._number >> self._left & ((1 << bits) - 1)


def aac_packet_seconds(configuration: bytes) -> Fraction:
    """By the AudioSpecificConfig of a stream (ISO 14496-3, 1.6.2.1). What is replicated above the core's rate does not
    change how long a packet lasts."""
    bits = Bits(configuration[:16])
    kind, rate = bits.take(5), _aac_rate(bits)
    bits.take(4)
    if kind in AAC_EXTENSIONS:
        _aac_rate(bits)
        kind = bits.take(5)
    if kind not in AAC_KINDS:
        raise Unmeasurable
    return Fraction(960 if bits.take(1) else 1024, rate)


def _aac_rate(bits: Bits) -> int:
    index = bits.take(4)
    rate = bits.take(24) if index == 15 else dict(enumerate(AAC_RATES)).get(index, 0)
    if not rate:
        raise Unmeasurable
    return rate


def alac_packet_seconds(cookie: bytes) -> Fraction:
    """By the stream's magic cookie, behind the twelve bytes of its box: samples in a packet first, the rate last."""
    if len(cookie) < 36:
        raise Unmeasurable
    samples, rate = int.from_bytes(cookie[12:16], "big"), int.from_bytes(cookie[32:36], "big")
    if not samples or not rate:
        raise Unmeasurable
    return Fraction(samples, rate)


def vorbis_blocks(headers: bytes) -> tuple[int, list[int]]:
    """The rate of a stream, and the samples in a block of each of its modes."""
    identification, setup = _vorbis_headers(headers)
    rate = int.from_bytes(identification[12:16], "little")
    sizes = 1 << (identification[28] & 15), 1 << (identification[28] >> 4)
    if not rate:
        raise Unmeasurable
    return rate, [sizes[flag] for flag in _vorbis_flags(setup)]


def _vorbis_headers(headers: bytes) -> tuple[bytes, bytes]:
    """The first and the third of the three headers, which stand behind their count and the sizes of the first two."""
    at, sizes = 1, [0, 0]
    if headers[:1] != b"\x02":
        raise Unmeasurable
    for header in (0, 1):
        while at < len(headers):
            sizes[header] += headers[at]
            at += 1
            if headers[at - 1] < 255:
                break
    identification, setup = headers[at : at + sizes[0]], headers[at + sum(sizes) :]
    if len(identification) < 30 or identification[:7] != b"\x01vorbis" or setup[:7] != b"\x05vorbis":
        raise Unmeasurable
    return identification, setup


MODE_BITS = 41
MODES_MOST = 63


def _vorbis_flags(setup: bytes) -> list[int]:
    """Which modes have long blocks. The modes are the last thing in the setup, and all before them is of unknown
    length: so they are read from the end, until as many have been read as the number in front of them says."""
    bits = int.from_bytes(setup, "little")
    end = bits.bit_length() - 1
    flags: list[int] = []
    found: list[int] = []
    while end - MODE_BITS - 6 > 0 and len(flags) < MODES_MOST:
        end -= MODE_BITS
        mode = bits >> end & ((1 << MODE_BITS) - 1)
        # A flag, then the window and the transform, which are zero, and the number of a mapping.
        if mode >> 1 & 0xFFFFFFFF or mode >> 33 > 63:
            break
        flags.insert(0, mode & 1)
        if (bits >> (end - 6) & 63) + 1 == len(flags):
            found = list(flags)
    if not found:
        raise Unmeasurable
    return found
