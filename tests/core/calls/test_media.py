"""Media orders: what is priced of them, and what is refused before anything is held."""

import json
from typing import Any

import pytest

from tollkeeper.core.calls.media import (
    ImageOrder,
    MediaLimits,
    SpeechOrder,
    Upload,
    read_image,
    read_speech,
    read_transcription,
    read_translation,
    seconds_begun,
    unknown_variant,
)
from tollkeeper.core.errors import BadRequest, InvalidParameter, MalformedBody, MissingParameter, UnsupportedParameter


def an_image(**fields: Any) -> ImageOrder:
    return read_image(json.dumps({"model": "m", "prompt": "A cat", **fields}).encode())


def a_speech(**fields: Any) -> SpeechOrder:
    return read_speech(json.dumps({"model": "m", "input": "Hi", "voice": "alloy", **fields}).encode())


def an_upload(*fields: tuple[str, str]) -> Upload:
    return Upload(fields=(("model", "m"), *fields), file=bytearray(b"x"), filename="a.mp3")


@pytest.mark.parametrize(
    ("fields", "variant", "n"),
    [
        ({}, "1024x1024", 1),
        ({"size": "1792x1024"}, "1792x1024", 1),
        ({"size": None, "quality": None, "n": None}, "1024x1024", 1),
        ({"quality": "standard", "n": 3}, "1024x1024", 3),
        ({"quality": "hd", "size": "1792x1024"}, "1792x1024 hd", 1),
    ],
)
def test_an_image_is_priced_by_size_and_quality(fields: dict[str, Any], variant: str, n: int) -> None:
    order = an_image(**fields)
    assert (order.variant, order.n) == (variant, n)


@pytest.mark.parametrize(
    ("fields", "refusal", "param"),
    [
        ({"prompt": "x" * 32_001}, InvalidParameter, "prompt"),
        ({"prompt": 5}, InvalidParameter, "prompt"),
        ({"n": 1.5}, InvalidParameter, "n"),
        ({"size": "1024x1024 hd"}, InvalidParameter, "size"),
        ({"quality": "hd x"}, InvalidParameter, "quality"),
        ({"stream": True}, UnsupportedParameter, "stream"),
        ({"model": ""}, InvalidParameter, "model"),
        ({"model": None}, MissingParameter, "model"),
    ],
)
def test_a_wrong_parameter_is_named(fields: dict[str, Any], refusal: type[BadRequest], param: str) -> None:
    with pytest.raises(refusal) as told:
        an_image(**fields)
    assert told.value.param == param


@pytest.mark.parametrize(
    "body", [b"{", b'{"model":"m","model":"n","prompt":"x"}', b'{"model":"m","Prompt":"x"}', b"[]"]
)
def test_a_body_that_can_be_read_in_two_ways_is_refused(body: bytes) -> None:
    for read in (read_image, read_speech):
        with pytest.raises((MalformedBody, MissingParameter)):
            read(body)


def test_every_other_parameter_passes() -> None:
    sent = json.loads(an_image(style="vivid", user="u", response_format="url").body_with(model="theirs"))
    passed = {"prompt": "A cat", "style": "vivid", "user": "u", "response_format": "url"}
    assert sent == {**passed, "model": "theirs", "size": "1024x1024"}


@pytest.mark.parametrize("quality", [None, "", "hd"])
def test_what_is_priced_is_what_is_sent(quality: str | None) -> None:
    sent = json.loads(an_image(size=None, quality=quality).body_with(model="theirs"))
    assert (sent["size"], sent.get("quality")) == ("1024x1024", quality or None)


def test_how_many_images_is_for_the_catalog_to_say() -> None:
    an_image(n=10).check(MediaLimits())
    for order, told in ((an_image(n=11), "must be from 1 to 10 for m"), (an_image(n=0), "must be from 1 to 10 for m")):
        with pytest.raises(InvalidParameter, match=told):
            order.check(MediaLimits())
    with pytest.raises(InvalidParameter, match="must be 1 for m"):
        an_image(n=2).check(MediaLimits(images_most=1))


def test_what_is_not_sold_is_told_with_what_is() -> None:
    offered = ["1024x1024", "1024x1024 hd", "1792x1024 hd"]
    assert "'size' must be one of 1024x1024, 1792x1024 for m" in unknown_variant("m", "1x1", offered).message
    told = unknown_variant("m", "1024x1024 best", offered)
    assert "'quality' must be one of standard, hd for m at 1024x1024" in told.message
    assert "'quality' must be one of hd for m at 1792x1024" in unknown_variant("m", "1792x1024", offered).message


@pytest.mark.parametrize(
    ("text", "characters"), [("abc", 3), ("早上好", 3), ("\U0001f600", 1), ("e\u0301", 2), (" \n", 2)]
)
def test_characters_are_code_points(text: str, characters: int) -> None:
    assert a_speech(input=text).characters == characters


def test_lone_halves_of_characters_are_no_text() -> None:
    with pytest.raises(MalformedBody):
        read_speech(b'{"model":"m","voice":"alloy","input":"\\ud83d"}')


def test_limits_of_speech_are_for_the_catalog_to_say() -> None:
    limits = MediaLimits(characters_most=5, voices=("ann",), formats=("mp3",))
    a_speech(input="12345", voice="ann", speed=4).check(limits)
    for fields, param in (
        ({"input": "123456"}, "input"),
        ({"voice": "alloy"}, "voice"),
        ({"response_format": "wav"}, "response_format"),
        ({"speed": 4.1}, "speed"),
    ):
        with pytest.raises(InvalidParameter) as told:
            a_speech(**{"voice": "ann", **fields}).check(limits)
        assert told.value.param == param


@pytest.mark.parametrize(("milliseconds", "seconds"), [(0, 0), (1, 1), (999, 1), (1_000, 1), (1_001, 2), (60_000, 60)])
def test_begun_seconds_count_whole(milliseconds: int, seconds: int) -> None:
    assert seconds_begun(milliseconds) == seconds


def test_transcripts_are_json_and_come_whole() -> None:
    assert not read_transcription(an_upload(("language", "en"), ("response_format", "json"))).translated
    assert read_translation(an_upload()).translated
    for field in (("response_format", "srt"), ("stream", "true")):
        with pytest.raises(BadRequest) as told:
            read_transcription(an_upload(field))
        assert told.value.param == field[0]


def test_a_sent_order_holds_nothing_of_its_content() -> None:
    order = read_transcription(an_upload(("prompt", "canary")))
    order.forget_content()
    speech = a_speech(input="canary")
    speech.forget_content()
    assert "canary" not in f"{order!r}{speech!r}"
