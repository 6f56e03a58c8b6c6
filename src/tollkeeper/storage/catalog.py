"""The catalog in PostgreSQL, and the snapshot of it that a node keeps in memory."""

from collections.abc import Sequence

import asyncpg

from tollkeeper.core.catalog import Kind, Model
from tollkeeper.ports import AlreadyOnFile, NewModel, NewProviderAccount, NotOnFile
from tollkeeper.storage.ask_once import AskOnce
from tollkeeper.storage.audit import audit
from tollkeeper.storage.changes import FORGET_ALL, Change, Changes, Nudges
from tollkeeper.storage.database import Database
from tollkeeper.storage.envelope import EnvelopeKeys, seal

MODELS = """
select m.id, m.kind, m.introduced_at, m.only_groups, min(p.effective_from) as priced_from
from model m join price p on p.model_id = m.id
where m.retired_at is null
group by m.id order by m.id
"""

ADD_PRICE = """
insert into price (model_id, effective_from, model_multiplier, completion_multiplier, cached_multiplier)
values ($1, coalesce($2, ledger_now()), $3, $4, $5)
"""

ADD_PROVIDER_ACCOUNT = """
insert into provider_account (name, vendor, base_url, key_envelope) values ($1, $2, $3, $4) returning id
"""


class SqlCatalog:
    """The `Catalog` port: read whole, kept until a change or until the feed goes stale."""

    def __init__(self, database: Database, changes: Changes) -> None:
        self._database = database
        self._changes = changes
        self._snapshot: Sequence[Model] | None = None
        self._changes_heard = 0
        self._reads: AskOnce[Sequence[Model]] = AskOnce()
        changes.tell(self._hear)

    async def models(self) -> Sequence[Model]:
        if self._snapshot is not None and self._changes.fresh:
            return self._snapshot
        return await self._reads.ask("models", self._read)

    async def _read(self) -> Sequence[Model]:
        heard_before = self._changes_heard
        models = [_model(row) for row in await self._database.rows(MODELS)]
        if heard_before == self._changes_heard:
            self._snapshot = models
        return models

    def _hear(self, change: Change) -> None:
        if change is FORGET_ALL or change.kind == "catalog":
            self._changes_heard += 1
            self._reads.forget_all()
            self._snapshot = None


class SqlCatalogDesk:
    """The `CatalogDesk` port: enters models, prices and provider accounts, on the record."""

    def __init__(self, database: Database, nudges: Nudges, envelope_keys: EnvelopeKeys) -> None:
        self._database = database
        self._nudges = nudges
        self._envelope_keys = envelope_keys

    async def add_model(self, model: NewModel, *, actor: str) -> None:
        price = model.price
        groups = None if model.only_groups is None else sorted(model.only_groups)
        async with self._database.transaction() as connection:
            known = await connection.fetch("select name from account_group where name = any($1)", groups or [])
            missing = set(groups or []) - {row["name"] for row in known}
            if missing:
                raise NotOnFile(f"There is no group '{min(missing)}'.")
            try:
                await connection.execute(
                    "insert into model (id, kind, only_groups) values ($1, $2, $3)",
                    model.id,
                    model.kind.value,
                    groups,
                )
            except asyncpg.UniqueViolationError:
                raise AlreadyOnFile(f"The model '{model.id}' is in the catalog already.") from None
            await connection.execute(
                ADD_PRICE,
                model.id,
                price.effective_from,
                price.model,
                price.completion,
                price.cached,
            )
            detail = {"kind": model.kind, "model_multiplier": str(price.model)}
            await audit(connection, actor, "model.add", f"model:{model.id}", detail)
        await self._nudges.send()

    async def add_provider_account(self, account: NewProviderAccount, *, actor: str) -> int:
        sealed = seal(account.secret, self._envelope_keys, sealed_for=account.name)
        async with self._database.transaction() as connection:
            try:
                account_id: int = await connection.fetchval(
                    ADD_PROVIDER_ACCOUNT, account.name, account.vendor, account.base_url, sealed
                )
            except asyncpg.UniqueViolationError:
                raise AlreadyOnFile(f"A provider account '{account.name}' exists already.") from None
            detail = {"vendor": account.vendor, "base_url": account.base_url}
            await audit(connection, actor, "provider.add", f"provider_account:{account.name}", detail)
        await self._nudges.send()
        return account_id


def _model(row: asyncpg.Record) -> Model:
    return Model(
        id=row["id"],
        kind=Kind(row["kind"]),
        introduced_at=row["introduced_at"],
        only_groups=None if row["only_groups"] is None else frozenset(row["only_groups"]),
        priced_from=row["priced_from"],
    )
