"""Keys in PostgreSQL, as their owners see and change them."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import asyncpg
import msgspec

from tollkeeper.core.money.amounts import Quota
from tollkeeper.ports import KeyChange, KeyOnFile, KeyText, NewKey, NotOnFile
from tollkeeper.ports.customers.desks import KEYS_MOST, ExpiryPassed, KeysFull, OldTextKept
from tollkeeper.storage.postgres.audit import audit
from tollkeeper.storage.postgres.changes import ChangeNotifier
from tollkeeper.storage.postgres.database import Database

REVOKED_LISTED_MOST = 500

CREATE = """
insert into api_key (account_id, name, pepper_version, digest, hint, quota, only_models, expires_at, only_networks,
                     daily_budget, monthly_budget)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) returning id
"""

UNKNOWN_MODEL = "select named from unnest($1::text[]) named where not exists (select from model where id = named)"

FORMER = """
select former_until, former_until > ledger_now() as kept from api_key
where id = $1 and account_id = $2 and revoked_at is null and not for_chat for update
"""

ON_FILE = """
select k.id as key_id, k.account_id, k.name, k.hint, k.created_at, k.rotated_at, k.former_until, k.expires_at,
       k.revoked_at, k.paused_at, k.quota, b.used, b.held, k.only_models, k.only_networks, k.daily_budget,
       k.monthly_budget, k.for_chat,
       case when b.day >= today then b.day_total else 0 end as counted_today,
       case when date_trunc('month', b.day) >= date_trunc('month', today) then b.month_total else 0 end
           as counted_this_month
from api_key k join key_books b on b.key_id = k.id,
     lateral (select (ledger_now() at time zone 'UTC')::date as today) clock
