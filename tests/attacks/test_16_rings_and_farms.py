"""One owner, many accounts: invitations to oneself, rings, and a faucet that is asked by all of them."""

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise

import asyncpg
import pytest

from tests.customers import Customers
from tests.storage.customers.benches import Market, books_are_clean
from tollkeeper.accounts.money.faucet import FaucetDry, FaucetKey, pour
from tollkeeper.app.database import opened
from tollkeeper.core.money.amounts import UNITS_PER_USD, Quota
from tollkeeper.core.partner.plan import ReferralTerms
from tollkeeper.ports.customers.faucet import FaucetTerms
from tollkeeper.settings import Settings
from tollkeeper.storage.postgres.database import DatabaseRole

MEMBERS = 8
TOP_UP_USD = "4000"
GIFT_CAP = 100 * UNITS_PER_USD
CASH_CAP_MICROS = 500 * 1_000_000
FARMERS = 24
PER_NETWORK = 3


@pytest.fixture
async def market(settings: Settings, customers: Customers, owner: asyncpg.Connection) -> AsyncIterator[Market]:
    async with opened(settings, DatabaseRole.CONSOLE) as database:
        yield Market(customers, owner, database)


async def test_a_ring_cannot_be_closed_and_its_gains_are_capped(market: Market, settings: Settings) -> None:
    ring = [await market.an_account() for _ in range(MEMBERS)]
    for inviter, guest in pairwise(ring):
        assert await market.accept(guest, inviter.gift_code)
    assert not await market.accept(ring[0], ring[-1].gift_code)
    for member in ring:
        assert not await market.accept(member, member.gift_code)
    # Everybody tops up twice with the code of the one before, all at once.
    for giver, guest in pairwise(ring):
        await asyncio.gather(*(market.top_up(guest, TOP_UP_USD, giver=giver, terms=ReferralTerms()) for _ in range(2)))
    for member in ring:
        gained = await market.rewards(member)
        gifts = sum(amount for kind, amount in gained if kind != "referral_cash")
        cash = sum(amount for kind, amount in gained if kind == "referral_cash")
        assert gifts <= GIFT_CAP
        assert cash <= CASH_CAP_MICROS
    assert await books_are_clean(settings)


async def test_a_loop_of_gifts_is_refused_and_nothing_is_taken(market: Market, settings: Settings) -> None:
    first, second = await market.an_account(), await market.an_account()
    await market.top_up(second, giver=first)
    before = [await market.quota_of(account) for account in (first, second)]
    for account, giver in ((first, second), (first, first), (second, second)):
        [code] = await market.codes()
        done = await market.try_code(account, code, gift_code=giver.gift_code)
        assert done.top_up is None
    assert [await market.quota_of(account) for account in (first, second)] == before
    assert await books_are_clean(settings)


async def test_a_farm_of_accounts_gets_no_more_from_the_faucet_than_one_network_may(
    market: Market, settings: Settings
) -> None:
    accounts = [await market.an_account() for _ in range(FARMERS)]
    for number, account in enumerate(accounts):
        # One person under many spellings, and many persons, all in one network.
        email = f"farmer+{number}@gmail.com" if number % 2 else f"far.mer{number}@example.com"
        if number % 2 and number > 1:
            email = f"f.a.r.m.e.r+{number}@gmail.com"
        await market.verify(account, email)
    terms = FaucetTerms(amount=Quota(UNITS_PER_USD), per_network=PER_NETWORK)
    asked = [
        pour(account.id, f"192.0.2.{number}", terms, market.desk.key_maker, market.desk.faucet)
        for number, account in enumerate(accounts * 2)
    ]
    done = await asyncio.gather(*asked, return_exceptions=True)
    assert sum(isinstance(each, FaucetKey) for each in done) <= PER_NETWORK
    assert all(isinstance(each, FaucetKey | FaucetDry) for each in done)
    assert await books_are_clean(settings)
