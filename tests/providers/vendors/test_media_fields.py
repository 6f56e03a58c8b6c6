"""Which parameters of images, speech and transcripts pass."""

import json
from collections.abc import Callable
from typing import get_type_hints

import pytest
from openai.types.audio.speech_create_params import SpeechCreateParams
from openai.types.audio.translation_create_params import TranslationCreateParams
from openai.types.embedding_create_params import EmbeddingCreateParams
from openai.types.image_edit_params import ImageEditParamsNonStreaming
from openai.types.image_generate_params import ImageGenerateParamsNonStreaming

from tests.providers.vendors.builders import an_account
from tollkeeper.app.providers import VENDORS
from tollkeeper.core.calls.embedding import read_embedding
from tollkeeper.core.calls.image_edit import ImageForm, read_image_edit
from tollkeeper.core.calls.media import (
    MediaOrder,
    Upload,
    read_image,
    read_speech,
    read_transcription,
    read_translation,
)
from tollkeeper.core.errors import UnsupportedParameter
from tollkeeper.providers.vendors.media_fields import (
    AUDIO_FIELDS,
    EMBEDDING_FIELDS,
    IMAGE_EDIT_FIELDS,
    IMAGE_FIELDS,
    SPEECH_FIELDS,
)

Kind = Callable[..., MediaOrder]
COMPATIBLE = pytest.mark.parametrize("vendor", ["openai", "azure"])
# What would be charged otherwise, and is refused.
DEARER = {"complexity", "frame_count", "frame_duration_ms", "partial_images", "svg"}
DEARER_EDITS = DEARER | {"markup"}


def an_image(**fields: object) -> MediaOrder:
    return read_image(json.dumps({"model": "m", "prompt": "A cat", **fields}).encode())


def a_speech(**fields: object) -> MediaOrder:
    return read_speech(json.dumps({"model": "m", "input": "Hi", "voice": "alloy", **fields}).encode())


def an_upload(**fields: object) -> Upload:
    named = {"model": "m", **fields}.items()
    return Upload(fields=tuple((name, str(value)) for name, value in named), file=bytearray(b"x"), filename="a.wav")


def a_transcription(**fields: object) -> MediaOrder:
    return read_transcription(an_upload(**fields))


def a_translation(**fields: object) -> MediaOrder:
    return read_translation(an_upload(**fields))


def an_edit(**fields: object) -> MediaOrder:
    named = {"model": "m", "prompt": "A hat", **fields}.items()
    files = (("image", bytearray(b"\x89PNG\r\n\x1a\n")),)
    return read_image_edit(ImageForm(fields=tuple((name, str(value)) for name, value in named), files=files))


def an_embedding(**fields: object) -> MediaOrder:
    return read_embedding(json.dumps({"model": "m", "input": "Hi", **fields}).encode())


EVERY_KIND = pytest.mark.parametrize(
    "kind", [an_image, an_edit, a_speech, a_transcription, a_translation, an_embedding]
)


def body_of(order: MediaOrder, vendor: str = "openai", passes: frozenset[str] = frozenset()) -> bytes:
    return VENDORS[vendor].media(order, an_account(vendor, passes=passes))[2]


@COMPATIBLE
@EVERY_KIND
@pytest.mark.parametrize(
    "name", ["new_thing", "api_base", "url", "image_url", "fallbacks", "User", "\u017ftyle", "model[]"]
)
def test_what_is_not_listed_is_refused_by_name(kind: Kind, name: str, vendor: str) -> None:
    with pytest.raises(UnsupportedParameter) as refusal:
        body_of(kind(**{name: "https://canary.example"}), vendor)
    assert refusal.value.param == name


@COMPATIBLE
@EVERY_KIND
def test_what_the_operator_lets_pass_goes_out(kind: Kind, vendor: str) -> None:
    assert b"new_thing" in body_of(kind(new_thing="x"), vendor, frozenset({"new_thing"}))


def test_null_asks_for_nothing() -> None:
    assert "seed" not in json.loads(body_of(an_image(seed=None)))
    assert "seed" not in json.loads(body_of(a_speech(seed=None)))


def test_what_sdks_know_passes_unless_it_is_charged_otherwise() -> None:
    assert get_type_hints(ImageGenerateParamsNonStreaming).keys() - set(IMAGE_FIELDS) == DEARER
    assert (
        get_type_hints(ImageEditParamsNonStreaming).keys() - {"image", "mask"} - set(IMAGE_EDIT_FIELDS) <= DEARER_EDITS
    )
    assert get_type_hints(EmbeddingCreateParams).keys() <= set(EMBEDDING_FIELDS)
    assert get_type_hints(SpeechCreateParams).keys() <= set(SPEECH_FIELDS)
    assert get_type_hints(TranslationCreateParams).keys() - {"file"} <= set(AUDIO_FIELDS)


@pytest.mark.parametrize("name", ["timestamp_granularities[]", "include[]", "chunking_strategy[type]", "language"])
def test_lists_and_objects_of_forms_pass_as_sdks_write_them(name: str) -> None:
    assert name.encode() in body_of(a_transcription(**{name: "x"}))
