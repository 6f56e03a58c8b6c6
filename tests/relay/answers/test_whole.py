"""Whole answers of providers: a large one is counted beside the event loop, and costs what it costs."""

import asyncio
import json
from collections.abc import Mapping

import pytest

from tests.relay.fakes import Reply
from tests.relay.house import House, an_account
from tollkeeper.core.calls.whole_meter import WholeMeter
from tollkeeper.core.errors import NodeStopping
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.money.prices import Usage
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
    body, counted = an_answer({"x": "word"}) + b" " * padding, WholeMeter()
    counted.read(body)
    heard = await House(Reply(body)).chat()
    _, usage, source = heard.booked
    assert (usage.output_units, source) == (counted.output_tokens, UsageSource.COUNTED)


async def test_a_large_body_that_is_no_answer_is_none_beside_the_loop_as_well() -> None:
    large = b'{"error": "%s"}' % (b"x" * 300_000)
    house = House(Reply(large), Reply(an_answer({})))
    heard = await house.chat()
    assert heard.outcomes == ["broken", "completed"]
    house.check()


OF_ANTHROPIC: Mapping[str, object] = {
    "id": "a",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "word " * 60_000}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 10, "output_tokens": 60_000},
}


@pytest.mark.parametrize(
    ("vendor", "body"),
    [("openai", an_answer({}) + b" " * LARGE_BYTES), ("anthropic", json.dumps(OF_ANTHROPIC).encode())],
)
async def test_an_answer_that_is_still_being_read_when_the_node_stops_costs_nothing(vendor: str, body: bytes) -> None:
    """Its caller gets no word of it, whoever wrote it."""

    def stop(house: House) -> None:
        # In the next turn of the loop: the answer is read beside it by then.
        asyncio.get_running_loop().call_soon(house.running.end_all)

    house = House(Reply(body, stop), accounts=[an_account(1, vendor=vendor)])
    heard = await house.chat()
    assert isinstance(heard.problem, NodeStopping)
    assert heard.booked == (Ending.REFUSED, Usage(0), UsageSource.NONE)
    house.check()