"""

# Those in use first: whatever is left out was revoked long ago.
OF_ACCOUNT = f"""{ON_FILE}
where k.account_id = $1 and ($3 or not k.for_chat) order by k.revoked_at is not null, k.id desc limit $2
"""
IN_USE = "select count(*) from api_key where account_id = $1 and revoked_at is null and not for_chat"

MINE = """
select true from api_key where id = $1 and account_id = $2 and revoked_at is null and not for_chat for update
"""
REVOKE = """
update api_key set revoked_at = ledger_now() where id = $1 and account_id = $2 and revoked_at is null returning id
"""


PAUSE = "update api_key set paused_at = ledger_now() where id = $1 and paused_at is null returning id"
RESUME = "update api_key set paused_at = null where id = $1 and paused_at is not null returning id"


class SqlKeyDesk:
    """The `KeyDesk` port: makes, changes, pauses and revokes keys, on the record."""

    def __init__(self, database: Database, notifier: ChangeNotifier) -> None:
        self._database = database
        self._notifier = notifier

    async def create(self, key: NewKey, *, actor: str, reason: str = "") -> int:
        async with self._database.transaction() as connection:
            if await connection.fetchval(IN_USE, key.account_id) >= KEYS_MOST:
                raise KeysFull
            key_id = await file_key(connection, key)
            await audit(connection, actor, "key.create", f"key:{key_id}", _given(key) | _why(reason))
        return key_id

    async def owner_of(self, key_id: int) -> int:
        row = await self._database.row("select account_id from api_key where id = $1", key_id)
        if row is None:
            raise NotOnFile(f"There is no key {key_id}.")
        account_id: int = row["account_id"]
        return account_id

    async def of_account(self, account_id: int, *, chat_too: bool = False) -> Sequence[KeyOnFile]:
        rows = await self._database.rows(OF_ACCOUNT, account_id, KEYS_MOST + REVOKED_LISTED_MOST, chat_too)
        return [_on_file(row) for row in sorted(rows, key=lambda row: row["key_id"], reverse=True)]

    async def change(self, key_id: int, change: KeyChange, *, account_id: int, actor: str) -> KeyOnFile:
        columns: dict[str, Any] = {
            name: value for name, value in msgspec.structs.asdict(change).items() if value is not msgspec.UNSET
        }
        async with self._database.transaction() as connection:
            mine = "where k.id = $1 and k.account_id = $2 and k.revoked_at is null and not k.for_chat for update of k"
            before = await connection.fetchrow(f"{ON_FILE} {mine}", key_id, account_id)
            if before is None:
                raise NotOnFile(f"There is no key {key_id}, or it was revoked.")
            await _check_models(connection, columns.get("only_models"))
            await _check_expiry(connection, columns.get("expires_at"))
            if columns:
                places = ", ".join(f"{name} = ${number}" for number, name in enumerate(columns, 2))
                change_it = f"update api_key set {places} where id = $1"  # noqa: S608 (names are fields of KeyChange)
                await connection.execute(change_it, key_id, *columns.values())
            after = await connection.fetchrow(f"{ON_FILE} where k.id = $1", key_id)
            news = {
                name: [_for_audit(before[name]), _for_audit(after[name])]
                for name in columns
                if before[name] != after[name]
            }
            if news:
                await audit(connection, actor, "key.change", f"key:{key_id}", news)
        await self._notifier.send()
        return _on_file(after)

    async def rotate(
        self, key_id: int, text: KeyText, keep_seconds: int, *, account_id: int, actor: str, reason: str = ""
    ) -> None:
        async with self._database.transaction() as connection:
            former = await connection.fetchrow(FORMER, key_id, account_id)
            if former is None:
                raise NotOnFile(f"There is no key {key_id}, or it was revoked.")
            if former["kept"] and keep_seconds > 0:
                raise OldTextKept(former["former_until"])
            values = (account_id, key_id, text.pepper_version, text.digest, text.hint, keep_seconds)
            await connection.execute("select rotate_key($1, $2, $3, $4, $5, $6)", *values)
            detail = {"kept_seconds": keep_seconds} | _why(reason)
            await audit(connection, actor, "key.rotate", f"key:{key_id}", detail)
        await self._notifier.send()

    async def pause(self, key_id: int, *, account_id: int, actor: str) -> bool:
        return await self._turn(key_id, PAUSE, "key.pause", account_id=account_id, actor=actor)

    async def resume(self, key_id: int, *, account_id: int, actor: str) -> bool:
        return await self._turn(key_id, RESUME, "key.resume", account_id=account_id, actor=actor)

    async def _turn(self, key_id: int, statement: str, action: str, *, account_id: int, actor: str) -> bool:
        """Pause or resume, on the record. Whether that was news."""
        async with self._database.transaction() as connection:
            if not await connection.fetchval(MINE, key_id, account_id):
                raise NotOnFile(f"There is no key {key_id}, or it was revoked.")
            turned = await connection.fetchval(statement, key_id) is not None
            if turned:
                await audit(connection, actor, action, f"key:{key_id}", {})
        await self._notifier.send()
        return turned

    async def revoke(self, key_id: int, *, account_id: int, actor: str) -> bool:
        async with self._database.transaction() as connection:
            known = "select true from api_key where id = $1 and account_id = $2"
            if not await connection.fetchval(known, key_id, account_id):
                raise NotOnFile(f"There is no key {key_id}.")
            revoked = await connection.fetchval(REVOKE, key_id, account_id) is not None
            if revoked:
                await audit(connection, actor, "key.revoke", f"key:{key_id}", {})
        await self._notifier.send()
        return revoked


async def file_key(connection: asyncpg.Connection, key: NewKey) -> int:
    """Within a transaction of the caller's."""
    models = None if key.only_models is None else sorted(key.only_models)
    await _check_models(connection, models)
    await _check_expiry(connection, key.expires_at)
    try:
        key_id: int = await connection.fetchval(
            CREATE,
            key.account_id,
            key.name,
            key.text.pepper_version,
            key.text.digest,
            key.text.hint,
            key.quota,
            models,
            key.expires_at,
            key.only_networks,
            key.daily_budget,
            key.monthly_budget,
        )
    except asyncpg.ForeignKeyViolationError:
        raise NotOnFile(f"There is no account {key.account_id}.") from None
    return key_id


async def _check_models(connection: asyncpg.Connection, models: Sequence[str] | None) -> None:
    unknown = await connection.fetchval(UNKNOWN_MODEL, list(models or ()))
    if unknown is not None:
        raise NotOnFile(f"There is no model '{unknown}'.")


async def _check_expiry(connection: asyncpg.Connection, expires_at: datetime | None) -> None:
    if await connection.fetchval("select $1::timestamptz <= ledger_now()", expires_at):
        raise ExpiryPassed


def _on_file(row: asyncpg.Record) -> KeyOnFile:
    amounts = {name: Quota(int(row[name])) for name in ("used", "held", "counted_today", "counted_this_month")}
    return KeyOnFile(**dict(row) | amounts)


def _given(key: NewKey) -> dict[str, object]:
    """All that a new key was given, but its text."""
    given = msgspec.structs.asdict(key)
    del given["text"]
    return {name: _for_audit(value) for name, value in given.items() if value is not None} | {"hint": key.text.hint}


def _why(reason: str) -> dict[str, object]:
    return {"reason": reason} if reason else {}


def _for_audit(value: object) -> object:
    """As the audit trail can write it."""
    if isinstance(value, Collection) and not isinstance(value, str):
        return sorted(str(item) for item in value)
    return value if value is None or isinstance(value, int) else str(value)
