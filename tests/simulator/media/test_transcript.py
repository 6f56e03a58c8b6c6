"""Transcripts and translations, by the vendor's client library and as bytes."""

import json
from typing import Any

import openai
import pytest

from tests.simulator.media.calls import DEPLOYMENT, TRANSCRIPTION, TRANSLATION, VENDORS, Family, client, form
from tollkeeper_simulator.media.transcript import FILE_BYTES_MOST
from tollkeeper_simulator.speech import text_of
from tools.simulator import Simulator

BOTH = pytest.mark.parametrize("family", [TRANSCRIPTION, TRANSLATION], ids=lambda family: family.kind)


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_transcript_has_the_words_that_were_asked_for(sim: Simulator, vendor: str) -> None:
    with client(sim, vendor) as caller:
        answer = caller.audio.transcriptions.create(
            model="whisper-1", file=("voice.wav", b"RIFF"), prompt="[[tokens=5]]", language="en", response_format="json"
        )
        plain = caller.audio.transcriptions.create(model="whisper-1", file=("voice.mp3", b"ID3"))
    assert (answer.text, plain.text) == (text_of(5), text_of(16))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("vendor", VENDORS)
def test_a_translation_has_the_words_that_were_asked_for(sim: Simulator, vendor: str) -> None:
    with client(sim, vendor) as caller:
        answer = caller.audio.translations.create(
            model="whisper-1", file=("voice.webm", b"x"), prompt="[[tokens=5]]", response_format="json"
        )
    assert answer.text == text_of(5)


WORDED = {
    "json": '{"text":"river stone"}',
    "text": "river stone\n",
    "srt": "1\n00:00:00,000 --> 00:00:01,000\nriver stone\n\n",
    "vtt": "WEBVTT\n\n00:00:00.000 --> 00:00:01.000\nriver stone\n\n",
}


@BOTH
@pytest.mark.parametrize(("response_format", "expected"), WORDED.items(), ids=WORDED)
async def test_every_format_has_its_words(sim: Simulator, family: Family, response_format: str, expected: str) -> None:
    seen, truth = await family.call(sim, "[[tokens=2]]", response_format=response_format)
    assert seen.body.decode() == expected
    assert ("application/json" in seen.head) == (response_format == "json")
    assert (truth["kind"], truth["status"], truth["fields"]) == (
        family.kind,
        200,
        "file,model,prompt,response_format",
    )


@pytest.mark.parametrize(("family", "task"), [(TRANSCRIPTION, "transcribe"), (TRANSLATION, "translate")])
async def test_a_verbose_answer_says_what_was_done(sim: Simulator, family: Family, task: str) -> None:
    seen, _ = await family.call(sim, "[[tokens=2]]", response_format="verbose_json")
    told = json.loads(seen.body)
    assert (told["task"], told["text"]) == (task, "river stone")


async def test_an_echo_is_the_prompt(sim: Simulator) -> None:
    seen, _ = await TRANSCRIPTION.call(sim, 'Grüße, "你好"\t👋[[echo=1]]')
    assert json.loads(seen.body) == {"text": 'Grüße, "你好"\t👋'}


@pytest.mark.parametrize("ending", ["flac", "m4a", "mp3", "mp4", "mpeg", "mpga", "oga", "ogg", "wav", "webm", "MP3"])
async def test_every_ending_is_taken(sim: Simulator, ending: str) -> None:
    body = form({"model": "whisper-1"}, (f"voice.{ending}", b"x"))
    seen, truth = await TRANSCRIPTION.send(sim, body)
    assert (seen.status, truth["file_bytes"], truth["fields"]) == (200, 1, "file,model")


@BOTH
async def test_the_largest_file_is_taken_and_a_larger_one_refused(sim: Simulator, family: Family) -> None:
    largest = form({"model": "whisper-1"}, ("voice.mp3", b"\r\n--x\0" * (FILE_BYTES_MOST // 6) + b"..."))
    seen, truth = await family.send(sim, largest)
    assert (seen.status, truth["file_bytes"]) == (200, FILE_BYTES_MOST - 1)
    seen, truth = await family.send(sim, form({"model": "whisper-1"}, ("voice.mp3", bytes(FILE_BYTES_MOST + 1))))
    assert (seen.status, truth["ending"]) == (413, "refused")


WRONG: dict[str, tuple[dict[str, str], Any, str | None, str | None]] = {
    "no file": ({"model": "m"}, None, "file", "missing_required_parameter"),
    "a file that is text": ({"model": "m", "file": "x"}, None, "file", "missing_required_parameter"),
    "no model": ({}, ("a.mp3", b"x"), "model", "missing_required_parameter"),
    "an unknown format": (
        {"model": "m", "response_format": "xml"},
        ("a.mp3", b"x"),
        "response_format",
        "invalid_value",
    ),
    "an unknown ending": ({"model": "m"}, ("a.txt", b"x"), None, None),
    "no ending": ({"model": "m"}, ("sound", b"x"), None, None),
    "an empty file": ({"model": "m"}, ("a.mp3", b""), "file", "audio_too_short"),
}


@BOTH
@pytest.mark.parametrize(("fields", "file", "param", "code"), WRONG.values(), ids=WRONG)
async def test_what_the_vendor_refuses_is_refused(
    sim: Simulator, family: Family, fields: dict[str, str], file: Any, param: str | None, code: str | None
) -> None:
    seen, truth = await family.send(sim, form(fields, file))
    error = json.loads(seen.body)["error"]
    assert (seen.status, error["param"], error["code"]) == (400, param, code)
    assert (truth["ending"], truth["kind"]) == ("refused", family.kind)


def test_a_refusal_reaches_the_caller_as_one(sim: Simulator) -> None:
    with client(sim, "azure") as caller, pytest.raises(openai.BadRequestError, match="Invalid file format"):
        caller.audio.transcriptions.create(model="m", file=("a.exe", b"MZ"))


async def test_a_deployment_is_the_model(sim: Simulator) -> None:
    _, truth = await TRANSCRIPTION.send(sim, form({}), path=DEPLOYMENT.format("ears", TRANSCRIPTION.path))
    assert (truth["model"], truth["vendor"], truth["status"], truth["fields"]) == ("ears", "azure", 200, "file")
