"""The desk for provider accounts in PostgreSQL: adds them, pauses them, and tells how each is doing."""

from collections.abc import Sequence

import asyncpg
import msgspec

from tollkeeper.core.money.amounts import Quota
from tollkeeper.ports import (
    AlreadyOnFile,
    NewProviderAccount,
    NotOnFile,
    ProviderAccount,
    ProviderChange,
    ProviderRecord,
    ProviderStanding,
    ProviderState,
)
from tollkeeper.storage.envelope import EnvelopeKeys, seal
from tollkeeper.storage.postgres.audit import audit
from tollkeeper.storage.postgres.changes import ChangeNotifier
from tollkeeper.storage.postgres.database import Database
from tollkeeper.storage.providers.accounts import account_named, account_with_key, place_of
from tollkeeper.storage.providers.records import all_records, change_account, change_key, record_named, remove_account

# A day's usage log may be long; the operator waits for the query.
READING_SECONDS = 60

ADD = """
insert into provider_account (name, vendor, base_url, key_envelope, tier, weight, requests_per_minute,
                              tokens_per_minute, concurrency, models, cost_multiplier, rejects, api_version,
                              passes, family)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::text::jsonb, $11, $12, $13, $14, $15) returning id
"""
REMOVED_AT = "select removed_at from former_provider_account where name = $1"
SOLD_MODELS = "select id from model where retired_at is null order by id"
SET_STATE = "update provider_account set state = $2 where name = $1"

# What is added up by hours, and the attempts since: the last ten minutes are never added up yet. (While no worker runs,
# nothing is, and all of the day is counted here.) Floors stand in selects of their own so that they are computed once;
# what bounds the hours is written out, since of a select the planner does not know how few there are. (A day: 23 hours
# and the one that runs.)
STANDING = """
with fresh as materialized (
    select *, request_id >= (select uuid_floor(ledger_now() - interval '10 minutes')) as lately
    from provider_attempts(greatest((select id from provider_horizon), (select uuid_floor(
                               date_trunc('hour', ledger_now() - interval '23 hours', 'UTC')))),
                           'ffffffff-ffff-ffff-ffff-ffffffffffff')
), told as (
    select account, sum(attempts) as attempts, sum(failed) as failed, round(avg(first_byte_ms)) as first_byte_ms,
           sum(delivered) as delivered, sum(charged) as charged, sum(cost) as cost
    from (select account, 0 as attempts, 0 as failed, null::integer as first_byte_ms, delivered, charged, cost
          from provider_hour where hour >= date_trunc('hour', ledger_now() - interval '23 hours', 'UTC')
          union all
          select account, lately::integer, (lately and failed)::integer,
                 case when lately and not failed then first_byte_ms end, delivered::integer, charged, cost
          from fresh) figure
    group by account
)
select p.name, p.vendor, p.base_url, p.tier, p.weight, p.requests_per_minute, p.tokens_per_minute, p.concurrency,
       p.state, p.suspended_at, p.suspended_because, p.rejects, p.passes,
       (select count(*) from jsonb_object_keys(p.models)) as models, p.models is null as every_model,
       coalesce(t.attempts, 0) as attempts, coalesce(t.failed, 0) as failed, t.first_byte_ms,
       coalesce(t.delivered, 0) as delivered, coalesce(t.charged, 0) as charged, coalesce(t.cost, 0) as cost
from provider_account p left join told t on t.account = p.name
order by p.tier, p.name
"""


