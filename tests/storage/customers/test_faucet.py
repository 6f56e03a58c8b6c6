"""The faucet: one key with exactly its quota, once in 24 hours by the database's clock."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta

import asyncpg
import pytest

from tests.customers import Customers
from tests.storage.customers.benches import Account, Market, Time, books_are_clean
from tests.storage.ledger.benches import an_order
from tollkeeper.accounts.money.faucet import FaucetDry, FaucetKey, pour
from tollkeeper.accounts.money.redeem import AccountIsDisabled
from tollkeeper.app.database import opened
from tollkeeper.core.money.amounts import UNITS_PER_USD, Quota
from tollkeeper.core.money.balance import of_account, of_key
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.customers.faucet import FaucetTerms
from tollkeeper.settings import Settings
from tollkeeper.storage.customers.accounts import SqlBalances
from tollkeeper.storage.postgres.database import Database, DatabaseRole

AT_ONCE = 20
IP = "192.0.2.7"
TERMS = FaucetTerms(amount=Quota(UNITS_PER_USD))


@pytest.fixture
async def market(settings: Settings, customers: Customers, owner: asyncpg.Connection) -> AsyncIterator[Market]:
    async with opened(settings, DatabaseRole.CONSOLE) as database:
        yield Market(customers, owner, database)


@pytest.fixture
def passing(owner: asyncpg.Connection) -> Time:
    return Time(owner)


async def a_verified_account(market: Market, email: str | None = None) -> Account:
    account = await market.an_account()
    await market.verify(account, email)
    return account


async def ask(market: Market, account: Account, ip: str = IP, terms: FaucetTerms = TERMS) -> FaucetKey:
    return await pour(account.id, ip, terms, market.desk.key_maker, market.desk.faucet)


async def try_often(
    market: Market, asking: Sequence[tuple[Account, str]], terms: FaucetTerms = TERMS
) -> dict[str, int]:
    """How often it gave, and what was said otherwise."""
    asked = (ask(market, account, ip, terms) for account, ip in asking)
    done = await asyncio.gather(*asked, return_exceptions=True)
    return dict(Counter("given" if isinstance(each, FaucetKey) else str(each).partition(".")[0] for each in done))


@pytest.mark.rule("R4.5")
@pytest.mark.rule("L7.1")
async def test_the_faucet_gives_a_key_with_exactly_one_usd_that_no_other_key_can_draw(
    market: Market, database: Database, settings: Settings
) -> None:
    account = await a_verified_account(market)
    other = await Customers(market.desk).a_key(account.id)
    given = await ask(market, account)
    assert given.issued.key.startswith("sk-")
    mine, theirs = [await SqlBalances(database).standing(key) for key in (given.issued.key_id, other.key_id)]
    assert of_key(mine).remaining == of_account(mine).remaining == UNITS_PER_USD == 500_000 * 1_000_000
    assert of_key(theirs).remaining == 0
    row = await market.owner.fetchrow(
        "select k.expires_at = l.expires_at as together, l.expires_at - l.created_at as lasts, l.key_id, k.quota,"
        " l.granted, l.source from api_key k join lot l on l.key_id = k.id where k.id = $1",
        given.issued.key_id,
    )
    assert dict(row) == {
        "together": True,
        "lasts": timedelta(days=30),
        "key_id": given.issued.key_id,
        "quota": UNITS_PER_USD,
        "granted": UNITS_PER_USD,
        "source": "faucet",
    }
    assert await books_are_clean(settings)


@pytest.mark.rule("R4.5")
@pytest.mark.rule("L7.1")
async def test_it_gives_again_after_24_hours_and_not_before(market: Market, passing: Time, settings: Settings) -> None:
    account = await a_verified_account(market)
    first = await ask(market, account)
    await passing.pass_by(hours=24, seconds=-60)
    with pytest.raises(FaucetDry, match=r"once in 24 hours\. Come again after") as dry:
        await ask(market, account, ip="198.51.100.1")
    assert dry.value.until is not None
    assert timedelta() < dry.value.until - await passing.now() < timedelta(seconds=61)
    await passing.pass_by(seconds=61)
    second = await ask(market, account)
    assert second.issued.key_id != first.issued.key_id
    assert await market.quota_of(account) == 2 * UNITS_PER_USD
    assert await books_are_clean(settings)


async def test_asked_often_at_once_it_gives_once(market: Market, settings: Settings) -> None:
    account = await a_verified_account(market)
    done = await try_often(market, [(account, f"192.0.{number}.7") for number in range(AT_ONCE)])
    assert done == {"given": 1, "The faucet gives once in 24 hours": AT_ONCE - 1}
    assert await market.owner.fetchval("select count(*) from api_key where account_id = $1", account.id) == 1
    assert await books_are_clean(settings)


async def test_a_network_gets_no_more_than_its_share_even_at_once(
    market: Market, settings: Settings, passing: Time
) -> None:
    accounts = [await a_verified_account(market) for _ in range(AT_ONCE)]
    terms = FaucetTerms(amount=Quota(UNITS_PER_USD), per_network=3)
    done = await try_often(market, [(account, IP) for account in accounts], terms)
    full = "The faucet has given to your network as often as it does in 24 hours"
    assert done == {"given": 3, full: AT_ONCE - 3}
    left = [account for account in accounts if not await market.quota_of(account)]
    with pytest.raises(FaucetDry, match="Come again"):
        await ask(market, left[0], ip="192.0.2.200", terms=terms)
    await ask(market, left[0], ip="192.0.3.7", terms=terms)
    for neighbour, account in enumerate(left[1:4]):
        await ask(market, account, ip=f"2001:db8::{neighbour}", terms=terms)
    with pytest.raises(FaucetDry):
        await ask(market, left[4], ip="2001:db8:0:0:9::", terms=terms)
    await ask(market, left[4], ip="2001:db8:0:1::", terms=terms)
    await passing.pass_by(hours=24, seconds=1)
    await ask(market, left[5], terms=terms)
    assert await books_are_clean(settings)


async def test_a_48_of_ipv6_gets_ten_times_as_many_as_a_64(market: Market) -> None:
    accounts = [await a_verified_account(market) for _ in range(12)]
    terms = FaucetTerms(amount=Quota(UNITS_PER_USD), per_network=1)
    done = await try_often(
        market, [(account, f"2001:db8:0:{number}::7") for number, account in enumerate(accounts[:11])], terms
    )
    assert done == {"given": 10, "The faucet has given to your network as often as it does in 24 hours": 1}
    await ask(market, accounts[11], ip="2001:db8:1::7", terms=terms)


async def test_everybody_together_gets_no_more_than_a_days_share_even_at_once(market: Market, passing: Time) -> None:
    accounts = [await a_verified_account(market) for _ in range(AT_ONCE)]
    terms = FaucetTerms(amount=Quota(UNITS_PER_USD), per_day=7)
    done = await try_often(market, [(account, f"192.0.{number}.7") for number, account in enumerate(accounts)], terms)
    full = "The faucet has given to everybody together as often as it does in 24 hours"
    assert done == {"given": 7, full: AT_ONCE - 7}
    [left, *_] = [account for account in accounts if not await market.quota_of(account)]
    with pytest.raises(FaucetDry, match="Come again after") as dry:
        await ask(market, left, terms=terms)
    assert dry.value.until is not None
    await passing.go_to(dry.value.until + timedelta(seconds=1))
    await ask(market, left, terms=terms)


async def test_many_emails_of_one_person_get_one_grant(market: Market, passing: Time) -> None:
    emails = ["ada@gmail.com", "a.d.a@gmail.com", "ada+1@gmail.com", "a.da+2@googlemail.com"]
    accounts = [await a_verified_account(market, email) for email in emails]
    done = await try_often(market, [(account, f"192.0.{number}.7") for number, account in enumerate(accounts)])
    assert done == {"given": 1, "The faucet gives once in 24 hours": 3}
    await ask(market, await a_verified_account(market, "bob@gmail.com"))
    await passing.pass_by(hours=24, seconds=1)
    await ask(market, accounts[-1])
    assert "gmail" not in str([dict(row) for row in await market.owner.fetch("table faucet_grant")])


async def test_it_takes_a_verified_email(market: Market) -> None:
    account = await market.an_account()
    with pytest.raises(FaucetDry, match="verified e-mail"):
        await ask(market, account)
    await market.verify(account)
    await market.owner.execute("update login set verified_at = null")
    with pytest.raises(FaucetDry, match="verified e-mail"):
        await ask(market, account)
    assert await market.owner.fetchval("select count(*) from api_key") == 0


async def test_others_are_told_why(market: Market) -> None:
    account = await a_verified_account(market)
    with pytest.raises(FaucetDry, match="network"):
        await ask(market, account, ip="nowhere")
    await market.owner.execute("update account set disabled_at = now() where id = $1", account.id)
    with pytest.raises(AccountIsDisabled):
        await ask(market, account)
    with pytest.raises(NotOnFile, match="account 77"):
        await ask(market, Account(77, ""))


async def test_a_faucet_key_pays_nobodys_debt_and_spends_no_other_quota(market: Market, settings: Settings) -> None:
    account = await a_verified_account(market)
    await market.top_up(account, "10")
    given = await ask(market, account)
    order = an_order(account.id, given.issued.key_id, UNITS_PER_USD + 1)
    sql = (
        "select verdict from hold_batch($1, array[gen_random_uuid()], array[0::smallint], array[$2::bigint],"
        " array[$3::bigint], array[$4::bigint], array[1::bigint], array[1000000::bigint], array[1::bigint], array[60])"
    )
    worker = await market.owner.fetchval("insert into worker (node) values ('test') returning id")
    values = (worker, account.id, given.issued.key_id)
    assert await market.owner.fetchval(sql, *values, order.amount) == "key_short"
    assert await market.owner.fetchval(sql, *values, UNITS_PER_USD) == "admitted"
