"""The ledger's contract, kept by the one in PostgreSQL and by its twin in memory."""

import asyncio
import os
import time
from collections.abc import Awaitable, Sequence
from datetime import UTC, timedelta
from pathlib import Path

import asyncpg
import msgspec
import pytest

from tests.customers import Customers
from tests.storage.ledger.benches import (
    Bench,
    BothTreasuries,
    SqlBench,
    a_credit,
    a_settlement,
    an_extension,
    an_order,
)
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.balance import of_account, of_key
from tollkeeper.core.money.charge import Ending
from tollkeeper.core.money.prices import Usage
from tollkeeper.core.request_id import uuid7
from tollkeeper.ports import (
    AlreadyOnFile,
    BudgetPeriod,
    Extension,
    HoldOrder,
    HoldOutcome,
    HoldVerdict,
    KeyBudget,
    NotOnFile,
    Progress,
)
from tollkeeper.settings import Settings
from tollkeeper.storage.customers.accounts import SqlBalances
from tollkeeper.storage.ledger import sql_ledger
from tollkeeper.storage.ledger.books import check_books
from tollkeeper.storage.ledger.journal import Journal
from tollkeeper.storage.ledger.sql_ledger import SqlLedger
from tollkeeper.storage.ledger.workers import register
from tollkeeper.storage.postgres.database import Database, DatabaseRole

DAY = timedelta(days=1)


async def test_quota_leaves_its_lot_at_the_hold_and_what_is_left_over_comes_back(bench: Bench) -> None:
    account = await bench.account()
    key = await bench.key(account)
    lot = (await bench.treasury.credit(a_credit(account, 1_000))).lot_id
    order = an_order(account, key, 600)
    assert (await bench.ledger.hold(order)).outcome is HoldOutcome.ADMITTED
    assert await bench.remaining(lot) == 400
    assert of_account(await bench.standing(key)).remaining == 400
    assert await bench.ledger.settle(a_settlement(order, 250)) is True
    assert await bench.remaining(lot) == 750
    standing = await bench.standing(key)
    assert (of_account(standing).remaining, of_account(standing).used, of_key(standing).used) == (750, 250, 250)
    assert await bench.entries(account) == {"charged": 250}


async def test_a_hold_or_settle_sent_again_changes_nothing(bench: Bench) -> None:
    account = await bench.account()
    key = await bench.key(account)
    await bench.treasury.credit(a_credit(account, 1_000))
    order = an_order(account, key, 600)
    assert (await bench.ledger.hold(order)).outcome is HoldOutcome.ADMITTED
    assert (await bench.ledger.hold(order)).outcome is HoldOutcome.REPLAYED
    assert await bench.ledger.settle(a_settlement(order, 600)) is True
    assert await bench.ledger.settle(a_settlement(order, 100)) is False
    assert await bench.ledger.hold(order) == HoldVerdict(HoldOutcome.CLOSED)
    assert of_account(await bench.standing(key)).used == 600


async def test_a_settle_of_an_unknown_call_or_for_another_account_does_nothing(bench: Bench) -> None:
    account, other = await bench.account(), await bench.account()
    key = await bench.key(account)
    await bench.treasury.credit(a_credit(account, 1_000))
    order = an_order(account, key, 600)
    assert await bench.ledger.settle(a_settlement(order, 5)) is False
    await bench.ledger.hold(order)
    assert await bench.ledger.settle(a_settlement(an_order(other, key, 600, order.request_id), 5)) is False
    assert await bench.ledger.settle(a_settlement(order, 5)) is True


@pytest.mark.rule("R4.4")
async def test_a_refusal_says_which_quota_is_short_and_what_there_was(bench: Bench) -> None:
    account = await bench.account()
    unlimited, small = await bench.key(account), await bench.key(account, quota=50)
    await bench.treasury.credit(a_credit(account, 100))
    assert await bench.ledger.hold(an_order(account, unlimited, 101)) == HoldVerdict(HoldOutcome.ACCOUNT_SHORT, 100)  # type: ignore[arg-type]
    assert await bench.ledger.hold(an_order(account, small, 51)) == HoldVerdict(HoldOutcome.KEY_SHORT, 50)  # type: ignore[arg-type]
    assert (await bench.ledger.hold(an_order(account, small, 50))).granted
    assert (await bench.ledger.hold(an_order(account, unlimited, 50))).granted


