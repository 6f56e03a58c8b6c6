"""Calls that are held for by a bound of their input: what they cost is counted all the same, or reported."""

import asyncio
from typing import NoReturn

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.test_keys import RECORD
from tests.relay.fakes import Reply
from tests.relay.house import (
    DONE,
    FINISH,
    INPUT_TOKENS,
    NO_LIMITS,
    UNITS,
    House,
    a_model,
    a_price,
    chat_body,
    report,
    whole,
    words,
)
from tests.relay.virtual_time import in_virtual_time
from tollkeeper.core.calls import tokens
from tollkeeper.core.calls.chat import read_chat
from tollkeeper.core.calls.native import Spoken
from tollkeeper.core.catalog.models import Shelf
from tollkeeper.core.errors import InsufficientQuota, StoreUnavailable
from tollkeeper.core.limits.windows import LimitOutcome, Rates
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.money.parts import PriceParts, PriceTier
from tollkeeper.core.money.prices import MILLIONTHS, Usage
from tollkeeper.ports import Failure, HoldOrder, HoldVerdict, Passage
from tollkeeper.relay import by_bound
from tollkeeper.relay.by_bound import LEFT_SECONDS, PLENTY
from tollkeeper.relay.checkpoints import CHECKPOINT_SECONDS
from tollkeeper.relay.count_input import count_for_a_while
from tollkeeper.relay.operations import MESSAGES

TEXT = "All rivers run into the sea. " * 100
ASKED = [{"role": "user", "content": TEXT}]
COUNTED = read_chat(chat_body(messages=ASKED)).input_tokens(part_tokens=0)
BOUND = COUNTED - tokens.count(TEXT) + len(TEXT)
# As `max_tokens`.
OUTPUT = 50
HELD = BOUND + 2 * OUTPUT
RICH = 10 * PLENTY * HELD


async def a_house(*replies: Reply, quota: int = RICH, rates: Rates | None = None) -> House:
    """One that has seen the key's quota before."""
    house = House(Reply(whole(1, (INPUT_TOKENS, 1))), *replies, quota=quota, rates=rates or NO_LIMITS)
    await house.chat()
    return house


