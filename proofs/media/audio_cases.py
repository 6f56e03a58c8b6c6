"""Priced transcription and translation: a second costs 50 quota, and a begun one is whole."""

import msgspec

from proofs.media.case import TRANSCRIPTIONS, TRANSLATIONS, Case
from proofs.media.http_call import Answer, Order, form_order
from proofs.media.sounds import M4A, MP3, MP4, MPEG, MPGA, WAV, WEBM, Kind, Sound

TELEPHONE = msgspec.structs.replace(MP3, rate=8_000)
STUDIO = msgspec.structs.replace(WAV, rate=48_000, layout="stereo")


def transcription(name: str, sound: Sound, seconds: int, charged: int) -> Case:
    return audio(TRANSCRIPTIONS, f"transcription: {name}", sound, seconds, charged)


def translation(name: str, sound: Sound, seconds: int, charged: int) -> Case:
    return audio(TRANSLATIONS, f"translation: {name}", sound, seconds, charged)


def audio(path: str, name: str, sound: Sound, seconds: int, charged: int) -> Case:
    def order() -> Order:
        return form_order(path, {"model": "whisper-1"}, sound.filename, sound.file())

    return Case(name=name, order=order, check=check_text, units=seconds, charged=charged)


def check_text(answer: Answer) -> None:
    text = answer.json()["text"]
    assert isinstance(text, str), text


def tone(kind: Kind, samples: int) -> Sound:
    return Sound(kind=kind, samples=samples)


def silence(kind: Kind, samples: int) -> Sound:
    return Sound(kind=kind, samples=samples, silent=True)


# Samples at 44,100 a second; of webm, at 48,000.
AUDIO_CASES = (
    transcription("mp3", tone(MP3, 110_250), 3, 150_000_000),
    transcription("mp4", tone(MP4, 150_000), 4, 200_000_000),
    transcription("mpeg", tone(MPEG, 200_000), 5, 250_000_000),
    transcription("mpga", tone(MPGA, 240_000), 6, 300_000_000),
    transcription("m4a", tone(M4A, 290_000), 7, 350_000_000),
    transcription("wav", tone(WAV, 330_000), 8, 400_000_000),
    transcription("webm", tone(WEBM, 408_000), 9, 450_000_000),
    transcription("silent mp3", silence(MP3, 441_000), 10, 500_000_000),
    transcription("silent webm", silence(WEBM, 504_000), 11, 550_000_000),
    transcription("a sample less than a second", tone(WAV, 44_099), 1, 50_000_000),
    transcription("a second", tone(WAV, 44_100), 1, 50_000_000),
    transcription("a sample more than a second", tone(WAV, 44_101), 2, 100_000_000),
    transcription("a minute", tone(M4A, 2_646_000), 60, 3_000_000_000),
    # 13.5 seconds, and 14.
    transcription("stereo at 48 kHz", tone(STUDIO, 648_000), 14, 700_000_000),
    transcription("8 kHz", tone(TELEPHONE, 112_000), 14, 700_000_000),
    translation("mp3 of two seconds", tone(MP3, 88_200), 2, 100_000_000),
    translation("m4a, a sample more than two seconds", tone(M4A, 88_201), 3, 150_000_000),
    translation("silent webm, a sample less than two seconds", silence(WEBM, 95_999), 2, 100_000_000),
)
