"""The length of an audio file, by libav: its streams, their packets, and what was added to them.

Rules of this file
1. Nothing is opened but the file itself, by the demuxers named: playlists and references lead nowhere.
2. Length is what the packets hold (`media/packets`). Headers, timestamps and durations are not believed, except for
   what an encoder says that it added at either end, and of that no more than encoders add.
3. Of several audio streams the longest counts: nobody knows which of them a provider will hear.
4. Only the program `media/measure` may import this: it runs where nothing can be harmed.

What each container gives
    mp3        frames as they are found; of a Xing header, only what was added at the ends
    mpeg       the same frames, out of a program stream
    wav        bytes as far as the data goes; whatever the header says, no more than there are
    mov        what its sample tables and edits lead to; the last packet may be declared shorter than it is
    matroska   blocks as they come; padding declared for the last
"""

import re
import secrets
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import BinaryIO, NoReturn, Protocol, TypeAlias

import av
from av import AudioCodecContext, AudioStream, Packet

from tollkeeper.media.packets import (
    MpegAudio,
    Opus,
    Samples,
    Uniform,
    Unmeasurable,
    Vorbis,
    aac_packet_seconds,
    alac_packet_seconds,
)

AudioPacket: TypeAlias = "Packet[AudioStream]"

STREAMS_MOST = 16
# Encoders add less than this at one end.
ADDED_SECONDS_MOST = Fraction(3, 10)
# So many packets of AAC are decoded, the first ones, and then fewer and fewer.
LOOKED_INTO = 500
# A frame of AAC has at most so many for each channel.
AAC_CHANNEL_BYTES_MOST = 768

PCM = re.compile(r"pcm_[usf](8|16|24|32|64)(le|be)?")
LOGARITHMIC = {"pcm_alaw", "pcm_mulaw"}
# What may be opened to learn of a stream what its container does not say.
DECODERS = "mp1,mp1float,mp2,mp2float,mp3,mp3float,aac,alac,opus,libopus,vorbis,adpcm_ima_wav,adpcm_ms,gsm_ms"
OPTIONS = {"codec_whitelist": DECODERS, "protocol_whitelist": "none", "max_streams": str(STREAMS_MOST)}
NOT_READ = (av.FFmpegError, OSError, ValueError, MemoryError)


def length(file: BinaryIO, demuxers: str) -> tuple[Fraction, str]:
    """Seconds, and the demuxer that read the file. Raise Unmeasurable, or one of NOT_READ."""
    with av.open(
        file,
        "r",
        container_options={**OPTIONS, "format_whitelist": demuxers},
        metadata_errors="replace",
        io_open=refuse_to_open,
    ) as container:
        name = container.format.name.partition(",")[0]
        heard = tuple(stream for stream in container.streams.audio if is_heard(stream))
        measured = {stream.index: Measured(stream, name) for stream in heard}
        for packet in container.demux(heard) if heard else ():
            if packet.size:
                stream = measured[packet.stream_index]
                stream.take(packet)
                stream.last = packet
        return max((stream.seconds() for stream in measured.values()), default=Fraction()), name


def is_heard(stream: AudioStream) -> bool:
    """Whether there is a decoder for it. Contrary to its type, a stream without one has no codec either."""
    codec: object = stream.codec_context
    return codec is not None


def refuse_to_open(*_: object) -> NoReturn:
    raise PermissionError


class Count(Protocol):
    """How long the packets last that have been taken of one stream."""

    def take(self, packet: AudioPacket, /) -> None: ...

    def seconds(self) -> Fraction: ...


class Durations:
    """Blocks of ADPCM and GSM: the demuxer itself reckons from their bytes how long they last."""

    def __init__(self, rate: int) -> None:
        if rate <= 0:
            raise Unmeasurable
        self._rate = rate
        self._samples = 0

    def take(self, packet: AudioPacket) -> None:
        self._samples += packet.duration or 0

    def seconds(self) -> Fraction:
        return Fraction(self._samples, self._rate)


