"""The operator's brand in PostgreSQL: one row, which every process of the console keeps in memory."""

from collections.abc import Mapping

import asyncpg
import msgspec

from tollkeeper.core.brand import Brand, checked
from tollkeeper.core.errors import StoreUnavailable
from tollkeeper.storage.postgres.audit import audit
from tollkeeper.storage.postgres.changes import ChangeNotifier, Changes
from tollkeeper.storage.postgres.database import Database
from tollkeeper.storage.postgres.snapshot import Snapshot

READ = "select name, support, accent_light, accent_dark, logo, imprint, terms, privacy from brand"
# Of two who change it at once, the second sees what the first did.
READ_TO_CHANGE = f"{READ} for update"
CHANGE = """
update brand set name = $1, support = $2, accent_light = $3, accent_dark = $4, logo = $5, imprint = $6, terms = $7,
    privacy = $8
"""


async def brand_on_file(database: Database) -> Brand:
    return _brand(await database.row(READ))


class SqlBrandDesk:
    """The `BrandDesk` port."""

    def __init__(self, database: Database, notifier: ChangeNotifier) -> None:
        self._database = database
        self._notifier = notifier

    async def current(self) -> Brand:
        return await brand_on_file(self._database)

    async def change(self, changed: Mapping[str, str | bytes], *, actor: str) -> Brand:
        async with self._database.transaction() as connection:
            before = _brand(await connection.fetchrow(READ_TO_CHANGE))
            brand = checked(msgspec.structs.replace(before, **changed))
            if brand == before:
                return brand
            await connection.execute(CHANGE, *msgspec.structs.astuple(brand))
            await audit(connection, actor, "brand.change", "brand", _detail(before, brand))
        await self._notifier.send()
        return brand


class SqlBrandBook:
    """The `BrandBook` port."""

    def __init__(self, database: Database, changes: Changes) -> None:
        self._snapshot = Snapshot(changes, "brand", lambda: brand_on_file(database), even_stale=False)
        self._known = Brand()

    @property
    def known(self) -> Brand:
        return self._known

    async def look(self) -> Brand:
        try:
            self._known = await self._snapshot.get()
        except StoreUnavailable:
            # A page can be shown as it looked before.
            return self._known
        return self._known


def _brand(row: asyncpg.Record) -> Brand:
    return Brand(**dict(row))


def _detail(before: Brand, after: Brand) -> dict[str, object]:
    """What is short is told as it is now; of the logo and the legal pages, how long they are."""
    told: dict[str, object] = {}
    for name in Brand.__struct_fields__:
        value = getattr(after, name)
        if value != getattr(before, name):
            is_long = name in {"logo", "imprint", "terms", "privacy"}
            told[f"{name}_length" if is_long else name] = len(value) if is_long else value
    return told
