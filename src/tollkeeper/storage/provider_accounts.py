"""Provider accounts in PostgreSQL, and the snapshot of them that a node keeps in memory, keys unsealed."""

import logging
from collections.abc import Sequence

import asyncpg

from tollkeeper.ports import ProviderAccount
from tollkeeper.settings import Secret
from tollkeeper.storage.changes import Changes
from tollkeeper.storage.database import Database
from tollkeeper.storage.envelope import CannotOpen, EnvelopeKeys, unseal
from tollkeeper.storage.snapshot import Snapshot

ALL = "select id, name, vendor, base_url, key_envelope from provider_account order by id"

log = logging.getLogger(__name__)


class SqlProviderAccounts:
    """The `ProviderAccounts` port."""

    def __init__(self, database: Database, changes: Changes, envelope_keys: EnvelopeKeys) -> None:
        self._database = database
        self._envelope_keys = envelope_keys
        # A provider account of a moment ago still works, and no call should fail for the sake of news about it.
        self._snapshot = Snapshot(changes, "pool", self._read, even_stale=True)

    async def all(self) -> Sequence[ProviderAccount]:
        return await self._snapshot.get()

    async def _read(self) -> Sequence[ProviderAccount]:
        accounts = map(self._account, await self._database.rows(ALL))
        return [account for account in accounts if account is not None]

    def _account(self, row: asyncpg.Record) -> ProviderAccount | None:
        try:
            secret = unseal(row["key_envelope"], self._envelope_keys, sealed_for=row["name"])
        except CannotOpen as problem:
            log.error("provider account %s is left out: %s", row["name"], problem)
            return None
        return ProviderAccount(
            id=row["id"],
            name=row["name"],
            vendor=row["vendor"],
            base_url=row["base_url"],
            secret=Secret(secret),
        )
