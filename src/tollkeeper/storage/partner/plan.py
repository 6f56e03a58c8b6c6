"""The partner plan in PostgreSQL."""

from collections.abc import Sequence

import asyncpg

from tollkeeper.core.partner.plan import MicroUsd
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.partner import (
    WITHDRAWALS_MOST,
    CashStanding,
    Decided,
    NewWithdrawal,
    PartnerStatement,
    Requested,
    RewardKind,
    RewardRecord,
    RewardRevoked,
    WithdrawalRecord,
    WithdrawalRequest,
    WithdrawalState,
)
from tollkeeper.storage.postgres.database import Database

LISTED_MOST = 1_000
LAST_ID = 2**63 - 1

ACCOUNT = """
select a.gift_code, (select count(*) from account other where other.invited_by = a.id) as invited
from account a where a.id = $1
"""
REWARDS = """
select id, kind, top_up_id, full_amount, amount, granted_at, available_at, revoked_at, revoked_by, why
from reward where account_id = $1 order by id desc limit $2
"""
WITHDRAWALS = """
select id, account_id, usd_micros, payee, requested_at, state, approved_at, approved_by, approved_why, decided_at,
       decided_by, reason
from withdrawal
"""
# As `decide_withdrawal` judges it when a payment is noted.
MAY_HAVE_APPROVED = """
select from withdrawal
where id = $1 and approved_at is not null and may_be_same_person($2, ledger_now(), approved_by, approved_at)
"""


class SqlPartnerDesk:
    """The `PartnerDesk` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def statement(self, account_id: int) -> PartnerStatement:
        """Everything as of one moment: its parts must add up."""
        async with (
            self._database.session() as connection,
            connection.transaction(isolation="repeatable_read", readonly=True),
        ):
            account = await connection.fetchrow(ACCOUNT, account_id)
            if account is None:
                raise NotOnFile(f"There is no account {account_id}.")
            cash = await connection.fetchrow("select * from cash_standing($1)", account_id)
            rewards = await connection.fetch(REWARDS, account_id, LISTED_MOST)
            of_account = f"{WITHDRAWALS} where account_id = $1 order by id desc limit $2"
            withdrawals = await connection.fetch(of_account, account_id, LISTED_MOST)
        return PartnerStatement(
            **account,
            cash=CashStanding(**cash),
            rewards=[RewardRecord(**dict(row) | {"kind": RewardKind(row["kind"])}) for row in rewards],
            withdrawals=[_withdrawal(row) for row in withdrawals],
        )

    async def withdrawals(
        self,
        *,
        account_id: int | None = None,
        waiting_only: bool = True,
        after_id: int | None = None,
        limit: int = WITHDRAWALS_MOST,
    ) -> Sequence[WithdrawalRecord]:
        if waiting_only:
            after, which, order = after_id or 0, "decided_at is null and id > $1", "id"
        else:
            after, which, order = after_id or LAST_ID, "id < $1", "id desc"
        whose, values = ("", ()) if account_id is None else (" and account_id = $3", (account_id,))
        page = f"{WITHDRAWALS} where {which}{whose} order by {order} limit $2"
        return [_withdrawal(row) for row in await self._database.rows(page, after, limit, *values)]

    async def withdrawal(self, withdrawal_id: int) -> WithdrawalRecord:
        row = await self._database.row(f"{WITHDRAWALS} where id = $1", withdrawal_id)
        if row is None:
            raise NotOnFile(f"There is no withdrawal request {withdrawal_id}.")
        return _withdrawal(row)

    async def may_have_approved(self, withdrawal_id: int, *, actor: str) -> bool:
        row = await self._database.row(MAY_HAVE_APPROVED, withdrawal_id, actor)
        return row is not None

    async def withdraw(self, wish: NewWithdrawal, *, actor: str) -> WithdrawalRequest:
        values = (wish.account_id, wish.usd_micros, wish.payee, actor)
        row = await self._database.row("select * from withdraw($1, $2, $3, $4)", *values)
        available = MicroUsd(row["available"] or 0)
        return WithdrawalRequest(Requested(row["verdict"]), row["withdrawal_id"], available, row["until"])

    async def decide(self, withdrawal_id: int, state: WithdrawalState, *, reason: str, actor: str) -> Decided:
        values = (withdrawal_id, state.value, reason, actor)
        row = await self._database.row("select * from decide_withdrawal($1, $2, $3, $4)", *values)
        if row["verdict"] == "unknown":
            raise NotOnFile(f"There is no withdrawal request {withdrawal_id}.")
        return Decided(row["verdict"])

    async def revoke_reward(self, reward_id: int, *, write_off: bool, why: str, actor: str) -> RewardRevoked:
        values = (reward_id, write_off, why, actor)
        row = await self._database.row("select * from revoke_reward($1, $2, $3, $4)", *values)
        if row["verdict"] == "unknown":
            raise NotOnFile(f"There is no reward {reward_id}.")
        return RewardRevoked(
            kind=RewardKind(row["kind"]),
            before=row["verdict"] == "revoked_before",
            taken_back=row["taken_back"] or 0,
            owed=row["owed"] or 0,
            written_off=row["written_off"] or 0,
        )


def _withdrawal(row: asyncpg.Record) -> WithdrawalRecord:
    return WithdrawalRecord(**dict(row) | {"state": WithdrawalState(row["state"])})