async def test_unknown_keys_and_keys_of_another_account_are_told(bench: Bench) -> None:
    account, other = await bench.account(), await bench.account()
    key = await bench.key(other)
    await bench.treasury.credit(a_credit(account, 100))
    assert (await bench.ledger.hold(an_order(account, key, 1))).outcome is HoldOutcome.UNKNOWN_KEY
    assert (await bench.ledger.hold(an_order(account, 99_999, 1))).outcome is HoldOutcome.UNKNOWN_KEY


async def test_a_free_call_is_held_with_nothing_even_without_quota(bench: Bench) -> None:
    account = await bench.account()
    key = await bench.key(account, quota=0)
    order = an_order(account, key, 0)
    assert (await bench.ledger.hold(order)).granted
    assert await bench.ledger.settle(a_settlement(order, 0)) is True
    assert await bench.entries(account) == {}


async def test_quota_that_expires_first_is_spent_first(bench: Bench) -> None:
    account = await bench.account()
    key = await bench.key(account)
    late = (await bench.treasury.credit(a_credit(account, 100, months=9))).lot_id
    soon = (await bench.treasury.credit(a_credit(account, 100, months=3))).lot_id
    order = an_order(account, key, 150)
    await bench.ledger.hold(order)
    assert (await bench.remaining(soon), await bench.remaining(late)) == (0, 50)
    await bench.ledger.settle(a_settlement(order, 120))
    assert (await bench.remaining(soon), await bench.remaining(late)) == (0, 80)


async def test_a_bound_lot_is_drawn_by_its_key_alone_and_first(bench: Bench) -> None:
    account = await bench.account()
    lucky, other = await bench.key(account), await bench.key(account)
    free = (await bench.treasury.credit(a_credit(account, 100, months=1))).lot_id
    bound = (await bench.treasury.credit(a_credit(account, 100, months=9, key_id=lucky))).lot_id
    assert (await bench.ledger.hold(an_order(account, other, 101))) == HoldVerdict(HoldOutcome.ACCOUNT_SHORT, 100)  # type: ignore[arg-type]
    assert (await bench.ledger.hold(an_order(account, lucky, 150))).granted
    assert (await bench.remaining(bound), await bench.remaining(free)) == (0, 50)


async def test_an_expired_lot_cannot_be_spent_but_takes_back_what_was_held(bench: Bench) -> None:
    account = await bench.account()
    key = await bench.key(account)
    lot = (await bench.treasury.credit(a_credit(account, 100, months=0, days=10))).lot_id
    order = an_order(account, key, 60)
    await bench.ledger.hold(order)
    await bench.pass_time(10 * DAY)
    assert (await bench.ledger.hold(an_order(account, key, 1))) == HoldVerdict(HoldOutcome.ACCOUNT_SHORT)
    await bench.ledger.settle(a_settlement(order, 25))
    assert await bench.remaining(lot) == 75
    assert await bench.treasury.close_lots(DAY) == 0
    await bench.pass_time(DAY)
    assert await bench.treasury.close_lots(DAY) == 1
    assert await bench.treasury.close_lots(DAY) == 0
    assert await bench.entries(account) == {"charged": 25, "expired": 75}


async def test_what_comes_back_to_a_closed_lot_shares_its_end(bench: Bench) -> None:
    account = await bench.account()
    key = await bench.key(account)
    lapsing = (await bench.treasury.credit(a_credit(account, 100, months=0, days=1))).lot_id
    order = an_order(account, key, 60)
    await bench.ledger.hold(order)
    await bench.pass_time(2 * DAY)
    assert await bench.treasury.close_lots(DAY) == 1
    await bench.ledger.settle(a_settlement(order, 25))
    assert await bench.remaining(lapsing) == 0
    assert await bench.entries(account) == {"charged": 25, "expired": 75}


