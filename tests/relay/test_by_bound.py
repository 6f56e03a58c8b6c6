"""Calls that are held for by a bound of their input: what they cost is counted all the same, or reported."""

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
from tollkeeper.core.errors import InsufficientQuota
from tollkeeper.core.limits.windows import Rates
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.money.parts import PriceParts, PriceTier
from tollkeeper.core.money.prices import MILLIONTHS, Usage
from tollkeeper.ports import Failure, HoldOrder
from tollkeeper.relay import by_bound
from tollkeeper.relay.bill import CHECKPOINT_SECONDS
from tollkeeper.relay.by_bound import PLENTY
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


@in_virtual_time
async def test_a_report_that_nobody_can_believe_is_no_report() -> None:
    house = await a_house(Reply(*words(5), FINISH, report(10**9, 5), DONE))
    heard = await house.chat(stream=True, max_tokens=OUTPUT, messages=ASKED)
    assert heard.booked == (Ending.COMPLETED, Usage(COUNTED, 5), UsageSource.COUNTED)
    house.check()


@in_virtual_time
async def test_what_a_failed_attempt_may_have_cost_is_counted() -> None:
    house = await a_house(Reply(whole(5)[:30], Failure.BROKEN), Reply(whole(5, (600, 7))))
    heard = await house.chat(max_tokens=OUTPUT, messages=ASKED)
    assert heard.receipt is not None
    failed, answered = heard.receipt.attempts
    assert (failed["cost"], answered["cost"]) == (COUNTED * UNITS, (600 + 2 * 7) * UNITS)
    house.check()


@in_virtual_time
async def test_a_checkpoint_has_the_count() -> None:
    later = CHECKPOINT_SECONDS
    house = await a_house(Reply(*words(2), later, *words(2), 1.0, *words(1), 1.0, FINISH, report(600, 5), DONE))
    heard = await house.chat(stream=True, max_tokens=OUTPUT, messages=ASKED)
    assert {progress.usage.input_units for progress in house.ledger.checkpoints} == {COUNTED}
    assert heard.booked == (Ending.COMPLETED, Usage(600, 5), UsageSource.PROVIDER)
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
async def test_calls_under_way_take_their_share_of_the_plenty() -> None:
    """Quota for one and a half: of two at once, the second is counted."""
    house = await a_house(quota=PLENTY * HELD * 3 // 2)
    plenty, caller = house.relay.measures.plenty, RECORD
    plenty.begin(caller.account_id, HELD * UNITS, 0)
    house.upstream.replies.append(Reply(whole(5, (600, 7))))
    await house.chat(max_tokens=OUTPUT, messages=ASKED)
    assert held_for(house)[0].input_units == COUNTED
    plenty.end(caller.account_id, HELD * UNITS)
    house.upstream.replies.append(Reply(whole(5, (600, 7))))
    await house.chat(max_tokens=OUTPUT, messages=ASKED)
    assert held_for(house)[0].input_units == 0
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
    assert held_for(house) == (held_for(house)[0], COUNTED + 2 * OUTPUT)
    house.check()


@in_virtual_time
async def test_only_so_much_text_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    house = await a_house(Reply(whole(5, (600, 7))))
    monkeypatch.setattr(by_bound, "KEPT_CHARACTERS_MOST", len(TEXT) - 1)
    await house.chat(max_tokens=OUTPUT, messages=ASKED)
    assert held_for(house)[0].input_units == COUNTED
    house.check()


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=200))
def test_no_text_has_more_tokens_than_bytes(text: str) -> None:
    order = read_chat(chat_body(messages=[{"role": "user", "content": text}]))
    assert sum(map(tokens.count, order.texts)) <= order.text_tokens_most
