"""Audio files whose length is known because they were made so: a number of samples at a rate.

Made by the encoders that PyAV brings, so that no program need be installed.

Rules of this file
1. How long a sound is, is said by who asks for it and never measured here.
2. MPEG layer II has no place to say what its encoder added, up to a frame at either end: such sounds end well before
   the next whole second.
"""

import io
import math
from collections.abc import Iterator
from fractions import Fraction

import av
import msgspec
from av import AudioFrame, AudioStream

SAMPLES_AT_ONCE = 1024
TONE_HERTZ = 440
LOUDNESS = 9000


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A container and the codec in it, in FFmpeg's names, and the ending of a file's name that says so."""

    ending: str
    container: str
    codec: str
    rate: int = 44_100
    layout: str = "mono"
    codec_options: tuple[tuple[str, str], ...] = ()
    container_options: tuple[tuple[str, str], ...] = ()


MP3 = Kind(ending="mp3", container="mp3", codec="libmp3lame")
MPGA = Kind(ending="mpga", container="mp2", codec="mp2")
MPEG = Kind(ending="mpeg", container="mpeg", codec="mp2")
MP4 = Kind(ending="mp4", container="mp4", codec="aac")
M4A = Kind(ending="m4a", container="ipod", codec="aac")
WAV = Kind(ending="wav", container="wav", codec="pcm_s16le")
WEBM = Kind(ending="webm", container="webm", codec="libopus", rate=48_000)

# One for each type that the endpoints take.
TYPES = (MP3, MP4, MPEG, MPGA, M4A, WAV, WEBM)


class Sound(msgspec.Struct, frozen=True, kw_only=True):
    """A tone, or silence, of so many samples."""

    kind: Kind
    samples: int
    silent: bool = False

    @property
    def filename(self) -> str:
        return f"sound.{self.kind.ending}"

    def file(self) -> bytes:
        """The sound as a file."""
        kind, content = self.kind, io.BytesIO()
        with av.open(content, "w", format=kind.container, options=dict(kind.container_options)) as output:
            stream = output.add_stream(kind.codec, rate=kind.rate, layout=kind.layout, options=dict(kind.codec_options))
            assert isinstance(stream, AudioStream)
            for frame in self._frames():
                output.mux(stream.encode(frame))
            output.mux(stream.encode(None))
        return content.getvalue()

    def _frames(self) -> Iterator[AudioFrame]:
        rate, second = self.kind.rate, self._second()
        sample_bytes = len(second) // rate
        for begin in range(0, self.samples, SAMPLES_AT_ONCE):
            count = min(SAMPLES_AT_ONCE, self.samples - begin)
            at = begin % rate * sample_bytes
            frame = AudioFrame(format="s16", layout=self.kind.layout, samples=count)
            frame.planes[0].update((second * 2)[at : at + count * sample_bytes])
            frame.sample_rate, frame.pts, frame.time_base = rate, begin, Fraction(1, rate)
            yield frame

    def _second(self) -> bytes:
        """The samples of one second; all others sound the same."""
        rate, channels = self.kind.rate, 2 if self.kind.layout == "stereo" else 1
        if self.silent:
            return bytes(2 * channels * rate)
        heights = (round(LOUDNESS * math.sin(2 * math.pi * TONE_HERTZ * at / rate)) for at in range(rate))
        return b"".join(height.to_bytes(2, "little", signed=True) * channels for height in heights)
