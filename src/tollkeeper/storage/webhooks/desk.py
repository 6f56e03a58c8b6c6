"""Webhooks in PostgreSQL, as staff keep them.

Rules of this file
1. A secret is sealed for the webhook that it belongs to, and never read here.
2. Everything that staff do is on record, without the secret and without what stands after an address's question mark.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import asyncpg

from tollkeeper.core.webhooks import WEBHOOKS_MOST, BadWebhook, shown_url
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.webhooks import DeliveryRecord, WebhookChange, WebhookRecord
from tollkeeper.storage.envelope import EnvelopeKeys, seal
from tollkeeper.storage.postgres.audit import audit
from tollkeeper.storage.postgres.database import Database

BY_STAFF = "staff switched it off"
# Beyond so many it is enough to know that there are many.
WAITING_COUNTED = 1_000
COLUMNS = f"""
select id, url, note, kinds, created_at, created_by, failing_since, disabled_at, disabled_because,
       case when former_until > ledger_now() then former_until end as former_until,
       (select count(*) from (
            select from webhook_delivery d where d.webhook_id = w.id and delivered_at is null and given_up_at is null
            limit {WAITING_COUNTED}) waits)::int as waiting
from webhook w
"""  # noqa: S608 (a constant)
LISTED = f"{COLUMNS} order by id"
FIND = f"{COLUMNS} where id = $1"
ADD = "insert into webhook (url, note, kinds, secret_sealed, created_by) values ($1, $2, $3, '', $4) returning id"
SEAL = "update webhook set secret_sealed = $2 where id = $1"
CHANGE = """
update webhook set url = coalesce($2, url), note = coalesce($3, note), kinds = coalesce($4, kinds),
    disabled_at = case when $5 then null when not $5 then coalesce(disabled_at, ledger_now()) else disabled_at end,
    disabled_because = case when $5 then null when not $5 then coalesce(disabled_because, $6) else disabled_because end,
    failing_since = case when $5 then null else failing_since end
where id = $1 returning id
"""
ROTATE = """
update webhook set former_sealed = secret_sealed, former_until = ledger_now() + $3, secret_sealed = $2
where id = $1 returning id
"""
REMOVE = "delete from webhook where id = $1 returning url"
DELIVERIES = """
select d.id, d.event_id::text as event_id, e.kind, e.at, d.attempts, d.last_try_at, d.last_status, d.last_error,
       case when d.delivered_at is null and d.given_up_at is null then d.next_try_at end as next_try_at,
       d.delivered_at, d.given_up_at
from webhook_delivery d join webhook_event e on e.id = d.event_id
where d.webhook_id = $1 and d.id < coalesce($2, 9223372036854775807) order by d.id desc limit $3
"""
AGAIN = """
update webhook_delivery set next_try_at = ledger_now(), attempts = 0, delivered_at = null, given_up_at = null
where id = $1
"""
WHOSE = """
select w.id, w.disabled_at is not null as is_off
from webhook_delivery d join webhook w on w.id = d.webhook_id where d.id = $1
"""


def sealed_for(webhook: int) -> str:
    """What its envelopes are bound to."""
    return f"webhook:{webhook}"


class SqlWebhookDesk:
    """The `WebhookDesk` port."""

    def __init__(self, database: Database, keys: EnvelopeKeys) -> None:
        self._database = database
        self._keys = keys

    async def listed(self) -> Sequence[WebhookRecord]:
        return [WebhookRecord(**dict(row)) for row in await self._database.rows(LISTED)]

    async def find(self, webhook: int) -> WebhookRecord:
        return _found(await self._database.row(FIND, webhook), webhook)

    async def add(self, url: str, kinds: Sequence[str], note: str, secret: str, *, actor: str) -> WebhookRecord:
        async with self._database.transaction() as connection:
            await connection.execute("select pg_advisory_xact_lock(hashtext('tollkeeper.webhooks'))")
            if await connection.fetchval("select count(*) from webhook") >= WEBHOOKS_MOST:
                raise BadWebhook(f"There are {WEBHOOKS_MOST} webhooks, and no more can be. Remove one first.")
            webhook: int = await connection.fetchval(ADD, url, note, list(kinds), actor)
            await connection.execute(SEAL, webhook, seal(secret, self._keys, sealed_for=sealed_for(webhook)))
            detail = {"url": shown_url(url), "kinds": list(kinds)}
            await audit(connection, actor, "webhook.add", sealed_for(webhook), detail)
            return _found(await connection.fetchrow(FIND, webhook), webhook)

    async def change(self, webhook: int, change: WebhookChange, *, actor: str) -> WebhookRecord:
        kinds = None if change.kinds is None else list(change.kinds)
        async with self._database.transaction() as connection:
            values = (change.url, change.note, kinds, change.is_on, BY_STAFF)
            if await connection.fetchval(CHANGE, webhook, *values) is None:
                raise _unknown(webhook)
            url = None if change.url is None else shown_url(change.url)
            told = {"url": url, "note": change.note, "kinds": kinds, "is_on": change.is_on}
            detail = {name: value for name, value in told.items() if value is not None}
            await audit(connection, actor, "webhook.change", sealed_for(webhook), detail)
            return _found(await connection.fetchrow(FIND, webhook), webhook)

    async def remove(self, webhook: int, *, actor: str) -> None:
        async with self._database.transaction() as connection:
            url: str | None = await connection.fetchval(REMOVE, webhook)
            if url is None:
                raise _unknown(webhook)
            await audit(connection, actor, "webhook.remove", sealed_for(webhook), {"url": shown_url(url)})

    async def rotate(self, webhook: int, secret: str, lasts: timedelta, *, actor: str) -> WebhookRecord:
        envelope = seal(secret, self._keys, sealed_for=sealed_for(webhook))
        async with self._database.transaction() as connection:
            if await connection.fetchval(ROTATE, webhook, envelope, lasts) is None:
                raise _unknown(webhook)
            await audit(connection, actor, "webhook.rotate_secret", sealed_for(webhook), {})
            return _found(await connection.fetchrow(FIND, webhook), webhook)

    async def test(self, webhook: int, *, actor: str) -> int:
        await self.find(webhook)
        delivery: int | None = (await self._database.row("select send_test_event($1, $2)", webhook, actor))[0]
        if delivery is None:
            raise _switched_off(webhook)
        return delivery

    async def deliveries(self, webhook: int, *, before_id: int | None, limit: int) -> Sequence[DeliveryRecord]:
        await self.find(webhook)
        rows = await self._database.rows(DELIVERIES, webhook, before_id, limit)
        return [DeliveryRecord(**dict(row)) for row in rows]

    async def again(self, delivery: int, *, actor: str) -> None:
        async with self._database.transaction() as connection:
            whose = await connection.fetchrow(WHOSE, delivery)
            if whose is None:
                raise NotOnFile(f"There is no delivery {delivery}. Those that are older than 30 days are gone.")
            if whose["is_off"]:
                raise _switched_off(whose["id"])
            await connection.execute(AGAIN, delivery)
            await audit(connection, actor, "webhook.again", sealed_for(whose["id"]), {"delivery": delivery})


def _found(row: asyncpg.Record | Any, webhook: int) -> WebhookRecord:
    if row is None:
        raise _unknown(webhook)
    return WebhookRecord(**dict(row))


def _unknown(webhook: int) -> NotOnFile:
    return NotOnFile(f"There is no webhook {webhook}.")


def _switched_off(webhook: int) -> BadWebhook:
    return BadWebhook(f"Webhook {webhook} is switched off. Switch it on first. Nothing was done.")