async def test_support_can_extend_a_lot_until_it_is_closed(bench: Bench) -> None:
    account = await bench.account()
    key = await bench.key(account)
    lot = (await bench.treasury.credit(a_credit(account, 100, months=0, days=1))).lot_id
    await bench.pass_time(DAY)
    assert not (await bench.ledger.hold(an_order(account, key, 1))).granted
    assert await bench.treasury.extend_lot(lot, await bench.now() + DAY) is True
    assert (await bench.ledger.hold(an_order(account, key, 1))).granted
    assert await bench.treasury.extend_lot(lot, await bench.now()) is False
    await bench.pass_time(3 * DAY)
    await bench.treasury.close_lots(DAY)
    assert await bench.treasury.extend_lot(lot, await bench.now() + 9 * DAY) is False


async def test_an_overrun_draws_further_lots_then_is_owed_and_owing_refuses_new_holds(bench: Bench) -> None:
    account = await bench.account()
    key = await bench.key(account)
    await bench.treasury.credit(a_credit(account, 100))
    order = an_order(account, key, 60)
    await bench.ledger.hold(order)
    assert await bench.ledger.settle(a_settlement(order, 130)) is True
    assert await bench.entries(account) == {"charged": 60, "overrun": 40, "debt": 30}
    assert (await bench.ledger.hold(an_order(account, key, 0))) == HoldVerdict(HoldOutcome.DEBT, 30)  # type: ignore[arg-type]
    standing = await bench.standing(key)
    assert (of_account(standing).used, of_account(standing).remaining) == (130, 0)


async def test_credits_and_refunds_pay_debt_first(bench: Bench) -> None:
    account = await bench.account()
    key = await bench.key(account)
    await bench.treasury.credit(a_credit(account, 200))
    running, greedy = an_order(account, key, 100), an_order(account, key, 100)
    await bench.ledger.hold(running)
    await bench.ledger.hold(greedy)
    await bench.ledger.settle(a_settlement(greedy, 180))
    assert (await bench.standing(key)).debt == 80
    await bench.ledger.settle(a_settlement(running, 70))
    assert (await bench.standing(key)).debt == 50
    await bench.treasury.credit(a_credit(account, 20, key_id=key))
    assert (await bench.standing(key)).debt == 50
    await bench.treasury.credit(a_credit(account, 60))
    standing = await bench.standing(key)
    assert (standing.debt, standing.free_lots, standing.lots_bound_to_key) == (0, 10, 20)
    assert (await bench.ledger.hold(an_order(account, key, 30))).granted


async def test_a_revoked_lot_takes_back_what_is_left_and_owes_what_was_spent(bench: Bench) -> None:
    account = await bench.account()
    key = await bench.key(account)
    gift = (await bench.treasury.credit(a_credit(account, 100, months=1))).lot_id
    paid = (await bench.treasury.credit(a_credit(account, 50, months=9))).lot_id
    spent, running = an_order(account, key, 30), an_order(account, key, 20)
    await bench.ledger.hold(spent)
    await bench.ledger.settle(a_settlement(spent, 30))
    await bench.ledger.hold(running)
    taken = await bench.treasury.revoke(gift)
    assert (taken.revoked, taken.owed) == (50, 30)
    assert await bench.remaining(paid) == 20
    assert (await bench.standing(key)).debt == 0
    await bench.ledger.settle(a_settlement(running, 5))
    assert await bench.entries(account) == {"charged": 35, "revoked": 65, "clawed": 35, "debt_paid": 35}
    again = await bench.treasury.revoke(gift)
    assert (again.revoked, again.owed) == (0, 0)


async def test_a_hold_is_extended_once_for_each_number(bench: Bench) -> None:
    account = await bench.account()
    key = await bench.key(account)
    lot = (await bench.treasury.credit(a_credit(account, 100))).lot_id
    order = an_order(account, key, 40)
    assert (await bench.ledger.extend(an_extension(order, 1, 10))).outcome is HoldOutcome.UNKNOWN_HOLD
    await bench.ledger.hold(order)
    assert (await bench.ledger.extend(an_extension(order, 1, 10))).outcome is HoldOutcome.ADMITTED
    assert (await bench.ledger.extend(an_extension(order, 1, 10))).outcome is HoldOutcome.REPLAYED
    assert (await bench.ledger.extend(an_extension(order, 3, 10))).outcome is HoldOutcome.UNKNOWN_HOLD
    assert (await bench.ledger.extend(an_extension(order, 2, 51))) == HoldVerdict(HoldOutcome.ACCOUNT_SHORT, 50)  # type: ignore[arg-type]
    assert (await bench.ledger.extend(an_extension(order, 2, 50))).outcome is HoldOutcome.ADMITTED
    assert await bench.remaining(lot) == 0
    await bench.ledger.settle(a_settlement(order, 70))
    assert await bench.remaining(lot) == 30
    assert (await bench.ledger.extend(an_extension(order, 3, 1))).outcome is HoldOutcome.CLOSED
    assert await bench.entries(account) == {"charged": 70}


