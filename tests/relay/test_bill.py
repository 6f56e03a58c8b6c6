"""The bill of a running call: more is held as a stream grows, and how far it has come is noted."""

import asyncio

import pytest

from tests.relay.fakes import Reply
from tests.relay.house import DONE, FINISH, INPUT_TOKENS, UNITS, House, events, report, whole, words
from tests.relay.virtual_time import in_virtual_time
from tollkeeper.core.errors import InsufficientQuota, NodeStopping
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.money.prices import Usage
from tollkeeper.core.money.quote import with_slack
from tollkeeper.relay.checkpoints import CHECKPOINT_SECONDS
from tollkeeper.relay.patience import EXTENSION_PATIENCE_SECONDS, EXTENSION_RETRY_SECONDS

MANY = b"".join(words(60))


@pytest.mark.parametrize(("count", "extensions"), [(1, 0), (2, 1), (4, 2), (8, 4)])
@in_virtual_time
async def test_more_is_held_before_more_is_delivered_than_was_held_for(count: int, extensions: int) -> None:
    """A hundred words are held for at first. Before the next piece is asked for, what came is covered."""
    house = House(Reply(*[MANY] * count, *words(1), FINISH, DONE))
    heard = await house.chat(stream=True)
    [hold] = house.ledger.holds.values()
    assert hold.extensions == extensions
    assert hold.amount >= (INPUT_TOKENS + 2 * 60 * count) * UNITS or count == 1
    assert heard.booked == (Ending.COMPLETED, Usage(INPUT_TOKENS, 60 * count + 1), UsageSource.COUNTED)
    house.check()


@in_virtual_time
async def test_an_answer_within_its_cap_is_never_held_for_again() -> None:
    house = House(Reply(MANY, MANY, FINISH, DONE), quota=INPUT_TOKENS + 2 * 100)
    heard = await house.chat(stream=True, max_tokens=100)
    assert heard.problem is None
    [hold] = house.ledger.holds.values()
    assert (hold.extensions, with_slack(100)) == (0, 176)
    # A few tokens more than the cap allows are owed all the same.
    assert house.ledger.accounts[1].debt == 2 * 20 * UNITS


@in_virtual_time
async def test_a_provider_that_ignores_the_callers_cap_cannot_spend_more_than_there_is() -> None:
    quota = 400
    house = House(Reply(*words(5_000), FINISH, DONE), quota=quota)
    heard = await house.chat(stream=True, max_tokens=5)
    assert isinstance(heard.problem, InsufficientQuota)
    assert heard.receipt is not None
    assert heard.receipt.charge.amount <= quota * UNITS
    assert heard.receipt.charge.usage.output_units < 300
    house.check()


@in_virtual_time
async def test_a_ledger_that_is_busy_is_asked_again_and_the_stream_goes_on() -> None:
    house = House(Reply(MANY, MANY, *words(1), FINISH, DONE))
    house.ledger.extensions_unheard = 3
    others = asyncio.create_task(asyncio.sleep(EXTENSION_RETRY_SECONDS / 2))
    heard = await house.chat(stream=True)
    assert others.done(), "nobody else could run"
    assert heard.booked == (Ending.COMPLETED, Usage(INPUT_TOKENS, 121), UsageSource.COUNTED)
    assert house.ledger.extensions_unheard == 0
    house.check()


@in_virtual_time
async def test_a_ledger_that_is_away_for_long_ends_the_stream() -> None:
    house = House(Reply(MANY, MANY, *words(1), FINISH, DONE))
    house.ledger.extensions_unheard = 10**6
    heard = await house.chat(stream=True)
    assert isinstance(heard.problem, NodeStopping)
    assert heard.booked == (Ending.NODE_STOPPED, Usage(INPUT_TOKENS, 120), UsageSource.COUNTED)
    asked = 10**6 - house.ledger.extensions_unheard
    assert asked == pytest.approx(EXTENSION_PATIENCE_SECONDS / EXTENSION_RETRY_SECONDS, abs=2)
    house.check()


@in_virtual_time
async def test_a_hold_that_another_has_closed_is_not_extended() -> None:
    house = House(Reply(MANY, House.fence, MANY, *words(1), FINISH))
    heard = await house.chat(stream=True)
    assert isinstance(heard.problem, NodeStopping)
    assert heard.receipt is not None
    assert heard.receipt.ending is Ending.OWNER_DIED
    # Our own settlement comes too late, and changes nothing.
    assert [late.ending for late in house.ledger.closed_nothing] == [Ending.NODE_STOPPED]


@in_virtual_time
async def test_a_process_that_was_fenced_ends_its_stream_at_once() -> None:
    house = House(Reply(MANY, House.is_fenced, MANY, *words(1), FINISH))
    heard = await house.chat(stream=True)
    assert isinstance(heard.problem, NodeStopping)
    assert heard.booked == (Ending.NODE_STOPPED, Usage(INPUT_TOKENS, 120), UsageSource.COUNTED)
    assert asyncio.get_running_loop().time() < EXTENSION_RETRY_SECONDS
    house.check()


@in_virtual_time
async def test_every_few_seconds_it_is_noted_how_far_a_stream_has_come() -> None:
    later = CHECKPOINT_SECONDS
    house = House(Reply(*words(3), later, *words(2), 1.0, *words(1), later, *words(1), 1.0, FINISH))
    await house.chat(stream=True)
    assert [progress.usage.output_units for progress in house.ledger.checkpoints] == [3, 6]
    *underway, complete = house.ledger.noted
    for noted, tokens in zip(underway, (3, 6), strict=True):
        assert (noted.ending, noted.charge.source) == (Ending.OWNER_DIED, UsageSource.JOURNAL)
        assert noted.charge.amount == (INPUT_TOKENS + 2 * tokens) * UNITS
    assert (complete.ending, complete.charge.amount) == (Ending.COMPLETED, (INPUT_TOKENS + 2 * 7) * UNITS)
    house.check()


