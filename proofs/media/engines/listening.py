"""Listening: sound to text by Whisper's base model. Runs in the engines' environment."""

import io
import os
from dataclasses import dataclass

import av
from faster_whisper import WhisperModel  # type: ignore[import-not-found]

from proofs.media.engines.data import whisper_files
from proofs.media.engines.request import Refused


@dataclass(frozen=True)
class Heard:
    text: str
    seconds: float


class Ear:
    """The model, loaded once from memory; threads may share it."""

    def __init__(self) -> None:
        self._whisper = WhisperModel(
            "base", device="cpu", compute_type="int8", cpu_threads=os.cpu_count() or 1, files=whisper_files()
        )

    def hear(self, sound: bytes, *, language: str | None, prompt: str | None, into_english: bool) -> Heard:
        """What is said in it. Without a language, the one that it sounds like."""
        if language is not None and language not in self._whisper.supported_languages:
            raise Refused(f"the language {language!r} is not known")
        task = "translate" if into_english else "transcribe"
        try:
            pieces, about = self._whisper.transcribe(
                io.BytesIO(sound), language=language, initial_prompt=prompt, task=task
            )
        except (av.FFmpegError, IndexError) as problem:
            # An IndexError says that there is no track with sound.
            raise Refused(f"the file is no sound: {problem}") from problem
        return Heard(text="".join(piece.text for piece in pieces).strip(), seconds=about.duration)