async def test_the_same_extension_twice_at_once_is_drawn_once(bench: Bench) -> None:
    account = await bench.account()
    key = await bench.key(account)
    lot = (await bench.treasury.credit(a_credit(account, 100))).lot_id
    order = an_order(account, key, 10)
    await bench.ledger.hold(order)
    twice = [bench.ledger.extend(an_extension(order, 1, 50)) for _ in range(2)]
    assert [verdict.outcome for verdict in await asyncio.gather(*twice)] == [HoldOutcome.ADMITTED, HoldOutcome.REPLAYED]
    assert await bench.remaining(lot) == 40


async def test_an_extension_counts_for_the_day_of_its_hold(bench: Bench) -> None:
    account = await bench.account()
    key = await bench.key(account, daily_budget=100)
    await bench.treasury.credit(a_credit(account, 1_000))
    now = await bench.now()
    await bench.pass_time(now.replace(hour=23, minute=0) + DAY - now)
    order = an_order(account, key, 50)
    await bench.ledger.hold(order)
    await bench.pass_time(timedelta(hours=2))
    assert (await bench.ledger.extend(an_extension(order, 1, 90))).granted
    await bench.ledger.settle(a_settlement(order, 51))
    assert (await bench.ledger.hold(an_order(account, key, 100))).granted


async def short_of(bench: Bench, period: BudgetPeriod, left: int) -> HoldVerdict:
    """The verdict on what is more than is left of a budget, with the day from which there is a new one."""
    now = (await bench.now()).astimezone(UTC)
    on = now + DAY if period is BudgetPeriod.DAY else (now.replace(day=1) + 32 * DAY).replace(day=1)
    return HoldVerdict(HoldOutcome.BUDGET, Quota(left), budget=KeyBudget(period, on.date()))


async def test_of_two_budgets_that_are_short_alike_the_month_is_told(bench: Bench) -> None:
    account = await bench.account()
    key = await bench.key(account, monthly_budget=100, daily_budget=100)
    await bench.treasury.credit(a_credit(account, 1_000))
    assert await bench.ledger.hold(an_order(account, key, 101)) == await short_of(bench, BudgetPeriod.MONTH, 100)


async def test_a_stream_that_outgrows_a_budget_is_told_which(bench: Bench) -> None:
    account = await bench.account()
    key = await bench.key(account, daily_budget=100)
    await bench.treasury.credit(a_credit(account, 1_000))
    order = an_order(account, key, 60)
    await bench.ledger.hold(order)
    assert await bench.ledger.extend(an_extension(order, 1, 41)) == await short_of(bench, BudgetPeriod.DAY, 40)


async def test_the_charge_of_a_free_hold_counts_for_its_day(bench: Bench) -> None:
    account = await bench.account()
    key = await bench.key(account, daily_budget=100)
    await bench.treasury.credit(a_credit(account, 1_000))
    order = an_order(account, key, 0)
    await bench.ledger.hold(order)
    await bench.ledger.settle(a_settlement(order, 25))
    assert await bench.ledger.hold(an_order(account, key, 76)) == await short_of(bench, BudgetPeriod.DAY, 75)


async def test_a_revived_lot_pays_debt_first(bench: Bench) -> None:
    account = await bench.account()
    key = await bench.key(account)
    lot = (await bench.treasury.credit(a_credit(account, 100, months=0, days=1))).lot_id
    order = an_order(account, key, 10)
    await bench.ledger.hold(order)
    await bench.pass_time(DAY)
    await bench.ledger.settle(a_settlement(order, 40))
    assert (await bench.standing(key)).debt == 30
    await bench.treasury.extend_lot(lot, await bench.now() + DAY)
    assert (await bench.standing(key)).debt == 0
    assert await bench.remaining(lot) == 60


