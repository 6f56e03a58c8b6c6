"""Images, speech and transcripts: priced by what was asked or counted, and half of one is worth nothing."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.relay.fakes import Reply, Step
from tests.relay.house import Heard, House, an_account
from tests.relay.virtual_time import in_virtual_time
from tollkeeper.core.calls.media import Upload
from tollkeeper.core.errors import (
    AnswerTooLarge,
    InvalidParameter,
    ProviderUnavailable,
    StreamBroken,
    TimeLimitReached,
)
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.money.prices import Usage
from tollkeeper.ports import Failure
from tollkeeper.relay.answers.media import PASSING_BYTES_MOST
from tollkeeper.relay.answers.whole import AnswerForm
from tollkeeper.relay.call import ClientLeft
from tollkeeper.relay.operations import IMAGE, SPEECH, TRANSCRIPTION, TRANSLATION, Operation

FREE = (Ending.REFUSED, Usage(0), UsageSource.NONE)
FOR_EVER = 10_000.0
ORDERS: dict[str, tuple[Operation[Any, Any], object]] = {
    "image": (IMAGE, b'{"model": "painter", "prompt": "a river", "n": 2}'),
    "speech": (SPEECH, b'{"model": "speaker", "input": "hello", "voice": "alloy"}'),
    "transcript": (TRANSCRIPTION, Upload(fields=(("model", "listener"),), file=bytearray(b"x"), filename="a.wav")),
    "translation": (TRANSLATION, Upload(fields=(("model", "listener"),), file=bytearray(b"x"), filename="a.wav")),
}
# Of a file of two and a half seconds, three are begun.
PRICED = {"image": 2, "speech": len("hello"), "transcript": 3, "translation": 3}
GOOD: dict[str, Sequence[bytes]] = {
    "image": [b'{"data": [{"url": "https://a.test"},', b' {"b64_json": "YQ=="}]}'],
    "speech": [b"sound", b"and more"],
    "transcript": [b'{"text": "hel', b'lo"}'],
    "translation": [b'{"text": "hello"}'],
}
kinds = pytest.mark.parametrize("kind", ORDERS)
passing = pytest.mark.parametrize("kind", ["image", "speech"])


async def asked(house: House, kind: str) -> Heard:
    return await house.ask(*ORDERS[kind])


@kinds
@in_virtual_time
async def test_a_good_answer_passes_as_it_came_and_is_charged_by_what_was_asked(kind: str) -> None:
    house = House(Reply(*GOOD[kind]))
    heard = await asked(house, kind)
    assert (heard.text, heard.problem) == (b"".join(GOOD[kind]), None)
    assert heard.booked == (Ending.COMPLETED, Usage(PRICED[kind]), UsageSource.MEASURED)
    assert house.answer is not None
    assert house.answer.form is (AnswerForm.WHOLE if kind.startswith("trans") else AnswerForm.BYTES)
    assert await house.answer.read() == b""
    house.check()


@kinds
@in_virtual_time
async def test_what_one_account_cannot_do_another_does(kind: str) -> None:
    house = House(Reply(b"<html>", headers={"content-type": "text/html"}), Reply(*GOOD[kind]))
    heard = await asked(house, kind)
    assert heard.text == b"".join(GOOD[kind])
    assert heard.outcomes == ["broken", "completed"]
    house.check()


@kinds
@in_virtual_time
async def test_what_nobody_can_do_is_free(kind: str) -> None:
    house = House(Reply(b'{"error": {"message": "no"}}', headers={"content-type": "application/json"}), Reply())
    heard = await asked(house, kind)
    assert isinstance(heard.problem, ProviderUnavailable)
    assert heard.booked == FREE
    house.check()


@in_virtual_time
async def test_images_of_an_attempt_that_failed_are_forgotten() -> None:
    house = House(Reply(b'{"data": [{"url": "https://a.test"}], "error": {"message": "no"}}'), Reply(*GOOD["image"]))
    heard = await asked(house, "image")
    assert heard.booked == (Ending.COMPLETED, Usage(2), UsageSource.MEASURED)
    assert heard.outcomes == ["broken", "completed"]
    house.check()


@in_virtual_time
async def test_a_transcript_with_an_error_in_it_is_none() -> None:
    house = House(Reply(b'{"text": "", "error": {"message": "no"}}'), Reply(*GOOD["transcript"]))
    assert (await asked(house, "transcript")).outcomes == ["broken", "completed"]
    house.check()


@passing
@pytest.mark.parametrize("breaks", [[Failure.BROKEN], [FOR_EVER]], ids=["broken", "stalled"])
@in_virtual_time
async def test_half_a_file_is_worth_nothing(kind: str, breaks: Sequence[Step]) -> None:
    house = House(Reply(GOOD[kind][0], *breaks))
    heard = await asked(house, kind)
    assert isinstance(heard.problem, StreamBroken)
    assert heard.text == GOOD[kind][0]
    assert heard.booked == FREE
    assert len(house.pool.failed) == 1
    house.check()


@pytest.mark.parametrize("rest", [b"", b' {"b64_json"', b"]}]}"], ids=["ended", "in the middle", "garbled"])
@in_virtual_time
async def test_images_that_do_not_come_to_their_end_are_free(rest: bytes) -> None:
    house = House(Reply(GOOD["image"][0], rest))
    heard = await asked(house, "image")
    assert isinstance(heard.problem, StreamBroken)
    assert heard.booked == FREE
    house.check()


@pytest.mark.parametrize(("made", "charged"), [(0, 0), (1, 1), (2, 2), (3, 2)])
@in_virtual_time
async def test_images_are_charged_as_they_were_made_and_no_more_than_were_asked_for(made: int, charged: int) -> None:
    images = b",".join([b'{"url": "https://a.test"}'] * made)
    house = House(Reply(b'{"data": [', images + b"]}"))
    heard = await asked(house, "image")
    assert heard.booked == (Ending.COMPLETED, Usage(charged), UsageSource.MEASURED)
    house.check()


@pytest.mark.parametrize("kind", ["image", "transcript"])
@in_virtual_time
async def test_who_leaves_pays_for_what_is_made_all_the_same(kind: str) -> None:
    house = House(Reply(House.client_leaves, *GOOD[kind][:1], 50.0, *GOOD[kind][1:]))
    heard = await asked(house, kind)
    assert heard.booked == (Ending.CLIENT_LEFT, Usage(PRICED[kind]), UsageSource.MEASURED)
    house.check()


@in_virtual_time
async def test_speech_is_stopped_when_its_caller_leaves_and_charged_by_its_text() -> None:
    house = House(Reply(b"sound", House.client_leaves, FOR_EVER))
    heard = await asked(house, "speech")
    assert isinstance(heard.problem, ClientLeft)
    assert heard.booked == (Ending.CLIENT_LEFT, Usage(5), UsageSource.MEASURED)
    house.check()


@pytest.mark.parametrize("kind", ORDERS)
@in_virtual_time
async def test_who_leaves_after_the_end_has_a_complete_answer(kind: str) -> None:
    house = House(Reply(*GOOD[kind]))
    heard = await asked(house, kind)
    house.client_leaves()
    assert heard.booked[0] is Ending.COMPLETED
    assert house.call is not None
    assert house.call.ended_as is None


@kinds
@in_virtual_time
async def test_no_media_call_lasts_longer_than_the_longest(kind: str) -> None:
    house = House(Reply(before=[FOR_EVER]), accounts=[an_account(1)])
    heard = await asked(house, kind)
    assert isinstance(heard.problem, TimeLimitReached)
    # Of images it is never known how many were made.
    wanted = Usage(0 if kind == "image" else PRICED[kind])
    assert heard.booked == (Ending.TIME_LIMIT, wanted, UsageSource.MEASURED)
    house.check()


@in_virtual_time
async def test_a_file_without_end_is_broken_off_and_nobody_is_blamed() -> None:
    piece = b"x" * (PASSING_BYTES_MOST // 4)
    house = House(Reply(b"sound", *[piece] * 5))
    heard = await asked(house, "speech")
    assert isinstance(heard.problem, StreamBroken)
    assert (heard.booked, house.pool.failed) == (FREE, [])
    house.check()


@in_virtual_time
async def test_a_transcript_that_is_too_large_is_charged() -> None:
    house = House(Reply(*[b"x" * 23_000_000] * 3))
    heard = await asked(house, "transcript")
    assert isinstance(heard.problem, AnswerTooLarge)
    assert heard.booked[1:] == (Usage(3), UsageSource.MEASURED)
    assert heard.outcomes == ["too_long"]
    house.check()


@pytest.mark.parametrize(("asked_for", "kind"), [("mp3", "audio/mpeg"), ("wav", "audio/wav")])
@in_virtual_time
async def test_speech_comes_as_what_was_asked_for(asked_for: str, kind: str) -> None:
    house = House(Reply(b"sound"))
    body = b'{"model": "speaker", "input": "hello", "voice": "alloy", "response_format": "%s"}' % asked_for.encode()
    await house.ask(SPEECH, body)
    assert house.answer is not None
    assert house.answer.content_type == kind


@pytest.mark.parametrize(
    ("operation", "body", "param"),
    [
        (IMAGE, b'{"model": "painter", "prompt": "x", "n": 11}', "n"),
        (IMAGE, b'{"model": "painter", "prompt": "x", "size": "9x9"}', "size"),
        (SPEECH, b'{"model": "speaker", "input": "hello", "voice": "nobody"}', "voice"),
    ],
)
@in_virtual_time
async def test_what_the_catalog_does_not_offer_is_refused_before_anything_is_held(
    operation: Operation[Any, Any], body: bytes, param: str
) -> None:
    house = House()
    heard = await house.ask(operation, body)
    assert isinstance(heard.problem, InvalidParameter)
    assert (heard.problem.param, heard.receipt) == (param, None)
    house.check()
