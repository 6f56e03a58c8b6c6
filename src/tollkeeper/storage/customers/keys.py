"""API keys in PostgreSQL, and the snapshots of them that a node keeps in memory.

Rules of this file
1. A snapshot is filed under a full digest of the key, never under a part of it: one that is made quickly, under a
   secret that this process alone has and forgets. Under the pepper a key is digested only to ask the database.
2. A snapshot is used only while the change feed is fresh; otherwise the database is asked.
3. What was read before a change came in is not filed after it.
"""

import secrets
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b

import asyncpg

from tollkeeper.core.keys import KEY_CHARACTERS, KeyRecord, Peppers, has_key_form
from tollkeeper.storage.customers.redigest import OldDigest
from tollkeeper.storage.postgres.ask_once import AskOnce
from tollkeeper.storage.postgres.changes import FORGET_ALL, Change, Changes
from tollkeeper.storage.postgres.database import Database

FIND = """
select k.id, k.account_id, a.group_name, k.only_models, k.expires_at, k.revoked_at is not null as revoked,
       k.paused_at is not null as paused, a.disabled_at is not null as account_disabled, a.restricted_until,
       k.only_networks,
       exists (select from lot l
               where l.account_id = a.id and l.source not in ('faucet', 'gift', 'dispute')) as has_paid,
       case when k.digest <> all ($1) then k.former_until end as former_until,
       case when k.digest = any ($1) then k.digest else k.former_digest end as digest
from api_key k join account a on a.id = k.account_id
where k.digest = any ($1)
-- For a day it is said that the text has expired; then nobody knows it any more.
   or (k.former_digest = any ($1) and k.former_until > ledger_now() - interval '1 day')
"""


class SqlKeys:
    """The `Keys` port: looks a key up, in memory where that is safe."""

    def __init__(
        self,
        database: Database,
        changes: Changes,
        peppers: Peppers,
        *,
        snapshots_most: int,
        redigest: Callable[[OldDigest], None] = lambda _: None,
    ) -> None:
        """`redigest` is told of each key that was found under an older pepper than the one in use."""
        self._redigest = redigest
        self._database = database
        self._changes = changes
        self._peppers = peppers
        self._snapshots_most = snapshots_most
        self._secret = secrets.token_bytes(32)
        self._snapshots: OrderedDict[bytes, KeyRecord] = OrderedDict()
        self._by_key: dict[int, set[bytes]] = {}
        self._by_account: dict[int, set[bytes]] = {}
        self._changes_heard = 0
        self._lookups: AskOnce[KeyRecord | None] = AskOnce()
        changes.subscribe(self._on_change)

    async def find(self, key: str) -> KeyRecord | None:
        if len(key) != KEY_CHARACTERS or not key.isascii():
            return None
        digest = self._digest(key)
        known = self._recall(digest)
        if known is not None or not has_key_form(key):
            return known
        return await self._lookups.ask(digest, lambda: self._ask(key, digest))

    def remembered(self, key: str) -> KeyRecord | None:
        return self._recall(self._digest(key)) if has_key_form(key) else None

    def _digest(self, key: str) -> bytes:
        return blake2b(key.encode(), digest_size=32, key=self._secret).digest()

    def _recall(self, digest: bytes) -> KeyRecord | None:
        known = self._snapshots.get(digest) if self._changes.fresh else None
        if known is not None:
            self._snapshots.move_to_end(digest)
        return known

    async def _ask(self, key: str, digest: bytes) -> KeyRecord | None:
        heard_before = self._changes_heard
        row = await self._database.row(FIND, self._peppers.digests(key))
        if row is None:
            return None
        self._note_old_digest(key, row)
        record = _record(row)
        if heard_before == self._changes_heard:
            self._file(digest, record)
        return record

    def _note_old_digest(self, key: str, row: asyncpg.Record) -> None:
        version = self._peppers.in_use
        if any(row["digest"] == self._peppers.digest(key, older) for older in self._peppers.older_than(version)):
            self._redigest(OldDigest(row["id"], row["digest"], self._peppers.digest(key, version)))

    def _file(self, digest: bytes, record: KeyRecord) -> None:
        self._snapshots[digest] = record
        self._by_key.setdefault(record.key_id, set()).add(digest)
        self._by_account.setdefault(record.account_id, set()).add(digest)
        if len(self._snapshots) > self._snapshots_most:
            self._drop(next(iter(self._snapshots)))

    def _drop(self, digest: bytes) -> None:
        record = self._snapshots.pop(digest, None)
        if record is None:
            return
        for filed, number in ((self._by_key, record.key_id), (self._by_account, record.account_id)):
            digests = filed.get(number, set())
            digests.discard(digest)
            if not digests:
                filed.pop(number, None)

    def _on_change(self, change: Change) -> None:
        self._changes_heard += 1
        self._lookups.forget_all()
        if change is FORGET_ALL:
            self._snapshots.clear()
            self._by_key.clear()
            self._by_account.clear()
            return
        filed = {"key": self._by_key, "account": self._by_account}.get(change.kind, {})
        for digest in list(filed.get(change.subject, ())):
            self._drop(digest)


def _record(row: asyncpg.Record) -> KeyRecord:
    return KeyRecord(
        key_id=row["id"],
        account_id=row["account_id"],
        group=row["group_name"],
        only_models=None if row["only_models"] is None else frozenset(row["only_models"]),
        # The text from before a rotation ends like a key that expires.
        expires_at=min(filter(None, (row["expires_at"], row["former_until"])), default=None),
        revoked=row["revoked"],
        account_disabled=row["account_disabled"],
        restricted_until=row["restricted_until"],
        only_networks=None if row["only_networks"] is None else tuple(row["only_networks"]),
        has_paid=row["has_paid"],
        paused=row["paused"],
    )
