"""Priced speech: a code point costs 7.5 quota with tts-1 and 15 with tts-1-hd, whatever its bytes and its looks."""

from functools import partial

from proofs.media.case import SPEECH, Case
from proofs.media.http_call import Answer, json_order

CONTENT_TYPES = {
    "mp3": "audio/mpeg",
    "opus": "audio/opus",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
}

# Four people and the three joiners between them; a white flag, its variant, a joiner, a rainbow.
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
RAINBOW_FLAG = "\U0001f3f3\ufe0f\u200d\U0001f308"
# A thumb and its colour, F and R.
THUMB_AND_FLAG = "\U0001f44d\U0001f3fd\U0001f1eb\U0001f1f7"
ARABIC = "\u0627\u0644\u0633\u0644\u0627\u0645 \u0639\u0644\u064a\u0643\u0645"
# Four letters between the marks that turn them around and back.
TURNED_HEBREW = "\u202e\u05e9\u05dc\u05d5\u05dd\u202c"


def speech(name: str, text: str, characters: int, charged: int, *, escaped: bool = False, **more: str) -> Case:
    fields = {"model": "tts-1", "voice": "alloy", "input": text, **more}
    return Case(
        name=f"speech: {name}",
        order=partial(json_order, SPEECH, fields, escaped=escaped),
        check=partial(check_sound, more.get("response_format", "mp3")),
        units=characters,
        charged=charged,
    )


def check_sound(response_format: str, answer: Answer) -> None:
    kind = answer.headers.get("content-type")
    assert kind == CONTENT_TYPES[response_format], kind
    assert answer.body


SPEECH_CASES = (
    speech("ASCII", "Hello, world.", 13, 97_500_000),
    speech("one character", "a", 1, 7_500_000),
    speech("one emoji, escaped", "\U0001f600", 1, 7_500_000, escaped=True),
    speech("a family", FAMILY, 7, 52_500_000),
    speech("a rainbow flag", RAINBOW_FLAG, 4, 30_000_000),
    speech("a coloured thumb and a flag", THUMB_AND_FLAG, 4, 30_000_000),
    speech("Chinese", "每个字符都是一个字符", 10, 75_000_000),
    speech("Chinese of four bytes", "\U00020bb7野家", 3, 22_500_000),
    speech("combining marks", "cafe\u0301 Z\u0351\u036b\u0343", 10, 75_000_000),
    speech("right to left", ARABIC, 12, 90_000_000),
    speech("turned around", TURNED_HEBREW, 6, 45_000_000),
    speech("newlines", "one\ntwo\r\nthree\n", 15, 112_500_000),
    speech("4,096 letters", "a" * 4_096, 4_096, 30_720_000_000),
    speech("4,096 emoji", "\U0001f600" * 4_096, 4_096, 30_720_000_000),
    speech("4,096 of Chinese, hd", "字" * 4_096, 4_096, 61_440_000_000, model="tts-1-hd"),
    speech("mp3", "Say it.", 7, 52_500_000, response_format="mp3"),
    speech("opus", "Say it.", 7, 52_500_000, response_format="opus"),
    speech("aac", "Say it.", 7, 52_500_000, response_format="aac"),
    speech("flac, hd", "Say it.", 7, 105_000_000, response_format="flac", model="tts-1-hd"),
    speech("wav, hd", "Say it.", 7, 105_000_000, response_format="wav", model="tts-1-hd"),
    speech("pcm, hd", "Say it.", 7, 105_000_000, response_format="pcm", model="tts-1-hd"),
)
