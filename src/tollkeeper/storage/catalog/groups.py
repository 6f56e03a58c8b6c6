"""Groups in PostgreSQL: what their accounts may call in a minute and by how much prices are multiplied for them, and
which accounts are in them."""

from collections.abc import Callable, Sequence
from decimal import Decimal

import asyncpg
import msgspec

from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.limits.windows import Rates
from tollkeeper.core.one_line import one_line
from tollkeeper.ports import AlreadyOnFile, GroupRecord, GroupTerms, NotOnFile, StillInUse
from tollkeeper.storage.postgres.audit import audit
from tollkeeper.storage.postgres.changes import ChangeNotifier
from tollkeeper.storage.postgres.database import Database

GROUPS = """
select g.*, coalesce(a.accounts, 0) as accounts
from account_group g
left join (select group_name, count(*) as accounts from account group by group_name) a on a.group_name = g.name
order by g.name collate "C"
"""
ADD = """
insert into account_group (name, key_rate, standard_rate, peak_percent, kind_rates, model_rates, tokens_per_minute,
                           concurrency, multiplier)
values ($1, $2, $3, $4, $5::text::jsonb, $6::text::jsonb, $7, $8, $9)
"""
FIND = "select * from account_group where name = $1 for no key update"
CHANGE = """
update account_group set key_rate = $2, standard_rate = $3, peak_percent = $4, kind_rates = $5::text::jsonb,
                         model_rates = $6::text::jsonb, tokens_per_minute = $7, concurrency = $8, multiplier = $9
where name = $1
"""
LOCK = "select name from account_group where name = $1 for update"
MODELS_FOR = "select id from model where $1 = any (only_groups) order by id limit 1"
GROUP_OF = "select group_name from account where id = $1 for no key update"
MOVE = "update account set group_name = $2 where id = $1"
UNKNOWN_MODEL = "select named from unnest($1::text[]) named where not exists (select from model where id = named)"

decode_rates = msgspec.json.Decoder(dict[str, int]).decode


class SqlGroupDesk:
    """The `GroupDesk` port."""

    def __init__(self, database: Database, notifier: ChangeNotifier) -> None:
        self._database = database
        self._notifier = notifier

    async def groups(self) -> Sequence[GroupRecord]:
        return [
            GroupRecord(
                name=row["name"], multiplier=str(row["multiplier"]), rates=rates_of(row), accounts=row["accounts"]
            )
            for row in await self._database.rows(GROUPS)
        ]

    async def add(self, name: str, rates: Rates, *, actor: str, multiplier: Decimal = Decimal(1)) -> None:
        one_line(name, "A group's name")
        terms = GroupTerms(rates=rates, multiplier=multiplier)
        async with self._database.transaction() as connection:
            await _check(connection, rates)
            try:
                await connection.execute(ADD, name, *_columns(terms))
            except asyncpg.UniqueViolationError:
                raise AlreadyOnFile(f"There is a group '{name}' already.") from None
            await audit(connection, actor, "group.add", f"group:{name}", _on_record(terms))
        await self._notifier.send()

    async def change(
        self, name: str, change: Callable[[GroupTerms], GroupTerms], *, actor: str, reason: str = ""
    ) -> GroupTerms:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(FIND, name)
            if row is None:
                raise NotOnFile(f"There is no group '{name}'.")
            before = GroupTerms(rates=rates_of(row), multiplier=row["multiplier"])
            terms = change(before)
            await _check(connection, terms.rates)
            if terms != before:
                await connection.execute(CHANGE, name, *_columns(terms))
                detail = {**_on_record(terms), "before": _on_record(before), **({"reason": reason} if reason else {})}
                await audit(connection, actor, "group.change", f"group:{name}", detail)
        await self._notifier.send()
        return terms

    async def remove(self, name: str, reason: str, *, actor: str) -> None:
        async with self._database.transaction() as connection:
            # Whoever makes a model for this group now waits, and then does not find it.
            if await connection.fetchval(LOCK, name) is None:
                raise NotOnFile(f"There is no group '{name}'.")
            model = await connection.fetchval(MODELS_FOR, name)
            if model is not None:
                raise StillInUse(f"The model '{model}' is for the group '{name}' only. Nothing was removed.")
            try:
                await connection.execute("delete from account_group where name = $1", name)
            except asyncpg.ForeignKeyViolationError:
                raise StillInUse(
                    f"There are accounts in the group '{name}'. Move them first. Nothing was removed."
                ) from None
            await audit(connection, actor, "group.remove", f"group:{name}", {"reason": reason})
        await self._notifier.send()

    async def move(self, account_id: int, group: str, *, actor: str, reason: str = "") -> bool:
        async with self._database.transaction() as connection:
            before = await connection.fetchval(GROUP_OF, account_id)
            if before is None:
                raise NotOnFile(f"There is no account {account_id}.")
            if before == group:
                return False
            try:
                await connection.execute(MOVE, account_id, group)
            except asyncpg.ForeignKeyViolationError:
                raise NotOnFile(f"There is no group '{group}'.") from None
            detail = {"group": group, "before": before} | ({"reason": reason} if reason else {})
            await audit(connection, actor, "account.move", f"account:{account_id}", detail)
        await self._notifier.send()
        return True


def rates_of(row: asyncpg.Record) -> Rates:
    """From the columns of a group."""
    return Rates(
        key_rate=row["key_rate"],
        standard_rate=row["standard_rate"],
        peak_percent=row["peak_percent"],
        kind_rates=decode_rates(row["kind_rates"]),
        model_rates=decode_rates(row["model_rates"]),
        tokens_per_minute=row["tokens_per_minute"],
        concurrency=row["concurrency"],
    )


def _on_record(terms: GroupTerms) -> dict[str, object]:
    return {"rates": terms.rates, "multiplier": str(terms.multiplier)}


async def _check(connection: asyncpg.Connection, rates: Rates) -> None:
    """Raise NotOnFile for a kind or a model that does not exist."""
    strange = sorted(set(rates.kind_rates) - set(Kind))
    if strange:
        raise NotOnFile(f"There is no kind '{strange[0]}' of models: write one of {', '.join(Kind)}.")
    unknown = await connection.fetchval(UNKNOWN_MODEL, list(rates.model_rates))
    if unknown is not None:
        raise NotOnFile(f"There is no model '{unknown}'.")


def _columns(terms: GroupTerms) -> tuple[object, ...]:
    rates = terms.rates
    return (
        rates.key_rate,
        rates.standard_rate,
        rates.peak_percent,
        msgspec.json.encode(rates.kind_rates).decode(),
        msgspec.json.encode(rates.model_rates).decode(),
        rates.tokens_per_minute,
        rates.concurrency,
        terms.multiplier,
    )
