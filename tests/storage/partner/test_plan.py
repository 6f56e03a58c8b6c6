"""The partner plan: cash and its books, withdrawals, and rewards that are taken back."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta

import asyncpg
import pytest

from tests.customers import ACTOR, Customers
from tests.storage.customers.benches import Account, Market, Time, a_ledger, books_are_clean
from tests.storage.ledger.benches import a_settlement, an_order
from tests.storage.ledger.test_books import findings
from tollkeeper.accounts.money.redeem import AccountIsDisabled
from tollkeeper.accounts.partner import (
    WithdrawalRefused,
    approve_withdrawal,
    pay_withdrawal,
    refuse_withdrawal,
    request_withdrawal,
    revoke_reward,
)
from tollkeeper.app.database import opened
from tollkeeper.core.money.amounts import UNITS_PER_USD, Quota
from tollkeeper.core.partner.plan import MicroUsd, ReferralTerms
from tollkeeper.core.people.logins import Actor, Role, RoleMissing
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.partner import (
    CashStanding,
    Decided,
    NewWithdrawal,
    Requested,
    RewardRevoked,
    WithdrawalRequest,
    WithdrawalState,
)
from tollkeeper.settings import Settings
from tollkeeper.storage.ledger.sql_ledger import SqlLedger
from tollkeeper.storage.postgres.database import Database, DatabaseRole

AT_ONCE = 20
CASH = MicroUsd(250_000)
SUPPORT = Actor(ACTOR, Role.SUPPORT)
GIFT = UNITS_PER_USD // 2


@pytest.fixture
async def market(settings: Settings, customers: Customers, owner: asyncpg.Connection) -> AsyncIterator[Market]:
    async with opened(settings, DatabaseRole.CONSOLE) as database:
        yield Market(customers, owner, database)


@pytest.fixture
def passing(owner: asyncpg.Connection) -> Time:
    return Time(owner)


@pytest.fixture
async def ledger(database: Database, customers: Customers) -> AsyncIterator[SqlLedger]:
    async with a_ledger(database, customers) as opened_ledger:
        yield opened_ledger


class Factor:
    """A second factor whose only code is `right`."""

    async def check(self, account_id: int, code: str) -> bool:
        return code == "right"


async def an_inviter(market: Market, *, top_ups: int = 1) -> Account:
    """With 0.25 USD of cash from each top-up of a guest."""
    inviter = await market.an_account()
    guest = await market.an_account(invited_by=inviter)
    for _ in range(top_ups):
        await market.top_up(guest, "10")
    return inviter


async def cash_of(market: Market, account: Account) -> dict[str, int]:
    """What is not nothing."""
    cash = (await market.desk.partners.statement(account.id)).cash
    assert cash.granted == cash.pending + cash.available + cash.paid + cash.revoked
    named = {name: getattr(cash, name) for name in CashStanding.__struct_fields__}
    return {name: micros for name, micros in named.items() if micros}


def a_wish(account_id: int, usd_micros: int = CASH, payee: str = "Ada, NL91 ABNA 0417 1643 00") -> NewWithdrawal:
    return NewWithdrawal(account_id=account_id, usd_micros=MicroUsd(usd_micros), payee=payee)


async def asked_for(market: Market, account: Account, usd_micros: int = CASH) -> WithdrawalRequest:
    return await market.desk.partners.withdraw(a_wish(account.id, usd_micros), actor=ACTOR)


async def ask(market: Market, wish: NewWithdrawal, code: str = "right") -> int:
    return await request_withdrawal(wish, code, Factor(), market.desk.partners)


async def pay(market: Market, asked: WithdrawalRequest) -> None:
    await approve_withdrawal(asked.withdrawal_id or 0, "known to us", market.desk.partners, by=SUPPORT)
    await pay_withdrawal(asked.withdrawal_id or 0, "transfer 4711", market.desk.partners, by=SUPPORT)


async def rewards_of(market: Market, account: Account) -> list[int]:
    return [reward.id for reward in reversed((await market.desk.partners.statement(account.id)).rewards)]


async def revoke(market: Market, reward_id: int, *, write_off: bool = False) -> RewardRevoked:
    return await market.desk.partners.revoke_reward(reward_id, write_off=write_off, why="a ring", actor=ACTOR)


async def spend(market: Market, ledger: SqlLedger, account: Account, amount: int) -> None:
    key = await Customers(market.desk).a_key(account.id)
    order = an_order(account.id, key.key_id, amount)
    await ledger.hold(order)
    await ledger.settle(a_settlement(order, amount))


# Cash -----------------------------------------------------------------------------------------------------------------
@pytest.mark.rule("S10.1")
async def test_cash_is_pending_for_fourteen_days_and_then_withdrawable(
    market: Market, settings: Settings, passing: Time
) -> None:
    inviter = await an_inviter(market)
    assert await cash_of(market, inviter) == {"granted": CASH, "pending": CASH}
    await passing.pass_by(days=14, seconds=-60)
    early = await asked_for(market, inviter)
    assert (early.verdict, early.available) == (Requested.SHORT, 0)
    await passing.pass_by(seconds=61)
    assert await cash_of(market, inviter) == {"granted": CASH, "available": CASH}
    asked = await asked_for(market, inviter)
    assert asked.verdict is Requested.REQUESTED
    assert await cash_of(market, inviter) == {"granted": CASH, "available": CASH, "requested": CASH}
    await approve_withdrawal(asked.withdrawal_id or 0, "known to us", market.desk.partners, by=SUPPORT)
    assert await cash_of(market, inviter) == {"granted": CASH, "available": CASH, "requested": CASH}
    await pay_withdrawal(asked.withdrawal_id or 0, "transfer 4711", market.desk.partners, by=SUPPORT)
    assert await cash_of(market, inviter) == {"granted": CASH, "paid": CASH}
    [record] = (await market.desk.partners.statement(inviter.id)).withdrawals
    assert (record.state, record.approved_why, record.reason) == (WithdrawalState.PAID, "known to us", "transfer 4711")
    assert record.payee == "Ada, NL91 ABNA 0417 1643 00"
    assert await books_are_clean(settings)


async def test_a_refused_withdrawal_leaves_the_cash_there(market: Market, settings: Settings, passing: Time) -> None:
    inviter = await an_inviter(market)
    await passing.pass_by(days=14)
    asked = await asked_for(market, inviter)
    assert [each.id for each in await market.desk.partners.withdrawals()] == [asked.withdrawal_id]
    await refuse_withdrawal(asked.withdrawal_id or 0, " name and account differ ", market.desk.partners, by=SUPPORT)
    assert await cash_of(market, inviter) == {"granted": CASH, "available": CASH}
    [record] = (await market.desk.partners.statement(inviter.id)).withdrawals
    assert (record.state.value, record.reason, record.decided_by) == ("refused", "name and account differ", ACTOR)
    assert await market.desk.partners.withdrawals() == []
    with pytest.raises(WithdrawalRefused, match="decided before"):
        await pay_withdrawal(record.id, "transfer 4711", market.desk.partners, by=SUPPORT)
    assert (await asked_for(market, inviter)).verdict is Requested.REQUESTED
    assert await books_are_clean(settings)


async def test_of_many_requests_at_once_one_is_taken(market: Market, settings: Settings, passing: Time) -> None:
    inviter = await an_inviter(market, top_ups=3)
    await passing.pass_by(days=14)
    asked = await asyncio.gather(*(asked_for(market, inviter) for _ in range(AT_ONCE)))
    assert Counter(each.verdict for each in asked) == {Requested.REQUESTED: 1, Requested.REQUESTED_BEFORE: AT_ONCE - 1}
    [number] = {each.withdrawal_id or 0 for each in asked}
    for wanted in ([WithdrawalState.APPROVED], [WithdrawalState.PAID, WithdrawalState.REFUSED]):
        states = wanted * (AT_ONCE // len(wanted))
        decided = await asyncio.gather(
            *(market.desk.partners.decide(number, state, reason="x", actor=ACTOR) for state in states)
        )
        assert Counter(decided)[Decided.DECIDED_BEFORE] == AT_ONCE - 1
    assert await books_are_clean(settings)


async def test_a_withdrawal_takes_a_second_factor(market: Market, passing: Time) -> None:
    inviter = await an_inviter(market)
    await passing.pass_by(days=14)
    with pytest.raises(WithdrawalRefused, match="second factor"):
        await ask(market, a_wish(inviter.id), "wrong")
    assert await market.desk.partners.withdrawals() == []
    assert await ask(market, a_wish(inviter.id)) == 1
    with pytest.raises(WithdrawalRefused, match="Request 1 is not decided yet"):
        await ask(market, a_wish(inviter.id))


async def test_what_cannot_be_withdrawn_is_said(market: Market, passing: Time) -> None:
    inviter = await an_inviter(market)
    await passing.pass_by(days=14)
    with pytest.raises(WithdrawalRefused, match=r"0\.25 USD can be withdrawn now, not 0\.250001"):
        await ask(market, a_wish(inviter.id, CASH + 1))
    await market.owner.execute("update account set disabled_at = now() where id = $1", inviter.id)
    with pytest.raises(AccountIsDisabled):
        await ask(market, a_wish(inviter.id))
    with pytest.raises(NotOnFile, match="account 77"):
        await ask(market, a_wish(77))
    with pytest.raises(NotOnFile, match="request 77"):
        await refuse_withdrawal(77, "x", market.desk.partners, by=SUPPORT)
    with pytest.raises(NotOnFile, match="reward 77"):
        await revoke(market, 77)
    with pytest.raises(NotOnFile, match="account 77"):
        await market.desk.partners.statement(77)
    with pytest.raises(ValueError, match="Say why"):
        await refuse_withdrawal(1, " ", market.desk.partners, by=SUPPORT)


async def test_only_what_is_approved_is_paid_and_until_then_it_can_be_refused(
    market: Market, settings: Settings, passing: Time
) -> None:
    inviter = await an_inviter(market)
    await passing.pass_by(days=14)
    desk = market.desk.partners
    number = (await asked_for(market, inviter)).withdrawal_id or 0
    with pytest.raises(WithdrawalRefused, match=f"Do not pay: request {number} is not approved"):
        await pay_withdrawal(number, "transfer 4711", desk, by=SUPPORT)
    await approve_withdrawal(number, "known to us", desk, by=SUPPORT)
    with pytest.raises(WithdrawalRefused, match="decided before"):
        await approve_withdrawal(number, "known to us", desk, by=SUPPORT)
    assert (await asked_for(market, inviter)).verdict is Requested.REQUESTED_BEFORE
    assert [each.id for each in await desk.withdrawals()] == [number]
    await refuse_withdrawal(number, "the bank sent it back", desk, by=SUPPORT)
    for decide in (approve_withdrawal, pay_withdrawal, refuse_withdrawal):
        with pytest.raises(WithdrawalRefused, match="decided before"):
            await decide(number, "again", desk, by=SUPPORT)
    assert await cash_of(market, inviter) == {"granted": CASH, "available": CASH}
    told = await market.owner.fetch("select action from audit where action like 'withdrawal%' order by id")
    assert [row["action"] for row in told] == ["withdrawal.request", "withdrawal.approve", "withdrawal.refuse"]
    assert await books_are_clean(settings)


async def test_nothing_is_approved_for_an_account_that_is_disabled(
    market: Market, settings: Settings, passing: Time
) -> None:
    inviter = await an_inviter(market)
    await passing.pass_by(days=14)
    desk = market.desk.partners
    number = (await asked_for(market, inviter)).withdrawal_id or 0
    await market.owner.execute("update account set disabled_at = now() where id = $1", inviter.id)
    with pytest.raises(WithdrawalRefused, match="is disabled"):
        await approve_withdrawal(number, "known to us", desk, by=SUPPORT)
    await refuse_withdrawal(number, "disabled", desk, by=SUPPORT)
    assert await cash_of(market, inviter) == {"granted": CASH, "available": CASH}
    assert await books_are_clean(settings)


async def test_a_transfer_that_happened_is_booked_though_the_account_was_disabled_since(
    market: Market, settings: Settings, passing: Time
) -> None:
    inviter = await an_inviter(market)
    await passing.pass_by(days=14)
    number = (await asked_for(market, inviter)).withdrawal_id or 0
    await approve_withdrawal(number, "known to us", market.desk.partners, by=SUPPORT)
    await market.owner.execute("update account set disabled_at = now() where id = $1", inviter.id)
    await pay_withdrawal(number, "transfer 4711", market.desk.partners, by=SUPPORT)
    assert await cash_of(market, inviter) == {"granted": CASH, "paid": CASH}
    assert await books_are_clean(settings)


async def test_customers_decide_nothing_and_support_nothing_of_its_own(market: Market, passing: Time) -> None:
    inviter = await an_inviter(market)
    await passing.pass_by(days=14)
    desk = market.desk.partners
    number = (await asked_for(market, inviter)).withdrawal_id or 0
    customer = Actor(f"account:{inviter.id}", Role.CUSTOMER)
    for decide in (approve_withdrawal, pay_withdrawal, refuse_withdrawal):
        with pytest.raises(RoleMissing):
            await decide(number, "mine", desk, by=customer)
    with pytest.raises(RoleMissing):
        await revoke_reward(1, "mine", desk, write_off=False, by=customer)
    itself = Actor(f"account:{inviter.id}", Role.SUPPORT)
    with pytest.raises(WithdrawalRefused, match="your own account"):
        await approve_withdrawal(number, "mine", desk, by=itself)
    await approve_withdrawal(number, "known to us", desk, by=SUPPORT)
    with pytest.raises(WithdrawalRefused, match="your own account"):
        await pay_withdrawal(number, "transfer 4711", desk, by=itself)
    # Nothing is gained by that.
    await refuse_withdrawal(number, "not now", desk, by=itself)


async def test_a_new_second_factor_withdraws_nothing_for_three_days(market: Market, passing: Time) -> None:
    inviter = await an_inviter(market)
    await market.verify(inviter)
    await passing.pass_by(days=14)
    await market.owner.execute("update login set totp_sealed = 'x', totp_confirmed_at = ledger_now()")
    possible_at = await passing.now() + timedelta(hours=72)
    with pytest.raises(WithdrawalRefused, match="less than 72 hours old") as problem:
        await ask(market, a_wish(inviter.id))
    assert f"possible after {possible_at:%Y-%m-%d %H:}" in str(problem.value)
    await passing.pass_by(hours=72, seconds=-60)
    assert (await asked_for(market, inviter)).verdict is Requested.FACTOR_TOO_NEW
    await passing.pass_by(seconds=61)
    assert await ask(market, a_wish(inviter.id)) == 1


@pytest.mark.parametrize("payee", ["", "  ", "x" * 201, "two\nlines", "a\x07bell"])
async def test_a_withdrawal_says_where_the_money_goes(market: Market, passing: Time, payee: str) -> None:
    inviter = await an_inviter(market)
    await passing.pass_by(days=14)
    with pytest.raises(ValueError, match="where the money goes"):
        await ask(market, a_wish(inviter.id, payee=payee))
    assert await market.desk.partners.withdrawals() == []


# Cash taken back ------------------------------------------------------------------------------------------------------
@pytest.mark.rule("S10.5")
@pytest.mark.parametrize("days", [0, 14], ids=["pending", "available"])
@pytest.mark.parametrize("write_off", [False, True])
async def test_cash_that_was_not_paid_out_is_taken_back(
    market: Market, settings: Settings, passing: Time, days: int, write_off: bool
) -> None:
    inviter = await an_inviter(market, top_ups=2)
    await passing.pass_by(days=days)
    first, _ = await rewards_of(market, inviter)
    done = await revoke(market, first, write_off=write_off)
    assert (done.taken_back, done.owed, done.written_off, done.before) == (CASH, 0, 0, False)
    left = "available" if days else "pending"
    assert await cash_of(market, inviter) == {"granted": 2 * CASH, left: CASH, "revoked": CASH}
    assert (await revoke(market, first)).before
    assert await cash_of(market, inviter) == {"granted": 2 * CASH, left: CASH, "revoked": CASH}
    assert await books_are_clean(settings)


async def paid_out(market: Market, passing: Time) -> Account:
    """An inviter who was paid 0.50 USD, and has 0.25 USD pending."""
    inviter = await market.an_account()
    guest = await market.an_account(invited_by=inviter)
    await market.top_up(guest, "20")
    await passing.pass_by(days=14)
    await market.top_up(guest, "10")
    asked = await asked_for(market, inviter, 2 * CASH)
    await pay(market, asked)
    return inviter


@pytest.mark.rule("S10.5")
async def test_cash_that_was_paid_out_is_owed_when_it_is_revoked(
    market: Market, settings: Settings, passing: Time
) -> None:
    inviter = await paid_out(market, passing)
    done = await revoke(market, (await rewards_of(market, inviter))[0])
    assert (done.taken_back, done.owed, done.written_off) == (2 * CASH, 2 * CASH, 0)
    assert await cash_of(market, inviter) == {
        "granted": 3 * CASH,
        "pending": CASH,
        "available": -2 * CASH,
        "paid": 2 * CASH,
        "revoked": 2 * CASH,
    }
    with pytest.raises(WithdrawalRefused, match=r"-0\.50 USD"):
        await ask(market, a_wish(inviter.id, 1))
    # What is earned later goes against it.
    await passing.pass_by(days=14)
    assert (await cash_of(market, inviter))["available"] == -CASH
    assert await books_are_clean(settings)


async def test_cash_that_was_paid_out_can_be_written_off(market: Market, settings: Settings, passing: Time) -> None:
    inviter = await paid_out(market, passing)
    done = await revoke(market, (await rewards_of(market, inviter))[0], write_off=True)
    assert (done.taken_back, done.owed, done.written_off) == (0, 0, 2 * CASH)
    assert await cash_of(market, inviter) == {"granted": 3 * CASH, "pending": CASH, "paid": 2 * CASH}
    await passing.pass_by(days=14)
    assert (await cash_of(market, inviter))["available"] == CASH
    assert await books_are_clean(settings)


async def test_a_request_that_is_not_covered_is_not_approved(market: Market, settings: Settings, passing: Time) -> None:
    inviter = await an_inviter(market, top_ups=2)
    await passing.pass_by(days=14)
    number = (await asked_for(market, inviter, 2 * CASH)).withdrawal_id or 0
    assert (await revoke(market, (await rewards_of(market, inviter))[0])).owed == 0
    with pytest.raises(WithdrawalRefused, match="Do not pay: cash was revoked since"):
        await approve_withdrawal(number, "known to us", market.desk.partners, by=SUPPORT)
    await refuse_withdrawal(number, "revoked", market.desk.partners, by=SUPPORT)
    assert await cash_of(market, inviter) == {"granted": 2 * CASH, "available": CASH, "revoked": CASH}
    assert await books_are_clean(settings)


@pytest.mark.parametrize("write_off", [False, True], ids=["owed", "written off"])
async def test_a_transfer_that_happened_is_booked_though_cash_was_revoked_since(
    market: Market, settings: Settings, passing: Time, write_off: bool
) -> None:
    inviter = await an_inviter(market, top_ups=2)
    await passing.pass_by(days=14)
    number = (await asked_for(market, inviter, 2 * CASH)).withdrawal_id or 0
    await approve_withdrawal(number, "known to us", market.desk.partners, by=SUPPORT)
    # What is approved is as good as paid.
    done = await revoke(market, (await rewards_of(market, inviter))[0], write_off=write_off)
    assert (done.taken_back, done.owed, done.written_off) == ((0, 0, CASH) if write_off else (CASH, CASH, 0))
    await pay_withdrawal(number, "transfer 4711", market.desk.partners, by=SUPPORT)
    owed = {} if write_off else {"available": -CASH, "revoked": CASH}
    assert await cash_of(market, inviter) == {"granted": 2 * CASH, "paid": 2 * CASH} | owed
    assert await books_are_clean(settings)


# Gifts taken back -----------------------------------------------------------------------------------------------------
@pytest.mark.rule("S10.5")
@pytest.mark.parametrize("write_off", [False, True])
async def test_a_gift_that_was_not_spent_is_taken_back(market: Market, settings: Settings, write_off: bool) -> None:
    giver, account = await market.an_account(), await market.an_account()
    await market.top_up(account, "10", giver=giver)
    for side in (giver, account):
        [reward] = await rewards_of(market, side)
        done = await revoke(market, reward, write_off=write_off)
        assert (done.taken_back, done.owed, done.written_off) == (GIFT, 0, 0)
    assert (await market.quota_of(giver), await market.quota_of(account)) == (0, 10 * UNITS_PER_USD)
    assert await books_are_clean(settings)


@pytest.mark.rule("S10.5")
@pytest.mark.parametrize("write_off", [False, True], ids=["owed", "written off"])
async def test_what_was_spent_of_a_gift_is_owed_or_written_off(
    market: Market, settings: Settings, ledger: SqlLedger, write_off: bool
) -> None:
    giver, account = await market.an_account(), await market.an_account()
    await market.top_up(account, "10", giver=giver)
    await spend(market, ledger, giver, GIFT // 5)
    [reward] = await rewards_of(market, giver)
    done = await revoke(market, reward, write_off=write_off)
    spent = GIFT // 5
    assert (done.taken_back, done.owed, done.written_off) == (GIFT - spent, *((0, spent) if write_off else (spent, 0)))
    debt = await market.owner.fetchval("select debt from account_books where account_id = $1", giver.id)
    assert debt == done.owed
    assert await market.quota_of(giver) == 0
    assert await books_are_clean(settings)


@pytest.mark.parametrize("write_off", [False, True], ids=["owed", "written off"])
async def test_what_a_call_under_way_spends_of_a_gift_is_owed_or_written_off(
    market: Market, settings: Settings, ledger: SqlLedger, write_off: bool
) -> None:
    giver, account = await market.an_account(), await market.an_account()
    await market.top_up(account, "10", giver=giver)
    key = await Customers(market.desk).a_key(giver.id)
    order = an_order(giver.id, key.key_id, 1_000)
    await ledger.hold(order)
    [reward] = await rewards_of(market, giver)
    done = await revoke(market, reward, write_off=write_off)
    assert (done.taken_back, done.owed, done.written_off) == (GIFT - 1_000, 0, 0)
    await ledger.settle(a_settlement(order, 400))
    debt = await market.owner.fetchval("select debt from account_books where account_id = $1", giver.id)
    assert debt == (0 if write_off else 400)
    assert await market.quota_of(giver) == 0
    assert await books_are_clean(settings)


async def test_a_reward_that_many_revoke_at_once_is_revoked_once(market: Market, settings: Settings) -> None:
    giver, account = await market.an_account(), await market.an_account()
    await market.top_up(account, "10", giver=giver)
    [reward] = await rewards_of(market, giver)
    done = await asyncio.gather(*(revoke(market, reward, write_off=bool(n % 2)) for n in range(AT_ONCE)))
    assert Counter(each.before for each in done) == {False: 1, True: AT_ONCE - 1}
    assert sum(each.taken_back for each in done) == GIFT
    assert await books_are_clean(settings)


async def test_a_reward_of_nothing_can_be_revoked_too(market: Market, settings: Settings) -> None:
    terms = ReferralTerms(gift_cap=Quota(0), cash_cap=MicroUsd(0))
    inviter = await market.an_account()
    account = await market.an_account(invited_by=inviter)
    await market.top_up(account, "10", giver=inviter, terms=terms)
    for reward in await rewards_of(market, inviter):
        done = await revoke(market, reward)
        assert (done.taken_back, done.owed, done.written_off) == (0, 0, 0)
    assert await books_are_clean(settings)


async def test_revoking_every_reward_restores_the_books(market: Market, settings: Settings) -> None:
    partners = [await market.an_account()]
    for _ in range(5):
        partners.append(await market.an_account(invited_by=partners[-1]))
        await market.top_up(partners[-1], "7.77", giver=partners[-2])
    for partner in partners:
        for reward in await rewards_of(market, partner):
            await revoke(market, reward)
    own = int(777 * UNITS_PER_USD / 100)
    assert [await market.quota_of(partner) for partner in partners] == [0] + [own] * 5
    for partner in partners:
        cash = (await market.desk.partners.statement(partner.id)).cash
        assert (cash.granted - cash.revoked, cash.pending, cash.available) == (0, 0, 0)
    assert await books_are_clean(settings)


# The books ------------------------------------------------------------------------------------------------------------
DAMAGE = {
    "cash entry that is missing": ("delete from cash_entry where kind = 'granted'", "I11 cash granted"),
    "cash entry of another amount": ("update cash_entry set usd_micros = 1", "I11 every cash entry"),
    "cash entry of another account": ("update cash_entry set account_id = 2", "I11 every cash entry"),
    "reward of another amount": ("update reward set full_amount = 9e9, amount = 9e9 where lot_id is null", "I11 cash"),
    "withdrawal paid by hand": (
        """insert into withdrawal (account_id, usd_micros, payee, state, approved_at, approved_by, approved_why,
                                   decided_at, decided_by, reason)
        values (1, 5, 'x', 'paid', now(), 'x', 'x', now(), 'x', 'x')""",
        "I11 cash granted",
    ),
    "top-up of another amount": ("update top_up set quota = 5", "I12"),
    "top-up of another account": ("update top_up set account_id = 1 where giver_id <> 1", "I12"),
    "code set back": (
        "update redemption_code set redeemed_at = null, redeemed_by = null, top_up_id = null",
        "I12",
    ),
    "gift of another amount": ("update reward set amount = 5 where lot_id is not null", "I12"),
    "lot from nowhere": (
        "select credit(1, null, 5, 'gift', 'x', 1, 0)",
        "I12",
    ),
}


@pytest.mark.parametrize(("sql", "named"), DAMAGE.values(), ids=DAMAGE)
async def test_damage_to_these_books_is_found(market: Market, settings: Settings, sql: str, named: str) -> None:
    inviter = await market.an_account()
    giver = await market.an_account()
    account = await market.an_account(invited_by=inviter)
    await market.top_up(account, "10", giver=giver)
    assert await books_are_clean(settings)
    await market.owner.execute(sql)
    broken = [invariant for invariant, found in (await findings(settings)).items() if found]
    assert any(invariant.startswith(named) for invariant in broken), broken
