"""Codes, top-ups and partners, made through the product's own use-cases."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import asyncpg
import msgspec

from tests.codes import sold, take_back
from tests.customers import ACTOR, Customers
from tests.storage.ledger.test_books import findings
from tollkeeper.accounts.money.codes import BatchWish
from tollkeeper.core.money.codes import code_digest, read_gift_code
from tollkeeper.core.partner.plan import ReferralTerms, micros_from_usd
from tollkeeper.core.people.faucet import person_digest
from tollkeeper.ports.customers.redemption import RedeemAttempt, Redeemed, Redemption
from tollkeeper.settings import Settings
from tollkeeper.storage.ledger.journal import Journal
from tollkeeper.storage.ledger.sql_ledger import SqlLedger
from tollkeeper.storage.ledger.workers import register
from tollkeeper.storage.postgres.database import Database

TERMS = ReferralTerms()


class Account(msgspec.Struct, frozen=True):
    id: int
    gift_code: str


class Market:
    """Where codes are sold and redeemed."""

    def __init__(self, customers: Customers, owner: asyncpg.Connection, database: Database) -> None:
        self.desk = customers.desk
        self.owner = owner
        self._database = database

    async def accept(self, account: Account, gift_code: str) -> bool:
        """As an account that is being opened accepts an invitation."""
        sql = "select accept_invitation($1, $2, $3)"
        return bool((await self._database.row(sql, account.id, read_gift_code(gift_code), ACTOR))[0])

    async def an_account(self, *, invited_by: Account | None = None) -> Account:
        account_id = await self.desk.accounts.create("a customer", "standard", actor=ACTOR)
        gift_code = await self.owner.fetchval("select gift_code from account where id = $1", account_id)
        account = Account(account_id, gift_code)
        if invited_by is not None:
            assert await self.accept(account, invited_by.gift_code)
        return account

    async def codes(
        self, count: int = 1, *, usd: str = "10", months: int = 9, exported: bool = True, rewards: bool = True
    ) -> list[str]:
        wish = BatchWish(codes=count, usd_micros=micros_from_usd(Decimal(usd)), months=months, rewards=rewards)
        codes = await sold(self.desk.codes, wish)
        if not exported:
            await take_back(self.owner)
        return list(codes)

    async def try_code(
        self, account: Account, code: str, *, gift_code: str | None = None, ip: str = "", terms: ReferralTerms = TERMS
    ) -> Redemption:
        attempt = RedeemAttempt(account_id=account.id, digest=code_digest(code), gift_code=gift_code, ip=ip)
        return await self.desk.redemptions.redeem(attempt, terms, actor=ACTOR)

    async def top_up(
        self, account: Account, usd: str = "10", *, giver: Account | None = None, terms: ReferralTerms = TERMS
    ) -> Redemption:
        """Redeem a fresh code."""
        [code] = await self.codes(usd=usd)
        done = await self.try_code(account, code, gift_code=giver.gift_code if giver else None, terms=terms)
        assert done.verdict is Redeemed.REDEEMED
        return done

    async def quota_of(self, account: Account) -> int:
        """What there is in its lots."""
        total = await self.owner.fetchval("select sum(remaining) from lot where account_id = $1", account.id)
        return int(total or 0)

    async def rewards(self, account: Account) -> list[tuple[str, int]]:
        """Kinds and amounts, the oldest first."""
        statement = await self.desk.partners.statement(account.id)
        return [(reward.kind.value, reward.amount) for reward in reversed(statement.rewards)]

    async def verify(self, account: Account, email: str | None = None) -> None:
        email = email or f"customer-{account.id}@example.com"
        await self.owner.execute(
            "insert into login (account_id, email, person, password, verified_at)"
            " values ($1, $2, $3, '$argon2id$none', ledger_now())",
            account.id,
            email,
            person_digest(email),
        )


class Time:
    """The database's time, which a test may let pass, or set."""

    def __init__(self, owner: asyncpg.Connection) -> None:
        self._owner = owner
        self._passed = timedelta()

    async def pass_by(self, **length: float) -> None:
        self._passed += timedelta(**length)
        await self._owner.execute(
            "create or replace function ledger_now() returns timestamptz language sql stable parallel safe"
            f" return now() + interval '{self._passed.total_seconds()} s'"
        )

    async def go_to(self, moment: datetime) -> None:
        await self.pass_by(seconds=(moment - await self.now()).total_seconds())

    async def now(self) -> datetime:
        now: datetime = await self._owner.fetchval("select ledger_now()")
        return now


@asynccontextmanager
async def a_ledger(database: Database, customers: Customers) -> AsyncIterator[SqlLedger]:
    await customers.a_model()
    worker_id = await register(database, "test")
    with tempfile.TemporaryDirectory() as folder:
        ledger = SqlLedger(database, worker_id, Journal(Path(folder), worker_id), patience_seconds=5)
        yield ledger
        await ledger.close()


async def books_are_clean(settings: Settings) -> bool:
    broken = {invariant: found for invariant, found in (await findings(settings)).items() if found}
    assert not broken, broken
    return True
