"""Whole answers of providers: a large one is counted beside the event loop, and costs what it costs."""

import asyncio
import json
import time
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


class LongestWait:
    """The longest time for which the event loop did nothing else."""

    def __init__(self) -> None:
        self.seconds = 0.0

    async def watch(self) -> None:
        while True:
            begun = time.monotonic()
            await asyncio.sleep(0)
            self.seconds = max(self.seconds, time.monotonic() - begun)


@pytest.mark.not_quick
async def test_while_a_large_answer_is_read_the_loop_goes_on() -> None:
    body, longest = an_answer(STRANGE_CHOICES), LongestWait()
    begun = time.monotonic()
    Meter().read_whole(body)
    seconds_to_read = time.monotonic() - begun
    house = House(Reply(body))
    watching = asyncio.create_task(longest.watch())
    await asyncio.sleep(0)
    heard = await house.chat()
    await asyncio.sleep(0)
    watching.cancel()
    assert heard.text == body
    assert 0 < longest.seconds < seconds_to_read * 2 / 3


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
