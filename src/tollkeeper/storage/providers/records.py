"""Provider accounts as they are on file: read without their keys, changed field by field, removed for good.

Rules of this file
1. A change puts every field that became different on the record, before and after; of a key only that it is another.
2. A removed account leaves its name behind: calls are on record under it, and another's must not be added to them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import asyncpg
import msgspec
from msgspec import UNSET

from tollkeeper.ports import NotOnFile, ProviderChange, ProviderRecord, ProviderState
from tollkeeper.ports.providers.desk import ChangedMeanwhile, StillActive
from tollkeeper.storage.envelope import EnvelopeKeys, seal
from tollkeeper.storage.postgres.audit import audit
from tollkeeper.storage.postgres.database import Database
from tollkeeper.storage.providers.accounts import decode_models, place_of

# What a change can make different, in the order of the parameters of CHANGE.
CHANGEABLE = (
    "base_url",
    "tier",
    "weight",
    "requests_per_minute",
    "tokens_per_minute",
    "concurrency",
    "models",
    "family",
    "cost_multiplier",
    "rejects",
    "passes",
    "api_version",
)
RECORD = """
select id, name, vendor, base_url, tier, weight, requests_per_minute, tokens_per_minute, concurrency, models, family,
       cost_multiplier, state, rejects, passes, api_version, created_at
from provider_account
"""
ALL = RECORD + "order by tier, name"
NAMED = RECORD + "where name = $1"
TO_CHANGE = NAMED + " for update"
CHANGE = """
update provider_account
set base_url = $2, tier = $3, weight = $4, requests_per_minute = $5, tokens_per_minute = $6, concurrency = $7,
    models = $8::text::jsonb, family = $9, cost_multiplier = $10, rejects = $11, passes = $12, api_version = $13
where name = $1
"""
SET_KEY = "update provider_account set key_envelope = $2 where name = $1"
KEEP_NAME = """
insert into former_provider_account (name, vendor, base_url, created_at)
select name, vendor, base_url, created_at from provider_account where name = $1
"""
REMOVE = "delete from provider_account where name = $1"

Columns = Mapping[str, Any]


async def all_records(database: Database) -> Sequence[ProviderRecord]:
    return [_record(row) for row in await database.rows(ALL)]


async def record_named(database: Database, name: str) -> ProviderRecord:
    """Raise NotOnFile."""
    return _record(_there(await database.row(NAMED, name), name))


async def change_account(
    connection: asyncpg.Connection, name: str, change: ProviderChange, envelope_keys: EnvelopeKeys, *, actor: str
) -> bool:
    """Whether anything is different now. Raise NotOnFile, ChangedMeanwhile."""
    row = await _to_change(connection, name, judged_address=change.judged_address)
    before = _columns(row)
    after = {column: _given(change, column, before[column]) for column in CHANGEABLE}
    changed = [column for column in CHANGEABLE if after[column] != before[column]]
    if not changed and change.secret is UNSET:
        return False
    models = None if after["models"] is None else msgspec.json.encode(after["models"]).decode()
    await connection.execute(CHANGE, name, *(after | {"models": models}).values())
    if change.secret is not UNSET:
        await connection.execute(SET_KEY, name, seal(change.secret, envelope_keys, sealed_for=name))
    detail = {
        "before": {column: _in_json(before[column]) for column in changed},
        "after": {column: _in_json(after[column]) for column in changed},
        "has_another_key": change.secret is not UNSET,
    }
    await audit(connection, actor, "provider.change", f"provider_account:{name}", detail)
    return True


async def change_key(connection: asyncpg.Connection, name: str, sealed: bytes, *, given_for: str) -> None:
    """Raise NotOnFile, ChangedMeanwhile."""
    await _to_change(connection, name, judged_address=given_for)
    await connection.execute(SET_KEY, name, sealed)


async def remove_account(connection: asyncpg.Connection, name: str, reason: str, *, actor: str) -> None:
    """Raise NotOnFile, StillActive."""
    row = _there(await connection.fetchrow(TO_CHANGE, name), name)
    if row["state"] == ProviderState.ACTIVE:
        raise StillActive(name)
    await connection.execute(KEEP_NAME, name)
    await connection.execute(REMOVE, name)
    detail = {"vendor": row["vendor"], "base_url": row["base_url"], "state": row["state"]}
    detail |= {"reason": reason} if reason else {}
    await audit(connection, actor, "provider.remove", f"provider_account:{name}", detail)


async def _to_change(connection: asyncpg.Connection, name: str, *, judged_address: str) -> asyncpg.Record:
    """The row, locked, if it still has the address by which a change was judged."""
    row = _there(await connection.fetchrow(TO_CHANGE, name), name)
    if row["base_url"] != judged_address:
        raise ChangedMeanwhile(name)
    return row


def _there(row: asyncpg.Record | None, name: str) -> asyncpg.Record:
    if row is None:
        raise NotOnFile(f"There is no provider account '{name}'.")
    return row


def _columns(row: asyncpg.Record) -> Columns:
    models = None if row["models"] is None else decode_models(row["models"])
    return {column: models if column == "models" else row[column] for column in CHANGEABLE}


def _given(change: ProviderChange, column: str, before: object) -> object:
    given = getattr(change, column)
    return before if given is UNSET else given


def _in_json(value: object) -> object:
    """Amounts as text: JSON would make them inexact."""
    return value if value is None or isinstance(value, int | str | list | dict) else str(value)


def _record(row: asyncpg.Record) -> ProviderRecord:
    return ProviderRecord(
        id=row["id"],
        name=row["name"],
        vendor=row["vendor"],
        base_url=row["base_url"],
        place=place_of(row),
        models=None if row["models"] is None else decode_models(row["models"]),
        family=row["family"],
        cost_multiplier=row["cost_multiplier"].normalize(),
        state=ProviderState(row["state"]),
        rejects=row["rejects"],
        passes=row["passes"],
        api_version=row["api_version"],
        created_at=row["created_at"],
    )
