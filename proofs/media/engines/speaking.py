"""Speaking: text to sound by Piper, with one American voice, in any of the protocol's formats.

Runs in the engines' environment.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass

import av
from piper import PiperVoice, SynthesisConfig  # type: ignore[import-not-found]

from proofs.media.engines.data import VOICE
from proofs.media.engines.request import Refused

# Opus knows few rates, and the protocol's raw samples have this one.
RATE = 24_000


@dataclass(frozen=True)
class Format:
    """How a sound is written, in FFmpeg's names, and what the answer calls it."""

    container: str
    codec: str
    content_type: str


FORMATS = {
    "aac": Format("adts", "aac", "audio/aac"),
    "flac": Format("flac", "flac", "audio/flac"),
    "mp3": Format("mp3", "libmp3lame", "audio/mpeg"),
    "opus": Format("ogg", "libopus", "audio/opus"),
    "pcm": Format("s16le", "pcm_s16le", "audio/pcm"),
    "wav": Format("wav", "pcm_s16le", "audio/wav"),
}


class Voice:
    """The voice, loaded once; threads may share it."""

    def __init__(self) -> None:
        self._piper = PiperVoice.load(VOICE)

    def say(self, text: str, speed: float, form: Format) -> bytes:
        """The text as a sound file."""
        sentences = list(self._sentences(text, speed))
        if not sentences:
            raise Refused("there is nothing to pronounce in the text")
        sound = io.BytesIO()
        with av.open(sound, "w", format=form.container) as file:
            track = file.add_stream(form.codec, rate=RATE, layout="mono")
            assert isinstance(track, av.AudioStream)
            resampler = av.AudioResampler(format=track.format, layout="mono", rate=RATE)
            for spoken in (*sentences, None):
                for frame in resampler.resample(spoken):
                    file.mux(track.encode(frame))
            file.mux(track.encode(None))
        return sound.getvalue()

    def _sentences(self, text: str, speed: float) -> Iterator[av.AudioFrame]:
        # Without noise a text sounds the same each time, and a proof hears the same words.
        manner = SynthesisConfig(length_scale=1 / speed, noise_scale=0.0, noise_w_scale=0.0)
        for spoken in self._piper.synthesize(text, manner):
            frame = av.AudioFrame.from_ndarray(spoken.audio_int16_array.reshape(1, -1), format="s16", layout="mono")
            frame.sample_rate = spoken.sample_rate
            yield frame
