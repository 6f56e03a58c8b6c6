"""Speech, by the vendor's client library and as bytes."""

import io
import wave
from typing import Any

import av
import openai
import pytest

from tests.simulator.media.calls import DEPLOYMENT, SPEECH, VENDORS, client
from tests.simulator.raw import chunks_in, unchunked
from tollkeeper.media.measure import measure
from tollkeeper_simulator.media.sound import CHARACTER_BYTES, SOUNDS, sound_of
from tools.simulator import Simulator

TYPES = {
    "mp3": "audio/mpeg",
    "opus": "audio/opus",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
}


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize(("response_format", "content_type"), TYPES.items(), ids=TYPES)
def test_every_format_has_its_type_and_grows_with_the_text(
    sim: Simulator, vendor: str, response_format: Any, content_type: str
) -> None:
    text = "Hello, 你好, 👋🏽"
    with client(sim, vendor) as caller:
        sound = caller.audio.speech.create(
            model="tts-1-hd", voice="nova", input=text, response_format=response_format, speed=1.5
        )
    assert sound.response.headers["content-type"] == content_type
    assert sound.content == sound_of(response_format, len(text) * CHARACTER_BYTES)


def test_speech_is_mp3_where_nothing_else_is_said(sim: Simulator) -> None:
    with client(sim, "openai") as caller:
        sound = caller.audio.speech.create(model="tts-1", voice="alloy", input="hi")
    assert sound.response.headers["content-type"] == "audio/mpeg"
    assert sound.content[:2] == b"\xff\xf3"


def test_speech_can_be_read_as_it_comes(sim: Simulator) -> None:
    with (
        client(sim, "openai") as caller,
        caller.audio.speech.with_streaming_response.create(
            model="tts-1", voice="alloy", input="[[bytes=500000]]", response_format="flac"
        ) as stream,
    ):
        assert b"".join(stream.iter_bytes()) == sound_of("flac", 500_000)


@pytest.mark.parametrize("size", [44, 45, 4_800, 1_000_044])
async def test_wav_is_silence_that_can_be_played(sim: Simulator, size: int) -> None:
    seen, _ = await SPEECH.call(sim, f"[[bytes={size}]]", response_format="wav")
    sound = unchunked(seen.body)
    assert len(sound) == size
    with wave.open(io.BytesIO(sound)) as played:
        assert (played.getnchannels(), played.getsampwidth(), played.getframerate()) == (1, 2, 24_000)
        assert played.getnframes() == (size - 44) // 2
        assert not any(played.readframes(played.getnframes()))


@pytest.mark.parametrize("characters", [1, 12, 4_096])
async def test_mp3_is_as_long_as_the_text_would_take_and_can_be_transcribed(sim: Simulator, characters: int) -> None:
    seen, _ = await SPEECH.call(sim, "x" * characters)
    sound = io.BytesIO(unchunked(seen.body))
    verdict, milliseconds, demuxer = measure(sound, "mp3").split()
    assert (verdict, demuxer) == ("ok", "mp3")
    # About fifteen characters a second; the last frame is counted, however little of it came.
    assert characters * 66 <= int(milliseconds) <= characters * 67 + 24
    sound.seek(0)
    with av.open(sound, "r") as container:
        samples: list[int] = [frame.samples for frame in container.decode(audio=0)]
    assert sum(samples) >= characters * 66 * 24 - 576


async def test_characters_are_code_points_and_chunks_are_even(sim: Simulator) -> None:
    text = "ab😀é" * 10
    seen, truth = await SPEECH.call(sim, text)
    assert (truth["characters"], truth["kind"], truth["model"]) == (40, "speech", "tts-1")
    assert (truth["images"], truth["output_tokens"], truth["fields"]) == (0, 0, "input,model,voice")
    assert [len(chunk) for chunk in chunks_in(seen.body)] == [1_000] * 8 + [0]
    assert truth["bytes_sent"] == len(seen.data)


async def test_pauses_are_between_chunks(sim: Simulator) -> None:
    _, truth = await SPEECH.call(sim, "[[first_chunk_ms=30 chunk_ms=20]]" + "x" * 7)
    assert truth["characters"] == 40
    took = truth["closed_at"] - truth["first_byte_at"]
    assert 0.030 + 7 * 0.020 - 0.002 <= took < 5


@pytest.mark.parametrize("response_format", SOUNDS)
def test_a_sound_is_the_same_however_it_is_cut(response_format: str) -> None:
    whole = sound_of(response_format, 200_000)
    assert len(whole) == 200_000
    assert whole == sound_of(response_format, 200_000)
    if response_format != "wav":
        assert whole.startswith(sound_of(response_format, 70_001))
    if response_format not in ("wav", "pcm"):
        assert whole[1_000:2_000] != whole[2_000:3_000]


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "no model": ({"model": ""}, "model", "missing_required_parameter"),
    "no input": ({"input": None}, "input", "missing_required_parameter"),
    "an empty input": ({"input": ""}, "input", "empty_string"),
    "a long input": ({"input": "x" * 4_097}, "input", "string_above_max_length"),
    "no voice": ({"voice": None}, "voice", "missing_required_parameter"),
    "an unknown voice": ({"voice": "parrot"}, "voice", "invalid_value"),
    "an unknown format": ({"response_format": "midi"}, "response_format", "invalid_value"),
    "too fast": ({"speed": 4.5}, "speed", "decimal_above_max_value"),
    "too slow": ({"speed": 0.2}, "speed", "decimal_below_min_value"),
    "events": ({"stream_format": "sse"}, "stream_format", "unsupported_value"),
}


@pytest.mark.parametrize(("fields", "param", "code"), WRONG.values(), ids=WRONG)
def test_what_the_vendor_refuses_is_refused(sim: Simulator, fields: dict[str, Any], param: str, code: str) -> None:
    with client(sim, "openai") as caller, pytest.raises(openai.BadRequestError) as refusal:
        caller.audio.speech.create(**({"model": "tts-1", "voice": "alloy", "input": "x"} | fields))
    assert (refusal.value.param, refusal.value.code) == (param, code)


async def test_the_longest_input_is_taken(sim: Simulator) -> None:
    seen, truth = await SPEECH.call(sim, "😀" * 4_096)
    assert (seen.status, truth["characters"]) == (200, 4_096)


async def test_a_deployment_is_the_model(sim: Simulator) -> None:
    body = {"input": "hi", "voice": "alloy"}
    _, truth = await SPEECH.send(sim, body, path=DEPLOYMENT.format("voices", SPEECH.path))
    assert (truth["model"], truth["vendor"], truth["fields"]) == ("voices", "azure", "input,voice")
    seen, _ = await SPEECH.send(sim, body | {"model": "tts-1"}, path="/openai/v1/audio/speech")
    assert seen.status == 200
