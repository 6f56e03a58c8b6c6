"""What happened to an account, in PostgreSQL.

Rules of this file
1. What people and staff did is told by the audit trail: rows about the account, its keys, lots, top-ups, rewards and
   withdrawals. What nobody did is told by the tables: lots that expired, gifts, sign-ins, bans.
2. Nothing is told twice: staff's sign-ins stand in the audit trail, too, and are told by their sessions.
"""

from collections.abc import Sequence

import asyncpg
import msgspec

from tollkeeper.ports import NotOnFile
from tollkeeper.ports.customers.roster import AccountEvent, TimelinePlace
from tollkeeper.storage.postgres.database import Database

# Each part has as many as a page takes, the newest: so the newest of them all are among them.
PAGE = """
with since as (
    select coalesce($2::timestamptz, 'infinity') as at, coalesce($3::int, 0) as origin,
           coalesce($4::bigint, 0) as number),
mine as (
    select 'account:' || $1::bigint as subject
    union all select 'key:' || id from api_key where account_id = $1
    union all select 'lot:' || id from lot where account_id = $1
    union all select 'top_up:' || id from top_up where account_id = $1
    union all select 'reward:' || id from reward where account_id = $1
    union all select 'withdrawal:' || id from withdrawal where account_id = $1),
told as (
    (select a.at, 0 as origin, a.id as number, a.action as what, a.actor as by, a.subject, a.detail
     from mine cross join lateral (
         select * from audit where subject = mine.subject and at <= (select at from since)
           and (at, 0, id) < (select at, origin, number from since) and action <> 'login.sign_in'
         order by at desc, id desc limit $5) a
     order by a.at desc, a.id desc limit $5)
    union all
    (select created_at, 1, id, 'login.sign_in', 'account:' || account_id, 'account:' || account_id,
            jsonb_build_object('session', id, 'ip', ip, 'agent', agent, 'second_factor', second_factor_at is not null)
     from session
     where account_id = $1 and (created_at, 1, id) < (select at, origin, number from since)
     order by created_at desc, id desc limit $5)
    union all
    (select at, 2, lot_id, 'lot.expire', 'worker', 'lot:' || lot_id, jsonb_build_object('amount', amount)
     from entry
     where account_id = $1 and kind = 'expired' and kind not in ('charged', 'overrun', 'debt')
       and (at, 2, lot_id) < (select at, origin, number from since)
     order by at desc, lot_id desc limit $5)
    union all
    (select granted_at, 3, id, 'reward.' || kind, 'partner plan', 'reward:' || id,
            jsonb_build_object('amount', amount, 'top_up', top_up_id, 'lot', lot_id)
     from reward
     where account_id = $1 and (granted_at, 3, id) < (select at, origin, number from since)
     order by granted_at desc, id desc limit $5)
    union all
    (select began_at, 4, id, 'ip.ban', 'abuse control', 'ip:' || ip,
            jsonb_build_object('ban', id, 'why', why, 'until', until)
     from ban
     where account_id = $1 and (began_at, 4, id) < (select at, origin, number from since)
     order by began_at desc, id desc limit $5))
select at, origin, number, what, by, subject, detail::text as detail,
       case when what in ('account.credit', 'dispute.credit', 'faucet.grant', 'reward.gift_given',
                          'reward.gift_received')
                then (detail ->> 'amount')::bigint
            when what = 'code.redeem' then (select quota from top_up where id = (detail ->> 'top_up')::bigint)
            when what = 'lot.expire' then -(detail ->> 'amount')::bigint
            when what = 'lot.revoke' then -(detail ->> 'revoked')::bigint
            when what = 'top_up.revoke' then -(detail ->> 'taken_back')::bigint
       end as amount
from told order by at desc, origin desc, number desc limit $5
"""


class SqlTimelines:
    """The `Timelines` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, account_id: int, *, before: TimelinePlace | None, limit: int) -> Sequence[AccountEvent]:
        place = (None, None, None) if before is None else (before.at, before.origin, before.number)
        rows = await self._database.rows(PAGE, account_id, *place, limit)
        if not rows and await self._database.row("select from account where id = $1", account_id) is None:
            raise NotOnFile(f"There is no account {account_id}.")
        return [_event(row) for row in rows]


def _event(row: asyncpg.Record) -> AccountEvent:
    return AccountEvent(
        place=TimelinePlace(row["at"], row["origin"], row["number"]),
        what=row["what"],
        by=row["by"],
        subject=row["subject"],
        amount=row["amount"],
        detail=msgspec.json.decode(row["detail"]),
    )
