"""Media orders: images, speech, transcription and translation; what of each is priced, and in which units.

Rules of this file
1. An image is priced by its size and quality, speech by the characters of its text, audio by its seconds, begun ones
   whole. A character is a code point.
2. What is priced is what is sent, and what the catalog does not offer is refused before anything is held.
3. Which other parameters pass is for the provider's vendor to say (`vendors/media_fields`).
"""

import math
from collections.abc import Iterable, Mapping
from typing import ClassVar

import msgspec
from msgspec import Raw

from tollkeeper.core.calls.json_fields import encode, read_asked, read_fields
from tollkeeper.core.errors import InvalidParameter, MissingParameter, UnsupportedParameter
from tollkeeper.core.money.prices import Price

DEFAULT_SIZE = "1024x1024"
STANDARD = "standard"
PROMPT_CHARACTERS_MOST = 32_000
# How to speak is not charged for, so it is short.
INSTRUCTIONS_CHARACTERS_MOST = 4_096
JSON_FORMAT = "json"
NOTHING = frozenset({b"null", b'""'})
# What a speech is, by its format; the first is what is made where nothing is asked for.
SPEECH_TYPES = {
    "mp3": "audio/mpeg",
    "opus": "audio/opus",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
}

WANTED = {
    "model": "must be the id of a model",
    "prompt": f"must be a text of 1 to {PROMPT_CHARACTERS_MOST:,} characters",
    "n": "must be a whole number",
    "size": "must be a size such as 1024x1024",
    "quality": "must be a word such as hd",
    "response_format": "must be a text",
    "stream": "must be true or false",
    "input": "must be a text",
    "voice": "must be the name of a voice",
    "speed": "must be a number",
    "stream_format": "must be a text",
    "instructions": f"must be a text of at most {INSTRUCTIONS_CHARACTERS_MOST:,} characters",
}


class MediaLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What the catalog says of a media model beside its prices."""

    images_most: int = 10
    characters_most: int = 4_096
    voices: tuple[str, ...] = (
        "alloy",
        "ash",
        "ballad",
        "coral",
        "echo",
        "fable",
        "nova",
        "onyx",
        "sage",
        "shimmer",
        "verse",
    )
    formats: tuple[str, ...] = tuple(SPEECH_TYPES)
    speed_least: float = 0.25
    speed_most: float = 4.0


class Upload(msgspec.Struct, frozen=True, kw_only=True):
    """A form with a file in it that has arrived whole."""

    # In the order of the form. Only names that stand for a list come more than once.
    fields: tuple[tuple[str, str], ...]
    file: bytearray
    filename: str

    def value(self, name: str) -> str | None:
        return next((value for field, value in self.fields if field == name), None)


NO_UPLOAD = Upload(fields=(), file=bytearray(), filename="")


class MediaOrder(msgspec.Struct, kw_only=True):
    """What orders share that are not for chat, with each other and with those that are."""

    stream: ClassVar[bool] = False

    model: str
    # Which of the model's prices it is.
    variant: str = ""
    fields: Mapping[str, Raw] = {}

    def check(self, limits: MediaLimits) -> None:
        """Raise InvalidParameter where the catalog does not offer this."""

    def body_with(self, **changes: object) -> bytes:
        """The body with some fields set anew, all others as they came."""
        return encode({**self.fields, **changes})

    def check_price(self, price: Price) -> None:
        """Media orders have no parts with a price of their own."""
        return

    def limit_output(self, most_tokens: int, *, thinks: bool) -> None:
        """No provider can be told to make less: what does not fit is refused (`core/money/max_charge`)."""

    def forget_content(self) -> None:
        self.fields = {}


class ImageOrder(MediaOrder, kw_only=True):
    n: int
    size: str
    # As the caller wrote them, if so.
    asked_size: str | None = None
    asked_quality: str | None = None
    # Of a model that is priced by token: what one image is taken to come to. None where each image has a price.
    tokens_each: int | None = None
    # The tokens of its prompt, and whatever else it has to read, are counted for such a model alone.
    prompt: str = ""

    def forget_content(self) -> None:
        super().forget_content()
        self.prompt = ""

    @property
    def images(self) -> int:
        """How many come with it, to be changed."""
        return 0

    def body_with(self, **changes: object) -> bytes:
        """With the size that is priced, and without a quality that is none: what a provider makes of nothing is its own
        affair, and may be dearer. Where it is priced by token, what is made is told by the provider."""
        if self.tokens_each is not None:
            return encode({**self.fields, **changes})
        without = {
            name: value for name, value in self.fields.items() if name != "quality" or bytes(value) not in NOTHING
        }
        return encode({**without, "size": self.size, **changes})

    def check(self, limits: MediaLimits) -> None:
        most = limits.images_most
        if not 1 <= self.n <= most:
            raise InvalidParameter("n", f"must be {'1' if most == 1 else f'from 1 to {most}'} for {self.model}")


class SpeechOrder(MediaOrder, kw_only=True):
    characters: int
    voice: str
    format: str
    speed: float

    def check(self, limits: MediaLimits) -> None:
        if self.characters > limits.characters_most:
            raise InvalidParameter(
                "input", f"must have at most {limits.characters_most:,} characters; it has {self.characters:,}"
            )
        if self.voice not in limits.voices:
            raise InvalidParameter("voice", f"must be one of {', '.join(limits.voices)} for {self.model}")
        if self.format not in limits.formats or self.format not in SPEECH_TYPES:
            raise InvalidParameter("response_format", f"must be one of {', '.join(limits.formats)} for {self.model}")
        if not limits.speed_least <= self.speed <= limits.speed_most:
            raise InvalidParameter("speed", f"must be from {limits.speed_least:g} to {limits.speed_most:g}")


class AudioOrder(MediaOrder, kw_only=True):
    """A file to write down, in its own language or in English."""

    translated: bool
    upload: Upload

    def forget_content(self) -> None:
        self.upload = NO_UPLOAD


class _AskedImage(msgspec.Struct):
    """The parameters of a request for images that are priced, or must be what they are."""

    model: str | None = None
    prompt: str | None = None
    n: int | None = None
    quality: str | None = None
    size: str | None = None
    stream: bool | None = None


class _AskedSpeech(msgspec.Struct):
    model: str | None = None
    input: str | None = None
    voice: str | None = None
    response_format: str | None = None
    speed: float | None = None
    stream_format: str | None = None
    instructions: str | None = None


_decode_image = msgspec.json.Decoder(_AskedImage).decode
_decode_speech = msgspec.json.Decoder(_AskedSpeech).decode


def read_image(body: bytes) -> ImageOrder:
    fields = read_fields(body, _AskedImage.__struct_fields__)
    asked = read_asked(body, _decode_image, _wanted)
    model, prompt = required("model", asked.model), required("prompt", asked.prompt)
    if len(prompt) > PROMPT_CHARACTERS_MOST:
        raise InvalidParameter("prompt", WANTED["prompt"])
    if asked.stream:
        raise UnsupportedParameter("stream", "images come whole here")
    size = asked.size or DEFAULT_SIZE
    return ImageOrder(
        model=model,
        variant=image_variant(size, asked.quality or STANDARD),
        n=1 if asked.n is None else asked.n,
        size=size,
        asked_size=asked.size,
        asked_quality=asked.quality,
        prompt=prompt,
        fields=fields,
    )


def image_variant(size: str, quality: str) -> str:
    """Which of a model's prices it is. The words of a variant are told apart by a space."""
    for name, word in (("size", size), ("quality", quality)):
        if " " in word:
            raise InvalidParameter(name, WANTED[name])
    return size if quality == STANDARD else f"{size} {quality}"


