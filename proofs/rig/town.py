"""A town of accounts: codes sold and redeemed over one pool of connections, and a clock that can be set."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from decimal import Decimal

import asyncpg
import msgspec

from proofs.rig.database import connect
from tollkeeper.accounts.money.codes import BatchWish, export_codes, make_batch
from tollkeeper.core.money.codes import code_digest
from tollkeeper.core.partner.plan import MicroUsd, ReferralTerms, micros_from_usd
from tollkeeper.core.people.logins import Actor, Role
from tollkeeper.ports.customers.redemption import RedeemAttempt, Redemption
from tollkeeper.ports.partner import Decided, NewWithdrawal, WithdrawalRequest, WithdrawalState
from tollkeeper.storage.customers.faucet import SqlFaucet
from tollkeeper.storage.customers.redemption import SqlCodeDesk, SqlRedemptions
from tollkeeper.storage.partner.plan import SqlPartnerDesk
from tollkeeper.storage.postgres.database import Database, DatabaseRole

ACTOR = "proof"
BY = Actor(ACTOR, Role.OPERATOR)
PATIENCE_SECONDS = 60.0
CODES_MOST = 10_000

OPEN = "insert into account (name) select $2 from generate_series(1, $1::int) returning id, gift_code"
ACCEPT = "select accept_invitation($1, $2, $3)"
VERIFY = """
insert into login (account_id, email, person, password, verified_at)
select id, 'account-' || id || '@example.com', sha256(id::text::bytea), '$argon2id$none', ledger_now()
from unnest($1::bigint[]) id
"""


class Account(msgspec.Struct, frozen=True):
    id: int
    gift_code: str

    @property
    def ip(self) -> str:
        """Of its own, and in a network of its own: wrong attempts lock whoever shares it."""
        return f"10.{self.id >> 8 & 255}.{self.id & 255}.1"


class Town:
    """What an account can do, through the product's own ports."""

    def __init__(self, database: Database, owner: asyncpg.Connection) -> None:
        self.owner = owner
        self.codes = SqlCodeDesk(database)
        self.redemptions = SqlRedemptions(database)
        self.partners = SqlPartnerDesk(database)
        self.faucet = SqlFaucet(database)
        self._database = database

    async def accounts(self, count: int, name: str = "account") -> list[Account]:
        return [Account(**row) for row in await self.owner.fetch(OPEN, count, name)]

    async def a_guest(self, inviter: Account) -> Account:
        [guest] = await self.accounts(1)
        assert await self.accept(guest, inviter)
        return guest

    async def accept(self, guest: Account, inviter: Account) -> bool:
        """As an account that is being opened accepts an invitation."""
        return bool((await self._database.row(ACCEPT, guest.id, inviter.gift_code, ACTOR))[0])

    async def verify(self, accounts: list[Account]) -> None:
        await self.owner.execute(VERIFY, [account.id for account in accounts])

    async def sold(self, count: int, usd: str, *, months: int = 9) -> list[str]:
        """Codes in the hands of customers."""
        codes: list[str] = []
        while len(codes) < count:
            wish = BatchWish(
                codes=min(CODES_MOST, count - len(codes)), usd_micros=micros_from_usd(Decimal(usd)), months=months
            )
            opened = await make_batch(wish, secrets.token_hex(16), self.codes, by=BY)
            codes += await export_codes(opened.batch_id, secrets.choice, self.codes, by=BY)
        return codes

    async def redeem(
        self, account: Account, code: str, *, giver: Account | None = None, ip: str | None = None, terms: ReferralTerms
    ) -> Redemption:
        attempt = RedeemAttempt(
            account_id=account.id,
            digest=code_digest(code),
            gift_code=giver.gift_code if giver else None,
            ip=account.ip if ip is None else ip,
        )
        return await self.redemptions.redeem(attempt, terms, actor=ACTOR)

    async def withdraw(self, account: Account, usd_micros: MicroUsd) -> WithdrawalRequest:
        wish = NewWithdrawal(account_id=account.id, usd_micros=usd_micros, payee="the bank of the town")
        return await self.partners.withdraw(wish, actor=ACTOR)

    async def pay(self, withdrawal_id: int) -> Decided:
        """Approve a request, or find that somebody has, and pay it."""
        await self.partners.decide(withdrawal_id, WithdrawalState.APPROVED, reason="as usual", actor=ACTOR)
        return await self.partners.decide(withdrawal_id, WithdrawalState.PAID, reason="a transfer", actor=ACTOR)


@asynccontextmanager
async def town_at(url: str, *, connections: int) -> AsyncIterator[Town]:
    """A pool of its own."""
    database = Database(url, DatabaseRole.CONSOLE, connections=connections, patience_seconds=PATIENCE_SECONDS)
    await database.open()
    owner = await connect(url)
    try:
        yield Town(database, owner)
    finally:
        await owner.close()
        await database.close()


async def set_clock(owner: asyncpg.Connection, moment: datetime) -> None:
    """The database's time is this moment, and goes on from it."""
    ahead: timedelta = moment - await owner.fetchval("select now()")
    await owner.execute(
        "create or replace function tollkeeper.ledger_now() returns timestamptz language sql stable parallel safe"
        f" return now() + interval '{ahead.total_seconds()} s'"
    )
