"""Transcripts and translations: plain words, whatever the file sounds like."""

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import msgspec

from tollkeeper_simulator.directions import Directions, without_directions
from tollkeeper_simulator.media.answer import JSON, Answer, Fields, Part, Setting, Upload
from tollkeeper_simulator.media.refusal import check_choice, converted, missing
from tollkeeper_simulator.problem import Problem, Refused
from tollkeeper_simulator.speech import escape, text_of

FILE_BYTES_MOST = 25 * 1024 * 1024
ENDINGS = ("flac", "m4a", "mp3", "mp4", "mpeg", "mpga", "oga", "ogg", "wav", "webm")
TEXT = b"text/plain; charset=utf-8"


class Wording(NamedTuple):
    """How a format puts the words: what stands around them; inside JSON they are escaped."""

    content_type: bytes
    before: bytes
    after: bytes

    def words(self, text: str) -> bytes:
        return escape(text) if self.content_type == JSON else text.encode()


def _wordings(task: bytes) -> dict[str, Wording]:
    said = b'{"task":"%b","language":"english","duration":1.0,"text":"' % task
    return {
        "json": Wording(JSON, b'{"text":"', b'"}'),
        "text": Wording(TEXT, b"", b"\n"),
        "srt": Wording(TEXT, b"1\n00:00:00,000 --> 00:00:01,000\n", b"\n\n"),
        "verbose_json": Wording(JSON, said, b'","segments":[]}'),
        "vtt": Wording(TEXT, b"WEBVTT\n\n00:00:00.000 --> 00:00:01.000\n", b"\n\n"),
    }


class TranscriptOrder(msgspec.Struct):
    """A request for the words of a file."""

    wordings: ClassVar[dict[str, Wording]] = _wordings(b"transcribe")

    model: str = ""
    file: Upload | None = None
    prompt: str = ""
    response_format: str = "json"

    characters = 0
    tokens = 0

    @property
    def asked(self) -> str:
        return self.prompt

    @property
    def file_bytes(self) -> int:
        return self.file.size_bytes if self.file else 0

    def answer(self, setting: Setting) -> Answer:
        wording = self.wordings[self.response_format]
        runs = [wording.words(run) for run in _runs(setting.directions, self.prompt)]
        length = len(wording.before) + sum(map(len, runs)) + len(wording.after)
        return Answer(wording.content_type, length, _parts(wording, runs), len(runs))


class TranslationOrder(TranscriptOrder):
    """A request for the words of a file in English."""

    wordings = _wordings(b"translate")


def read_transcript_order(fields: Fields) -> TranscriptOrder:
    """Raise Refused for what the vendor would not take."""
    return _read(fields, TranscriptOrder)


def read_translation_order(fields: Fields) -> TranscriptOrder:
    """The same for a translation."""
    return _read(fields, TranslationOrder)


def _read(fields: Fields, kind: type[TranscriptOrder]) -> TranscriptOrder:
    file = fields.get("file")
    if not isinstance(file, Upload):
        raise missing("file")
    order = converted(fields, kind)
    if not order.model:
        raise missing("model")
    check_choice("response_format", order.response_format, kind.wordings)
    if file.name.rpartition(".")[2].lower() not in ENDINGS:
        raise Refused(Problem(400, f"Invalid file format. Supported formats: {list(ENDINGS)}"))
    if file.size_bytes == 0:
        message = "Audio file is too short. Minimum audio length is 0.1 seconds."
        raise Refused(Problem(400, message, code="audio_too_short", param="file"))
    if file.size_bytes > FILE_BYTES_MOST:
        message = f"Maximum content size limit ({FILE_BYTES_MOST}) exceeded ({file.size_bytes} bytes read)"
        raise Refused(Problem(413, message))
    return order


def _runs(directions: Directions, prompt: str) -> list[str]:
    """The text, in runs of so many words."""
    if directions.echo:
        return [without_directions(prompt)]
    words = [(" " if index else "") + word for index, word in enumerate(text_of(directions.tokens).split())]
    per_chunk = directions.per_chunk
    return ["".join(words[start : start + per_chunk]) for start in range(0, len(words), per_chunk)]


def _parts(wording: Wording, runs: list[bytes]) -> Iterator[Part]:
    yield Part(wording.before)
    yield from (Part(run, ends_chunk=True) for run in runs)
    yield Part(wording.after)