def read_speech(body: bytes) -> SpeechOrder:
    fields = read_fields(body, _AskedSpeech.__struct_fields__)
    asked = read_asked(body, _decode_speech, _wanted)
    model, text = required("model", asked.model), required("input", asked.input)
    if asked.stream_format not in {None, "audio"}:
        raise UnsupportedParameter("stream_format", "speech comes as audio, as it is made")
    if len(asked.instructions or "") > INSTRUCTIONS_CHARACTERS_MOST:
        raise InvalidParameter("instructions", WANTED["instructions"])
    return SpeechOrder(
        model=model,
        characters=len(text),
        voice=required("voice", asked.voice),
        format=asked.response_format or next(iter(SPEECH_TYPES)),
        speed=1.0 if asked.speed is None else asked.speed,
        fields=fields,
    )


def read_transcription(upload: Upload) -> AudioOrder:
    return _read_audio(upload, translated=False)


def read_translation(upload: Upload) -> AudioOrder:
    return _read_audio(upload, translated=True)


def _read_audio(upload: Upload, *, translated: bool) -> AudioOrder:
    model = required("model", upload.value("model"))
    if upload.value("response_format") not in {None, "", JSON_FORMAT}:
        raise InvalidParameter("response_format", "must be json")
    if upload.value("stream") not in {None, "", "false"}:
        raise UnsupportedParameter("stream", "transcripts come whole here")
    return AudioOrder(model=model, translated=translated, upload=upload)


def seconds_begun(milliseconds: int) -> int:
    """Begun seconds count whole."""
    return math.ceil(milliseconds / 1_000)


def unknown_variant(model_id: str, variant: str, offered: Iterable[str]) -> InvalidParameter:
    """What is wrong with a size and quality that the catalog has no price for."""
    size = variant.partition(" ")[0]
    known = [name.partition(" ")[::2] for name in offered]
    qualities = [its_quality or STANDARD for its_size, its_quality in known if its_size == size]
    if not qualities:
        sizes = ", ".join(dict.fromkeys(its_size for its_size, _ in known))
        return InvalidParameter("size", f"must be one of {sizes} for {model_id}")
    return InvalidParameter("quality", f"must be one of {', '.join(qualities)} for {model_id} at {size}")


def required(name: str, value: str | None, wanted: Mapping[str, str] = WANTED) -> str:
    """Raise a refusal where it is missing, or empty."""
    if value is None:
        raise MissingParameter(name)
    if not value:
        raise InvalidParameter(name, wanted[name])
    return value


def _wanted(place: str) -> str:
    return WANTED.get(place, "is not of the form that the protocol gives it")