@in_virtual_time
async def test_the_hold_of_a_stream_that_says_nothing_to_be_counted_is_renewed() -> None:
    """Nobody is to take it for forgotten while it lives."""
    pings = [step for _ in range(15) for step in (b": ping\n\n", CHECKPOINT_SECONDS)]
    house = House(Reply(*words(3), *pings, *words(1), FINISH))
    await house.chat(stream=True)
    assert [progress.usage.output_units for progress in house.ledger.checkpoints] == [3, 3]
    house.check()


@in_virtual_time
async def test_a_checkpoint_that_did_not_arrive_is_written_again() -> None:
    house = House(Reply(*words(3), 3 * CHECKPOINT_SECONDS, *words(1), FINISH))
    house.ledger.checkpoints_lost = 1
    await house.chat(stream=True)
    assert [progress.usage.output_units for progress in house.ledger.checkpoints] == [3, 3]
    house.check()


@in_virtual_time
async def test_what_a_stream_came_to_is_noted_before_its_last_words_go_out() -> None:
    """Its worker may be killed in between: the caller would have all of it, and be charged the input alone."""
    house = House(Reply(*words(3), FINISH, report(INPUT_TOKENS, 3), DONE))
    heard = await house.chat(stream=True)
    assert heard.receipt is not None
    [noted] = house.ledger.noted
    assert (noted.ending, noted.charge) == (heard.receipt.ending, heard.receipt.charge)
    house.check()


@in_virtual_time
async def test_while_one_checkpoint_is_under_way_no_other_is_begun() -> None:
    house = House(Reply(*[step for word in words(6) for step in (word, CHECKPOINT_SECONDS)], *words(1), FINISH))
    house.ledger.checkpoint_seconds = 3 * CHECKPOINT_SECONDS
    await house.chat(stream=True)
    assert len(house.ledger.checkpoints) == 2
    house.check()
    # The last one is not heard before the call is over, and is no news any more.
    await asyncio.sleep(house.ledger.checkpoint_seconds)


@in_virtual_time
async def test_what_is_noted_is_never_more_than_was_held() -> None:
    house = House(Reply(b"".join(words(90)), CHECKPOINT_SECONDS, MANY, *words(1), FINISH), quota=INPUT_TOKENS + 2 * 100)
    await house.chat(stream=True, max_tokens=100)
    assert max(noted.charge.amount for noted in house.ledger.noted) == (INPUT_TOKENS + 2 * 100) * UNITS


@in_virtual_time
async def test_a_call_that_has_less_than_it_owes_is_ended_and_owes_nothing() -> None:
    house = House(Reply(b"".join(words(150)), *words(1), FINISH), quota=INPUT_TOKENS + 2 * 100)
    heard = await house.chat(stream=True)
    assert isinstance(heard.problem, InsufficientQuota)
    assert "would need" in heard.problem.message
    assert heard.receipt is not None
    assert heard.receipt.charge.amount == (INPUT_TOKENS + 2 * 100) * UNITS
    assert house.ledger.accounts[1].debt == 0
    house.check()


@in_virtual_time
async def test_what_a_provider_reports_beyond_the_hold_is_charged_and_owed() -> None:
    house = House(Reply(whole(1, (INPUT_TOKENS, 120))), quota=INPUT_TOKENS + 2 * 100)
    heard = await house.chat()
    assert heard.booked == (Ending.COMPLETED, Usage(INPUT_TOKENS, 120), UsageSource.PROVIDER)
    assert house.ledger.accounts[1].debt == 2 * 20 * UNITS


@pytest.mark.parametrize(
    ("model", "reported", "believed"),
    [("m", 107, True), ("m", 1_000, False), ("thinker", 190, True)],
    ids=["about the cap", "far beyond the cap", "thoughts beyond the cap"],
)
@in_virtual_time
async def test_a_report_beyond_the_callers_cap_is_not_believed_but_for_thoughts(
    model: str, reported: int, believed: bool
) -> None:
    house = House(Reply(*words(5), FINISH, report(12, reported), DONE))
    heard = await house.chat(stream=True, model=model, max_tokens=100)
    assert heard.booked[2] is (UsageSource.PROVIDER if believed else UsageSource.COUNTED)
    assert heard.booked[1].output_units == (reported if believed else 5)
    house.check()


@in_virtual_time
async def test_the_price_that_is_told_is_the_price_that_is_booked() -> None:
    house = House(Reply(whole(5, (12, 7))))
    heard = await house.chat()
    assert house.answer is not None
    assert heard.receipt is not None
    assert house.answer.charged == heard.receipt.charge.amount == (12 + 2 * 7) * UNITS


@in_virtual_time
async def test_nothing_more_is_held_for_a_guess_and_no_more_of_it_is_charged_than_was_held() -> None:
    murmur = events({"index": 0, "delta": {"murmur": "a river and its banks " * 100}, "finish_reason": None})
    held = INPUT_TOKENS + 2 * 100
    house = House(Reply(*words(1), murmur, *words(1), FINISH, DONE), quota=held)
    heard = await house.chat(stream=True)
    assert heard.problem is None
    assert heard.booked == (Ending.COMPLETED, Usage(INPUT_TOKENS, 100), UsageSource.COUNTED)
    house.check()
