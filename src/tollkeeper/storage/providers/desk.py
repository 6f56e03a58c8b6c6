"""The desk for provider accounts in PostgreSQL: adds them, pauses them, and tells how each is doing."""

from collections.abc import Sequence
from datetime import timedelta

import asyncpg
import msgspec

from tollkeeper.core.money.amounts import Quota
from tollkeeper.ports import (
    AlreadyOnFile,
    NewProviderAccount,
    NotOnFile,
    ProviderAccount,
    ProviderForm,
    ProviderStanding,
    ProviderState,
)
from tollkeeper.storage.envelope import EnvelopeKeys, seal
from tollkeeper.storage.postgres.audit import audit
from tollkeeper.storage.postgres.changes import ChangeNotifier
from tollkeeper.storage.postgres.database import Database
from tollkeeper.storage.providers.accounts import account_named, account_with_key, place_of

LATELY = timedelta(minutes=10)
A_DAY = timedelta(hours=24)
# A day's usage log may be long; the operator waits for the query.
READING_SECONDS = 60

ADD = """
insert into provider_account (name, vendor, base_url, key_envelope, tier, weight, requests_per_minute,
                              tokens_per_minute, concurrency, models, cost_multiplier, rejects, api_version,
                              passes)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::text::jsonb, $11, $12, $13, $14) returning id
"""

SET_FORM = """
update provider_account
set rejects = coalesce($2, rejects), api_version = coalesce($3, api_version), passes = coalesce($4, passes)
where name = $1 returning id
"""
SET_KEY = "update provider_account set key_envelope = $2 where name = $1 returning id"
SET_STATE = "update provider_account set state = $2 where name = $1"

# Every attempt of the day, once. A refusal of what the caller sent (400, 413, 422) is no failure of the account. What a
# call was charged belongs to the attempt that answered it, which is its last. Floors stand in selects of their own so
# that they are computed once, not for each row.
STANDING = """
with attempt as (
    select a.told ->> 'account' as name, u.request_id >= (select uuid_floor(ledger_now() - $1::interval)) as lately,
           a.place = jsonb_array_length(u.attempts) as is_last, u.charged, u.ending,
           (a.told ->> 'first_byte_ms')::numeric as first_byte_ms, (a.told ->> 'cost')::numeric as cost,
           a.told ->> 'outcome' not in
               ('completed', 'client_left', 'cut', 'time_limit', 'quota_ran_out', 'revoked', 'node_stopped',
                'owner_died')
               and coalesce(a.told ->> 'status', '') not in ('400', '413', '422') as failed
    from usage u, jsonb_array_elements(u.attempts) with ordinality a (told, place)
    where u.request_id >= (select uuid_floor(ledger_now() - $2::interval))
), told as (
    select name, count(*) filter (where lately) as attempts, count(*) filter (where lately and failed) as failed,
           round(avg(first_byte_ms) filter (where lately and not failed)) as first_byte_ms,
           count(*) filter (where is_last and ending <> 'refused') as delivered,
           sum(charged) filter (where is_last) as charged, sum(cost) as cost
    from attempt group by name
)
select p.name, p.vendor, p.base_url, p.tier, p.weight, p.requests_per_minute, p.tokens_per_minute, p.concurrency,
       p.state, p.suspended_at, p.suspended_because, p.rejects, p.passes,
       (select count(*) from jsonb_object_keys(p.models)) as models, p.models is null as every_model,
       coalesce(t.attempts, 0) as attempts, coalesce(t.failed, 0) as failed, t.first_byte_ms,
       coalesce(t.delivered, 0) as delivered, coalesce(t.charged, 0) as charged, coalesce(t.cost, 0) as cost
from provider_account p left join told t on t.name = p.name
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
            detail = {
                "vendor": account.vendor,
                "base_url": account.base_url,
                "place": account.place,
                "models": account.models,
                "cost": str(account.cost),
                "rejects": sorted(account.rejects),
                "passes": sorted(account.passes),
                "api_version": account.api_version,
            }
            await audit(connection, actor, "provider.add", f"provider_account:{account.name}", detail)
        await self._notifier.send()
        return account_id

    async def set_form(self, name: str, form: ProviderForm, *, actor: str) -> None:
        async with self._database.transaction() as connection:
            rejects, passes = _names(form.rejects), _names(form.passes)
            if await connection.fetchval(SET_FORM, name, rejects, form.api_version, passes) is None:
                raise NotOnFile(f"There is no provider account '{name}'.")
            detail = {"rejects": rejects, "api_version": form.api_version, "passes": passes}
            await audit(connection, actor, "provider.set_form", f"provider_account:{name}", detail)
        await self._notifier.send()

    async def set_key(self, name: str, secret: str, *, actor: str) -> None:
        sealed = seal(secret, self._envelope_keys, sealed_for=name)
        async with self._database.transaction() as connection:
            if await connection.fetchval(SET_KEY, name, sealed) is None:
                raise NotOnFile(f"There is no provider account '{name}'.")
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
            return [_standing(row) for row in await connection.fetch(STANDING, LATELY, A_DAY)]

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
        )


def _names(given: frozenset[str] | None) -> list[str] | None:
    return None if given is None else sorted(given)


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
