"""Accounts as staff find them, in PostgreSQL: every kind of search by an index of its own."""

from collections.abc import Sequence

import asyncpg

from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.people.logins import Role
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.customers.roster import AccountRecord, AccountSearch, CustomerStanding, CustomerState
from tollkeeper.storage.postgres.database import Database

LAST = 2**63 - 1

RECORD = """
select a.id, a.name, l.email, a.group_name, a.disabled_at, a.closed_at, a.created_at, b.debt,
       coalesce(a.restricted_until > ledger_now(), false) as is_restricted,
       (select coalesce(sum(remaining), 0) from lot
        where account_id = a.id and expires_at > ledger_now() and closed_at is null) as lots
from account a join account_books b on b.account_id = a.id left join login l on l.account_id = a.id
"""
EVERYBODY = f"{RECORD} where a.id < $1 {{which}} order by a.id desc limit $2"
# Along the index of open lots by the day on which they lapse.
LAPSING = """
and a.id in (select account_id from lot where closed_at is null and remaining > 0
             and expires_at > ledger_now() and expires_at < ledger_now() + interval '7 days')
"""
# Each part has as many as a page takes, the newest: so the newest of them all are among them.
FOUND = f"""
with found as (
    (select id from account where to_tsvector('simple', name) @@ to_tsquery('simple', $3) and id < $1
     order by id desc limit $2)
    union
    (select account_id from login
     where email collate "C" >= $4 and email collate "C" < $4 || chr(127) and account_id < $1
     order by account_id desc limit $2)
    union
    (select account_id from api_key
     where right(hint, 4) = $5 and ($6::text is null or starts_with(hint, $6)) and account_id < $1
     order by account_id desc limit $2)
    union
    (select id from account where id = $7 and id < $1))
{RECORD} where a.id in (select id from found) {{which}} order by a.id desc limit $2
"""  # noqa: S608 (all of it is ours)

STANDING = """
with open as (
    select key_id, remaining, expires_at from lot
    where account_id = $1 and expires_at > ledger_now() and closed_at is null)
select a.id, a.name, a.group_name, a.disabled_at, a.closed_at, a.created_at, a.invited_by,
       case when a.restricted_until > ledger_now() then a.restricted_until end as restricted_until,
       b.held, b.debt, b.used, l.email, l.role, coalesce(l.totp_confirmed_at is not null, false) as second_factor,
       (select coalesce(sum(remaining) filter (where key_id is null), 0) from open) as free,
       (select coalesce(sum(remaining) filter (where key_id is not null), 0) from open) as bound,
       (select min(expires_at) from open where remaining > 0) as next_expiry,
       (select count(*) from api_key where account_id = $1 and revoked_at is null and not for_chat) as keys_in_use,
       array(select ip from ban where account_id = $1 and until > ledger_now() and lifted_at is null order by id)
           as banned_ips
from account a join account_books b on b.account_id = a.id left join login l on l.account_id = a.id
where a.id = $1
"""


class SqlRoster:
    """The `Roster` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(
        self, search: AccountSearch, *, lapsing_only: bool = False, before_id: int | None, limit: int
    ) -> Sequence[AccountRecord]:
        before, which = LAST if before_id is None else before_id, LAPSING if lapsing_only else ""
        if search.is_open:
            sql = EVERYBODY.format(which=which)
            return [_record(row) for row in await self._database.rows(sql, before, limit)]
        words = " & ".join(f"'{word}':*" for word in search.words or ()) or None
        asked = (words, search.email_start, search.hint_end, search.hint_start, search.number)
        sql = FOUND.format(which=which)
        return [_record(row) for row in await self._database.rows(sql, before, limit, *asked)]

    async def standing(self, account_id: int) -> CustomerStanding:
        row = await self._database.row(STANDING, account_id)
        if row is None:
            raise NotOnFile(f"There is no account {account_id}.")
        amounts = {name: Quota(int(row[name])) for name in ("free", "bound", "held", "debt", "used")}
        return CustomerStanding(
            account_id=row["id"],
            name=row["name"],
            group=row["group_name"],
            state=_state(row),
            created_at=row["created_at"],
            restricted_until=row["restricted_until"],
            banned_ips=row["banned_ips"],
            invited_by=row["invited_by"],
            next_expiry=row["next_expiry"],
            keys_in_use=row["keys_in_use"],
            email=row["email"],
            role=None if row["role"] is None else Role(row["role"]),
            second_factor=row["second_factor"],
            **amounts,
        )


def _record(row: asyncpg.Record) -> AccountRecord:
    return AccountRecord(
        account_id=row["id"],
        name=row["name"],
        email=row["email"],
        group=row["group_name"],
        state=_state(row),
        is_restricted=row["is_restricted"],
        created_at=row["created_at"],
        balance=Quota(max(0, int(row["lots"]) - row["debt"])),
    )


def _state(row: asyncpg.Record) -> CustomerState:
    if row["closed_at"] is not None:
        return CustomerState.CLOSED
    return CustomerState.OPEN if row["disabled_at"] is None else CustomerState.DISABLED
