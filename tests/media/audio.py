"""Audio files for the tests, made by the encoders that PyAV brings, and what its decoders hear in them."""

import io
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache

import av
from av import AudioFrame, AudioStream, Packet, VideoFrame, VideoStream

SAMPLES_AT_ONCE = 1024


@dataclass(frozen=True)
class Kind:
    """A container and what is in it."""

    ending: str
    container: str
    codec: str
    rate: int = 44100
    layout: str = "mono"
    codec_options: dict[str, str] = field(default_factory=dict, hash=False)
    container_options: dict[str, str] = field(default_factory=dict, hash=False)


MP3 = Kind("mp3", "mp3", "libmp3lame")
LOW_MP3 = Kind("mpga", "mp3", "libmp3lame", rate=8000)
MP2 = Kind("mpga", "mp2", "mp2")
MPEG = Kind("mpeg", "mpeg", "mp2")
MP4 = Kind("mp4", "mp4", "aac")
M4A = Kind("m4a", "ipod", "aac", layout="stereo")
FRAGMENTS = Kind("mp4", "mp4", "aac", container_options={"movflags": "frag_keyframe+empty_moov"})
ALAC = Kind("m4a", "ipod", "alac")
OPUS_IN_MP4 = Kind("mp4", "mp4", "libopus", rate=48000)
WAV = Kind("wav", "wav", "pcm_s16le")
WAV_24 = Kind("wav", "wav", "pcm_s24le", rate=96000, layout="stereo")
MULAW = Kind("wav", "wav", "pcm_mulaw", rate=8000)
ADPCM = Kind("wav", "wav", "adpcm_ima_wav", rate=22050)
WEBM = Kind("webm", "webm", "libopus", rate=48000)
LONG_PACKETS = Kind("webm", "webm", "libopus", rate=48000, codec_options={"frame_duration": "60"})
VORBIS = Kind("webm", "webm", "vorbis", layout="stereo", codec_options={"strict": "experimental"})

KINDS = {
    "mp3": MP3,
    "mp3 at 8 kHz": LOW_MP3,
    "layer II as mpga": MP2,
    "mpeg program stream": MPEG,
    "mp3 as mpeg": Kind("mpeg", "mp3", "libmp3lame"),
    "mp4": MP4,
    "mp4 in fragments": FRAGMENTS,
    "m4a": M4A,
    "alac": ALAC,
    "opus in mp4": OPUS_IN_MP4,
    "wav": WAV,
    "wav of 24 bits": WAV_24,
    "mu-law": MULAW,
    "adpcm": ADPCM,
    "webm": WEBM,
    "webm with long packets": LONG_PACKETS,
    "vorbis": VORBIS,
}


@cache
def audio(kind: Kind, seconds: float = 1, *, silent: bool = False) -> bytes:
    file = io.BytesIO()
    with av.open(file, "w", format=kind.container, options=kind.container_options) as output:
        stream = output.add_stream(kind.codec, rate=kind.rate, layout=kind.layout, options=kind.codec_options)
        assert isinstance(stream, AudioStream)
        for frame in _sound(kind, round(seconds * kind.rate), silent=silent):
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    return file.getvalue()


def _sound(kind: Kind, samples: int, *, silent: bool) -> Iterator[AudioFrame]:
    channels = 2 if kind.layout == "stereo" else 1
    for begin in range(0, samples, SAMPLES_AT_ONCE):
        count = min(SAMPLES_AT_ONCE, samples - begin)
        wave = (0 if silent else round(9000 * math.sin((begin + at) * 2764 / kind.rate)) for at in range(count))
        frame = AudioFrame(format="s16", layout=kind.layout, samples=count)
        frame.planes[0].update(b"".join(value.to_bytes(2, "little", signed=True) * channels for value in wave))
        frame.sample_rate, frame.pts, frame.time_base = kind.rate, begin, Fraction(1, kind.rate)
        yield frame


def both(container: str, one: bytes, other: bytes) -> bytes:
    """A file with the audio streams of two."""
    file = io.BytesIO()
    with (
        av.open(io.BytesIO(one), "r") as first,
        av.open(io.BytesIO(other), "r") as second,
        av.open(file, "w", format=container) as output,
    ):
        streams = {source: output.add_stream_from_template(source.streams.audio[0]) for source in (first, second)}
        for source, stream in streams.items():
            for packet in source.demux(audio=0):
                if packet.size:
                    packet.stream = stream
                    output.mux(packet)
    return file.getvalue()


def with_pictures(content: bytes, size: int) -> bytes:
    """An MP4 with an audio stream, and one of large pictures that are nearly nothing before decoding."""
    file = io.BytesIO()
    with av.open(io.BytesIO(content), "r") as source, av.open(file, "w", format="mp4") as output:
        audio_stream = output.add_stream_from_template(source.streams.audio[0])
        pictures = output.add_stream("png", rate=1, width=size, height=size, pix_fmt="gray")
        assert isinstance(pictures, VideoStream)
        for at in range(2):
            picture = VideoFrame(size, size, "gray")
            picture.planes[0].update(bytes(picture.planes[0].buffer_size))
            picture.pts = at
            output.mux(pictures.encode(picture))
        for packet in source.demux(audio=0):
            if packet.size:
                packet.stream = audio_stream
                output.mux(packet)
    return file.getvalue()


def packets(content: bytes) -> list[bytes]:
    with av.open(io.BytesIO(content), "r") as source:
        return [bytes(packet) for packet in source.demux(audio=0) if packet.size]


def muxed(like: bytes, container: str, contents: Iterable[tuple[bytes, int]]) -> bytes:
    """A file with the audio stream of another, and packets that were made up, each at a second of its own."""
    file = io.BytesIO()
    with av.open(io.BytesIO(like), "r") as source, av.open(file, "w", format=container) as output:
        stream = output.add_stream_from_template(source.streams.audio[0])
        for content, second in contents:
            packet = Packet(content)
            packet.stream, packet.time_base = stream, Fraction(1, 1000)
            packet.pts = packet.dts = second * 1000
            packet.duration = 20
            output.mux(packet)
    return file.getvalue()


def decoded_milliseconds(content: bytes) -> Fraction:
    """What a decoder gives, of the first audio stream."""
    with av.open(io.BytesIO(content), "r") as source:
        return sum(
            (Fraction(1000 * frame.samples, frame.sample_rate) for frame in source.decode(audio=0)), start=Fraction()
        )