async def test_a_daily_budget_counts_holds_and_charges_of_its_day(bench: Bench) -> None:
    account = await bench.account()
    key = await bench.key(account, daily_budget=100)
    await bench.treasury.credit(a_credit(account, 1_000))
    # From noon, so that the test's steps do not straddle midnight.
    now = await bench.now()
    await bench.pass_time(now.replace(hour=12, minute=0) + DAY - now)
    first = an_order(account, key, 80)
    await bench.ledger.hold(first)
    assert (await bench.ledger.hold(an_order(account, key, 21))) == await short_of(bench, BudgetPeriod.DAY, 20)
    await bench.ledger.settle(a_settlement(first, 10))
    assert (await bench.ledger.hold(an_order(account, key, 91))) == await short_of(bench, BudgetPeriod.DAY, 90)
    second = an_order(account, key, 90)
    assert (await bench.ledger.hold(second)).granted
    await bench.pass_time(DAY)
    third = an_order(account, key, 100)
    assert (await bench.ledger.hold(third)).granted
    # Yesterday's hold gives nothing back to today.
    await bench.ledger.settle(a_settlement(second, 1))
    assert (await bench.ledger.hold(an_order(account, key, 1))) == await short_of(bench, BudgetPeriod.DAY, 0)


async def test_a_monthly_budget_outlasts_the_day(bench: Bench) -> None:
    account = await bench.account()
    key = await bench.key(account, monthly_budget=100, daily_budget=70)
    await bench.treasury.credit(a_credit(account, 1_000))
    now = await bench.now()
    await bench.pass_time((now.replace(day=1, hour=12, minute=0) + 32 * DAY).replace(day=5) - now)
    assert (await bench.ledger.hold(an_order(account, key, 70))).granted
    await bench.pass_time(DAY)
    assert (await bench.ledger.hold(an_order(account, key, 31))) == await short_of(bench, BudgetPeriod.MONTH, 30)
    await bench.pass_time(40 * DAY)
    assert (await bench.ledger.hold(an_order(account, key, 70))).granted


async def test_a_hold_says_what_is_left_of_whatever_is_shortest(bench: Bench) -> None:
    account = await bench.account()
    await bench.treasury.credit(a_credit(account, 1_000))
    plain, small = await bench.key(account), await bench.key(account, quota=300)
    assert (await bench.ledger.hold(an_order(account, plain, 100))).available == 900
    order = an_order(account, small, 100)
    assert (await bench.ledger.hold(order)).available == 200
    assert (await bench.ledger.extend(an_extension(order, 1, 50))).available == 150
    assert (await bench.ledger.hold(an_order(account, plain, 700))).available == 50
    assert (await bench.ledger.extend(an_extension(order, 2, 20))).available == 30


async def test_a_hold_that_does_not_fit_never_refuses_a_smaller_one_behind_it(bench: Bench) -> None:
    account = await bench.account()
    key = await bench.key(account)
    await bench.treasury.credit(a_credit(account, 100))
    orders = [an_order(account, key, amount) for amount in (60, 60, 30, 20, 10)]
    verdicts = await asyncio.gather(*(bench.ledger.hold(order) for order in orders))
    assert [verdict.granted for verdict in verdicts] == [True, False, True, False, True]
    # What is left after those that fit; and who is short is judged once more, after those behind it.
    judged_twice = isinstance(bench.ledger, SqlLedger)
    assert [verdict.available for verdict in verdicts] == ([40, 0, 10, 0, 0] if judged_twice else [40, 40, 10, 10, 0])


async def test_the_same_source_id_is_credited_once(bench: Bench) -> None:
    account, other = await bench.account(), await bench.account()
    credit = a_credit(account, 100)
    first, second = await bench.treasury.credit(credit), await bench.treasury.credit(credit)
    assert (first.replayed, second.replayed) == (False, True)
    assert first.lot_id == second.lot_id
    for changed in ({"amount": 101}, {"account_id": other}):
        with pytest.raises(AlreadyOnFile):
            await bench.treasury.credit(msgspec.structs.replace(credit, **changed))
    with pytest.raises(NotOnFile):
        await bench.treasury.credit(a_credit(99_999, 1))