class SqlProviderDesk:
    """The `ProviderDesk` port."""

    def __init__(self, database: Database, notifier: ChangeNotifier, envelope_keys: EnvelopeKeys) -> None:
        self._database = database
        self._notifier = notifier
        self._envelope_keys = envelope_keys

    async def add(self, account: NewProviderAccount, *, actor: str) -> int:
        async with self._database.transaction() as connection:
            try:
                account_id: int = await connection.fetchval(ADD, *self._columns(account))
            except asyncpg.UniqueViolationError:
                raise AlreadyOnFile(f"A provider account '{account.name}' exists already.") from None
            # Looked up after the insert: whoever was just removing the account of this name is done by now.
            removed_at = await connection.fetchval(REMOVED_AT, account.name)
            if removed_at is not None:
                raise AlreadyOnFile(
                    f"'{account.name}' is the name of an account that was removed on {removed_at:%Y-%m-%d}; its calls "
                    "are on record under it. Choose another name. Nothing was added."
                )
            detail = {
                "vendor": account.vendor,
                "base_url": account.base_url,
                "place": account.place,
                "models": account.models,
                "family": account.family,
                "cost": str(account.cost),
                "rejects": sorted(account.rejects),
                "passes": sorted(account.passes),
                "api_version": account.api_version,
            }
            await audit(connection, actor, "provider.add", f"provider_account:{account.name}", detail)
        await self._notifier.send()
        return account_id

    async def change(self, name: str, change: ProviderChange, *, actor: str) -> bool:
        async with self._database.transaction() as connection:
            if not await change_account(connection, name, change, self._envelope_keys, actor=actor):
                return False
        await self._notifier.send()
        return True

    async def remove(self, name: str, reason: str, *, actor: str) -> None:
        async with self._database.transaction() as connection:
            await remove_account(connection, name, reason, actor=actor)
        await self._notifier.send()

    async def record(self, name: str) -> ProviderRecord:
        return await record_named(self._database, name)

    async def records(self) -> Sequence[ProviderRecord]:
        return await all_records(self._database)

    async def sold_models(self) -> Sequence[str]:
        return [row["id"] for row in await self._database.rows(SOLD_MODELS)]

    async def set_key(self, name: str, secret: str, *, given_for: str, actor: str) -> None:
        sealed = seal(secret, self._envelope_keys, sealed_for=name)
        async with self._database.transaction() as connection:
            await change_key(connection, name, sealed, given_for=given_for)
            await audit(connection, actor, "provider.rotate_key", f"provider_account:{name}", {})
        await self._notifier.send()

    async def set_state(self, name: str, state: ProviderState, *, actor: str) -> bool:
        async with self._database.transaction() as connection:
            before = await connection.fetchval("select state from provider_account where name = $1 for update", name)
            if before is None:
                raise NotOnFile(f"There is no provider account '{name}'.")
            if before == state:
                return False
            await connection.execute(SET_STATE, name, state.value)
            detail = {"state": state, "before": before}
            await audit(connection, actor, "provider.set_state", f"provider_account:{name}", detail)
        await self._notifier.send()
        return True

    async def find(self, name: str) -> ProviderAccount:
        return await account_named(self._database, self._envelope_keys, name)

    async def with_key(self, name: str, key: str) -> ProviderAccount:
        return await account_with_key(self._database, name, key)

    async def standing(self) -> Sequence[ProviderStanding]:
        async with (
            self._database.session(patience_seconds=READING_SECONDS) as connection,
            connection.transaction(readonly=True),
        ):
            await connection.execute(f"set local statement_timeout = '{READING_SECONDS}s'")
            return [_standing(row) for row in await connection.fetch(STANDING)]

    def _columns(self, account: NewProviderAccount) -> tuple[object, ...]:
        place = account.place
        return (
            account.name,
            account.vendor,
            account.base_url,
            seal(account.secret, self._envelope_keys, sealed_for=account.name),
            place.tier,
            place.weight,
            place.requests_per_minute,
            place.tokens_per_minute,
            place.concurrency,
            None if account.models is None else msgspec.json.encode(account.models).decode(),
            account.cost,
            sorted(account.rejects),
            account.api_version,
            sorted(account.passes),
            account.family,
        )


def _standing(row: asyncpg.Record) -> ProviderStanding:
    return ProviderStanding(
        name=row["name"],
        vendor=row["vendor"],
        base_url=row["base_url"],
        place=place_of(row),
        models=None if row["every_model"] else row["models"],
        state=ProviderState(row["state"]),
        suspended_at=row["suspended_at"],
        suspended_because=row["suspended_because"],
        rejects=frozenset(row["rejects"]),
        passes=frozenset(row["passes"]),
        attempts=row["attempts"],
        failed=row["failed"],
        first_byte_ms=None if row["first_byte_ms"] is None else int(row["first_byte_ms"]),
        delivered=row["delivered"],
        charged=Quota(int(row["charged"])),
        cost=Quota(int(row["cost"])),
    )
