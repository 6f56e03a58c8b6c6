"""Deliveries of events in PostgreSQL: each is claimed by one worker at a time.

Rules of this file
1. A claim is a promise to try within two minutes. Of a worker that died, another makes the attempt: at least once.
2. Of every webhook a few are claimed at once, whatever waits for the others.
3. Events are forgotten after 30 days.
"""

from collections.abc import Sequence

import asyncpg
import msgspec

from tollkeeper.core.webhooks import PATIENCE
from tollkeeper.ports.webhooks import ClaimedDelivery, DeliveryOutcome
from tollkeeper.storage.envelope import CannotOpen, EnvelopeKeys, unseal
from tollkeeper.storage.postgres.database import Database
from tollkeeper.storage.webhooks.desk import sealed_for

AT_ONCE = 4
BUDGET_PERCENT = 80

CLAIM = """
with due as materialized (
    select d.id from webhook w cross join lateral (
        select id from webhook_delivery
        where webhook_id = w.id and delivered_at is null and given_up_at is null and next_try_at <= ledger_now()
        order by next_try_at limit $1 for update skip locked) d
    where w.disabled_at is null and w.id <> all ($2))
update webhook_delivery d set attempts = attempts + 1, next_try_at = ledger_now() + interval '2 minutes'
from due, webhook w, webhook_event e
where d.id = due.id and w.id = d.webhook_id and e.id = d.event_id
returning d.id, d.webhook_id, d.attempts as attempt, w.url, w.secret_sealed, e.id::text as event_id, e.kind, e.at,
    case when w.former_until > ledger_now() then w.former_sealed end as former_sealed, e.data::text as data,
    ledger_now() as now
"""
NOTE = "select note_delivery($1, $2, $3, $4, $5, $6, $7)"
# What waits for a webhook that is switched off is not kept for longer than what is tried.
GIVE_UP = """
update webhook_delivery set given_up_at = ledger_now()
where delivered_at is null and given_up_at is null
  and webhook_id in (select id from webhook where disabled_at < ledger_now() - interval '3 days')
"""
FORGET = """
with old as (select id from webhook_event where at < ledger_now() - interval '30 days' order by at limit 5000),
gone as (delete from webhook_event e using old where e.id = old.id returning 1)
select count(*)::int from gone
"""
STANDING = """
select (select count(*) from webhook
        where failing_since < ledger_now() - interval '15 minutes'
           or (disabled_at is not null and failing_since is not null))::int as failing,
       (select count(*) from webhook_delivery d join webhook w on w.id = d.webhook_id
        where d.delivered_at is null and d.given_up_at is null and w.disabled_at is null)::int as waiting
"""


class SqlDeliveries:
    """The `Deliveries` port."""

    def __init__(self, database: Database, keys: EnvelopeKeys) -> None:
        self._database = database
        self._keys = keys

    async def claim(self, passed_over: Sequence[int]) -> Sequence[ClaimedDelivery]:
        return [self._claimed(row) for row in await self._database.rows(CLAIM, AT_ONCE, list(passed_over))]

    async def note(self, claimed: ClaimedDelivery, outcome: DeliveryOutcome) -> bool:
        values = (outcome.status, outcome.error, outcome.wait, outcome.is_gone, PATIENCE)
        switched_off: bool = (await self._database.row(NOTE, claimed.id, claimed.attempt, *values))[0]
        return switched_off

    def _claimed(self, row: asyncpg.Record) -> ClaimedDelivery:
        fields = dict(row)
        sealed = [envelope for name in ("secret_sealed", "former_sealed") if (envelope := fields.pop(name))]
        name = sealed_for(row["webhook_id"])
        try:
            secrets = [unseal(envelope, self._keys, sealed_for=name) for envelope in sealed]
        except CannotOpen:
            # One that no listed key opens keeps nobody else's events back.
            secrets = []
        fields["data"] = msgspec.json.decode(row["data"])
        return ClaimedDelivery(**fields, secrets=secrets)


async def watch_key_budgets(database: Database) -> int:
    """Write the events of keys that are near their budget; how many."""
    told: int = (await database.row("select notice_key_budgets($1)", BUDGET_PERCENT))[0]
    return told


async def forget_old_events(database: Database) -> int:
    """How many events were forgotten, a piece of them."""
    await database.row(GIVE_UP)
    forgotten: int = (await database.row(FORGET))[0]
    return forgotten


async def webhooks_standing(database: Database) -> tuple[int, int]:
    """Webhooks whose receivers take nothing, and deliveries that wait."""
    row = await database.row(STANDING)
    return row["failing"], row["waiting"]