async def test_a_checkpoint_tells_whether_the_hold_is_still_open(bench: Bench) -> None:
    account = await bench.account()
    key = await bench.key(account)
    await bench.treasury.credit(a_credit(account, 100))
    order = an_order(account, key, 40)
    progress = Progress(request_id=order.request_id, usage=Usage(10, 7), seconds=60)
    assert await bench.ledger.checkpoint(progress) is False
    await bench.ledger.hold(order)
    assert await bench.ledger.checkpoint(progress) is True
    await bench.ledger.settle(a_settlement(order, 0, Ending.REFUSED))
    assert await bench.ledger.checkpoint(progress) is False
    assert await bench.entries(account) == {}


async def test_an_account_may_use_more_in_its_life_than_a_bigint_holds(bench: Bench) -> None:
    account = await bench.account()
    key = await bench.key(account)
    for _ in range(10):
        await bench.treasury.credit(a_credit(account, 2**60))
    for _ in range(9):
        order = an_order(account, key, 2**60)
        assert (await bench.ledger.hold(order)).granted
        assert await bench.ledger.settle(a_settlement(order, 2**60)) is True
    assert of_account(await bench.standing(key)).used == 9 * 2**60 > 2**63


async def test_who_has_enough_for_one_call_at_a_time_can_make_one_after_another(bench: Bench) -> None:
    """What a settlement gives back is there before anybody is told that it is short, though nobody waits for it."""
    account = await bench.account()
    key = await bench.key(account)
    await bench.treasury.credit(a_credit(account, 100))
    settling = []
    for _ in range(5):
        order = an_order(account, key, 95)
        assert (await bench.ledger.hold(order)).granted
        settling.append(bench.ledger.settle(a_settlement(order, 1)))
    assert (await bench.ledger.hold(an_order(account, key, 96))).outcome is HoldOutcome.ACCOUNT_SHORT
    assert [await settled for settled in settling] == [True] * 5


async def test_what_is_given_back_while_a_hold_is_judged_counts(bench: Bench) -> None:
    """The database says short, books the settlement, and its two answers are read in the other order."""
    ledger = bench.ledger
    if not isinstance(ledger, SqlLedger):
        return  # One in memory judges and settles at once.
    account = await bench.account()
    key = await bench.key(account)
    await bench.treasury.credit(a_credit(account, 100))
    order = an_order(account, key, 95)
    assert (await ledger.hold(order)).granted
    settling: list[Awaitable[bool]] = []
    judge = ledger._holds._flush

    async def judge_and_be_late(rows: Sequence[HoldOrder | Extension]) -> Sequence[HoldVerdict]:
        verdicts = await judge(rows)
        if not settling:
            settling.append(ledger.settle(a_settlement(order, 1)))
            assert await settling[0]
        return verdicts

    ledger._holds._flush = judge_and_be_late
    assert (await ledger.hold(an_order(account, key, 95))).granted


