"""API keys in PostgreSQL, and the snapshots of them that a node keeps in memory.

Rules of this file
1. A snapshot is filed under the full digest of the key, never under a part of it.
2. A snapshot is used only while the change feed is fresh; otherwise the database is asked.
3. What was read before a change came in is not filed after it.
"""

from collections import OrderedDict
from collections.abc import Sequence

import asyncpg

from tollkeeper.core.keys import KeyRecord, Peppers, has_key_form
from tollkeeper.ports import NewKey, NotOnFile
from tollkeeper.storage.ask_once import AskOnce
from tollkeeper.storage.audit import audit
from tollkeeper.storage.changes import FORGET_ALL, Change, Changes, Nudges
from tollkeeper.storage.database import Database

FIND = """
select k.id, k.account_id, a.group_name, k.only_models, k.expires_at, k.revoked_at is not null as revoked,
       a.disabled_at is not null as account_disabled, a.restricted_until
from api_key k join account a on a.id = k.account_id
where k.digest = any($1)
"""

CREATE = """
insert into api_key (account_id, name, pepper_version, digest, hint, quota, only_models, expires_at)
values ($1, $2, $3, $4, $5, $6, $7, $8) returning id
"""

UNKNOWN_MODEL = "select named from unnest($1::text[]) named where not exists (select from model where id = named)"

REVOKE = """
update api_key set revoked_at = ledger_now() where id = $1 and revoked_at is null returning id
"""


class SqlKeys:
    """The `Keys` port: looks a key up, in memory where that is safe."""

    def __init__(self, database: Database, changes: Changes, peppers: Peppers, *, snapshots_most: int) -> None:
        self._database = database
        self._changes = changes
        self._peppers = peppers
        self._snapshots_most = snapshots_most
        self._snapshots: OrderedDict[bytes, KeyRecord] = OrderedDict()
        self._by_key: dict[int, bytes] = {}
        self._by_account: dict[int, set[bytes]] = {}
        self._changes_heard = 0
        self._lookups: AskOnce[KeyRecord | None] = AskOnce()
        changes.tell(self._hear)

    async def find(self, key: str) -> KeyRecord | None:
        if not has_key_form(key):
            return None
        digests = self._peppers.digests(key)
        if self._changes.fresh:
            known = self._snapshots.get(digests[0])
            if known is not None:
                self._snapshots.move_to_end(digests[0])
                return known
        return await self._lookups.ask(digests[0], lambda: self._ask(digests))

    async def _ask(self, digests: Sequence[bytes]) -> KeyRecord | None:
        heard_before = self._changes_heard
        row = await self._database.row(FIND, list(digests))
        if row is None:
            return None
        record = _record(row)
        if heard_before == self._changes_heard:
            self._file(digests[0], record)
        return record

    def _file(self, digest: bytes, record: KeyRecord) -> None:
        self._snapshots[digest] = record
        self._by_key[record.key_id] = digest
        self._by_account.setdefault(record.account_id, set()).add(digest)
        if len(self._snapshots) > self._snapshots_most:
            self._drop(next(iter(self._snapshots)))

    def _drop(self, digest: bytes) -> None:
        record = self._snapshots.pop(digest, None)
        if record is None:
            return
        self._by_key.pop(record.key_id, None)
        of_account = self._by_account.get(record.account_id, set())
        of_account.discard(digest)
        if not of_account:
            self._by_account.pop(record.account_id, None)

    def _hear(self, change: Change) -> None:
        self._changes_heard += 1
        self._lookups.forget_all()
        if change is FORGET_ALL:
            for filed in (self._snapshots, self._by_key, self._by_account):
                filed.clear()
        elif change.kind == "key" and change.subject in self._by_key:
            self._drop(self._by_key[change.subject])
        elif change.kind == "account":
            for digest in list(self._by_account.get(change.subject, ())):
                self._drop(digest)


class SqlKeyDesk:
    """The `KeyDesk` port: makes and revokes keys, on the record."""

    def __init__(self, database: Database, nudges: Nudges) -> None:
        self._database = database
        self._nudges = nudges

    async def create(self, key: NewKey, *, actor: str) -> int:
        async with self._database.transaction() as connection:
            try:
                key_id: int = await connection.fetchval(
                    CREATE,
                    key.account_id,
                    key.name,
                    key.pepper_version,
                    key.digest,
                    key.hint,
                    key.quota,
                    None if key.only_models is None else sorted(key.only_models),
                    key.expires_at,
                )
            except asyncpg.ForeignKeyViolationError:
                raise NotOnFile(f"There is no account {key.account_id}.") from None
            unknown = await connection.fetchval(UNKNOWN_MODEL, list(key.only_models or ()))
            if unknown is not None:
                raise NotOnFile(f"There is no model '{unknown}'.")
            detail = {"account": key.account_id, "name": key.name, "quota": key.quota}
            await audit(connection, actor, "key.create", f"key:{key_id}", detail)
        return key_id

    async def revoke(self, key_id: int, *, actor: str) -> bool:
        async with self._database.transaction() as connection:
            if not await connection.fetchval("select true from api_key where id = $1", key_id):
                raise NotOnFile(f"There is no key {key_id}.")
            revoked = await connection.fetchval(REVOKE, key_id) is not None
            if revoked:
                await audit(connection, actor, "key.revoke", f"key:{key_id}", {})
        await self._nudges.send()
        return revoked


def _record(row: asyncpg.Record) -> KeyRecord:
    return KeyRecord(
        key_id=row["id"],
        account_id=row["account_id"],
        group=row["group_name"],
        only_models=None if row["only_models"] is None else frozenset(row["only_models"]),
        expires_at=row["expires_at"],
        revoked=row["revoked"],
        account_disabled=row["account_disabled"],
        restricted_until=row["restricted_until"],
    )
