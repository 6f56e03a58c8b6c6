"""Provider accounts in PostgreSQL, and the snapshot of them that a node keeps in memory, keys unsealed."""

import asyncio
import logging
from collections.abc import Coroutine, Sequence

import asyncpg
import msgspec

from tollkeeper.core.money.prices import millionths
from tollkeeper.core.pool.choice import PoolPlace
from tollkeeper.ports import NotOnFile, ProviderAccount
from tollkeeper.settings import Secret
from tollkeeper.steady import RepeatedStep
from tollkeeper.storage.envelope import CannotOpen, EnvelopeKeys, unseal
from tollkeeper.storage.postgres.changes import ChangeNotifier, Changes
from tollkeeper.storage.postgres.database import Database
from tollkeeper.storage.postgres.snapshot import Snapshot

COLUMNS = """
select id, name, vendor, base_url, key_envelope, tier, weight, requests_per_minute, tokens_per_minute, concurrency,
       models, family, cost_multiplier, rejects, passes, api_version,
       state = 'active' and suspended_at is null as takes_calls
from provider_account
"""
ALL = COLUMNS + "order by id"
SUSPENDED = COLUMNS + "where suspended_at is not null order by id"
NAMED = COLUMNS + "where name = $1"

LOOK_EVERY_SECONDS = 1.0
NONE_OPENS = "none of {count} accounts can be opened: TOLLKEEPER_ENVELOPE_KEYS lacks the key that sealed them"
SOME_LEFT_OUT = (
    "{count} of {all} accounts cannot be opened and get no calls: {names}. Put the key back that sealed them "
    "(TOLLKEEPER_ENVELOPE_KEYS), or give them another: tollkeeper provider rotate-key NAME"
)
NAMED_MOST = 10

log = logging.getLogger(__name__)
decode_models = msgspec.json.Decoder(dict[str, str]).decode


class SqlProviderAccounts:
    """The `ProviderAccounts` port."""

    def __init__(self, database: Database, changes: Changes, envelope_keys: EnvelopeKeys) -> None:
        self._database = database
        self._envelope_keys = envelope_keys
        # A provider account of a moment ago still works, and no call should fail for the sake of news about it.
        self._snapshot = Snapshot(changes, "pool", self._read, even_stale=True)
        # Why this process can call no provider although there are accounts; None before they were read.
        self.trouble: str | None = None
        # Which accounts are out because their keys cannot be read, in words, while others serve.
        self.left_out = ""

    def all(self) -> Coroutine[None, None, Sequence[ProviderAccount]]:
        return self._snapshot.get()

    async def follow(self) -> None:
        """Have them in memory before a call needs them, and again soon after each change, until cancelled."""
        reading = RepeatedStep("reading of provider accounts")
        while True:
            await reading.run(self.all)
            await asyncio.sleep(LOOK_EVERY_SECONDS)

    async def _read(self) -> Sequence[ProviderAccount]:
        rows = await self._database.rows(ALL)
        opened, left_out = _opened_and_left_out(rows, self._envelope_keys)
        self.trouble = "" if opened or not rows else NONE_OPENS.format(count=len(rows))
        told = _left_out_in_words(left_out, len(rows))
        if told != self.left_out:
            log.error("%s", told or "the keys of all provider accounts can be opened")
        self.left_out = told
        return opened


class SqlSuspensions:
    """The `Suspensions` port."""

    def __init__(self, database: Database, notifier: ChangeNotifier) -> None:
        self._database = database
        self._notifier = notifier

    async def suspend(self, account_id: int, because: str) -> None:
        await self._database.row("select suspend_provider_account($1, $2)", account_id, because)
        await self._notifier.send()

    async def lift(self, account_id: int, *, actor: str) -> bool:
        row = await self._database.row("select lift_suspension($1, $2)", account_id, actor)
        if row[0] is None:
            return False
        await self._notifier.send()
        return True


async def suspended_accounts(database: Database, envelope_keys: EnvelopeKeys) -> Sequence[ProviderAccount]:
    opened, left_out = _opened_and_left_out(await database.rows(SUSPENDED), envelope_keys)
    if left_out:
        log.error("suspended accounts that cannot be opened are not tested: %s", ", ".join(left_out))
    return opened


async def account_named(database: Database, envelope_keys: EnvelopeKeys, name: str) -> ProviderAccount:
    """Raise NotOnFile where there is none, or its key cannot be opened."""
    row = await _row_named(database, name)
    try:
        return _opened(row, envelope_keys)
    except CannotOpen as problem:
        raise NotOnFile(f"The key of '{name}' cannot be had. {problem}") from None


async def account_with_key(database: Database, name: str, key: str) -> ProviderAccount:
    """As it would be with this key. Its own is not opened: that may be why it is to have another. Raise NotOnFile."""
    return _account(await _row_named(database, name), Secret(key))


async def _row_named(database: Database, name: str) -> asyncpg.Record:
    row = await database.row(NAMED, name)
    if row is None:
        raise NotOnFile(f"There is no provider account '{name}'.")
    return row


def _left_out_in_words(names: Sequence[str], of: int) -> str:
    if not names:
        return ""
    more = f" and {len(names) - NAMED_MOST} more" if len(names) > NAMED_MOST else ""
    return SOME_LEFT_OUT.format(count=len(names), all=of, names=", ".join(names[:NAMED_MOST]) + more)


def _opened_and_left_out(
    rows: Sequence[asyncpg.Record], envelope_keys: EnvelopeKeys
) -> tuple[Sequence[ProviderAccount], Sequence[str]]:
    """The accounts, and the names of those whose keys cannot be opened here."""
    accounts, left_out = [], []
    for row in rows:
        try:
            accounts.append(_opened(row, envelope_keys))
        except CannotOpen:
            left_out.append(row["name"])
    return accounts, left_out


def _opened(row: asyncpg.Record, envelope_keys: EnvelopeKeys) -> ProviderAccount:
    return _account(row, Secret(unseal(row["key_envelope"], envelope_keys, sealed_for=row["name"])))


def _account(row: asyncpg.Record, key: Secret) -> ProviderAccount:
    return ProviderAccount(
        id=row["id"],
        name=row["name"],
        vendor=row["vendor"],
        base_url=row["base_url"],
        secret=key,
        place=place_of(row),
        models=None if row["models"] is None else decode_models(row["models"]),
        family=row["family"],
        takes_calls=row["takes_calls"],
        cost=millionths(row["cost_multiplier"]),
        rejects=frozenset(row["rejects"]),
        passes=frozenset(row["passes"]),
        api_version=row["api_version"],
    )


def place_of(row: asyncpg.Record) -> PoolPlace:
    return PoolPlace(
        tier=row["tier"],
        weight=row["weight"],
        requests_per_minute=row["requests_per_minute"],
        tokens_per_minute=row["tokens_per_minute"],
        concurrency=row["concurrency"],
    )
