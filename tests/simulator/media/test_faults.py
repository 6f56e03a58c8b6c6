"""Every misbehaviour of images, speech and transcripts as bytes on a socket, and the truth about it."""

import asyncio
import gzip
import json
from typing import Any

import openai
import pytest

from tests.simulator.conftest import KEY
from tests.simulator.media.calls import (
    FAMILIES,
    FORM_HEADERS,
    IMAGE,
    SPEECH,
    TRANSCRIPTION,
    VENDORS,
    Family,
    client,
)
from tests.simulator.raw import A_WHILE_SECONDS, PATIENCE_SECONDS, Seen, post, see, unchunked
from tollkeeper_simulator.speech import text_of
from tools.simulator import Simulator

EACH = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.kind)
# Ten content chunks each: images, thousands of bytes, words.
TEN: dict[str, dict[str, Any]] = {
    "image": {"n": 10, "response_format": "b64_json"},
    "speech": {},
    "transcription": {},
    "translation": {},
}


async def ten(
    sim: Simulator, family: Family, directions: str, quiet_seconds: float = PATIENCE_SECONDS
) -> tuple[Seen, Any]:
    text = f"[[tokens=10 {directions}]]".ljust(50, ".")
    assert len(text) == 50 or family is not SPEECH
    return await family.call(sim, text, quiet_seconds=quiet_seconds, **TEN[family.kind])


def content_chunks(family: Family, seen: Seen) -> float:
    if family is IMAGE:
        return seen.body.count(b'"}')
    if family is SPEECH:
        return len(unchunked(seen.body)) / 1_000
    words = seen.body.partition(b'"text":"')[2].decode().removesuffix('"}')
    assert words == text_of(len(words.split()))
    return len(words.split())


@EACH
async def test_all_ten_chunks_come_where_nothing_happens(sim: Simulator, family: Family) -> None:
    seen, truth = await ten(sim, family, "drip=1" if family is TRANSCRIPTION else "")
    assert content_chunks(family, seen) == 10
    assert (truth["ending"], truth["bytes_sent"]) == ("finished", len(seen.data))


@EACH
@pytest.mark.parametrize("at", [0, 4, 99])
async def test_a_cut_resets_after_what_was_sent(sim: Simulator, family: Family, at: int) -> None:
    seen, truth = await ten(sim, family, f"cut_at={at}")
    assert (seen.ended, seen.status, truth["ending"]) == ("reset", 200, "cut")
    assert content_chunks(family, seen) == min(at, 10)
    assert truth["images"] == (min(at, 10) if family is IMAGE else 0)
    assert truth["bytes_sent"] == len(seen.data)


@EACH
async def test_a_half_close_ends_our_side_only(sim: Simulator, family: Family) -> None:
    seen, truth = await ten(sim, family, "half_close_at=4")
    assert (seen.ended, content_chunks(family, seen), truth["ending"]) == ("closed", 4, "half_closed")


@EACH
async def test_a_stall_lasts_until_the_client_goes(sim: Simulator, family: Family) -> None:
    seen, truth = await ten(sim, family, "stall_at=4", quiet_seconds=A_WHILE_SECONDS)
    assert (seen.ended, content_chunks(family, seen), truth["ending"]) == ("open", 4, "client_closed")


@pytest.mark.parametrize(("at", "whole"), [(0, 0), (4, 4), (99, 9)])
@pytest.mark.parametrize("size", ["", " bytes=200000"])
async def test_images_can_break_off_midway(sim: Simulator, at: int, whole: int, size: str) -> None:
    seen, truth = await ten(sim, IMAGE, f"half_close_at={at} midway=1{size}")
    assert (seen.body.count(b'"b64_json":"'), seen.body.count(b'"}')) == (whole + 1, whole)
    assert (truth["images"], truth["ending"]) == (whole, "half_closed")


@EACH
async def test_delays_are_kept(sim: Simulator, family: Family) -> None:
    _, truth = await ten(sim, family, "delay_ms=40 chunk_ms=5")
    assert truth["first_byte_at"] - truth["received_at"] >= 0.039
    assert truth["closed_at"] - truth["first_byte_at"] >= 9 * 0.005 - 0.002