class Aac:
    """Packets of AAC. Nothing in a packet says that it holds one frame, and a decoder would give all that it finds: so
    packets are decoded, at random, and more than one frame in any of them is refused, as is one that is larger than a
    frame can be."""

    def __init__(self, codec: AudioCodecContext) -> None:
        self._count = Uniform(aac_packet_seconds(codec.extradata or b""))
        self._frame_bytes_most = AAC_CHANNEL_BYTES_MOST * max(1, codec.channels)
        self._packets = 0
        self._next = 1

    def take(self, packet: AudioPacket) -> None:
        # From here on, packets would last differently.
        if packet.has_sidedata("new_extradata") or packet.size > self._frame_bytes_most:
            raise Unmeasurable
        self._count.take(packet)
        self._packets += 1
        if self._packets == self._next:
            self._next += 1 + secrets.randbelow(1 + self._packets // LOOKED_INTO)
            if frames_in(packet) > 1:
                raise Unmeasurable

    def seconds(self) -> Fraction:
        return self._count.seconds()


def frames_in(packet: AudioPacket) -> int:
    try:
        return len(packet.decode())
    except NOT_READ:
        return 0


def pcm(codec: AudioCodecContext) -> Count:
    name = codec.codec.canonical_name
    bits = PCM.fullmatch(name)
    if bits is None and name not in LOGARITHMIC:
        raise Unmeasurable
    return Samples(sample_bytes=codec.channels * (int(bits[1]) // 8 if bits else 1), rate=codec.sample_rate)


Counting = Callable[[AudioCodecContext], Count]
FRAMES: Mapping[str, Counting] = {name: lambda _: MpegAudio() for name in ("mp1", "mp2", "mp3")}
# By container and codec. What is not here could be counted only by believing somebody.
COUNTINGS: Mapping[str, Mapping[str, Counting]] = {
    "mp3": FRAMES,
    "mpeg": FRAMES,
    "wav": {
        "pcm": pcm,
        "adpcm_ima_wav": lambda codec: Durations(codec.sample_rate),
        "adpcm_ms": lambda codec: Durations(codec.sample_rate),
        "gsm_ms": lambda codec: Durations(codec.sample_rate),
        **FRAMES,
    },
    "mov": {
        "aac": Aac,
        "alac": lambda codec: Uniform(alac_packet_seconds(codec.extradata or b"")),
        "opus": lambda _: Opus(),
        "pcm": pcm,
    },
    "matroska": {"opus": lambda _: Opus(), "vorbis": lambda codec: Vorbis(codec.extradata or b"")},
}


class Measured:
    """One audio stream: what was counted of it, and its first and last packet."""

    def __init__(self, stream: AudioStream, container: str) -> None:
        name = stream.codec_context.codec.canonical_name
        counting = COUNTINGS[container].get("pcm" if name.startswith("pcm_") else name)
        if counting is None:
            raise Unmeasurable
        self._counting = counting
        self._codec = stream.codec_context
        self._count = counting(self._codec)
        # Of Vorbis a decoder gives nothing for the first packet anyway, which is all that its encoders add.
        self._adds_first = name != "vorbis"
        self._shortens_last = container == "mov"
        self.take: Callable[[AudioPacket], None] = self._take_first
        self._first: AudioPacket | None = None
        self.last: AudioPacket | None = None

    def _take_first(self, packet: AudioPacket) -> None:
        self._first, self.take = packet, self._count.take
        self.take(packet)

    def seconds(self) -> Fraction:
        if self._first is None or self.last is None:
            return Fraction()
        rate = max(self._codec.sample_rate, 1)
        before = Fraction(added_samples(self._first)[0] if self._adds_first else 0, rate)
        behind = max(Fraction(added_samples(self.last)[1], rate), self._shortened(self.last))
        added = min(before, ADDED_SECONDS_MOST) + min(behind, ADDED_SECONDS_MOST)
        return max(self._count.seconds() - added, Fraction())

    def _shortened(self, last: AudioPacket) -> Fraction:
        if not (self._shortens_last and last.duration and last.time_base):
            return Fraction()
        alone = self._counting(self._codec)
        alone.take(last)
        return max(alone.seconds() - last.duration * Fraction(last.time_base), Fraction())


def added_samples(packet: AudioPacket) -> tuple[int, int]:
    """What is to be dropped at the packet's beginning, and at its end."""
    if not packet.has_sidedata("skip_samples"):
        return 0, 0
    told = bytes(packet.get_sidedata("skip_samples"))
    return int.from_bytes(told[:4], "little"), int.from_bytes(told[4:8], "little")
