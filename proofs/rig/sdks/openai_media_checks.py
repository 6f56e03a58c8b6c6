"""The media endpoints by the `openai` package from PyPI: each check as a caller would write it. Runs in its
environment."""

import io
import wave
from collections.abc import Callable
from functools import partial
from typing import Any

import openai
from openai import OpenAI

from proofs.rig.sdks.stage import Act, Check, caught

TEXT = "Hello, world."
CONTENT_TYPES = {
    "mp3": "audio/mpeg",
    "opus": "audio/opus",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
}
VOICES = ("alloy", "ash", "ballad", "coral", "echo", "fable", "nova", "onyx", "sage", "shimmer", "verse")
FILE_BYTES_MOST = 25 * 1024 * 1024
RATE = 8_000
NOT_JSON = ("text", "srt", "vtt", "verbose_json")


def recording(samples: int = RATE * 3 // 2) -> bytes:
    """Silence."""
    content = io.BytesIO()
    with wave.open(content, "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        file.writeframes(bytes(2 * samples))
    return content.getvalue()


SOUND = ("recording.wav", recording())
# By name, by content, and a sound under another sound's name.
OF_OTHER_TYPES = (
    ("recording.txt", recording()),
    ("recording.flac", recording()),
    ("recording.mp3", b"No sound at all.\n" * 100),
    ("recording.mp4", recording()),
)


def too_large() -> tuple[str, bytes]:
    """By one byte."""
    return "recording.wav", recording().ljust(FILE_BYTES_MOST + 1, b"\0")


def client(act: Act) -> OpenAI:
    return OpenAI(base_url=act.base, api_key=act.key)


def speak(act: Act, **more: Any) -> Any:
    wish = {"model": act.model, "voice": "alloy", "input": TEXT, **more}
    return client(act).audio.speech.create(**wish)


def transcribe(act: Act, **more: Any) -> Any:
    return client(act).audio.transcriptions.create(**{"model": act.model, "file": SOUND, **more})


def translate(act: Act, **more: Any) -> Any:
    return client(act).audio.translations.create(**{"model": act.model, "file": SOUND, **more})


def draw(act: Act, **more: Any) -> Any:
    return client(act).images.generate(**{"model": act.model, "prompt": "A toll gate at dawn.", **more})


def check_sound(spoken: Any, response_format: str = "mp3") -> int:
    kind = spoken.response.headers["content-type"]
    assert kind == CONTENT_TYPES[response_format], kind
    assert spoken.content
    return len(spoken.content)


def speech(act: Act) -> object:
    return check_sound(speak(act))


def every_format(act: Act) -> object:
    return [check_sound(speak(act, response_format=name), name) for name in CONTENT_TYPES]


def every_voice(act: Act) -> object:
    return [check_sound(speak(act, voice=voice)) for voice in VOICES]


def several_speeds(act: Act) -> object:
    return [check_sound(speak(act, speed=speed, stream_format="audio")) for speed in (0.25, 1, 4.0)]


def as_it_comes(act: Act) -> object:
    with client(act).audio.speech.with_streaming_response.create(
        model=act.model, voice="nova", input=TEXT, response_format="pcm"
    ) as spoken:
        assert spoken.headers["content-type"] == "audio/pcm"
        pieces = [len(piece) for piece in spoken.iter_bytes(1024)]
    assert sum(pieces)
    return pieces


def transcription(act: Act) -> object:
    return text_of(transcribe(act))


def transcription_with_options(act: Act) -> object:
    options = {"language": "en", "prompt": "Ada, Grace.", "response_format": "json", "temperature": 0.2}
    return text_of(transcribe(act, **options))


def translation(act: Act) -> object:
    return text_of(translate(act))


def translation_with_options(act: Act) -> object:
    return text_of(translate(act, prompt="Ada, Grace.", response_format="json", temperature=0.2))


def text_of(written: Any) -> str:
    assert isinstance(written.text, str), written
    text: str = written.text
    return text


def image(act: Act) -> object:
    answer = draw(act)
    (drawn,) = answer.data
    assert drawn.url
    return answer.created


def image_with_options(act: Act) -> object:
    options = {"n": 1, "quality": "hd", "size": "1792x1024", "style": "natural", "response_format": "url", "user": "a"}
    (drawn,) = draw(act, **options).data
    assert drawn.url
    assert drawn.revised_prompt
    return drawn.revised_prompt


def images_as_base64(act: Act) -> object:
    drawn = draw(act, n=3, size="256x256", response_format="b64_json").data
    assert len(drawn) == 3
    assert all(each.b64_json and not each.url for each in drawn)
    return [len(each.b64_json) for each in drawn]


def refused(*calls: Callable[[Act], object]) -> Check:
    """Each of these calls is refused, and tells all that a caller is to be told."""

    def check(act: Act) -> object:
        told = [caught(openai.APIStatusError, partial(call, act)) for call in calls]
        for refusal in told:
            assert (refusal.status_code, refusal.type, refusal.code) == (act.status, act.type, act.code), refusal
            assert refusal.request_id
        return [str(refusal) for refusal in told]

    return check


def with_file(file: tuple[str, bytes]) -> Callable[[Act], object]:
    return lambda act: transcribe(act, file=file)


def spoken(**more: Any) -> Callable[[Act], object]:
    return lambda act: speak(act, **more)


def drawn(**more: Any) -> Callable[[Act], object]:
    return lambda act: draw(act, **more)


def written(call: Callable[..., object], response_format: str) -> Callable[[Act], object]:
    return lambda act: call(act, response_format=response_format)


MEDIA_CHECKS: dict[str, Check] = {
    "speech": speech,
    "speech in every format": every_format,
    "speech in every voice": every_voice,
    "speech at several speeds": several_speeds,
    "speech as it comes": as_it_comes,
    "transcription": transcription,
    "transcription with every option": transcription_with_options,
    "translation": translation,
    "translation with every option": translation_with_options,
    "image": image,
    "image with every option": image_with_options,
    "images as base64": images_as_base64,
    "too large a file": refused(
        lambda act: transcribe(act, file=too_large()), lambda act: translate(act, file=too_large())
    ),
    "a file of another type": refused(*map(with_file, OF_OTHER_TYPES)),
    "a transcript that is not json": refused(
        *(written(call, name) for call in (transcribe, translate) for name in NOT_JSON)
    ),
    "a speech that is not for sale": refused(
        spoken(voice="nobody"),
        spoken(response_format="midi"),
        spoken(speed=0.2),
        spoken(speed=4.1),
        spoken(input="a" * 4_097),
        spoken(input=""),
    ),
    "an image that is not for sale": refused(drawn(size="333x333"), drawn(quality="hd"), drawn(n=11), drawn(n=0)),
    "two images of dall-e-3": refused(drawn(n=2)),
    "a model for something else": refused(speak, transcribe, translate, draw),
    "a wrong key for a speech": refused(speak),
    "a wrong key for a transcription": refused(transcribe),
    "a wrong key for an image": refused(draw),
    "too little quota": refused(draw),
}