@pytest.fixture
def nothing_keeps_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever must know has it counted beside the others."""

    def refuse(*_: object) -> NoReturn:
        pytest.fail("counted while everybody waits")

    monkeypatch.setattr(by_bound, "count_for_a_while", refuse)


def held_for(house: House) -> tuple[HoldOrder, int]:
    """The last hold, and how much it was in quota."""
    hold = list(house.ledger.holds.values())[-1]
    return hold.order, hold.order.amount // UNITS


@in_virtual_time
async def test_where_there_is_plenty_the_bound_is_held_and_the_report_charged() -> None:
    house = await a_house(Reply(whole(5, (600, 7))))
    heard = await house.chat(max_tokens=OUTPUT, messages=ASKED)
    order, amount = held_for(house)
    assert (order.input_units, amount) == (0, HELD)
    assert BOUND > 3 * COUNTED
    assert heard.booked == (Ending.COMPLETED, Usage(600, 7), UsageSource.PROVIDER)
    house.check()


@in_virtual_time
async def test_the_first_call_of_a_key_is_counted() -> None:
    house = House(Reply(whole(5, (600, 7))), quota=RICH)
    await house.chat(max_tokens=OUTPUT, messages=ASKED)
    order, amount = held_for(house)
    assert (order.input_units, amount) == (COUNTED, COUNTED + 2 * OUTPUT)
    house.check()


@pytest.mark.parametrize(
    ("reply", "stream", "ending", "output_tokens"),
    [
        (Reply(whole(5)), False, Ending.COMPLETED, 5),
        (Reply(*words(5), FINISH, DONE), True, Ending.COMPLETED, 5),
        (Reply(*words(5)), True, Ending.UPSTREAM_BROKE, 5),
        (Reply(*words(3), House.client_leaves, *words(2), FINISH, DONE), True, Ending.CLIENT_LEFT, 3),
    ],
    ids=["whole", "streamed", "broken off", "its caller left"],
)
@pytest.mark.usefixtures("nothing_keeps_the_loop")
@in_virtual_time
async def test_without_a_report_the_charge_is_by_the_count(
    reply: Reply, stream: bool, ending: Ending, output_tokens: int
) -> None:
    house = await a_house(reply)
    heard = await house.chat(stream=stream, max_tokens=OUTPUT, messages=ASKED)
    assert held_for(house)[1] == HELD
    booked_as, usage, source = heard.booked
    assert (booked_as, usage.input_units, source) == (ending, COUNTED, UsageSource.COUNTED)
    assert usage.output_units >= output_tokens
    house.check()


@pytest.mark.usefixtures("nothing_keeps_the_loop")
@in_virtual_time
async def test_a_report_that_nobody_can_believe_is_no_report() -> None:
    house = await a_house(Reply(*words(5), FINISH, report(10**9, 5), DONE))
    heard = await house.chat(stream=True, max_tokens=OUTPUT, messages=ASKED)
    assert heard.booked == (Ending.COMPLETED, Usage(COUNTED, 5), UsageSource.COUNTED)
    house.check()


@pytest.mark.usefixtures("nothing_keeps_the_loop")
@in_virtual_time
async def test_what_a_failed_attempt_may_have_cost_is_counted() -> None:
    house = await a_house(Reply(whole(5)[:30], Failure.BROKEN), Reply(whole(5, (600, 7))))
    heard = await house.chat(max_tokens=OUTPUT, messages=ASKED)
    assert heard.receipt is not None
    failed, answered = heard.receipt.attempts
    assert (failed["cost"], answered["cost"]) == (COUNTED * UNITS, (600 + 2 * 7) * UNITS)
    house.check()


@pytest.mark.usefixtures("nothing_keeps_the_loop")
@in_virtual_time
async def test_a_checkpoint_has_the_count() -> None:
    later = CHECKPOINT_SECONDS
    house = await a_house(Reply(*words(2), later, *words(2), 1.0, *words(1), 1.0, FINISH, report(600, 5), DONE))
    heard = await house.chat(stream=True, max_tokens=OUTPUT, messages=ASKED)
    assert {progress.usage.input_units for progress in house.ledger.checkpoints} == {COUNTED}
    assert heard.booked == (Ending.COMPLETED, Usage(600, 5), UsageSource.PROVIDER)
    house.check()


@in_virtual_time
async def test_nothing_is_noted_after_what_a_stream_came_to_however_late_its_caller_takes_it() -> None:
    house = await a_house(Reply(b"".join([*words(3), FINISH, report(600, 5), DONE])))
    await house.chat(stream=True, max_tokens=OUTPUT, messages=ASKED, reads_pieces=1)
    assert [(noted.ending, noted.charge.usage) for noted in house.ledger.noted] == [(Ending.COMPLETED, Usage(600, 5))]
    house.check()


@in_virtual_time
async def test_who_has_enough_for_the_count_and_not_for_the_bound_is_served() -> None:
    """What was left after the last hold is gone meanwhile."""
    house = await a_house(Reply(whole(5, (600, 7))))
    [lot] = house.ledger.lots.values()
    lot.lot = msgspec.structs.replace(lot.lot, remaining=Quota((COUNTED + 2 * OUTPUT) * UNITS))
    heard = await house.chat(max_tokens=OUTPUT, messages=ASKED)
    order, amount = held_for(house)
    assert (order.input_units, amount) == (COUNTED, COUNTED + 2 * OUTPUT)
    assert heard.booked == (Ending.COMPLETED, Usage(600, 7), UsageSource.PROVIDER)


@in_virtual_time
async def test_who_has_too_little_is_told_what_the_count_needs() -> None:
    house = await a_house()
    [lot] = house.ledger.lots.values()
    lot.lot = msgspec.structs.replace(lot.lot, remaining=Quota((COUNTED + 20) * UNITS))
    heard = await house.chat(max_tokens=OUTPUT, messages=ASKED)
    assert isinstance(heard.problem, InsufficientQuota)
    assert "with max_tokens of 10 or less it would fit" in heard.problem.message


@pytest.mark.parametrize(("quota", "by_bound_too"), [(PLENTY * HELD, False), (PLENTY * HELD + 300, True)])
@in_virtual_time
async def test_less_than_plenty_is_counted(quota: int, by_bound_too: bool) -> None:
    house = await a_house(Reply(whole(5, (600, 7))), quota=quota)
    await house.chat(max_tokens=OUTPUT, messages=ASKED)
    assert held_for(house)[0].input_units == (0 if by_bound_too else COUNTED)
    house.check()


@in_virtual_time
async def test_of_many_at_once_none_is_refused_for_what_another_holds_too_much() -> None:
    """Quota for each of them, and plenty for one: the others are counted."""
    calls = 30
    rates = Rates(key_rate=10_000, standard_rate=10_000)
    house = await a_house(*[Reply(whole(5, (600, 7)))] * calls, quota=PLENTY * HELD + 300, rates=rates)
    hold, admit = house.ledger.hold, house.limiter.admit

    async def slow_hold(order: HoldOrder) -> HoldVerdict:
        await asyncio.sleep(0.01)
        return await hold(order)

    async def slow_admit(passage: Passage) -> LimitOutcome:
        await asyncio.sleep(0.01)
        return await admit(passage)

    house.ledger.hold, house.limiter.admit = slow_hold, slow_admit  # type: ignore[method-assign]
    heard = await asyncio.gather(*(house.chat(max_tokens=OUTPUT, messages=ASKED) for _ in range(calls)))
    assert [each.problem for each in heard] == [None] * calls
    by_bound = [hold for hold in house.ledger.holds.values() if hold.order.input_units == 0]
    assert len(by_bound) == 1
    house.check()


@in_virtual_time
async def test_calls_that_cost_nothing_side_by_side_give_everything_back() -> None:
    house = await a_house(*(Reply(0.5, whole(5, (600, 7))) for _ in range(3)))
    house.catalog.on_offer = Shelf({"m": a_model("m")}, {RECORD.group: 0}, {RECORD.group: NO_LIMITS})
    calls = [house.chat(max_tokens=OUTPUT, messages=ASKED) for _ in range(3)]
    heard = await asyncio.gather(*calls)
    assert [each.problem for each in heard] == [None] * 3
    house.check()


@in_virtual_time
async def test_what_was_left_long_ago_is_not_gone_by() -> None:
    house = await a_house(Reply(whole(5, (600, 7))))
    await asyncio.sleep(LEFT_SECONDS + 1)
    await house.chat(max_tokens=OUTPUT, messages=ASKED)
    assert held_for(house)[0].input_units == COUNTED


@in_virtual_time
async def test_what_the_bound_holds_too_much_pays_for_output_before_more_is_asked_for() -> None:
    """A hundred tokens of output are held for; the rest of the quota is gone by then."""

    def spend_the_rest(of: House) -> None:
        [lot] = of.ledger.lots.values()
        lot.lot = msgspec.structs.replace(lot.lot, remaining=Quota(0))

    house = await a_house(Reply(*words(10), spend_the_rest, b"".join(words(200)), *words(1), FINISH, DONE))
    heard = await house.chat(stream=True, messages=ASKED)
    assert heard.problem is None
    [_, hold] = house.ledger.holds.values()
    assert hold.extensions == 0
    assert heard.booked == (Ending.COMPLETED, Usage(COUNTED, 211), UsageSource.COUNTED)


@pytest.mark.usefixtures("nothing_keeps_the_loop")
@in_virtual_time
async def test_a_whole_answer_that_takes_long_is_counted_and_noted_once_it_was_sent() -> None:
    house = await a_house(Reply(2 * CHECKPOINT_SECONDS, whole(5, (600, 7))))
    heard = await house.chat(max_tokens=OUTPUT, messages=ASKED)
    assert [progress.usage for progress in house.ledger.checkpoints] == [Usage(COUNTED)]
    assert [noted.charge.usage for noted in house.ledger.noted] == [Usage(COUNTED)]
    assert heard.booked == (Ending.COMPLETED, Usage(600, 7), UsageSource.PROVIDER)
    house.check()


@in_virtual_time
async def test_a_hold_that_nobody_hears_of_keeps_no_text() -> None:
    house = await a_house()

    async def away(order: HoldOrder) -> HoldVerdict:
        raise StoreUnavailable

    house.ledger.hold = away  # type: ignore[method-assign]
    heard = await house.chat(max_tokens=OUTPUT, messages=ASKED)
    assert isinstance(heard.problem, StoreUnavailable)
    house.check()


@in_virtual_time
async def test_a_token_window_and_a_ceiling_need_the_count() -> None:
    house = await a_house(Reply(whole(5, (600, 7))), rates=Rates(tokens_per_minute=10**9))
    await house.chat(max_tokens=OUTPUT, messages=ASKED)
    assert held_for(house)[0].input_units == COUNTED
    other = await a_house(Reply(whole(5, (600, 7))))
    other.headers = {b"x-max-charge-usd": "1000"}
    await other.chat(max_tokens=OUTPUT, messages=ASKED)
    assert held_for(other)[0].input_units == COUNTED


@in_virtual_time
async def test_other_dialects_begin_with_the_count() -> None:
    house = await a_house(Reply(whole(5, (600, 7))))
    body = chat_body(max_tokens=OUTPUT, messages=ASKED)
    await house.ask(MESSAGES, Spoken(body))
    assert held_for(house)[0].input_units > 0
    house.check()


@in_virtual_time
async def test_a_price_with_tiers_is_chosen_by_the_count() -> None:
    house = await a_house(Reply(whole(5, (600, 7))))
    parts = PriceParts(tiers=(PriceTier(above_tokens=COUNTED, model=2 * MILLIONTHS),))
    model = msgspec.structs.replace(a_model("m"), prices=(msgspec.structs.replace(a_price("m"), parts=parts),))
    shelf = house.catalog.on_offer
    house.catalog.on_offer = Shelf({"m": model}, {RECORD.group: MILLIONTHS}, {RECORD.group: shelf.rates_of(RECORD)})
    await house.chat(max_tokens=OUTPUT, messages=ASKED)
    assert held_for(house)[0].input_units == COUNTED
    house.check()


@in_virtual_time
async def test_only_so_much_text_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    house = await a_house(Reply(whole(5, (600, 7))))
    monkeypatch.setattr(by_bound, "KEPT_CHARACTERS_MOST", len(TEXT) - 1)
    await house.chat(max_tokens=OUTPUT, messages=ASKED)
    assert held_for(house)[0].input_units == COUNTED
    house.check()


@given(st.text(max_size=200), st.sampled_from([1, 1, 300]))
def test_no_text_has_more_tokens_than_bytes(text: str, times: int) -> None:
    order = read_chat(chat_body())
    order.texts = (text * times,)
    assert sum(count_for_a_while(order.texts)[0]) <= order.text_tokens_most
    assert sum(map(tokens.count, order.texts)) <= order.text_tokens_most
