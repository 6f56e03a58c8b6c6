"""Top-ups that are taken back: their lots, and every reward that came of them, in one transaction."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import asyncpg
import msgspec
import pytest

from tests.customers import ACTOR, Customers
from tests.storage.customers.benches import Account, Market, Time, a_ledger, books_are_clean
from tests.storage.ledger.benches import a_settlement, an_order
from tests.storage.ledger.test_books import findings
from tests.storage.partner.test_plan import SUPPORT, asked_for, cash_of, pay, spend
from tollkeeper.accounts.money.top_ups import revoke_top_up
from tollkeeper.app.database import opened
from tollkeeper.core.money.amounts import UNITS_PER_USD
from tollkeeper.core.people.logins import Actor, Role, RoleMissing
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.customers.redemption import Redeemed, TopUpRevoked
from tollkeeper.settings import Settings
from tollkeeper.storage.ledger.sql_ledger import SqlLedger
from tollkeeper.storage.postgres.database import Database, DatabaseRole

AT_ONCE = 20
CASH = 250_000
GIFT = UNITS_PER_USD // 2
TOPPED_UP = 10 * UNITS_PER_USD


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


class Deal(msgspec.Struct, frozen=True):
    """A top-up of 10 USD, and who earned by it."""

    top_up_id: int
    account: Account
    inviter: Account
    giver: Account


async def a_deal(market: Market) -> Deal:
    inviter, giver = await market.an_account(), await market.an_account()
    account = await market.an_account(invited_by=inviter)
    done = await market.top_up(account, "10", giver=giver)
    assert done.top_up is not None
    return Deal(done.top_up.id, account, inviter, giver)


async def revoke(market: Market, top_up_id: int, *, write_off: bool = False) -> TopUpRevoked:
    return await revoke_top_up(top_up_id, "a chargeback", market.desk.codes, write_off=write_off, by=SUPPORT)


async def debt_of(market: Market, account: Account) -> int:
    debt: int = await market.owner.fetchval("select debt from account_books where account_id = $1", account.id)
    return debt


@pytest.mark.rule("S10.5")
@pytest.mark.parametrize("write_off", [False, True])
async def test_a_top_up_goes_with_everything_that_came_of_it(
    market: Market, settings: Settings, write_off: bool
) -> None:
    deal = await a_deal(market)
    done = await revoke(market, deal.top_up_id, write_off=write_off)
    assert (done.taken_back, done.owed, done.written_off, done.rewards) == (TOPPED_UP, 0, 0, 3)
    for account in (deal.account, deal.inviter, deal.giver):
        assert await market.quota_of(account) == await debt_of(market, account) == 0
    assert await cash_of(market, deal.inviter) == {"granted": CASH, "revoked": CASH}
    [top_up] = await market.desk.redemptions.top_ups(deal.account.id)
    assert top_up.revoked_at is not None
    told = await market.owner.fetch("select action, detail from audit order by id desc limit 4")
    assert [row["action"] for row in told] == ["top_up.revoke", *["reward.revoke"] * 3]
    assert msgspec.json.decode(told[0]["detail"])["reason"] == "a chargeback"
    assert await books_are_clean(settings)


@pytest.mark.parametrize("write_off", [False, True], ids=["owed", "written off"])
async def test_what_was_spent_and_paid_out_is_owed_or_written_off(
    market: Market, settings: Settings, ledger: SqlLedger, passing: Time, write_off: bool
) -> None:
    deal = await a_deal(market)
    await passing.pass_by(days=14)
    await pay(market, await asked_for(market, deal.inviter))
    await spend(market, ledger, deal.account, TOPPED_UP + GIFT)
    await spend(market, ledger, deal.giver, GIFT // 5)
    done = await revoke(market, deal.top_up_id, write_off=write_off)
    assert (done.taken_back, done.owed, done.written_off) == (0, *((0, TOPPED_UP) if write_off else (TOPPED_UP, 0)))
    owed = [await debt_of(market, account) for account in (deal.account, deal.giver)]
    assert owed == ([0, 0] if write_off else [TOPPED_UP + GIFT, GIFT // 5])
    assert await market.quota_of(deal.giver) == 0
    cash = await cash_of(market, deal.inviter)
    left = {"revoked": CASH, "available": -CASH}
    assert cash == {"granted": CASH, "paid": CASH} | ({} if write_off else left)
    assert await books_are_clean(settings)


async def test_customers_take_no_top_up_back(market: Market) -> None:
    deal = await a_deal(market)
    customer = Actor(f"account:{deal.giver.id}", Role.CUSTOMER)
    with pytest.raises(RoleMissing):
        await revoke_top_up(deal.top_up_id, "mine", market.desk.codes, write_off=False, by=customer)


async def figures(market: Market, account: Account) -> tuple[int, int, int]:
    """What revoking took back, what is owed and what was written off, by all records of an account."""
    return tuple(
        await market.owner.fetchrow(
            "select sum(taken_back)::bigint, sum(owed)::bigint, sum(written_off)::bigint from ("
            " select v.taken_back, v.owed, v.written_off from top_up_revocation v"
            " join top_up t on t.id = v.top_up_id where t.account_id = $1 union all"
            " select taken_back, owed, written_off from reward where account_id = $1) taken",
            account.id,
        )
    )


@pytest.mark.parametrize("source", ["gift", "redemption"])
@pytest.mark.parametrize("write_off", [False, True], ids=["owed", "written off"])
async def test_what_was_spent_is_counted_once(
    market: Market, settings: Settings, ledger: SqlLedger, write_off: bool, source: str
) -> None:
    deal = await a_deal(market)
    # Whichever lot was spent, the other one must not pay for it before it goes itself.
    await market.owner.execute("update lot set expires_at = expires_at - interval '1 day' where source = $1", source)
    await spend(market, ledger, deal.account, GIFT)
    await revoke(market, deal.top_up_id, write_off=write_off)
    assert await figures(market, deal.account) == (TOPPED_UP, *((0, GIFT) if write_off else (GIFT, 0)))
    assert await debt_of(market, deal.account) == (0 if write_off else GIFT)
    assert await market.owner.fetchval("select count(*) from entry where kind = 'debt_paid'") == 0
    assert await books_are_clean(settings)


async def test_what_is_owed_is_paid_by_other_lots_once_all_is_closed(
    market: Market, settings: Settings, ledger: SqlLedger
) -> None:
    deal = await a_deal(market)
    await spend(market, ledger, deal.account, GIFT)
    await market.top_up(deal.account, "1")
    await revoke(market, deal.top_up_id)
    assert await debt_of(market, deal.account) == 0
    assert await market.quota_of(deal.account) == UNITS_PER_USD - GIFT
    assert await books_are_clean(settings)


@pytest.mark.parametrize("write_off", [False, True], ids=["owed", "written off"])
async def test_what_was_spent_of_lots_that_expired_since_is_owed_or_written_off(
    market: Market, settings: Settings, ledger: SqlLedger, passing: Time, write_off: bool
) -> None:
    deal = await a_deal(market)
    await spend(market, ledger, deal.account, TOPPED_UP + GIFT // 5)
    key = await Customers(market.desk).a_key(deal.account.id)
    # A call under way, which is settled when the lot has expired and was taken back.
    order = an_order(deal.account.id, key.key_id, 1_000)
    await ledger.hold(order)
    await passing.pass_by(days=300)
    assert await market.owner.fetchval("select close_lots('0', 10)") == 3
    spent = TOPPED_UP + GIFT // 5
    await revoke(market, deal.top_up_id, write_off=write_off)
    assert await figures(market, deal.account) == (0, *((0, spent) if write_off else (spent, 0)))
    assert await debt_of(market, deal.account) == (0 if write_off else spent)
    await ledger.settle(a_settlement(order, 400))
    assert await debt_of(market, deal.account) == (0 if write_off else spent + 400)
    assert (await revoke(market, deal.top_up_id)).before
    assert await books_are_clean(settings)


async def test_a_lot_that_was_revoked_by_itself_is_owed_once(
    market: Market, settings: Settings, ledger: SqlLedger
) -> None:
    account = await market.an_account()
    done = await market.top_up(account, "10")
    assert done.top_up is not None
    await spend(market, ledger, account, 1_000)
    await market.owner.execute("select revoke_lot($1)", done.top_up.lot_id)
    again = await revoke(market, done.top_up.id)
    assert (again.taken_back, again.owed, again.written_off) == (0, 0, 0)
    assert await debt_of(market, account) == 1_000
    assert await books_are_clean(settings)


async def test_a_top_up_that_many_revoke_at_once_is_revoked_once(market: Market, settings: Settings) -> None:
    deal = await a_deal(market)
    done = await asyncio.gather(*(revoke(market, deal.top_up_id, write_off=bool(n % 2)) for n in range(AT_ONCE)))
    assert Counter(each.before for each in done) == {False: 1, True: AT_ONCE - 1}
    assert sum(each.taken_back for each in done) == TOPPED_UP
    assert await books_are_clean(settings)


async def test_a_reward_that_was_revoked_before_is_not_revoked_again(market: Market, settings: Settings) -> None:
    deal = await a_deal(market)
    [reward] = (await market.desk.partners.statement(deal.giver.id)).rewards
    await market.desk.partners.revoke_reward(reward.id, write_off=False, why="a ring", actor=ACTOR)
    assert (await revoke(market, deal.top_up_id)).rewards == 2
    [still] = (await market.desk.partners.statement(deal.giver.id)).rewards
    assert still.why == "a ring"
    assert await books_are_clean(settings)


async def test_other_top_ups_stay_and_the_code_is_spent(market: Market, settings: Settings) -> None:
    account = await market.an_account()
    [code] = await market.codes(usd="10")
    first = await market.try_code(account, code)
    await market.top_up(account, "5")
    assert first.top_up is not None
    await revoke(market, first.top_up.id)
    assert await market.quota_of(account) == 5 * UNITS_PER_USD
    assert (await market.try_code(account, code)).verdict is Redeemed.REPLAYED
    assert (await market.try_code(await market.an_account(), code)).verdict is Redeemed.USED
    assert await market.quota_of(account) == 5 * UNITS_PER_USD
    with pytest.raises(NotOnFile, match="top-up 77"):
        await revoke(market, 77)
    assert await books_are_clean(settings)


@pytest.mark.parametrize(
    "sql",
    [
        "update lot set closed_at = null, closed_as = null where source = 'redemption'",
        """update reward set revoked_at = null, revoked_by = null, why = null, taken_back = null, owed = null,
        written_off = null""",
    ],
    ids=["lot", "rewards"],
)
async def test_a_top_up_that_was_half_taken_back_is_found(market: Market, settings: Settings, sql: str) -> None:
    deal = await a_deal(market)
    await revoke(market, deal.top_up_id)
    await market.owner.execute(sql)
    broken = [invariant for invariant, found in (await findings(settings)).items() if found]
    assert any(invariant.startswith("I13") for invariant in broken), broken
