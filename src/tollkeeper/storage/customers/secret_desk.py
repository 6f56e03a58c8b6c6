"""The service's own secrets in PostgreSQL: what stands under each version of them; retiring peppers; sealing anew.

Rules of this file
1. A key counts while it can be used, or could be again: not one that was revoked, or has expired.
2. What is sealed anew is changed only where it still is what was opened: of two at once, one wins.
3. An envelope's own data key is made anew, too, so nothing is left that the old master key opens.
"""

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import asyncpg
import msgspec

from tollkeeper.ports.secrets import KnowingNode, PepperUse, Resealed, StillNeeded
from tollkeeper.storage.envelope import CannotOpen, EnvelopeKeys, seal, unseal, version_of
from tollkeeper.storage.people.second_factors import sealed_name
from tollkeeper.storage.postgres.audit import audit
from tollkeeper.storage.postgres.changes import ChangeNotifier
from tollkeeper.storage.postgres.database import Database

READING_SECONDS = 600
AT_ONCE = 500

# What was noted before versions were counts for every version: it may need any of them.
USES = """
with usable as (
    select pepper_version, former_pepper_version, former_until from api_key
    where revoked_at is null and (expires_at is null or expires_at > ledger_now()))
select version, sum(keys)::bigint as keys, sum(codes)::bigint as codes from (
    select pepper_version as version, count(*) as keys, 0 as codes from usable group by 1
    union all select coalesce(former_pepper_version, 0), count(*), 0 from usable
        where former_until > ledger_now() group by 1
    union all select coalesce(pepper_version, 0), 0, count(*) from recovery_code where used_at is null group by 1
) found group by version
"""
NODES = "select name, secrets from node where heartbeat_at > now() - interval '20 s' order by name"
RETIRED = "select version from pepper_retired"
RETIRE = "insert into pepper_retired (version) values ($1) on conflict do nothing returning version"


class SealedKind(msgspec.Struct, frozen=True):
    """One table with sealed secrets: its rows from an id on, and how one is changed."""

    rows: str
    change: str


SEALED = (
    SealedKind(
        "select id, name, key_envelope as sealed from provider_account where id > $1 order by id limit $2",
        "update provider_account set key_envelope = $3 where id = $1 and key_envelope = $2 returning true",
    ),
    SealedKind(
        "select account_id as id, null as name, totp_sealed as sealed from login "
        "where account_id > $1 and totp_sealed is not null order by account_id limit $2",
        "update login set totp_sealed = $3 where account_id = $1 and totp_sealed = $2 returning true",
    ),
    SealedKind(
        "select id, 'webhook:' || id as name, secret_sealed as sealed from webhook where id > $1 order by id limit $2",
        "update webhook set secret_sealed = $3 where id = $1 and secret_sealed = $2 returning true",
    ),
    SealedKind(
        "select id, 'webhook:' || id as name, former_sealed as sealed from webhook "
        "where id > $1 and former_sealed is not null order by id limit $2",
        "update webhook set former_sealed = $3 where id = $1 and former_sealed = $2 returning true",
    ),
)


class SqlSecretDesk:
    """The `SecretDesk` port."""

    def __init__(self, database: Database, notifier: ChangeNotifier, envelope_keys: EnvelopeKeys) -> None:
        self._database = database
        self._notifier = notifier
        self._keys = envelope_keys

    async def pepper_uses(self) -> Mapping[int, PepperUse]:
        return await pepper_uses(self._database)

    async def envelope_uses(self) -> Mapping[int, int]:
        found: Counter[int] = Counter()
        for kind in SEALED:
            async for row in self._sealed(kind):
                found[version_of(row["sealed"])] += 1
        return found

    async def nodes(self) -> Sequence[KnowingNode]:
        return [KnowingNode(row["name"], row["secrets"]) for row in await self._database.rows(NODES)]

    async def retire_pepper(self, version: int, *, leaving: int, actor: str) -> None:
        async with _long_reading(self._database) as connection:
            uses = await _uses(connection)
            left = [uses[each] for each in (version, 0) if each in uses]
            keys, codes = sum(use.keys for use in left), sum(use.recovery_codes for use in left)
            if keys + codes != leaving:
                raise StillNeeded(_still_needed(version, keys, codes))
            if await connection.fetchval(RETIRE, version) is not None:
                detail = {"keys": keys, "recovery_codes": codes}
                await audit(connection, actor, "pepper.retire", f"pepper:{version}", detail)

    async def reseal(self, *, actor: str) -> Resealed:
        sealed, lost = 0, list[str]()
        for kind in SEALED:
            async for row in self._sealed(kind):
                if version_of(row["sealed"]) == self._keys.in_use:
                    continue
                try:
                    sealed += await self._seal_anew(kind, row)
                except CannotOpen:
                    lost.append(_named(row))
        if sealed:
            async with self._database.transaction() as connection:
                await audit(connection, actor, "envelope.reseal", f"envelope:{self._keys.in_use}", {"sealed": sealed})
            await self._notifier.send()
        return Resealed(sealed, lost)

    async def _seal_anew(self, kind: SealedKind, row: asyncpg.Record) -> bool:
        secret = unseal(row["sealed"], self._keys, sealed_for=_named(row))
        anew = seal(secret, self._keys, sealed_for=_named(row))
        return await self._database.row(kind.change, row["id"], row["sealed"], anew) is not None

    async def _sealed(self, kind: SealedKind) -> AsyncIterator[asyncpg.Record]:
        """Every row, in pieces: no connection is kept from one to the next."""
        after = 0
        while rows := await self._database.rows(kind.rows, after, AT_ONCE):
            for row in rows:
                yield row
            after = rows[-1]["id"]


@asynccontextmanager
async def _long_reading(database: Database) -> AsyncIterator[asyncpg.Connection]:
    """A transaction that may read through all keys."""
    async with database.session(patience_seconds=READING_SECONDS) as connection, connection.transaction():
        await connection.execute(f"set local statement_timeout = '{READING_SECONDS}s'")
        yield connection


async def pepper_uses(database: Database) -> Mapping[int, PepperUse]:
    """As `SecretDesk.pepper_uses`."""
    async with _long_reading(database) as connection:
        return await _uses(connection)


async def retired_peppers(database: Database) -> frozenset[int]:
    return frozenset(row["version"] for row in await database.rows(RETIRED))


async def _uses(connection: asyncpg.Connection) -> dict[int, PepperUse]:
    return {row["version"]: PepperUse(row["keys"], row["codes"]) for row in await connection.fetch(USES)}


def _named(row: asyncpg.Record) -> str:
    """What its envelope is bound to."""
    name: str | None = row["name"]
    return sealed_name(row["id"]) if name is None else name


def _still_needed(version: int, keys: int, codes: int) -> str:
    return (
        f"Pepper {version} is still needed: {keys} keys and {codes} recovery codes stand under it, and would be "
        "unknown without it. Keys are digested anew when they are used; what is never used stays. Nothing was changed."
    )
