"""Brute force of codes: too much chance to guess, too few guesses, and nothing but digests to steal."""

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Callable

import asyncpg
import pytest

from tests.customers import Customers
from tests.storage.customers.benches import Market, books_are_clean
from tollkeeper.app.database import opened
from tollkeeper.core.money.codes import ALPHABET, CHANCE_LENGTH, mint_code
from tollkeeper.ports.customers.redemption import Redeemed
from tollkeeper.settings import Settings
from tollkeeper.storage.postgres.database import DatabaseRole

BITS_LEAST = 128
GUESSERS = 12
GUESSES_EACH = 20
WRONG_MOST = 5


@pytest.fixture
async def market(settings: Settings, customers: Customers, owner: asyncpg.Connection) -> AsyncIterator[Market]:
    async with opened(settings, DatabaseRole.CONSOLE) as database:
        yield Market(customers, owner, database)


def test_a_code_has_more_chance_than_anybody_can_guess() -> None:
    assert len(ALPHABET) ** CHANCE_LENGTH >= 2**BITS_LEAST
    assert len({mint_code(secrets.choice) for _ in range(1_000)}) == 1_000


async def test_nothing_but_a_digest_of_a_code_is_kept(market: Market) -> None:
    codes = await market.codes(20)
    tables = await market.owner.fetch("select tablename from pg_tables where schemaname = 'tollkeeper'")
    for table in tables:
        rows = await market.owner.fetch(f'select t::text as kept from "{table["tablename"]}" t')  # noqa: S608
        for row in rows:
            assert not any(code in row["kept"] or code.replace("-", "") in row["kept"] for code in codes)


async def test_a_storm_of_guesses_finds_nothing_and_locks_the_guessers(
    market: Market, settings: Settings, record_property: Callable[[str, object], None]
) -> None:
    accounts = [await market.an_account() for _ in range(GUESSERS)]
    [right] = await market.codes()
    near = [right[:at] + ("2" if right[at] != "2" else "3") + right[at + 1 :] for at in range(3, 3 + GUESSES_EACH)]
    tried = await asyncio.gather(
        *(
            market.try_code(account, guess, ip=f"192.0.2.{number}")
            for number, account in enumerate(accounts)
            for guess in near
        )
    )
    found = Counter(outcome.verdict for outcome in tried)
    assert found[Redeemed.REDEEMED] == 0
    assert found[Redeemed.UNKNOWN] <= WRONG_MOST * GUESSERS
    # Whoever guessed is locked out of the right code as well; whoever did not is not.
    assert (await market.try_code(accounts[0], right, ip="192.0.2.0")).verdict is Redeemed.LOCKED
    assert (await market.try_code(await market.an_account(), right, ip="198.51.100.1")).verdict is Redeemed.REDEEMED
    record_property("cases", len(tried))
    assert await books_are_clean(settings)


async def test_gift_codes_that_are_guessed_give_nothing_without_a_paid_code(market: Market, settings: Settings) -> None:
    """They are short, because they are worth nothing by themselves."""
    givers = [await market.an_account() for _ in range(3)]
    guesser = await market.an_account()
    for giver in givers:
        done = await market.try_code(guesser, "", gift_code=giver.gift_code)
        assert done.top_up is None
    assert await market.quota_of(guesser) == 0
    assert [await market.rewards(giver) for giver in givers] == [[], [], []]
    assert await books_are_clean(settings)
