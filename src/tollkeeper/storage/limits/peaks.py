"""Time at peak in PostgreSQL: gateways add it up, and a job reviews it, restricts accounts and bans IPs."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import asyncpg
import msgspec

from tollkeeper.core.limits.abuse import AbuseVerdict, PeakMinute, PeakTime, Policy
from tollkeeper.ports import Ban
from tollkeeper.steady import RepeatedStep
from tollkeeper.storage.limits.bans import PEAK, ban
from tollkeeper.storage.postgres.database import Database

FLUSH_EVERY_SECONDS = 2.0
KEEP_DAYS = 8
FORGET_AT_ONCE = 5_000

NOTE = "select note_peak($1::bigint[], $2::text[], $3::integer[])"

# Accounts that are restricted now, or were not at peak for long enough in all, are left out.
AT_PEAK = """
select p.account_id, ledger_now() as now,
       json_agg(json_build_array(extract(epoch from p.minute)::bigint, p.ip, p.milliseconds))::text as minutes,
       (select max(least(until, lifted_at)) from restriction where account_id = p.account_id) as counts_from,
       (select max(began_at) from restriction where account_id = p.account_id and lifted_at is null) as restricted_at
from peak_minute p join account a on a.id = p.account_id
where p.minute >= ledger_now() - make_interval(secs => $1)
  and (a.restricted_until is null or a.restricted_until <= ledger_now())
group by p.account_id having sum(p.milliseconds) > $2
order by p.account_id
"""
RESTRICT = "select restrict_account($1, $2, $3, $4, $5)"
FORGET = """
with old as (
    delete from peak_minute where ctid in (
        select ctid from peak_minute where minute < ledger_now() - make_interval(days => $1) order by minute limit $2)
    returning 1
)
select count(*) from old
"""

decode_minutes = msgspec.json.Decoder(list[tuple[int, str, int]]).decode


class SqlPeaks:
    """Gathers time at peak in memory and writes it to the database every two seconds, at most once: time that is lost
    harms nobody, time that is counted twice harms the customer."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._microseconds: dict[tuple[int, str], int] = {}

    def note(self, account_id: int, ip: str, microseconds: int) -> None:
        """Returns at once. `ip` is empty where it is not known, or is one of our own proxies."""
        whose = (account_id, ip)
        self._microseconds[whose] = self._microseconds.get(whose, 0) + microseconds

    async def follow(self) -> None:
        """Write to the database again and again, until cancelled."""
        step = RepeatedStep("telling of time at peak")
        while True:
            await asyncio.sleep(FLUSH_EVERY_SECONDS)
            await step.run(self.flush)

    async def flush(self) -> None:
        gathered = [(whose, us) for whose, us in self._microseconds.items() if us >= 1_000]
        # Parts of a millisecond wait for the next time.
        self._microseconds = {whose: us % 1_000 for whose, us in self._microseconds.items() if us % 1_000}
        if gathered:
            accounts, ips = zip(*(whose for whose, _ in gathered), strict=True)
            milliseconds = [us // 1_000 for _, us in gathered]
            await self._database.row(NOTE, accounts, ips, milliseconds)


class SqlTraffic:
    """The `Traffic` port of the job that reviews it."""

    def __init__(self, database: Database, policy: Policy) -> None:
        self._database = database
        self._policy = policy

    async def accounts_at_peak(self) -> Sequence[tuple[PeakTime, datetime]]:
        policy = self._policy
        within_seconds, least_ms = float(policy.peak_within_seconds), policy.peak_seconds * 1_000
        rows = await self._database.rows(AT_PEAK, within_seconds, least_ms)
        return [(_peak_time(row), row["now"]) for row in rows]

    async def restrict(self, account_id: int, verdict: AbuseVerdict) -> bool:
        """Whether it was not restricted already."""
        policy = self._policy
        row = await self._database.row(
            RESTRICT,
            account_id,
            policy.restricted_seconds,
            verdict.peak_seconds,
            policy.peak_within_seconds,
            verdict.ip,
        )
        return row[0] is not None

    async def ban(self, account_id: int, verdict: AbuseVerdict) -> Ban | None:
        counted = {"peak_seconds": verdict.peak_seconds, "within_seconds": self._policy.peak_within_seconds}
        return await ban(self._database, self._policy, verdict.ip, PEAK, counted, account_id)

    async def forget_old_minutes(self) -> int:
        """How many were deleted; never very many at once."""
        row = await self._database.row(FORGET, KEEP_DAYS, FORGET_AT_ONCE)
        deleted: int = row[0]
        return deleted


def _peak_time(row: asyncpg.Record) -> PeakTime:
    return PeakTime(
        account_id=row["account_id"],
        minutes=[
            PeakMinute(datetime.fromtimestamp(epoch_seconds, UTC), ip, milliseconds)
            for epoch_seconds, ip, milliseconds in decode_minutes(row["minutes"])
        ],
        counts_from=row["counts_from"],
        restricted_at=row["restricted_at"],
    )
