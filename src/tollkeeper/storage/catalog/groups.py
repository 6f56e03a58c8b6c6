"""Groups in PostgreSQL: what their accounts may call in a minute, and which accounts are in them."""

from collections.abc import Callable, Sequence

import asyncpg
import msgspec

from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.limits.windows import Rates
from tollkeeper.core.one_line import one_line
from tollkeeper.ports import AlreadyOnFile, GroupRecord, NotOnFile
from tollkeeper.storage.postgres.audit import audit
from tollkeeper.storage.postgres.changes import ChangeNotifier
from tollkeeper.storage.postgres.database import Database

GROUPS = """
select name, multiplier, key_rate, standard_rate, peak_percent, kind_rates, model_rates, tokens_per_minute, concurrency,
       (select count(*) from account where group_name = account_group.name) as accounts
from account_group order by name
"""
ADD = """
insert into account_group (name, key_rate, standard_rate, peak_percent, kind_rates, model_rates, tokens_per_minute,
                           concurrency)
values ($1, $2, $3, $4, $5::text::jsonb, $6::text::jsonb, $7, $8)
"""
FIND = "select * from account_group where name = $1 for no key update"
CHANGE = """
update account_group set key_rate = $2, standard_rate = $3, peak_percent = $4, kind_rates = $5::text::jsonb,
                         model_rates = $6::text::jsonb, tokens_per_minute = $7, concurrency = $8
where name = $1
"""
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

    async def add(self, name: str, rates: Rates, *, actor: str) -> None:
        one_line(name, "A group's name")
        async with self._database.transaction() as connection:
            await _check(connection, rates)
            try:
                await connection.execute(ADD, name, *_columns(rates))
            except asyncpg.UniqueViolationError:
                raise AlreadyOnFile(f"There is a group '{name}' already.") from None
            await audit(connection, actor, "group.add", f"group:{name}", {"rates": rates})
        await self._notifier.send()

    async def change(self, name: str, change: Callable[[Rates], Rates], *, actor: str) -> Rates:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(FIND, name)
            if row is None:
                raise NotOnFile(f"There is no group '{name}'.")
            before = rates_of(row)
            rates = change(before)
            await _check(connection, rates)
            if rates != before:
                await connection.execute(CHANGE, name, *_columns(rates))
                await audit(connection, actor, "group.change", f"group:{name}", {"rates": rates, "before": before})
        await self._notifier.send()
        return rates

    async def move(self, account_id: int, group: str, *, actor: str) -> bool:
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
            await audit(connection, actor, "account.move", f"account:{account_id}", {"group": group, "before": before})
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


async def _check(connection: asyncpg.Connection, rates: Rates) -> None:
    """Raise NotOnFile for a kind or a model that does not exist."""
    strange = sorted(set(rates.kind_rates) - set(Kind))
    if strange:
        raise NotOnFile(f"There is no kind '{strange[0]}' of models: write one of {', '.join(Kind)}.")
    unknown = await connection.fetchval(UNKNOWN_MODEL, list(rates.model_rates))
    if unknown is not None:
        raise NotOnFile(f"There is no model '{unknown}'.")


def _columns(rates: Rates) -> tuple[object, ...]:
    return (
        rates.key_rate,
        rates.standard_rate,
        rates.peak_percent,
        msgspec.json.encode(rates.kind_rates).decode(),
        msgspec.json.encode(rates.model_rates).decode(),
        rates.tokens_per_minute,
        rates.concurrency,
    )
