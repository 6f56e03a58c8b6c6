"""Whole answers of providers: a large one is counted beside the event loop, and costs what it costs."""

import asyncio
import json
from collections.abc import Mapping

import pytest

from tests.relay.fakes import Reply
from tests.relay.house import House
from tollkeeper.core.calls.meter import Meter
from tollkeeper.core.money.charge import UsageSource
from tollkeeper.relay.aside import LARGE_BYTES

WORDS: Mapping[str, object] = {"role": "assistant", "content": "one two three"}
# Each has to be looked at by itself, for something in it has a form that nobody knows.
STRANGE_CHOICES = {"choices": [{"index": 0, "message": {**WORDS, "strange": "text"}}] * 15_000}


def an_answer(more: Mapping[str, object]) -> bytes:
    choices = [{"index": 0, "message": WORDS, "finish_reason": "stop"}]
    return json.dumps({"id": "a", "model": "m", "choices": choices, **more}).encode()


async def turns_during_a_call(body: bytes) -> int:
    """How many turns the event loop makes for others while an answer is read and counted."""
    house, turns = House(Reply(body)), 0

    async def turn() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    turning = asyncio.create_task(turn())
    await asyncio.sleep(0)
    heard = await house.chat()
    turning.cancel()
    assert heard.text == body
    return turns


@pytest.mark.not_quick
async def test_while_a_large_answer_is_read_the_loop_goes_on() -> None:
    assert await turns_during_a_call(an_answer({})) < 100 < await turns_during_a_call(an_answer(STRANGE_CHOICES))


@pytest.mark.parametrize("padding", [0, LARGE_BYTES], ids=["on the loop", "beside it"])
async def test_an_answer_without_a_report_is_charged_as_counted_wherever_it_is_read(padding: int) -> None:
    body, counted = an_answer({"x": "word"}) + b" " * padding, Meter()
    counted.read_whole(body)
    heard = await House(Reply(body)).chat()
    _, usage, source = heard.booked
    assert (usage.output_units, source) == (counted.output_tokens, UsageSource.COUNTED)


async def test_a_large_body_that_is_no_answer_is_none_beside_the_loop_as_well() -> None:
    large = b'{"error": "%s"}' % (b"x" * 300_000)
    house = House(Reply(large), Reply(an_answer({})))
    heard = await house.chat()
    assert heard.outcomes == ["broken", "completed"]
    house.check()