@EACH
async def test_a_wrong_length_promises_more_than_it_sends(sim: Simulator, family: Family) -> None:
    seen, truth = await family.call(sim, "[[wrong_length=1]]")
    assert (seen.ended, truth["ending"]) == ("closed", "wrong_length")
    assert f"content-length: {len(seen.body) + 100}" in seen.head


@EACH
async def test_answers_that_are_none(sim: Simulator, family: Family) -> None:
    garbage, _ = await family.call(sim, "[[json_garbage=1]]")
    assert (garbage.status, garbage.body[:6]) == (200, b"<html>")
    away, truth = await family.call(sim, "[[redirect=http://127.0.0.1:1/v1]]")
    assert (away.status, truth["ending"], truth["characters"]) == (302, "redirected", 0)
    assert "location: http://127.0.0.1:1/v1" in away.head
    bomb, _ = await family.call(sim, "[[gzip_bomb=5000000]]")
    assert len(gzip.decompress(unchunked(bomb.body))) == 5_000_000
    assert ("audio/mpeg" if family is SPEECH else "application/json") in bomb.head


@EACH
async def test_a_status_is_given_as_asked(sim: Simulator, family: Family) -> None:
    seen, truth = await family.call(
        sim, '[[status=429 status_text="so it goes" error_type=some_type error_code=some_code retry_after=7]]'
    )
    assert (seen.status, truth["status"], truth["ending"], truth["characters"]) == (429, 429, "refused", 0)
    assert "retry-after: 7" in seen.head
    assert json.loads(seen.body)["error"] == {
        "message": "so it goes",
        "type": "some_type",
        "param": None,
        "code": "some_code",
    }


@EACH
async def test_a_direction_that_cannot_be_is_told(sim: Simulator, family: Family) -> None:
    seen, _ = await family.call(sim, "[[images=-1]]")
    assert (seen.status, json.loads(seen.body)["error"]["code"]) == (400, "bad_direction")


@pytest.mark.parametrize("vendor", VENDORS)
def test_errors_reach_the_caller_as_such(sim: Simulator, vendor: str) -> None:
    with client(sim, vendor) as caller:
        with pytest.raises(openai.RateLimitError):
            caller.images.generate(model="dall-e-2", prompt="[[status=429]]")
        with pytest.raises(openai.InternalServerError):
            caller.audio.speech.create(model="tts-1", voice="alloy", input="[[status=503]]")
        with pytest.raises(openai.NotFoundError):
            caller.audio.transcriptions.create(model="m", file=("a.mp3", b"x"), prompt="[[status=404]]")


@EACH
async def test_a_wrong_key_is_refused(locked_sim: Simulator, family: Family) -> None:
    seen, truth = await family.call(locked_sim, "hi")
    assert (seen.status, truth["kind"], truth["ending"]) == (401, family.kind, "refused")
    headers = {"Authorization": f"Bearer {KEY}"} | (FORM_HEADERS if family.is_form else {})
    message = post(f"/v1/{family.path}", family.request("hi"), "right", headers)
    assert (await see(locked_sim, "right", message)).status == 200


async def test_a_storm_is_for_all() -> None:
    with Simulator(storm="1:503") as stormy:
        assert [(await family.call(stormy, "hi"))[0].status for family in FAMILIES] == [503] * 4
        await asyncio.to_thread(stormy.storm, "")
        assert [(await family.call(stormy, "hi"))[0].status for family in FAMILIES] == [200] * 4


@EACH
async def test_nothing_that_was_said_is_in_the_truth_file(sim: Simulator, family: Family) -> None:
    await family.call(sim, "kanarienvogel [[echo=1]]")
    text = json.dumps(sim.truth())
    assert "kanarienvogel" not in text
    assert "river stone" not in text


async def test_a_deployment_is_found_only_with_a_version(sim: Simulator) -> None:
    seen, truth = await IMAGE.send(sim, {"prompt": "x"}, path="/openai/deployments/d/images/generations")
    assert (seen.status, truth["vendor"]) == (404, "azure")