@pytest.mark.parametrize("short", ["account", "key", "budget"])
async def test_what_another_process_is_about_to_give_back_counts(
    bench: Bench, short: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A busy machine takes longer to book than a usual one.
    monkeypatch.setattr(sql_ledger, "OTHERS_SETTLE_SECONDS", 2.0)
    ledger = bench.ledger
    if not isinstance(ledger, SqlLedger):
        return  # It has no other processes.
    account = await bench.account()
    key = await bench.key(
        account, quota=100 if short == "key" else None, daily_budget=100 if short == "budget" else None
    )
    await bench.treasury.credit(a_credit(account, 100 if short == "account" else 1_000))
    order = an_order(account, key, 95)
    assert (await ledger.hold(order)).granted
    elsewhere = SqlLedger(ledger._database, ledger._worker_id, ledger._journal, patience_seconds=5)
    settling: list[Awaitable[bool]] = []
    judge = ledger._holds._flush

    async def judge_while_the_other_ends(rows: Sequence[HoldOrder | Extension]) -> Sequence[HoldVerdict]:
        verdicts = await judge(rows)
        if not settling:
            settling.append(elsewhere.settle(a_settlement(order, 1)))
        return verdicts

    ledger._holds._flush = judge_while_the_other_ends
    assert (await ledger.hold(an_order(account, key, 95))).granted
    assert await settling[0]


async def test_who_is_short_whatever_comes_back_is_told_so_at_once(bench: Bench) -> None:
    ledger = bench.ledger
    if not isinstance(ledger, SqlLedger):
        return  # It judges once.
    account = await bench.account()
    key = await bench.key(account)
    await bench.treasury.credit(a_credit(account, 100))
    assert (await ledger.hold(an_order(account, key, 95))).granted
    judged = 0
    judge = ledger._holds._flush

    async def judge_and_count(rows: Sequence[HoldOrder | Extension]) -> Sequence[HoldVerdict]:
        nonlocal judged
        judged += len(rows)
        return await judge(rows)

    ledger._holds._flush = judge_and_count
    assert (await ledger.hold(an_order(account, key, 101))).outcome is HoldOutcome.ACCOUNT_SHORT
    assert judged == 1


async def test_a_hold_grows_by_what_other_calls_of_its_account_give_back(bench: Bench) -> None:
    account = await bench.account()
    key = await bench.key(account)
    await bench.treasury.credit(a_credit(account, 100))
    ending, growing = an_order(account, key, 50), an_order(account, key, 50)
    for order in (ending, growing):
        assert (await bench.ledger.hold(order)).granted
    settling = bench.ledger.settle(a_settlement(ending, 1))
    assert (await bench.ledger.extend(an_extension(growing, 1, 49))).granted
    assert await settling is True


async def test_partitions_are_made_ahead_and_closed_holds_dropped_when_old(
    settings: Settings, owner: asyncpg.Connection, customers: Customers, tmp_path: Path
) -> None:
    await customers.a_model()
    database = Database(settings.database_url.reveal(), DatabaseRole.WORKER, connections=2, patience_seconds=10)
    await database.open()
    console = Database(settings.database_url.reveal(), DatabaseRole.CONSOLE, connections=2, patience_seconds=10)
    await console.open()
    worker_id = await register(database, "test")
    bench = SqlBench(
        SqlLedger(database, worker_id, Journal(tmp_path, worker_id), patience_seconds=10),
        BothTreasuries(database, console),
        SqlBalances(database),
        owner,
    )
    account = await bench.account()
    key = await bench.key(account)
    await bench.treasury.credit(a_credit(account, 100))
    closed, still_open = an_order(account, key, 1), an_order(account, key, 1)
    # Of a week that has no table.
    long_ago = int((time.time() - 200 * DAY.total_seconds()) * 1_000)
    stray_closed, stray_open = (an_order(account, key, 1, uuid7(long_ago, os.urandom(10))) for _ in range(2))
    for order in (closed, still_open, stray_closed, stray_open):
        await bench.ledger.hold(order)
    for order in (closed, stray_closed):
        await bench.ledger.settle(a_settlement(order, 1))
    assert await owner.fetchval("select count(*) from hold_other") == 2

    weeks = "select count(*) from pg_inherits where inhparent = 'hold'::regclass"
    before = await owner.fetchval(weeks)
    await bench.pass_time(60 * DAY)
    await bench.treasury.turn_partitions(timedelta(days=30))
    # Weeks ahead are there, empty old ones are gone, and the one with an open hold stays.
    assert await owner.fetchval(weeks) > 2
    assert await owner.fetchval("select count(*) from hold") == 3
    assert await owner.fetchval("select request_id from hold_other") == stray_open.request_id
    for order in (still_open, stray_open):
        await bench.ledger.settle(a_settlement(order, 1))
    await bench.treasury.turn_partitions(timedelta(days=30))
    assert await owner.fetchval("select count(*) from hold") == 0
    assert await owner.fetchval("select count(*) from usage") == 4
    assert before >= 2
    verdicts = await check_books(database)
    await console.close()
    await database.close()
    assert [verdict for verdict in verdicts if verdict.findings] == []
